"""From a call to its verb: rows, arguments, callers, the toolbox."""
