"""
Everything that polywire raises.

    PolywireError
    ├── ModelError                       a call to a model failed
    │   ├── RetryableModelError          the same call may succeed later
    │   │   ├── RateLimited              rate_limit           429
    │   │   ├── Overloaded               overloaded           529, or the vendor says so
    │   │   ├── ServerError              server               5xx
    │   │   ├── ModelTimeout             timeout              a limit of this side or of the vendor's ran out (also TimeoutError)
    │   │   ├── ConnectionFailed         connection           no answer: refused, reset, unresolved (also ConnectionError)
    │   │   ├── StreamInterrupted        stream_interrupted   the stream stopped before the answer was complete
    │   │   └── EmptyResponse            empty_response       success, and nothing in it
    │   └── NonRetryableModelError       the same call will fail again
    │       ├── AuthenticationFailed     authentication       401
    │       ├── PermissionDenied         permission           403
    │       ├── NotFound                 not_found            404: the model or the address
    │       ├── BadRequest               bad_request          400, 413, 422 (also ValueError)
    │       │   ├── ContextLengthExceeded    context_length
    │       │   └── UnsupportedByModel       unsupported      refused on this side, before the network
    │       ├── ContentFiltered          content_filter       the vendor's filter refused the prompt
    │       ├── QuotaExceeded            quota                402, or a 429 that waiting does not cure
    │       └── ProtocolError            protocol             the answer is not what the wire promises
    ├── SettingsError                    the settings file, the environment or an argument (also ValueError)
    │   ├── UnknownProvider
    │   └── PluginError
    ├── HistoryError                     tool calls and results do not close (also ValueError)
    ├── UnknownParameter                 a misspelt keyword (also TypeError)
    ├── StreamConsumed                   a stream was read twice
    └── ToolCallError                    a tool call could not be made to succeed
        ├── InvalidToolArguments         the arguments are no JSON object, or do not fit (also ValueError)
        ├── UnknownTool
        └── ToolExecutionFailed

The word beside a class is its `kind`: how settings name it (`fallback_on = ["rate_limit", "overloaded"]`). Whether an
error is retryable is a property of its class; one error may differ where the server said so (`x-should-retry`).
No message, field or repr ever holds a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from polywire.responses import ChatResponse

__all__ = [
    "ERROR_KINDS",
    "AuthenticationFailed",
    "BadRequest",
    "ConnectionFailed",
    "ContentFiltered",
    "ContextLengthExceeded",
    "EmptyResponse",
    "HistoryError",
    "InvalidToolArguments",
    "ModelError",
    "ModelTimeout",
    "NonRetryableModelError",
    "NotFound",
    "Overloaded",
    "PermissionDenied",
    "PluginError",
    "PolywireError",
    "ProtocolError",
    "QuotaExceeded",
    "RateLimited",
    "RetryableModelError",
    "ServerError",
    "SettingsError",
    "StreamConsumed",
    "StreamInterrupted",
    "ToolCallError",
    "ToolExecutionFailed",
    "UnknownParameter",
    "UnknownProvider",
    "UnknownTool",
    "UnsupportedByModel",
    "did_you_mean",
]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest known word, or the known words where none is near."""
    from difflib import get_close_matches  # for mistakes alone

    words = sorted(known)
    # A word begun is nearer than a word of the same length: "stop" means "stop_sequences".
    begun = [each for each in words if len(word) >= 3 and each.startswith(word)]
    near = begun if len(begun) == 1 else get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(words)}" if words else ""


class PolywireError(Exception):
    """The root of everything that polywire raises on purpose."""


def _rebuild(cls: type[ModelError], args: tuple[Any, ...], state: dict[str, Any]) -> ModelError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class ModelError(PolywireError):
    """
    A call to a model failed.

    Attributes:
        status: the HTTP status, or `None` where there was no answer. An error inside a 200 stream carries the status
            that its kind stands for, never 200.
        code: the vendor's own word for it, as text.
        body: the vendor's answer, shortened to what a person can read.
        request_id: the vendor's id for this call, to quote to its support.
        provider: the provider's name; `None` until the model that ran the call fills it in.
        model: the model's id, likewise.
        retryable: whether the same call may succeed later.
        retry_after: seconds that the server asks to wait, or `None`.
        partial: what had arrived before the error, for streams.
        attempts: the errors of the attempts before this one, oldest first.
    """

    kind: ClassVar[str] = "model"
    default_retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        body: str | None = None,
        request_id: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        partial: ChatResponse | None = None,
        attempts: Sequence[ModelError] = (),
        rate_limits: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.code = code
        self.body = body
        self.request_id = request_id
        self.provider = provider
        self.model = model
        self.retryable = self.default_retryable if retryable is None else retryable
        self.retry_after = retry_after
        self.partial = partial
        self.attempts: tuple[ModelError, ...] = tuple(attempts)
        self.rate_limits = rate_limits or {}

    def __str__(self) -> str:
        where = ":".join(word for word in (self.provider, self.model) if word)
        detail = ", ".join(
            text
            for text in (
                f"HTTP {self.status}" if self.status is not None else "",
                f"code {self.code}" if self.code else "",
                f"request {self.request_id}" if self.request_id else "",
                f"retry after {self.retry_after:g} s" if self.retry_after is not None else "",
            )
            if text
        )
        return f"{where + ': ' if where else ''}{self.message}{f' ({detail})' if detail else ''}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__.copy())


