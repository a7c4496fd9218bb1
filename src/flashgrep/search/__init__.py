"""Pattern and bytes in, matches and text out; defines what a match is."""
