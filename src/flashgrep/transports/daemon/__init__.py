"""`flashgrep serve`, its proxy, and the owner of the notes."""
