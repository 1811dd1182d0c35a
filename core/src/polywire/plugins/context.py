"""What `build_chat` gets: one model's settings, ready to be put together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from polywire.immutable import EMPTY
from polywire.requests import NO_PARAMETERS, ChatRequestParameters
from polywire.transport.streams import Timeouts

if TYPE_CHECKING:
    from polywire.auth import BearerAuth, HeaderAuth, NoAuth
    from polywire.codec import Auth, Codec
    from polywire.embeddings import EmbeddingCodec
    from polywire.http_embeddings import HttpEmbeddingModel
    from polywire.http_media import HttpImageModel, HttpSpeechModel
    from polywire.http_model import HttpChatModel
    from polywire.media_models import ImageCodec, SpeechCodec
    from polywire.plugins.connections import ProviderSettings
    from polywire.plugins.plain import PlainProviderSettings
    from polywire.profiles import ProfileTable
    from polywire.transport.streams import HttpTransport

__all__ = ["BuildContext"]


class BuildContext:
    """
    One model to be built.

    Attributes:
        provider: the connection's name in the settings, or the plugin's: what errors and origins call it.
        plugin: the name that the plugin was asked for; one plugin may answer to several.
        settings: the connection's table, as the plugin's own model makes it, or in the plain form that the plugin has for
            it (`Provider.plain_settings`); the key is filled in.
        defaults: the parameters that each request is laid over; `defaults.model` is the model's id.
        profile: the settings file's changes to the model's profile: for `ProfileTable.overridden`.
        timeouts: limits of the transport.
        history: refuse a history that does not close, or repair it.
        unsupported: leave out what the provider does not take with a notice, or refuse it.
        clock: the time, in seconds since the epoch.
        dimensions: the length of an embedding model's vectors, where the settings ask for one.
    """

    __slots__ = (
        "_lock",
        "_transport",
        "clock",
        "defaults",
        "dimensions",
        "history",
        "plugin",
        "profile",
        "provider",
        "settings",
        "timeouts",
        "unsupported",
    )

    def __init__(
        self,
        provider: str,
        settings: ProviderSettings | PlainProviderSettings,
        *,
        plugin: str | None = None,
        defaults: ChatRequestParameters = NO_PARAMETERS,
        profile: Mapping[str, Any] = EMPTY,
        transport: HttpTransport | Callable[[], HttpTransport] | None = None,
        timeouts: Timeouts | None = None,
        history: Literal["strict", "repair"] = "strict",
        unsupported: Literal["notice", "error"] = "notice",
        clock: Callable[[], float] = time.time,
        dimensions: int | None = None,
    ) -> None:
        self.provider = provider
        self.plugin = plugin or provider
        self.settings: Any = settings
        self.defaults = defaults
        self.profile = profile
        if timeouts is None:
            timeouts = settings.timeouts.over(Timeouts()) if settings.timeouts else Timeouts()
        self.timeouts = timeouts
        self.history = history
        self.unsupported = unsupported
        self.clock = clock
        self.dimensions = dimensions
        self._transport = transport
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"BuildContext(provider={self.provider!r}, plugin={self.plugin!r}, model={self.model!r})"

    @property
    def model(self) -> str | None:
        """The model's id."""
        return self.defaults.model

    @property
    def transport(self) -> HttpTransport:
        """The connection's transport, made when first asked for; every model of the connection shares it."""
        with self._lock:
            if self._transport is None:
                self._transport = make_transport(self.settings)
            elif callable(self._transport) and not hasattr(self._transport, "send"):
                self._transport = self._transport()
            return self._transport  # type: ignore[return-value]

    @property
    def headers(self) -> dict[str, str]:
        """The settings' own headers, as they are sent."""
        return {name: value.get_secret_value() for name, value in self.settings.headers.items()}

    def bearer_auth(self) -> BearerAuth | NoAuth:
        """Return the key as `Authorization: Bearer …`; where there is none, nothing is sent."""
        from polywire.auth import BearerAuth, NoAuth

        return BearerAuth(self.settings.api_key) if self.settings.api_key else NoAuth()

    def header_auth(self, name: str, prefix: str = "") -> HeaderAuth | NoAuth:
        """Return the key in a header of its own; where there is none, nothing is sent."""
        from polywire.auth import HeaderAuth, NoAuth

        return HeaderAuth(name, self.settings.api_key, prefix) if self.settings.api_key else NoAuth()

    def http_chat_model(
        self, codec: Codec, *, auth: Auth, base_url: str | None = None, profiles: ProfileTable | None = None
    ) -> HttpChatModel:
        """
        Return the codec as a model, over this connection's transport and with these settings.

        Args:
            codec: the codec; it has been given `profiles` with `profile` laid on already.
            auth: signs the requests.
            base_url: where the settings name none.
            profiles: what the models can do, for `model.information`.

        Raises:
            SettingsError: there is no address, or it is none.
        """
        from polywire.http_model import HttpChatModel

        return HttpChatModel(
            codec,
            base_url=self.base_url(base_url),
            auth=auth,
            transport=self.transport,
            defaults=self.defaults,
            provider=self.provider,
            headers=self.headers,
            timeouts=self.timeouts,
            profiles=profiles,
            unsupported=self.unsupported,
            history=self.history,
            clock=self.clock,
        )

    def http_embedding_model(
        self, codec: EmbeddingCodec, *, auth: Auth, base_url: str | None = None
    ) -> HttpEmbeddingModel:
        """Return an embedding codec as a model, over this connection's transport. As `http_chat_model`."""
        from polywire.http_embeddings import HttpEmbeddingModel

        return HttpEmbeddingModel(codec, **self._task_arguments(auth, base_url, dimensions=self.dimensions))

    def http_image_model(self, codec: ImageCodec, *, auth: Auth, base_url: str | None = None) -> HttpImageModel:
        """Return a codec for pictures as a model, over this connection's transport. As `http_chat_model`."""
        from polywire.http_media import HttpImageModel

        return HttpImageModel(codec, **self._task_arguments(auth, base_url))

    def http_speech_model(self, codec: SpeechCodec, *, auth: Auth, base_url: str | None = None) -> HttpSpeechModel:
        """Return a codec for speech as a model, over this connection's transport. As `http_chat_model`."""
        from polywire.http_media import HttpSpeechModel

        return HttpSpeechModel(codec, **self._task_arguments(auth, base_url))

    def _task_arguments(self, auth: Auth, base_url: str | None, **defaults: Any) -> dict[str, Any]:
        custom = self.defaults.custom_parameters
        return {
            "base_url": self.base_url(base_url),
            "auth": auth,
            "transport": self.transport,
            "defaults": {"model": self.model, "custom_parameters": custom, **defaults},
            "provider": self.provider,
            "headers": self.headers,
            "timeouts": self.timeouts,
            "unsupported": self.unsupported,
            "clock": self.clock,
        }

    def base_url(self, default: str | None = None) -> str:
        """
        Return the service's address: the settings' own, else `default`.

        Raises:
            SettingsError: there is neither.
        """
        address = self.settings.base_url or default
        if not address:
            from polywire.errors import SettingsError

            msg = f"[providers.{self.provider}] base_url: is missing: the address of the service, with https://"
            raise SettingsError(msg)
        return str(address)


def make_transport(settings: ProviderSettings | PlainProviderSettings) -> HttpTransport:
    """Make the transport of one connection."""
    from polywire import transport

    made = transport.AiohttpTransport if settings.transport == "aiohttp" else transport.HttpxTransport
    arguments: dict[str, Any] = {}
    if settings.max_connections is not None:
        arguments["max_connections"] = settings.max_connections
    return made(
        proxy=None if settings.proxy is None else settings.proxy.get_secret_value().strip(),
        verify=settings.verify,
        cert=settings.cert,
        trust_env=settings.trust_env,
        follow_redirects=settings.follow_redirects,
        base_url=settings.base_url,
        **arguments,
    )
