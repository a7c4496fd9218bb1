"""The tools that agents call: verbs, what they work on, and how a call reaches them.

Transports, the terminal and `app` use `catalog` (which tools a server has), `dispatch` (calling
them) and `mounts` (what they work on); verbs and formats are for this folder alone.
"""
