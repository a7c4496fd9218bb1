"""The files of the index: segments, rosters, the manifest, and sets of segments read as one.

The door is `store`; the rest of the index reads `segment` and `segment_set` too.
"""
