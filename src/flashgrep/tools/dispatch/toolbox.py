"""The one dispatcher: every transport lists and calls tools through a `Toolbox`.

Handlers are plain functions run in a thread; the event loop never waits on a disk. A call that is
quicker than a thread is tried without one (`CallMoments`). A cancelled call sets the handler's
`Cancellation`, which every long loop looks at.
"""

from __future__ import annotations

import dataclasses
import difflib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.from_thread
import anyio.to_thread

from flashgrep import limits
from flashgrep.errors import (
    AccessDenied,
    Cancelled,
    FlashgrepError,
    InvalidParams,
    IOFailure,
    from_os_error,
)
from flashgrep.search.scan.fair_queue import ON_BEHALF
from flashgrep.tools.dispatch.activity import UNKNOWN_TOOL, Activity
from flashgrep.tools.dispatch.call import Answer, Call, Cancellation, json_refusal, refusal
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.moments import CallMoments
from flashgrep.tools.dispatch.spec import ToolSpec, input_schema, read_arguments
from flashgrep.tools.mounts.files import FilesPoint
from flashgrep.tools.mounts.points import Asked, MountPoint, Mounts, NoNotes

if TYPE_CHECKING:
    from flashgrep.settings import Settings
    from flashgrep.tools.dispatch.call import Services

THREADS: Final = 64
"""Tool calls that run together, beyond the first one of each caller."""

_RUNNING_CALLERS: Final = 512
"""Callers of which one call may run at least: as many as there are connections to two listeners."""

log = logging.getLogger(__name__)

_GRACE_SECONDS = 2.0
"""A call whose time is over has this long to say what it has found."""

