"""Bytes to calls and back; knows tools only through the toolbox."""
