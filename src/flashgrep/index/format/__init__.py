"""The files of the index: segments, rosters, the manifest, and segments numbered through.

The door is `store`; the rest of the index reads `segment` and `segment_set` too.
"""
