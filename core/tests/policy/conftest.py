"""
A world with its own time, sync and async, so that every policy test has one body and none sleeps.

A test says what happens in *jobs*: generators that yield operations (`Chat`, `Stream`, `Pass`) and get their outcome. The
sync world runs each job in a thread, one thread at a time, and lets time jump when all of them wait; the async world runs
them as tasks of an event loop whose clock does the same.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import selectors
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from polywire.errors import ConnectionFailed
from polywire.events import ResponseCollector, ResponseEnd, ResponseStart, StreamEvent, TextDelta, UsageUpdate
from polywire.models import ModelInformation, StreamingChatModel
from polywire.policy import Runtime
from polywire.policy.runtime import Waiter
from polywire.requests import ChatRequest, ChatRequestParameters
from polywire.responses import ChatResponse, FinishReason, TokenUsage


@dataclass
class Wait:
    """In a script: so many seconds pass."""

    seconds: float


@dataclass
class Chat:
    """In a job: one plain call."""

    model: Any
    request: Any = "hello"
    keywords: Any = None


@dataclass
class Stream:
    """In a job: one streamed call. `stop_after` closes it after so many events; `pause` passes after each."""

    model: Any
    request: Any = "hello"
    keywords: Any = None
    stop_after: int | None = None
    pause: float = 0.0


@dataclass
class Pass:
    """In a job: so many seconds pass."""

    seconds: float


@dataclass
class Outcome:
    """What a call came to."""

    value: Any = None
    error: BaseException | None = None
    events: tuple[StreamEvent, ...] = ()
    at: float = 0.0

    @property
    def text(self) -> str | None:
        return None if self.value is None else self.value.text


def answer(text: str = "hi", tokens: int | None = None, *, pieces: Iterable[str] | None = None) -> list[Any]:
    """Script an attempt that answers."""
    usage = [] if tokens is None else [UsageUpdate(TokenUsage(input_tokens=0, output_tokens=tokens))]
    deltas = [TextDelta(piece) for piece in (pieces or [text])]
    return [ResponseStart({"id": "r1"}), *deltas, *usage, ResponseEnd(FinishReason.STOP)]


class FakeModel(StreamingChatModel):
    """Answers each attempt from a script: a list of `Wait`, events and exceptions (a class: one made anew). The last attempt repeats."""

    def __init__(self, world: Any, *script: Any, model: str | None = "fake-1", provider: str = "fake") -> None:
        self.world = world
        self.script = [[each] if not isinstance(each, list) else each for each in script] or [answer()]
        self.information = ModelInformation(provider, ChatRequestParameters(model=model))
        self.requests: list[ChatRequest] = []
        self.sent_at: list[float] = []
        self.running = 0
        self.most_running = 0
        self.opened = 0
        self.closed = 0

    def begin(self, request: ChatRequest) -> list[Any]:
        self.requests.append(request)
        self.sent_at.append(self.world.now())
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        return list(self.script[min(len(self.requests), len(self.script)) - 1])

    def do_chat(self, request: ChatRequest) -> ChatResponse:
        collector = ResponseCollector()
        try:
            for step in self.begin(request):
                if isinstance(step, Wait):
                    self.world.pass_time(step.seconds)
                else:
                    _add(collector, step)
        finally:
            self.running -= 1
        return collector.response()

    async def do_achat(self, request: ChatRequest) -> ChatResponse:
        collector = ResponseCollector()
        try:
            for step in self.begin(request):
                if isinstance(step, Wait):
                    await asyncio.sleep(step.seconds)
                else:
                    _add(collector, step)
        finally:
            self.running -= 1
        return collector.response()

    def do_stream(self, request: ChatRequest) -> FakeSource:
        return FakeSource(self, request)

    def do_astream(self, request: ChatRequest) -> FakeSource:
        return FakeSource(self, request)


def _add(collector: ResponseCollector, step: Any) -> None:
    if isinstance(step, type):
        raise step("made anew")
    if isinstance(step, BaseException):
        raise step
    collector.add(step)


class FakeSource:
    """A scripted stream: one event per batch; `abort` wakes a read."""

    def __init__(self, model: FakeModel, request: ChatRequest) -> None:
        self.model, self.steps = model, deque(model.begin(request))
        self.is_closed = False
        self.broken = Broken()
        model.opened += 1

    def read(self) -> Sequence[StreamEvent]:
        while self.steps:
            step = self.steps.popleft()
            if isinstance(step, Wait):
                self.model.world.pass_time(step.seconds, self.broken)
                if self.broken.ready:
                    message = "cut"
                    raise ConnectionFailed(message)
            elif isinstance(step, type):
                raise step("made anew")
            elif isinstance(step, BaseException):
                raise step
            else:
                return (step,)
        return ()

    async def aread(self) -> Sequence[StreamEvent]:
        while self.steps:
            step = self.steps.popleft()
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
            elif isinstance(step, type):
                raise step("made anew")
            elif isinstance(step, BaseException):
                raise step
            else:
                return (step,)
        return ()

    def abort(self) -> None:
        self.broken.set = True
        self.broken.notify()

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.model.running -= 1
            self.model.closed += 1

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.close()


class Broken(Waiter):
    set = False

    @property
    def ready(self) -> bool:
        return self.set


class World:
    """What both worlds share: the time, chance, and what is asked of them."""

    kind = ""
    Wait, Chat, Stream, Pass = Wait, Chat, Stream, Pass
    answer = staticmethod(answer)

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []
        self.chance = 0.0
        self.runtime = self.make_runtime()

    def now(self) -> float:
        return self.time

    def make_runtime(self) -> Runtime:
        raise NotImplementedError

    def model(self, *script: Any, **keywords: Any) -> FakeModel:
        return FakeModel(self, *script, **keywords)

    def run(self, *jobs: Callable[[], Generator[Any, Any, Any]] | Generator[Any, Any, Any]) -> list[Any]:
        raise NotImplementedError

    def chat(self, model: Any, request: Any = "hello", /, **keywords: Any) -> Outcome:
        return self.one(Chat(model, request, keywords))

    def stream(self, model: Any, request: Any = "hello", /, **keywords: Any) -> Outcome:
        options = {key: keywords.pop(key) for key in ("stop_after", "pause") if key in keywords}
        return self.one(Stream(model, request, keywords, **options))

    def one(self, operation: Any) -> Outcome:
        def job() -> Generator[Any, Any, Any]:
            return (yield operation)

        return self.run(job)[0]


class SyncWorld(World):
    """Threads that run one at a time."""

    kind = "sync"

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._runnable: deque[threading.Semaphore] = deque()
        self._back = threading.Semaphore(0)
        self._mine = threading.local()

    def make_runtime(self) -> Runtime:
        world = self

        class SyncRuntime(Runtime):
            def sleep(self, seconds: float) -> None:
                world.slept.append(seconds)
                world.pass_time(seconds)

            def wait(self, waiter: Waiter, seconds: float | None) -> None:
                world.block(seconds, waiter)

            def schedule(self, at: float, callback: Callable[[], None]) -> Any:
                return world.schedule(at, callback)

        return SyncRuntime(clock=self.now, random=lambda: self.chance)

    def schedule(self, at: float, callback: Callable[[], None]) -> Any:
        timer = Timer(callback)
        heapq.heappush(self._timers, (at, next(self._numbers), timer))
        return timer

    def pass_time(self, seconds: float, waiter: Waiter | None = None) -> None:
        self.block(seconds, waiter)

    def block(self, seconds: float | None, waiter: Waiter | None) -> None:
        gate = self._mine.gate
        woken = False

        def wake() -> None:
            nonlocal woken
            if not woken:
                woken = True
                self._runnable.append(gate)

        timer = None if seconds is None else self.schedule(self.time + max(0.0, seconds), wake)
        if waiter is not None:
            waiter.waker = wake
            if waiter.ready:
                wake()
        self._back.release()
        gate.acquire()
        if waiter is not None:
            waiter.waker = None
        if timer is not None:
            timer.cancel()

    def run(self, *jobs: Any) -> list[Any]:
        results: list[Any] = [None] * len(jobs)
        errors: list[BaseException] = []
        living = len(jobs)

        def body(index: int, job: Any, gate: threading.Semaphore) -> None:
            nonlocal living
            self._mine.gate = gate
            gate.acquire()
            try:
                results[index] = self.play(job() if callable(job) else job)
            except BaseException as error:
                errors.append(error)
            living -= 1
            self._back.release()

        threads = []
        for index, job in enumerate(jobs):
            gate = threading.Semaphore(0)
            self._runnable.append(gate)
            threads.append(threading.Thread(target=body, args=(index, job, gate), daemon=True))
            threads[-1].start()
        while living:
            if self._runnable:
                self._runnable.popleft().release()
                assert self._back.acquire(timeout=10), "a job blocked outside the world's time"
            elif self._timers:
                at, _, timer = heapq.heappop(self._timers)
                self.time = max(self.time, at)
                timer()
            else:
                pytest.fail("all jobs wait for ever")
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return results

    def play(self, job: Generator[Any, Any, Any]) -> Any:
        outcome: Any = None
        try:
            while True:
                outcome = self.do(job.send(outcome))
        except StopIteration as stop:
            return stop.value

    def do(self, operation: Any) -> Outcome | None:
        match operation:
            case Pass():
                self.pass_time(operation.seconds)
                return None
            case Chat():
                try:
                    value = operation.model.chat(operation.request, **(operation.keywords or {}))
                except BaseException as error:
                    return Outcome(error=error, at=self.time)
                return Outcome(value, at=self.time)
            case Stream():
                events: list[StreamEvent] = []
                stream = operation.model.stream(operation.request, **(operation.keywords or {}))
                try:
                    if operation.stop_after == 0:
                        return Outcome(at=self.time)
                    for event in stream:
                        events.append(event)
                        if len(events) == operation.stop_after:
                            return Outcome(events=tuple(events), at=self.time)
                        if operation.pause:
                            self.pass_time(operation.pause)
                except BaseException as error:
                    return Outcome(error=error, events=tuple(events), at=self.time)
                finally:
                    stream.close()
                return Outcome(stream.response, events=tuple(events), at=self.time)
        raise TypeError(operation)


class Timer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None

    def __call__(self) -> None:
        if self.callback is not None:
            self.callback()

    def __lt__(self, other: object) -> bool:
        return False


class AsyncWorld(World):
    """Tasks of a loop whose time jumps."""

    kind = "async"

    def make_runtime(self) -> Runtime:
        world = self

        class AsyncRuntime(Runtime):
            async def asleep(self, seconds: float) -> None:
                world.slept.append(seconds)
                await asyncio.sleep(seconds)

        return AsyncRuntime(clock=self.now, random=lambda: self.chance)

    def run(self, *jobs: Any) -> list[Any]:
        async def main() -> list[Any]:
            return await asyncio.gather(*(self.play(job() if callable(job) else job) for job in jobs))

        return self.run_coroutine(main())

    def run_coroutine(self, coroutine: Any) -> Any:
        with asyncio.Runner(loop_factory=lambda: JumpingLoop(self)) as runner:
            return runner.run(coroutine)

    async def play(self, job: Generator[Any, Any, Any]) -> Any:
        outcome: Any = None
        try:
            while True:
                outcome = await self.do(job.send(outcome))
        except StopIteration as stop:
            return stop.value

    async def do(self, operation: Any) -> Outcome | None:
        match operation:
            case Pass():
                await asyncio.sleep(operation.seconds)
                return None
            case Chat():
                try:
                    value = await operation.model.achat(operation.request, **(operation.keywords or {}))
                except Exception as error:
                    return Outcome(error=error, at=self.time)
                return Outcome(value, at=self.time)
            case Stream():
                events: list[StreamEvent] = []
                stream = operation.model.astream(operation.request, **(operation.keywords or {}))
                try:
                    if operation.stop_after == 0:
                        return Outcome(at=self.time)
                    async for event in stream:
                        events.append(event)
                        if len(events) == operation.stop_after:
                            return Outcome(events=tuple(events), at=self.time)
                        if operation.pause:
                            await asyncio.sleep(operation.pause)
                except Exception as error:
                    return Outcome(error=error, events=tuple(events), at=self.time)
                finally:
                    await stream.aclose()
                return Outcome(stream.response, events=tuple(events), at=self.time)
        raise TypeError(operation)


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop that does not wait for the time, but moves it on."""

    def __init__(self, world: World) -> None:
        self.world = world
        super().__init__(JumpingSelector(world))

    def time(self) -> float:
        return self.world.time


class JumpingSelector(selectors.DefaultSelector):  # type: ignore[misc, valid-type, unused-ignore]
    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if events or timeout == 0:
            return events
        if timeout is None:
            events = super().select(5)
            assert events, "all tasks wait for ever"
            return events
        self.world.time += timeout
        return events


@pytest.fixture(params=["sync", "async"])
def world(request: pytest.FixtureRequest) -> World:
    """A world with its own time; each test runs in the sync one and in the async one."""
    return SyncWorld() if request.param == "sync" else AsyncWorld()


@pytest.fixture
def async_world() -> AsyncWorld:
    """The async world alone, for what only tasks can do."""
    return AsyncWorld()
