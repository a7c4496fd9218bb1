"""The files of the index: segments, postings, snapshots, and where they are."""
