"""The index of a workspace: narrows what a search must look at, and never decides a match.

The door is `index` (what others may ask), `workspace_index` (which it loads late), `format.store`
(what the disk holds, for the terminal) and `answer.search_worker` (the module of search processes).
"""
