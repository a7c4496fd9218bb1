fn find_needle(hay: &str) -> bool {
    hay.contains("needle")
}
