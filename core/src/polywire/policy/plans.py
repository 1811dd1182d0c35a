"""
Policies as plans: each is written once, and one sync and one async interpreter run it.

A policy is a function `policy(call, proceed)` that returns a plan: a generator that yields *effects* (things that take
time) and returns a result. It goes on to what stands below it with `yield from proceed(call)`, as often as it likes.

    def once_more(call, proceed):
        try:
            return (yield from proceed(call))
        except ServerError:
            yield Sleep(call, 1.0)
            return (yield from proceed(call))

The result is a `ChatResponse`, or for a stream an `Opened` one: it has handed out nothing yet and holds its first
content. An error is raised where the effect was yielded; a plan must let `BaseException` through, and must yield
nothing more while one is on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from polywire.responses import ChatResponse

if TYPE_CHECKING:
    from polywire.policy.calls import Call
    from polywire.policy.opening import Opened
    from polywire.policy.runtime import Waiter

__all__ = ["Effect", "Plan", "Policy", "Proceed", "Result", "Sleep", "WaitFor", "arun", "compose", "run"]

Result: TypeAlias = "ChatResponse | Opened"
Plan: TypeAlias = "Generator[Effect, Any, Result]"
Proceed: TypeAlias = "Callable[[Call], Plan]"


class Effect(Protocol):
    """Something that takes time, done in either way; what it returns is sent back into the plan."""

    def run(self) -> Any:
        """Do it, blocking."""

    async def arun(self) -> Any:
        """Do it, awaiting."""


class Policy(Protocol):
    """One rule about how a call is made. Shared by threads and loops: what belongs to a call lives in its plan."""

    def __call__(self, call: Call, proceed: Proceed, /) -> Plan:
        """Return the plan for one call."""


class WaitFor:
    """Wait until `waiter` is notified, or `seconds` have passed; `None` waits without end."""

    __slots__ = ("call", "seconds", "waiter")

    def __init__(self, call: Call, waiter: Waiter, seconds: float | None) -> None:
        self.call = call
        self.waiter = waiter
        self.seconds = seconds

    def run(self) -> None:
        self.call.runtime.wait(self.waiter, self.seconds)

    async def arun(self) -> None:
        await self.call.runtime.await_(self.waiter, self.seconds)


class Sleep:
    """Let so many seconds pass."""

    __slots__ = ("call", "seconds")

    def __init__(self, call: Call, seconds: float) -> None:
        self.call = call
        self.seconds = seconds

    def run(self) -> None:
        self.call.runtime.sleep(self.seconds)

    async def arun(self) -> None:
        await self.call.runtime.asleep(self.seconds)


def compose(policies: tuple[Policy, ...], innermost: Proceed) -> Proceed:
    """Stack policies, the outermost first, on `innermost`."""
    proceed = innermost
    for policy in reversed(policies):
        proceed = _bind(policy, proceed)
    return proceed


def _bind(policy: Policy, proceed: Proceed) -> Proceed:
    return lambda call: policy(call, proceed)


def run(plan: Plan) -> Result:
    """Run a plan, blocking."""
    send, throw = plan.send, plan.throw
    try:
        effect = send(None)
        while True:
            try:
                value = effect.run()
            except BaseException as error:
                effect = throw(error)
            else:
                effect = send(value)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


async def arun(plan: Plan) -> Result:
    """Run a plan, awaiting."""
    send, throw = plan.send, plan.throw
    try:
        effect = send(None)
        while True:
            try:
                value = await effect.arun()
            except BaseException as error:
                effect = throw(error)
            else:
                effect = send(value)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
