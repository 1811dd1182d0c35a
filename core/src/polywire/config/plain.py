"""The settings file's own tables where they say plain things: see `polywire.plugins.plain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from polywire.errors import ERROR_KINDS, did_you_mean
from polywire.immutable import EMPTY
from polywire.parameters import ChatRequestParameters
from polywire.plugins.plain import AtLeastOne, PlainRules, PlainTable

if TYPE_CHECKING:
    from polywire.config.schema import ModelSettings

__all__ = [
    "CHAT_PARAMETERS",
    "ModelKind",
    "PlainDefaultSettings",
    "PlainModelSettings",
    "PlainSettings",
    "chat_parameters",
    "check_kinds",
]

ModelKind = Literal["chat", "embedding", "image", "speech"]
CHAT_PARAMETERS = (
    "model",
    "temperature",
    "top_p",
    "max_tokens",
    "stop_sequences",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "reasoning",
    "custom_parameters",
)
"""The keys of a model's table that are parameters of its calls."""


class PlainDefaultSettings(PlainRules, frozen=True):
    """`DefaultSettings`."""

    fallback_on: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_kinds(self.fallback_on)


class PlainModelSettings(PlainRules, frozen=True):
    """`ModelSettings`."""

    profile: ClassVar[Mapping[str, Any]] = EMPTY
    provider: str = ""
    model: Annotated[str, Meta(min_length=1)] | None = None
    kind: ModelKind = "chat"
    temperature: Annotated[float, Meta(ge=0)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: AtLeastOne | None = None
    stop_sequences: tuple[str, ...] | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    tool_choice: Literal["auto", "required", "none"] | None = None
    parallel_tool_calls: bool | None = None
    response_format: Literal["text", "json"] | None = None
    reasoning: bool | int | str | dict[str, Any] | None = None
    custom_parameters: dict[str, Any] = field(default_factory=dict)
    dimensions: AtLeastOne | None = None
    fallback: tuple[str, ...] | None = None
    fallback_on: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self.parameters()
        check_kinds(self.fallback_on)

    def parameters(self) -> ChatRequestParameters:
        """Return what every request to this model is laid over."""
        return chat_parameters(self)


class PlainSettings(PlainTable, frozen=True):
    """`Settings`."""

    default_model: str | None = None
    models: dict[str, PlainModelSettings] = field(default_factory=dict)
    providers: dict[str, dict[str, Any]] = field(default_factory=dict)
    defaults: PlainDefaultSettings = field(default_factory=PlainDefaultSettings)
    extensions: tuple[str, ...] = ()
    extension_settings: dict[str, dict[str, Any]] = field(default_factory=dict)


def chat_parameters(table: ModelSettings | PlainModelSettings) -> ChatRequestParameters:
    """Return the parameters that a model's table sets."""
    return ChatRequestParameters(
        **{name: value for name in CHAT_PARAMETERS if (value := getattr(table, name)) is not None}
    )


def check_kinds(kinds: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """
    Return words that name kinds of errors.

    Raises:
        ValueError: one is none; the message names the nearest.
    """
    for kind in kinds or ():
        if kind not in ERROR_KINDS:
            msg = f"unknown kind of error {kind!r}{did_you_mean(kind, ERROR_KINDS)}"
            raise ValueError(msg)
    return kinds