class RetryableModelError(ModelError):
    """The same call may succeed later."""

    default_retryable = True


class NonRetryableModelError(ModelError):
    """The same call will fail again."""


class RateLimited(RetryableModelError):
    """Too many requests or tokens for now."""

    kind = "rate_limit"


class Overloaded(RetryableModelError):
    """The vendor has no capacity at the moment."""

    kind = "overloaded"


class ServerError(RetryableModelError):
    """The vendor, or something before it, failed."""

    kind = "server"


class ModelTimeout(RetryableModelError, TimeoutError):
    """A time limit ran out: connecting, reading, waiting for a connection of the pool, or a deadline of the caller's."""

    kind = "timeout"


class ConnectionFailed(RetryableModelError, ConnectionError):
    """There was no answer: refused, reset, unresolved, or not HTTP."""

    kind = "connection"


class StreamInterrupted(RetryableModelError):
    """
    A stream stopped before the answer was complete. `partial` holds what had arrived.

    Retried only as long as no content has been handed to the caller.
    """

    kind = "stream_interrupted"


class EmptyResponse(RetryableModelError):
    """The vendor reported success and sent nothing."""

    kind = "empty_response"


class AuthenticationFailed(NonRetryableModelError):
    """The key is missing, wrong or expired."""

    kind = "authentication"


class PermissionDenied(NonRetryableModelError):
    """The key is right and may not do this."""

    kind = "permission"


class NotFound(NonRetryableModelError):
    """No such model, or no such address."""

    kind = "not_found"


class BadRequest(NonRetryableModelError, ValueError):
    """The vendor does not accept the request."""

    kind = "bad_request"


class ContextLengthExceeded(BadRequest):
    """The conversation is longer than the model can read."""

    kind = "context_length"


class UnsupportedByModel(BadRequest):
    """The request asks for something that this wire or model cannot carry; refused on this side, before the network."""

    kind = "unsupported"


class ContentFiltered(NonRetryableModelError):
    """The vendor's filter refused the prompt."""

    kind = "content_filter"


class QuotaExceeded(NonRetryableModelError):
    """The account has no more credit or quota; waiting does not cure it."""

    kind = "quota"


class ProtocolError(NonRetryableModelError):
    """The answer is not what the wire promises."""

    kind = "protocol"


def _concrete(root: type[ModelError]) -> Iterable[type[ModelError]]:
    for child in root.__subclasses__():
        if "kind" in child.__dict__:
            yield child
        yield from _concrete(child)


ERROR_KINDS: dict[str, type[ModelError]] = {each.kind: each for each in _concrete(ModelError)}
"""Every kind of model error by the word that settings use for it."""


class SettingsError(PolywireError, ValueError):
    """The settings file, an environment variable or an argument is wrong; the message names the place."""


class UnknownProvider(SettingsError):
    """No installed plugin answers to this name."""


class PluginError(SettingsError):
    """A plugin is installed and cannot be used: it fails to import, clashes, or speaks another contract version."""


class HistoryError(PolywireError, ValueError):
    """
    Tool calls and results do not close.

    Attributes:
        call_ids: the ids concerned.
        position: index of the message where it shows.
    """

    def __init__(self, message: str, *, call_ids: Sequence[str] = (), position: int | None = None) -> None:
        super().__init__(message)
        self.call_ids = tuple(call_ids)
        self.position = position


class UnknownParameter(PolywireError, TypeError):
    """A keyword that no request parameter has; the message names the nearest one."""


class StreamConsumed(PolywireError, RuntimeError):
    """A stream that has been read to its end, or closed, is read again."""


class ToolCallError(PolywireError):
    """
    A tool call could not be made to succeed.

    Attributes:
        tool_name: the tool that was asked for.
        call_id: the call's id.
    """

    def __init__(self, message: str, *, tool_name: str | None = None, call_id: str | None = None) -> None:
        super().__init__(message)
        self.tool_name = tool_name
        self.call_id = call_id


class InvalidToolArguments(ToolCallError, ValueError):
    """The arguments are not a JSON object, or do not fit the tool's parameters."""


class UnknownTool(ToolCallError, LookupError):
    """The model asked for a tool that is not there."""


class ToolExecutionFailed(ToolCallError):
    """The tool ran and raised; the original is the `__cause__`."""
