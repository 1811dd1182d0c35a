"""The log lines: one per call at INFO, what went wrong on the way at WARNING, each attempt at DEBUG."""

from __future__ import annotations

import logging

from polywire.errors import ModelError
from polywire.policy.observers import (
    AttemptEnded,
    AttemptStarted,
    CallEnded,
    CallEvent,
    CallStarted,
    FallbackTaken,
    StoreUnavailable,
    Waited,
    Waiting,
)
from polywire.policy.redaction import redact

__all__ = ["LOG_OBSERVER", "LogObserver", "describe_error"]

_LONGEST_MESSAGE = 300


def describe_error(error: BaseException) -> str:
    """Name an error and its message in one short line, without keys."""
    text = " ".join(str(error).split())
    if len(text) > _LONGEST_MESSAGE:
        text = text[:_LONGEST_MESSAGE] + "…"
    return redact(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def _where(event: CallEvent) -> str:
    call = event.call
    information = call.model.information
    return ":".join(word for word in (call.name or information.provider, call.model_id) if word) or "model"


class LogObserver:
    """Writes what happens to calls to a logger. No text of a conversation is written."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("polywire")

    def observe(self, event: CallEvent) -> None:
        log, identity = self._logger, event.call.record.id
        match event:
            case CallStarted():
                log.debug("call %s to %s begins", identity, _where(event))
            case AttemptStarted():
                log.debug("call %s: attempt %d at %s", identity, event.number, _where(event))
            case AttemptEnded():
                if isinstance(event.error, ModelError):
                    log.warning(
                        "call %s: attempt %d at %s failed after %.3f s: %s",
                        *(identity, event.number, _where(event), event.duration, describe_error(event.error)),
                    )
            case Waiting():
                length = "" if event.seconds is None else f" {event.seconds:.3f} s"
                log.info("call %s waits%s for %s", identity, length, event.limit or "its next attempt")
            case Waited():
                log.debug("call %s waited %.3f s for %s", identity, event.seconds, event.limit)
            case FallbackTaken():
                why = "is skipped for now" if event.error is None else f"failed ({event.error.kind})"
                log.warning("call %s: %s %s, going on with %s", identity, event.failed, why, event.next)
            case StoreUnavailable():
                log.warning("call %s: the limit store %s is away, going on locally", identity, event.store)
            case CallEnded():
                self._ended(event, identity)

    def _ended(self, event: CallEnded, identity: str) -> None:
        who = ":".join(word for word in (event.call.name or event.provider, event.model) if word) or "model"
        tags = "".join(f" {key}={value}" for key, value in event.call.request.options.tags.items())
        usage = "" if event.usage.total_tokens is None else f", {event.usage.total_tokens} tokens"
        outcome = "ended" if event.complete else "was left early"
        if event.error is not None:
            outcome = f"failed ({describe_error(event.error)})"
        self._logger.log(
            logging.WARNING if isinstance(event.error, Exception) else logging.INFO,
            "call %s to %s %s after %.3f s, %d attempt(s)%s%s",
            *(identity, who, outcome, event.duration, event.attempts, usage, redact(tags)),
        )


LOG_OBSERVER = LogObserver()
"""Writes to the logger `polywire`."""
