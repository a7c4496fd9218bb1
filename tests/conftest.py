"""What every test run needs, however it was started."""

from __future__ import annotations

import gc
import os
import signal

import hypothesis

from flashgrep.settings import SETTINGS
from flashgrep.system.child import Child
from tests.warm import Warm

# A shell that starts a run in the background has it ignore Ctrl-C, and so would every program that
# a test starts and then interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hundreds of tests start a program: each would compile the sources anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Whoever runs the tests may have settings of their own, for the server that they use.
for _setting in SETTINGS:
    os.environ.pop(_setting.environment, None)

# So do the processes that work for an index: each would import numpy and more anew. Those of
# servers that tests start are started as they are for users.
Child.program = Warm

# How long an example takes, or how many are drawn in vain, says more about the machine and the dice
# than about the code.
hypothesis.settings.register_profile(
    "unhurried",
    deadline=None,
    max_examples=1_000 if os.environ.get("FLASHGREP_HEAVY") else 50,
    suppress_health_check=[
        hypothesis.HealthCheck.data_too_large,
        hypothesis.HealthCheck.filter_too_much,
        hypothesis.HealthCheck.too_slow,
    ],
)
hypothesis.settings.load_profile("unhurried")


def pytest_collection_finish() -> None:
    """What was imported and collected stays: without this each collection of garbage visits it."""
    gc.collect()
    gc.freeze()
