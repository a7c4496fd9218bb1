"""A process that lists directories for the server; see `listing`."""

from __future__ import annotations

import gc
import os
from typing import Any, Final

from flashgrep.index.watch.listing import answer
from flashgrep.system.child import leave_ending_to_the_server, serve
from flashgrep.workspace.scope import Scope

_NICE: Final = 5


def main() -> None:
    """List for the server until it is gone; a server that starts has the right of way."""
    leave_ending_to_the_server()
    os.nice(_NICE)
    gc.disable()  # it makes a hundred thousand things to hand over, and no circles
    scopes: dict[Any, Scope] = {}
    serve(lambda message: answer(message, scopes))


if __name__ == "__main__":
    main()
