"""The factory: from settings to models."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from polywire.config.building import ModelBuilder
from polywire.config.checks import Checks
from polywire.config.connections import missing_lines
from polywire.config.extensions import Extension, load_extension
from polywire.config.policies import apply_policies, apply_task_policies, make_breaker, make_limits
from polywire.config.problems import raise_problems
from polywire.config.reading import Reading, read_settings
from polywire.config.rules import Rules
from polywire.errors import PolywireError, SettingsError
from polywire.models import ChatModel, StreamingChatModel, require_streaming
from polywire.plugins.registry import Registry, default_registry

if TYPE_CHECKING:
    from polywire.config.connections import Connection
    from polywire.config.settings import Settings
    from polywire.embeddings import EmbeddingModel
    from polywire.media_models import ImageModel, SpeechModel
    from polywire.plugins.connections import ProviderSettings
    from polywire.policy import CircuitBreaker, LimitPolicy, Observer, Runtime
    from polywire.transport.streams import HttpTransport

__all__ = ["LlmFactory"]


class LlmFactory:
    """
    Makes models of settings; one object for a program. Safe for threads and event loops.

    Made by `from_config`. A model is built when first asked for, once; its connection's transport and limits are shared
    by all models of the connection and closed with the factory, which is a context manager, sync and async.

    Attributes:
        registry: the providers.
    """

    def __new__(cls, *parts: Any, **_: Any) -> Self:
        """Refuse a file or mapping: those are for `from_config`."""
        if not parts or not isinstance(parts[0], Reading):
            msg = f"use {cls.__name__}.from_config(a path, a mapping, Settings, or nothing) to make a factory"
            raise TypeError(msg)
        return super().__new__(cls)

    def __init__(
        self,
        reading: Reading,
        checks: Checks,
        *,
        registry: Registry,
        clock: Callable[[], float] | None,
        sleep: Callable[[float], object] | None,
        asleep: Callable[[float], Awaitable[object]] | None,
        random: Callable[[], float] | None,
        transport: HttpTransport | Callable[[str, ProviderSettings], HttpTransport] | None,
    ) -> None:
        assert reading.tables is not None
        self._tables = reading.tables
        self.registry = registry
        self._reading = reading
        self._runtime = _runtime(clock, sleep, asleep, random)
        self._builder = ModelBuilder(
            reading,
            checks.tables,
            registry,
            runtime=self._runtime,
            clock=clock or time.time,
            transport=transport,
        )
        self._lock = threading.RLock()
        self._closed = False
        self._behind_policies: dict[str, ChatModel] = {}
        self._models: dict[tuple[str, str], Any] = {}
        self._breakers: dict[str, CircuitBreaker] = {}
        self._model_limits: list[LimitPolicy] = []
        self._extensions: list[Extension] = []
        self._observers: list[Observer] = []

    @classmethod
    def from_config(
        cls,
        source: str | PathLike[str] | Mapping[str, Any] | Settings | None = None,
        *,
        registry: Registry | None = None,
        strict: bool = False,
        environ: Mapping[str, str] | None = None,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], object] | None = None,
        asleep: Callable[[float], Awaitable[object]] | None = None,
        random: Callable[[], float] | None = None,
        transport: HttpTransport | Callable[[str, ProviderSettings], HttpTransport] | None = None,
        **arguments: Any,
    ) -> Self:
        """
        Read and check settings, and return a factory for their models.

        Args:
            source: a TOML file; a mapping or `Settings` in its place; `None` finds `$POLYWIRE_SETTINGS`, else
                `./settings.toml`, else takes none: `provider:model` works without a file. Environment variables
                `POLYWIRE__…` lie over a file or mapping, not over `Settings`, which have been read already.
            registry: the providers, if not those that are installed.
            strict: load every installed plugin now, and raise `PluginError` for the first that is broken.
            environ: the environment, if not the process's own. It is read now; a variable that is missing is looked for
                once more when the model that needs it is built.
            clock: seconds, for policies and dates in answers; tests give one.
            sleep, asleep: block, or wait in a task, for so many seconds.
            random: a number from 0 up to 1.
            transport: sends requests, in place of one for each connection; or a function of a connection's name and
                settings that makes one.
            **arguments: tables and keys that win over everything else, merged key by key: `default_model="spare"`,
                `models={"assistant": {"temperature": 0}}`.

        Raises:
            SettingsError: the file cannot be read, or something in the settings is wrong: every mistake that was found,
                one line each (`InvalidSettings.problems`). A key that is missing is none: only the model that needs it
                cannot be built.
        """
        if registry is None:
            registry = Registry(strict=True) if strict else default_registry()
        reading = read_settings(source, environ=environ, arguments=arguments, known_providers=registry.names)
        checks = Checks(reading, registry)
        checks.run()
        checks.raise_found()
        factory = cls(
            reading,
            checks,
            registry=registry,
            clock=clock,
            sleep=sleep,
            asleep=asleep,
            random=random,
            transport=transport,
        )
        factory._load_extensions()
        return factory

    def __repr__(self) -> str:
        return f"LlmFactory({self._reading.places.label!r}, models={list(self.models)})"

    @property
    def settings(self) -> Settings:
        """What the file says."""
        return self._reading.settings

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models in the settings, in the file's order."""
        return tuple(self._tables.models)

    # Models

    def chat_model(self, name: str | None = None) -> ChatModel:
        """
        Return a chat model; the same object for the same name.

        Args:
            name: a name from the settings, or `provider:model` (split at the first colon; names in the settings win).
                `None` is the default model, or the only one.

        Raises:
            UnknownProvider: nothing of this name is known; the message names the nearest.
            PluginError: the provider is installed and cannot be used.
            SettingsError: the model cannot be built: a key or variable is missing, the name is incomplete.
        """
        model: ChatModel = self._model(name, "chat")
        return model

    def streaming_chat_model(self, name: str | None = None) -> StreamingChatModel:
        """
        Return a chat model that streams. As `chat_model`.

        Raises:
            SettingsError: the model cannot stream.
        """
        model = self.chat_model(name)
        try:
            return require_streaming(model, name or self._default_name())
        except PolywireError as error:
            raise SettingsError(str(error)) from None

    def embedding_model(self, name: str | None = None) -> EmbeddingModel:
        """Return an embedding model. As `chat_model`; `None` is the only one in the settings."""
        model: EmbeddingModel = self._model(name, "embedding")
        return model

    def image_model(self, name: str | None = None) -> ImageModel:
        """Return a model that makes images. As `embedding_model`."""
        model: ImageModel = self._model(name, "image")
        return model

    def speech_model(self, name: str | None = None) -> SpeechModel:
        """Return a model that speaks. As `embedding_model`."""
        model: SpeechModel = self._model(name, "speech")
        return model

    def _model(self, name: str | None, kind: str) -> Any:
        name = self._default_name(kind) if name is None else name
        found = self._models.get((kind, name))
        if found is not None:
            return found
        with self._lock:
            if self._closed:
                msg = "the factory is closed"
                raise PolywireError(msg)
            found = self._models.get((kind, name))
            if found is None:
                if kind == "chat":
                    found = self._chat_behind_policies(name)
                    for extension in self._extensions:
                        found = extension.wrap_model(found, name)
                else:
                    found = self._task_behind_policies(name, kind)
                self._models[kind, name] = found
            return found

    def _default_name(self, kind: str = "chat") -> str:
        if kind == "chat" and self._tables.default_model is not None:
            return self._tables.default_model
        names = [name for name, each in self._tables.models.items() if each.kind == kind]
        if len(names) == 1:
            return names[0]
        where = self._reading.places.label
        if not names:
            looked_for = self._reading.looked_for
            msg = f"{looked_for} " if looked_for else f"{where} names no {kind} model. "
            msg += "Without a table, a model is asked for as provider:model"
            raise SettingsError(msg)
        hint = "set default_model, or " if kind == "chat" else ""
        msg = f"{where} names several {kind} models; {hint}ask for one of {', '.join(names)}"
        raise SettingsError(msg)

    def _chat_behind_policies(self, name: str) -> ChatModel:
        """Return a chat model behind its policies, without extensions: as its own callers and fallbacks to it use it."""
        found = self._behind_policies.get(name)
        if found is not None:
            return found
        model, rules, connection = self._builder.build(name, "chat")
        limits = self._limits(name, rules, connection)
        fallbacks = {each: self._chat_behind_policies(each) for each in rules.fallback}
        breakers = {
            each: breaker for each in (name, *fallbacks) if fallbacks and (breaker := self._breaker(each)) is not None
        }
        found = apply_policies(
            model,
            rules,
            name=name,
            limits=limits,
            fallbacks=fallbacks,
            breakers=breakers,
            observers=self._observers,
            runtime=self._runtime,
        )
        self._behind_policies[name] = found
        return found

    def _limits(self, name: str, rules: Rules, connection: Connection) -> list[LimitPolicy]:
        """
        Return the limits of a model: its own, and its connection's, shared with all its models of any kind.

        Its own stands outside: a call that waits for it must not hold a place that the connection's other models need.
        Where any of the connection's models waits as the server asks, all keep its pauses, or they would prolong them.
        """
        keeps_pauses = rules.retry is not None or any(
            each.provider == connection.name and (each.retry or each.limits) for each in self._tables.models.values()
        )
        limits = [connection.limits()] if rules.connection_limits or keeps_pauses else []
        if rules.limits is not None:
            own = make_limits(rules.limits, name=f"model {name}", clock=self._runtime.now)
            self._model_limits.append(own)
            limits.insert(0, own)
        return limits

    def _task_behind_policies(self, name: str, kind: str) -> Any:
        """Return a model of another kind than chat behind its policies."""
        model, rules, connection = self._builder.build(name, kind)
        return apply_task_policies(
            model,
            kind,
            rules,
            name=name,
            limits=self._limits(name, rules, connection),
            observers=self._observers,
            runtime=self._runtime,
        )

    def _breaker(self, name: str) -> CircuitBreaker | None:
        if name not in self._breakers:
            model, connection_name = self._builder.resolve(name)[:2]
            rules = Rules.of(model, self._builder.connection(connection_name).table, self._tables.defaults)
            made = make_breaker(rules, self._runtime.now)
            if made is None:
                return None
            self._breakers[name] = made
        return self._breakers[name]

    # Extensions

    def _load_extensions(self) -> None:
        for name in self._tables.extensions:
            table = self._reading.merged.get("extension_settings", {}).get(name, {})
            missing = self._reading.expansion.missing_under(("extension_settings", name))
            raise_problems(missing_lines(missing, self._reading.environ, self._reading.places))
            extension = load_extension(name, table)
            self._extensions.append(extension)
            self._observers += extension.observers()

    # Closing

    def close(self) -> None:
        """Close every connection, model and extension. Idempotent; models that were handed out can no longer be used."""
        with ExitStack() as stack:
            for each in self._begin_to_close():
                stack.callback(each.close)

    async def aclose(self) -> None:
        """As `close`, from async code; waits for the connections of the running event loop."""
        from contextlib import AsyncExitStack

        async with AsyncExitStack() as stack:
            for each in self._begin_to_close():
                if hasattr(each, "aclose"):
                    stack.push_async_callback(each.aclose)
                else:
                    stack.callback(each.close)

    def _begin_to_close(self) -> list[Any]:
        """Return what is to be closed, in the order of its making: the last is closed first."""
        with self._lock:
            self._closed = True
            parts: list[Any] = [*self._extensions, *self._builder.connections.values(), *self._model_limits]
            models = {id(each): each for each in (*self._behind_policies.values(), *self._models.values())}
            parts += [each for each in models.values() if hasattr(each, "close")]
            for made in (self._extensions, self._builder.connections, self._model_limits):
                made.clear()
            self._models.clear()
            self._behind_policies.clear()
            return parts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


def _runtime(
    clock: Callable[[], float] | None,
    sleep: Callable[[float], object] | None,
    asleep: Callable[[float], Awaitable[object]] | None,
    random: Callable[[], float] | None,
) -> Runtime:
    from polywire.policy import Runtime
    from polywire.policy.runtime import DEFAULT_RUNTIME

    return Runtime(
        clock=clock or DEFAULT_RUNTIME.now, sleep=sleep, asleep=asleep, random=random or DEFAULT_RUNTIME.random
    )
