"""
llama.cpp inside this process: one engine for each file of weights, loaded when it is first asked for an answer.

One answer is made at a time, in a thread of its own, so that neither an event loop nor Ctrl-C has to wait for it. An answer
is broken off between two tokens. The engine always opens a port on the loopback address, too; it is closed to everybody
by a key that nobody is told.

A process forked from one that has loaded loads anew. It must end by `os._exit`, as those of `multiprocessing` do: llama.cpp's
own clean-up at the end of a process waits for threads that only the parent has, and aborts.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib.util
import os
import platform
import secrets
import threading
from collections.abc import Callable
from typing import Any

from polywire.errors import PluginError, SettingsError
from polywire_local.weights import Weights

__all__ = ["Engine", "Generation", "check_available", "engine_parameters", "shared_engine"]

_EXIT_SECONDS = 5.0

Put = Callable[["bytes | Exception | None"], object]


def check_available() -> None:
    """
    Check that llama.cpp is installed, without loading it.

    Raises:
        PluginError: it is not.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise PluginError(_unavailable("the package xllamacpp is not installed"))


def _unavailable(reason: str) -> str:
    return (
        f"llama.cpp cannot run inside this process: {reason} ({platform.system()} {platform.machine()},"
        f" {platform.python_implementation()} {platform.python_version()}). Run `pip install xllamacpp`. It has wheels for"
        " Linux with glibc (x86_64, aarch64), macOS, and Windows (AMD64); on other platforms run a server such as"
        " llama-server or Ollama, and use the provider openai with its address as base_url, or the provider ollama"
    )


def engine_parameters(weights: Weights, *, context_size: int, threads: int, parallel: int = 1) -> Any:
    """Return llama.cpp's parameters for these weights: quiet, on the loopback address, any free port."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights.path)
    parameters.model_alias = {weights.name}
    if weights.chat_template is not None:
        parameters.chat_template = weights.chat_template
    parameters.use_jinja = True
    parameters.n_ctx, parameters.n_parallel = context_size, parallel
    # Not more threads than cores that are free: llama.cpp's threads wait for each other by spinning [2 threads on 2 busy
    # cores: 4 tokens a second; 1 thread: 70].
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    if weights.temperature is not None:
        parameters.sampling.temp = weights.temperature
    if weights.second_call is not None:
        parameters.antiprompt = [weights.second_call]  # the stop sequence of requests that name none
    parameters.verbosity = -1
    parameters.ui = False
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    return parameters


class Engine:
    """
    llama.cpp with one model's weights. Thread-safe; answers are made one after the other.

    Args:
        weights: what to load.
        context_size: how many tokens a conversation and its answer may have together.
        threads: how many threads compute.
    """

    def __init__(self, weights: Weights, *, context_size: int = 4096, threads: int = 1) -> None:
        self.weights = weights
        self.context_size = context_size
        self.threads = threads
        self._turn = threading.Lock()
        self._server: Any = None
        self._leaving = False

    def __repr__(self) -> str:
        return f"Engine({self.weights.name!r}, loaded={self.loaded})"

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._server is not None

    def generate(self, body: bytes, take: Callable[[bytes], bool], is_stopped: Callable[[], bool]) -> None:
        """
        Answer one request of Chat Completions, in this thread; waits for its turn.

        Args:
            body: the request's JSON.
            take: gets the answer's JSON, or that of each of its chunks; returns whether to break off.
            is_stopped: whether nobody wants the answer any more, when its turn comes.

        Raises:
            PluginError: llama.cpp does not run here.
            SettingsError: the weights cannot be loaded.
            ValueError: the request is malformed.
        """
        with self._turn:
            if is_stopped() or self._leaving:
                return
            if self._server is None:
                self._server = self._load()
            self._server.handle_chat_completions(body, lambda chunk: take(chunk) or self._leaving)

    def _load(self) -> Any:
        try:
            import xllamacpp
        except ImportError as error:
            raise PluginError(_unavailable(f"the package xllamacpp does not import: {error}")) from error
        parameters = engine_parameters(self.weights, context_size=self.context_size, threads=self.threads)
        parameters.api_keys = [secrets.token_hex(32)]
        try:
            return xllamacpp.Server(parameters)
        except (RuntimeError, ValueError) as error:
            msg = f"llama.cpp cannot load {str(self.weights.path)!r}: the file is damaged, or of a kind that it does not know"
            raise SettingsError(msg) from error

    def leave(self) -> None:
        """The process ends: break off the answer being made, and unload."""
        self._leaving = True
        if self._turn.acquire(timeout=_EXIT_SECONDS):
            self._server = None
            self._turn.release()
        else:
            _keep_forever(self._server)

    def begin_again(self) -> None:
        """This is a new process, forked from one that had loaded: its threads are not here. Load anew when asked."""
        if self._server is not None:
            _keep_forever(self._server)
        self._server = None
        self._turn = threading.Lock()


class Generation:
    """
    One answer being made, in a thread of its own.

    `put` gets each piece of it, or the error that ended it, and then `None`.
    """

    def __init__(self, engine: Engine, body: bytes, put: Put) -> None:
        self.stopped = False
        self._engine = engine
        self._body = body
        self._put = put
        # A daemon: what it makes at the end of the process, nobody reads.
        threading.Thread(target=self._run, name=f"polywire-local {engine.weights.name}", daemon=True).start()

    def stop(self) -> None:
        """Break it off: no further token is made, and who waits for one is told. Idempotent; from any thread."""
        self.stopped = True
        self._tell(None)

    def _run(self) -> None:
        try:
            self._engine.generate(self._body, self._take, lambda: self.stopped)
        except Exception as error:
            self._tell(error)
        finally:
            self._tell(None)

    def _take(self, chunk: bytes) -> bool:
        if not self.stopped:
            self._tell(chunk)
        return self.stopped

    def _tell(self, item: bytes | Exception | None) -> None:
        try:
            self._put(item)
        except RuntimeError:  # the event loop that waited is closed
            self.stopped = True


_engines: dict[tuple[Weights, int, int], Engine] = {}
_lock = threading.Lock()


def shared_engine(weights: Weights, *, context_size: int = 4096, threads: int = 1) -> Engine:
    """Return this process's engine for these weights; it is loaded once, by the first answer, and kept."""
    with _lock:
        return _engines.setdefault(
            (weights, context_size, threads), Engine(weights, context_size=context_size, threads=threads)
        )


def _keep_forever(server: Any) -> None:
    """Never run the destructor: it would wait for threads that do not end, or that a fork has left behind."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))


def _begin_again() -> None:
    global _lock  # another thread of the parent may have held it
    _lock = threading.Lock()
    for engine in _engines.values():
        engine.begin_again()


@atexit.register
def _leave() -> None:
    for engine in list(_engines.values()):
        with contextlib.suppress(Exception):
            engine.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)
