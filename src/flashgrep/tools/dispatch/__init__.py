"""From a call to its verb. Others use `toolbox` and `caller`, and `call` for its answers; `spec`,
a tool's row and its arguments, is for verbs."""
