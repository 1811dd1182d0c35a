"""The tables of the settings file, apart from the providers' own, which their plugins declare."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, ValidationInfo, field_validator

from polywire.config.plain import CHAT_PARAMETERS, ModelKind, chat_parameters, check_kinds
from polywire.parameters import ChatRequestParameters
from polywire.plugins.connections import (
    CallRules,
    CircuitBreakerSettings,
    LimitSettings,
    ProviderSettings,
    RetrySettings,
    SettingsTable,
    TimeoutSettings,
    check_profile,
)
from polywire.plugins.durations import Duration

__all__ = [
    "CHAT_PARAMETERS",
    "CallRules",
    "CircuitBreakerSettings",
    "DefaultSettings",
    "Duration",
    "LimitSettings",
    "ModelKind",
    "ModelSettings",
    "ProviderSettings",
    "RetrySettings",
    "SettingsTable",
    "TimeoutSettings",
]


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        msg = "must be a number"
        raise ValueError(msg)
    return value


def _one_or_several(value: Any) -> Any:
    """Read one word, or several with commas between them, as a list: the short form, and that of the environment."""
    if isinstance(value, str):
        return [word for part in value.split(",") if (word := part.strip())]
    return value


def _one_text(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Number = Annotated[float, BeforeValidator(_no_boolean), Field(allow_inf_nan=False)]
WholeNumber = Annotated[int, BeforeValidator(_no_boolean)]
Words = Annotated[tuple[str, ...], BeforeValidator(_one_or_several)]


class DefaultSettings(CallRules):
    """The table `[defaults]`: rules for every model whose own table and connection say nothing else."""

    fallback_on: Words | None = Field(
        default=None,
        description="the kinds of error after which the next model is asked; all but `bad_request`, `context_length`,"
        " `unsupported` and `content_filter` unless given",
    )
    limits: LimitSettings | None = Field(default=None, description="for each connection that has none of its own")

    @field_validator("fallback_on")
    @classmethod
    def _check_kinds(cls, kinds: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return check_kinds(kinds)


class ModelSettings(CallRules):
    """
    The table `[models.NAME]`.

    What several providers share is a key of its own, as in `ChatRequestParameters`; what one provider has goes into
    `custom_parameters` and is copied into the request as it is.
    """

    provider: str = Field(default="", description="the connection: a table of [providers], or an installed provider")
    model: str | None = Field(default=None, description="the provider's id for it", min_length=1)
    kind: ModelKind = Field(default="chat", description="what it makes: answers, vectors, pictures or speech")

    temperature: Annotated[Number, Field(ge=0)] | None = Field(
        default=None, description="how much is left to chance; 0 is the likeliest word each time"
    )
    top_p: Annotated[Number, Field(ge=0, le=1)] | None = Field(
        default=None, description="choose among the likeliest words that make up this part of the probability"
    )
    max_tokens: Annotated[WholeNumber, Field(ge=1)] | None = Field(
        default=None, description="the longest answer, in tokens; thinking included where the provider counts it"
    )
    stop_sequences: Annotated[tuple[str, ...], BeforeValidator(_one_text)] | None = Field(
        default=None, description="texts that end the answer"
    )
    seed: WholeNumber | None = Field(default=None, description="the same seed: the same answer, as far as it goes")
    presence_penalty: Number | None = Field(default=None, description="above 0: fewer words that were said before")
    frequency_penalty: Number | None = Field(default=None, description="above 0: fewer words that were said often")
    tool_choice: Literal["auto", "required", "none"] | None = Field(
        default=None, description="whether tools may, must or must not be called"
    )
    parallel_tool_calls: bool | None = Field(default=None, description="whether one answer may call several tools")
    response_format: Literal["text", "json"] | None = Field(
        default=None, description="plain text, or any JSON; a schema belongs to the call"
    )
    reasoning: StrictBool | int | str | dict[str, Any] | None = Field(
        default=None,
        description='an effort ("low"), a budget in tokens, false for none, or {effort, budget_tokens, visible}',
    )
    custom_parameters: dict[str, Any] = Field(default_factory=dict, description="copied into the request body as it is")
    dimensions: Annotated[WholeNumber, Field(ge=1)] | None = Field(
        default=None, description="of an embedding's vectors"
    )

    profile: Annotated[dict[str, Any], AfterValidator(check_profile)] = Field(
        default_factory=dict, description="changes to what is known of this model"
    )
    limits: LimitSettings | None = Field(default=None, description="in addition to its connection's")
    fallback: Words | None = Field(default=None, description="the models to ask next, in order")
    fallback_on: Words | None = Field(
        default=None,
        description="the kinds of error after which the next one is asked; all but `bad_request`, `context_length`,"
        " `unsupported` and `content_filter` unless given",
    )

    @field_validator("fallback_on")
    @classmethod
    def _check_kinds(cls, kinds: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return check_kinds(kinds)

    @field_validator("stop_sequences", "reasoning", "custom_parameters")
    @classmethod
    def _check_parameter(cls, value: Any, info: ValidationInfo) -> Any:
        try:
            ChatRequestParameters(**{str(info.field_name): value})
        except TypeError as error:
            raise ValueError(str(error)) from None
        return value

    def parameters(self) -> ChatRequestParameters:
        """Return what every request to this model is laid over."""
        return chat_parameters(self)
