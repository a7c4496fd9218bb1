"""Marks in a text. The door: `critic`, which reads CriticMarkup.

`literal` finds code and other literal zones, for marks and for links.
"""
