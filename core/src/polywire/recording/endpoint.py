"""One model's endpoint, alone: no retries and no fallbacks around it, and every answer kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polywire.errors import PolywireError
from polywire.immutable import EMPTY
from polywire.models import ChatModel
from polywire.recording.capturing import CapturingTransport
from polywire.recording.secrets import secrets_of_request, secrets_of_settings

if TYPE_CHECKING:
    from polywire.plugins import ProviderSettings, Registry
    from polywire.profiles import Profile
    from polywire.transport.streams import HttpTransport

__all__ = ["Endpoint", "open_endpoint"]


@dataclass(slots=True)
class Endpoint:
    """
    One model's endpoint.

    Attributes:
        name: as it was asked for; a name from the settings, or `provider:model`.
        in_settings: whether it is a name from the settings.
        connection: the connection's name.
        model: the model, as its plugin built it.
        transport: keeps what comes.
        secrets: what must not show.
    """

    name: str
    in_settings: bool
    connection: str
    model: ChatModel
    transport: CapturingTransport
    secrets: set[str] = field(repr=False)

    @property
    def model_id(self) -> str | None:
        """The model's id at the vendor."""
        return self.model.information.model

    @property
    def profile(self) -> Profile | None:
        """What is known of the model."""
        information = self.model.information
        return information.profile(information.model) if information.profile is not None else None

    def all_secrets(self) -> set[str]:
        """Return what must not show: of the settings, and of the requests as they were signed."""
        found = set(self.secrets)
        for each in self.transport.captured:
            found |= secrets_of_request(each.request)
        return found


@contextlib.contextmanager
def open_endpoint(
    source: Any,
    name: str | None = None,
    *,
    profile: Mapping[str, Any] = EMPTY,
    registry: Registry | None = None,
    transport: HttpTransport | None = None,
    environ: Mapping[str, str] | None = None,
) -> Iterator[Endpoint]:
    """
    Open a model's endpoint, and close it at the end.

    Args:
        source: the settings, as `LlmFactory.from_config` takes them.
        name: a name from the settings, or `provider:model`; `None`: the default model.
        profile: changes to the model's profile.
        registry, environ: as `LlmFactory.from_config` takes them.
        transport: sends the requests, in place of the connection's own; it stays open.

    Raises:
        SettingsError: the model cannot be built.
    """
    from polywire.config import LlmFactory
    from polywire.plugins.context import make_transport

    common: dict[str, Any] = {"registry": registry, "environ": environ}
    with LlmFactory.from_config(source, **common) as factory:
        found = name or factory.settings.default_model or _only(factory.models)
        table = factory.settings.models.get(found)
    connection = table.provider or "" if table is not None else found.partition(":")[0]
    arguments: dict[str, Any] = {}
    if profile:
        # The model's own table wins over its connection's.
        where = ("models", found) if table is not None else ("providers", connection)
        arguments = {where[0]: {where[1]: {"profile": dict(profile)}}}
    with ExitStack() as stack:
        transports: list[CapturingTransport] = []
        secrets: set[str] = set()

        def capture(_: str, settings: ProviderSettings) -> CapturingTransport:
            secrets.update(secrets_of_settings(settings))
            inner = transport
            if inner is None:
                inner = make_transport(settings)
                stack.callback(inner.close)
            transports.append(CapturingTransport(inner))
            return transports[-1]

        factory = stack.enter_context(LlmFactory.from_config(source, transport=capture, **common, **arguments))
        model = _alone(factory.chat_model(found))
        if not transports:
            msg = f"{found!r} does not speak HTTP: there is nothing to look at"
            raise PolywireError(msg)
        yield Endpoint(found, table is not None, connection, model, transports[0], secrets)


def _alone(model: ChatModel) -> ChatModel:
    """Return a model that is asked once, and answers or fails by itself."""
    from polywire.policy import FallbackPolicy, PolicyModel, RetryPolicy

    for kind in (FallbackPolicy, RetryPolicy):
        if isinstance(model, PolicyModel):
            model = model.without(kind)
    return model


def _only(names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return names[0]
    msg = "say which model: a name from the settings, or provider:model"
    raise PolywireError(msg)
