"""Small defects put into the sources one at a time, to see whether a test notices each."""
