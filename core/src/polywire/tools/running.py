"""Running the calls of one turn, sync and async: one after another or side by side, each within its time limit."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import queue
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from typing import Any

from polywire.errors import PolywireError
from polywire.tools.calls import CallDesk, Ready
from polywire.tools.outcome import ToolExecution

__all__ = ["LoopIsRunning", "arun_calls", "require_no_loop", "run_awaitable", "run_calls"]


class LoopIsRunning(PolywireError, RuntimeError):
    """Async code was to be run to its end in a thread whose event loop is running."""


def loop_is_running() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def require_no_loop(what: str) -> None:
    """
    Check that async code can be run from here to its end.

    Raises:
        LoopIsRunning: an event loop is running in this thread.
    """
    if loop_is_running():
        msg = f"{what} is async, and an event loop is running in this thread: await achat (or astream) instead of chat"
        raise LoopIsRunning(msg)


def run_awaitable(awaitable: Any, what: str) -> Any:
    """
    Run an awaitable to its end, from sync code.

    Raises:
        LoopIsRunning: an event loop is running in this thread.
    """
    try:
        require_no_loop(what)
    except LoopIsRunning:
        close = getattr(awaitable, "close", None)
        if close is not None:
            close()
        raise

    async def wait() -> Any:
        return await awaitable

    return asyncio.run(wait())


def _run(desk: CallDesk, ready: Ready) -> ToolExecution:
    """Run one call in this thread."""
    started = desk.clock()
    try:
        value = ready.invoke()
        if inspect.isawaitable(value):
            value = run_awaitable(value, f"the tool {ready.tool.name!r}")
    except LoopIsRunning:
        raise
    except Exception as error:
        return desk.raised(ready, error, started)
    return desk.succeeded(ready, value, started)


def _start(work: Callable[[], Any], done: queue.SimpleQueue[Any], key: int) -> None:
    """Run work in a thread that nobody waits for at exit: a tool that hangs must not hang the program."""
    context = contextvars.copy_context()

    def run() -> None:
        try:
            done.put((key, context.run(work), None))
        except BaseException as error:
            done.put((key, None, error))

    threading.Thread(target=run, name=f"polywire-tool-{key}", daemon=True).start()


def run_calls(desk: CallDesk, calls: Sequence[Ready], parallel: int) -> Generator[ToolExecution, None, None]:
    """
    Run calls, at most `parallel` side by side, and give each answer as it comes.

    A sync tool whose time is up cannot be stopped: its thread runs on, and what it returns is dropped.
    """
    if parallel <= 1 and all(ready.timeout is None for ready in calls):
        for ready in calls:
            yield _run(desk, ready)
        return
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    waiting = list(enumerate(calls))
    waiting.reverse()
    running: dict[int, tuple[Ready, float]] = {}
    while waiting or running:
        while waiting and len(running) < max(1, parallel):
            key, ready = waiting.pop()
            running[key] = (ready, desk.clock())
            _start(lambda ready=ready: _run(desk, ready), done, key)  # type: ignore[misc]
        now = desk.clock()
        left = [started + ready.timeout - now for ready, started in running.values() if ready.timeout is not None]
        try:
            key, execution, error = done.get(timeout=max(0.0, min(left)) if left else None)
        except queue.Empty:
            now = desk.clock()
            late = [
                key
                for key, (ready, started) in running.items()
                if ready.timeout is not None and now - started >= ready.timeout
            ]
            for key in late:
                ready, started = running.pop(key)
                yield desk.timed_out(ready, started)
            continue
        if key not in running:
            continue
        del running[key]
        if error is not None:
            raise error
        yield execution


def _invoke(ready: Ready) -> tuple[Any, Exception | None]:
    """Run a function in a thread; its exception is carried as a value, for a future cannot carry a `StopIteration`."""
    try:
        return ready.invoke(), None
    except Exception as error:
        return None, error


async def _in_thread(ready: Ready) -> tuple[Any, Exception | None]:
    """
    Run a function off the event loop.

    Not in the loop's own pool: a tool that hangs would keep one of its threads, and hold up the end of the loop.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[tuple[Any, Exception | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(outcome: tuple[Any, Exception | None]) -> None:
        if not future.done():
            future.set_result(outcome)

    def run() -> None:
        outcome = context.run(_invoke, ready)
        # The loop may be gone by the time that a forgotten tool comes back.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name=f"polywire-tool-{ready.tool.name}", daemon=True).start()
    return await future


async def _arun(desk: CallDesk, ready: Ready) -> ToolExecution:
    """Run one call; sync functions off the event loop, with the caller's context variables."""
    started = desk.clock()
    limit = asyncio.timeout(ready.timeout)
    try:
        async with limit:
            if ready.tool.is_async:
                value = ready.invoke()
            else:
                value, error = await _in_thread(ready)
                if error is not None:
                    return desk.raised(ready, error, started)
            if inspect.isawaitable(value):
                value = await value
    except TimeoutError as error:
        return desk.timed_out(ready, started) if limit.expired() else desk.raised(ready, error, started)
    except Exception as error:
        return desk.raised(ready, error, started)
    return desk.succeeded(ready, value, started)


async def arun_calls(desk: CallDesk, calls: Sequence[Ready], parallel: int) -> AsyncGenerator[ToolExecution, None]:
    """Run calls, at most `parallel` side by side, and give each answer as it comes."""
    if parallel <= 1 or len(calls) <= 1:
        for ready in calls:
            yield await _arun(desk, ready)
        return
    gate = asyncio.Semaphore(parallel)

    async def run(ready: Ready) -> ToolExecution:
        async with gate:
            return await _arun(desk, ready)

    tasks = [asyncio.create_task(run(ready)) for ready in calls]
    try:
        waiting = set(tasks)
        while waiting:
            finished, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(finished, key=tasks.index):
                yield task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