Progress = Callable[[float, float | None, str], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Listed:
    """A tool as a client sees it."""

    name: str
    """One of the names it has."""
    description: str
    input_schema: Mapping[str, Any]
    spec: ToolSpec


class Toolbox:
    """The tools of one server: listing and calling, the same on every transport."""

    def __init__(
        self,
        specs: tuple[ToolSpec, ...],
        services: Services,
        settings: Settings,
        instructions: str,
        mounts: Mounts | None = None,
        running: CallShares | None = None,
    ) -> None:
        """Without `mounts`, over files alone.

        Several choices of tools of one server share its threads: `running` is that of the first.
        """
        self.instructions = instructions
        self._services = services
        self._settings = settings
        self._generous = _generous(settings)
        self._specs = {name: spec for spec in specs for name in spec.names}
        self._mounts = mounts or Mounts([FilesPoint(), NoNotes()])
        self.running = running or CallShares()
        self._moments = CallMoments()

    @property
    def activity(self) -> Activity:
        """What was asked lately, and by whom."""
        return self._services.activity

    def listed(self, caller: Caller | None = None) -> list[Listed]:
        """The tools of the naming mode in force, in the order they are declared.

        A caller is not shown those that it has not the role for.
        """
        compat = self._settings.compat_names
        return [
            Listed(name, spec.describe(name), input_schema(spec, compat), spec=spec)
            for name, spec in self._specs.items()
            if spec.in_mode(compat) and (caller is None or _has_role(caller, spec))
        ]

    def direct_names(self) -> tuple[str, ...]:
        """The tools that are JSON-RPC methods on the sockets too, aliases among them."""
        return tuple(name for name, spec in self._specs.items() if spec.is_direct)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        caller: Caller,
        progress: Progress | None = None,
        *,
        was_tried: bool = False,
    ) -> Answer:
        """Run one tool; a failure is an answer with a code, never an exception.

        `was_tried`: `in_a_moment` had no answer.
        """
        call = self._call(caller, False, progress)
        try:
            answer = await self._run(name, arguments, call, was_tried=was_tried)
        except FlashgrepError as error:
            spec = self._specs.get(name)
            return json_refusal(error) if spec and spec.answers_json else refusal(error)
        return _structured(answer) if self._settings.structured else answer

    def in_a_moment(
        self, name: str, arguments: Mapping[str, Any] | None, caller: Caller
    ) -> Answer | None:
        """The answer of a call that is over in a moment, made at once; None where it is not.

        On the thread of the event loop, and in one turn of it: a task would cost as much as a
        search for a rare word. What fails, or is refused, is left to `call`.
        """
        spec, begun, key = self._specs.get(name), time.perf_counter(), caller.key
        if spec is None or not self._moments.are_now(spec) or not self.running.has_place(key):
            return None
        call = self._call(caller, direct=False)
        before = ON_BEHALF.set(key)
        try:
            asked, point = self._prepare(name, arguments, call)
            self._begin(asked, call)
            answer = self._moments.tried(asked, point, call)
        except Exception as failure:
            log.debug("%s is tried again: %r", name, failure)
            return None
        finally:
            ON_BEHALF.reset(before)
        if answer is None:
            return None
        call.was_answered()
        self._services.activity.record(name, caller, begun, answer.code is None)
        return _structured(answer) if self._settings.structured else answer

    async def direct(
        self, name: str, params: Mapping[str, Any] | None, caller: Caller
    ) -> Mapping[str, Any]:
        """Run one direct method: the object that is its result; a failure is raised."""
        answer = await self._run(name, params, self._call(caller, direct=True))
        return answer.data if answer.data is not None else {"text": answer.text}

    async def page(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Answer:
        """Answer a question of the pages for people; a failure is raised.

        What an agent may be offered has nothing to do with it: only mounts and roles decide.
        """
        return await self._run(name, arguments, self._call(caller, direct=True), self._pages)

    @cached_property
    def _pages(self) -> Mapping[str, ToolSpec]:
        from flashgrep.tools.catalog import page_questions  # which imports every verb

        return {spec.name: spec for spec in page_questions()}

    def here(self, name: str, arguments: Mapping[str, Any], caller: Caller, direct: bool) -> Answer:
        """Run one tool in this thread, without a budget: for a process that serves one caller."""
        call = self._call(caller, direct)
        call.settings = dataclasses.replace(self._settings, max_output_chars=0)
        asked, point = self._prepare(name, arguments, call)
        answer = point.answer(asked, call)
        call.was_answered()
        return answer

    async def answer(
        self,
        name: str,
        arguments: Mapping[str, Any],
        caller: Caller,
        direct: bool,
        progress: Progress | None = None,
    ) -> Answer:
        """The answer for a caller of another process, which finishes it; a failure is raised.

        About notes only: what is a file there is another one, or none, here.
        """
        call = self._call(caller, direct, progress)
        _, point = self._prepare(name, arguments, call)
        if not point.is_shared:
            raise InvalidParams(f"{name}: only calls about notes are answered for other servers")
        return await self._run(name, arguments, call)

    def _call(self, caller: Caller, direct: bool, progress: Progress | None = None) -> Call:
        call = Call(caller, self._services, self._settings, direct=direct)
        if progress is not None:
            run = anyio.from_thread.run
            call.report = lambda done, total, message: run(progress, done, total, message)
        return call

    async def _run(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        call: Call,
        specs: Mapping[str, ToolSpec] | None = None,
        *,
        was_tried: bool = False,
    ) -> Answer:
        """Run one of some tools; of those on offer where none are given.

        Every call of every transport comes through here, and is recorded for the status page.
        """
        begun = time.perf_counter()
        is_ok = False
        try:
            answer = await self._answered(name, arguments, call, specs, was_tried)
            is_ok = answer.code is None
            return answer
        finally:
            if specs is None:
                tool = name if name in self._specs else UNKNOWN_TOOL
                self._services.activity.record(tool, call.caller, begun, is_ok)
            else:
                call.caller.saw_call()  # of a page that asks at each letter, the number is enough

    async def _answered(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        call: Call,
        specs: Mapping[str, ToolSpec] | None,
        was_tried: bool,
    ) -> Answer:
        asked, point = self._prepare(name, arguments, call, specs)
        key = call.caller.key
        try:
            await self.running.enter(key)
            try:
                ON_BEHALF.set(key)
                self._begin(asked, call)
                answer = None if was_tried else self._moments.tried(asked, point, call)
                if answer is None:
                    work = partial(self._moments.noted, asked, point, call)
                    answer = await _in_thread(asked.spec, work, call, self.running.threads)
                call.was_answered()
                return answer
            finally:
                self.running.end(key)
        except Cancelled as ended:
            if call.cancelled.has_expired:
                raise out_of_time(name, call.cancelled.seconds) from ended
            raise
        except FlashgrepError:
            raise
        except OSError as error:
            raise from_os_error(error, _named(error)) from error
        except Exception as defect:
            # The last boundary: a defect of ours is a failed call; its details go to the log.
            log.exception("%s failed", name)
            raise IOFailure(f"{name} failed inside the server; see its log.") from defect

    def _begin(self, asked: Asked, call: Call) -> None:
        """Give a call its budget and its time, from now on."""
        if asked.spec.loaded and call.caller.takes_long_answers:
            call.settings = self._generous
        call.cancelled.begin(self._settings.call_seconds)

    def _prepare(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        call: Call,
        specs: Mapping[str, ToolSpec] | None = None,
    ) -> tuple[Asked, MountPoint]:
        """What is asked, and the mount that it is about; refused where the caller may not."""
        caller, spec = call.caller, (specs or self._specs).get(name)
        if spec is None:
            raise self._unknown(name, caller)
        if not (caller.may_write or spec.read_only):
            raise AccessDenied(
                f"{name} changes files and this connection is not authorised. "
                'Send {"jsonrpc":"2.0","id":1,"method":"auth","params":{"token":"…"}} first.'
            )
        if not _has_role(caller, spec):
            raise AccessDenied(
                f"{name} needs the role {spec.role.shown if spec.role else ''}, and "
                f"{caller.author} has it on no notes: a person decides, or gives you a token that "
                "may"
            )
        values = read_arguments(spec, arguments)
        point = self._mounts.led_to(spec, values)
        point.admit(caller)
        call.check_path = partial(self._mounts.check, spec)
        return Asked(spec=spec, name=name, arguments=arguments or {}, values=values), point

    def _unknown(self, name: str, caller: Caller) -> InvalidParams:
        """The refusal of a tool that this server does not have; one it leaves out has a reason."""
        from flashgrep.tools.catalog import all_tools  # which imports every verb

        rows = {each: spec for spec in all_tools() for each in spec.names}
        if self._settings.read_only and name in rows and not rows[name].read_only:
            hint = " This server is read-only: tools that write are not available."
        elif name in rows:
            hint = " This server does not offer it."
        else:
            close = difflib.get_close_matches(name, self._specs, 1, 0.5)
            hint = f" Did you mean {close[0]}?" if close else ""
        listed = ", ".join(tool.name for tool in self.listed(caller))
        return InvalidParams(f"Unknown tool: {name!r}.{hint} Tools: {listed}")


def _generous(settings: Settings) -> Settings:
    """The settings for a client that takes long answers whole; a budget that was given holds."""
    if "max_output_chars" in settings.explicit:
        return settings
    return dataclasses.replace(settings, max_output_chars=limits.HINTED_OUTPUT_CHARS)


def _has_role(caller: Caller, spec: ToolSpec) -> bool:
    return spec.role is None or caller.principal.is_anywhere(spec.role)


def out_of_time(name: str, seconds: int) -> Cancelled:
    """The refusal of a call that took too long and has nothing to show."""
    return Cancelled(
        f"{name} was stopped after {seconds} seconds (--call-seconds) and gives no answer: it was "
        "not done. Narrow it with path, glob (include) or type, use a more selective pattern, or "
        "start the server with a higher limit"
    )


async def _in_thread(
    spec: ToolSpec, work: Callable[[], Answer], call: Call, threads: anyio.CapacityLimiter
) -> Answer:
    run = partial(anyio.to_thread.run_sync, work, abandon_on_cancel=spec.read_only, limiter=threads)
    if not spec.read_only:
        return await _flagged(run, call.cancelled)
    seconds = call.cancelled.seconds + _GRACE_SECONDS if call.cancelled.seconds else math.inf
    try:
        with anyio.move_on_after(seconds):
            return await run()
        # It has not looked at the clock: nothing it could still say is waited for.
        call.cancelled.set()
        raise out_of_time(spec.name, call.cancelled.seconds)
    except anyio.get_cancelled_exc_class():
        call.cancelled.set()
        raise


async def _flagged(run: Callable[[], Awaitable[Answer]], cancelled: Cancellation) -> Answer:
    """Wait for work that must not be left half done; it sees at once that it is cancelled."""

    async def watch() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            if not (answers or failures):  # else it ended, perhaps because its time was over
                cancelled.set()

    answers: list[Answer] = []
    failures: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            answers.append(await run())
        except Exception as error:  # raised outside of the group, as what it is
            failures.append(error)
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return answers[0]


def _structured(answer: Answer) -> Answer:
    """An answer with an object for `structuredContent`: clients then show a model only that."""
    if answer.structured is not None or answer.image is not None:
        return answer
    data = {"text": answer.text} if answer.data is None else answer.data
    return dataclasses.replace(answer, structured=data)


def _named(error: OSError) -> str:
    name = error.filename
    if isinstance(name, bytes):
        return name.decode("utf-8", "backslashreplace")
    return str(name or "the operating system gave no name")


# ── whose call runs ──────────────────────────────────────────────────────────────────────────────
# Which calls run: some of each caller's, one of everybody's.
#
# Every call that runs holds a thread, and may hold it for long. So the first call of a caller never
# waits for those of others; further ones share a number of places, and the caller that runs the
# fewest is next.


@dataclass(eq=False)
class _Waiting:
    key: str
    admitted: anyio.Event = field(default_factory=anyio.Event)


class CallShares:
    """A server's running and waiting calls. For one event loop."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._waiting: list[_Waiting] = []

    @cached_property
    def threads(self) -> anyio.CapacityLimiter:
        """The threads of the calls; made by the first one, because this loads asyncio."""
        return anyio.CapacityLimiter(THREADS + _RUNNING_CALLERS)

    def has_place(self, key: str) -> bool:
        """Whether a call could begin now."""
        return not self._waiting and self._has_room(key)

    async def enter(self, key: str) -> None:
        """Take a place, which `end` gives back."""
        if self.has_place(key):
            self._admit(key)
        else:
            await self._wait(key)

    async def _wait(self, key: str) -> None:
        waiting = _Waiting(key)
        self._waiting.append(waiting)
        self._call()
        try:
            await waiting.admitted.wait()
        except BaseException:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            else:
                self.end(key)
            raise

    def _has_room(self, key: str) -> bool:
        running = self._counts.get(key, 0)
        if running == 0:
            return len(self._counts) < _RUNNING_CALLERS
        further = sum(self._counts.values()) - len(self._counts)
        return running < limits.CALLS_AT_ONCE and further < THREADS

    def _admit(self, key: str) -> None:
        self._counts[key] = self._counts.get(key, 0) + 1

    def end(self, key: str) -> None:
        """Give a place back."""
        self._counts[key] -= 1
        if not self._counts[key]:
            del self._counts[key]
        self._call()

    def _call(self) -> None:
        for waiting in sorted(self._waiting, key=lambda one: self._counts.get(one.key, 0)):
            if self._has_room(waiting.key):
                self._waiting.remove(waiting)
                self._admit(waiting.key)
                waiting.admitted.set()
