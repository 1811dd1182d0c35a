"""Questions about plain answers: does it answer at all, in streams, to whom it listens, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polywire.codec import Headers
from polywire.errors import ModelError
from polywire.http_errors import parse_rate_limits, request_id_of
from polywire.messages import AiMessage, SystemMessage, UserMessage
from polywire.probe.asking import Asked, Asker, refusal
from polywire.probe.values import Observation

__all__ = ["plain", "sampling", "streaming", "system", "unknown_model"]

_REASONING_MEMBERS = ("reasoning_content", "reasoning", "thinking")
_MAX_TOKENS_FIELDS = ("max_tokens", "max_completion_tokens")
_SAMPLING: Mapping[str, Any] = {
    "temperature": 0.5,
    "top_p": 0.9,
    "seed": 7,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.1,
    "stop_sequences": ("ZEBRA",),
}
_QUESTION = "What is 17 + 25? Answer with the number."


def plain(ask: Asker) -> Iterator[Observation]:
    """
    Does it answer? With its thinking, its cost, and its limits.

    Raises:
        ModelError: it answers nothing at all.
    """
    asked = ask.ask(_QUESTION)
    if asked.error is not None and "max" in str(asked.error.message):
        asked = _other_limit(ask, asked)
    if asked.error is not None:
        raise asked.error
    settled = {key: value for key, value in ask.settled.items() if key == "max_tokens_field"}
    yield Observation(name="plain answer", finding="yes", detail=f"said {asked.text[:60]!r}", profile=settled)
    yield from _thinking(ask, asked)
    yield from _headers(asked)


def _other_limit(ask: Asker, refused: Asked) -> Asked:
    for name in _MAX_TOKENS_FIELDS:
        asked = ask.ask(_QUESTION, profile={"max_tokens_field": name})
        if asked.error is None:
            ask.settled["max_tokens_field"] = name
            return asked
    return refused


def _thinking(ask: Asker, asked: Asked) -> Iterator[Observation]:
    if (asked.response is not None and asked.text.startswith("<think>")) or "</think>" in asked.text:
        yield Observation(
            name="reasoning",
            finding="yes",
            detail="thinking stands in the text, between <think> and </think>",
            profile={"think_tags": True},
        )
        ask.settled["think_tags"] = True
        return
    for document in asked.documents():
        member = _member(document)
        if member is not None:
            yield Observation(
                name="reasoning",
                finding="yes",
                detail=f"thinking comes in the member {member!r}",
                profile={"reasoning_field": member},
            )
            return
    yield Observation(
        name="reasoning", finding="no", detail="no thinking came; a model that thinks may need to be asked"
    )


def _member(value: Any, depth: int = 0) -> str | None:
    """Find the member that holds thinking, at any depth."""
    if depth > 6:
        return None
    if isinstance(value, Mapping):
        for name in _REASONING_MEMBERS:
            if isinstance(value.get(name), str) and value[name].strip():
                return name
        value = list(value.values())
    if isinstance(value, list):
        return next((found for item in value if (found := _member(item, depth + 1)) is not None), None)
    return None


def _headers(asked: Asked) -> Iterator[Observation]:
    headers = asked.captured.headers if asked.captured is not None else Headers()
    limits = parse_rate_limits(headers, 0.0)
    names = sorted(name for name in headers if "ratelimit" in name)
    if limits:
        told = ", ".join(f"{name} {each.get('limit', '?')}" for name, each in limits.items())
        yield Observation(name="limits in headers", finding="yes", detail=f"read: {told}")
    elif names:
        yield Observation(name="limits in headers", finding="partly", detail=f"not understood: {', '.join(names)}")
    else:
        yield Observation(name="limits in headers", finding="no", detail="the answer tells of no limits")
    told = "the answer has an id for support" if request_id_of(headers) else "the answer has no id in its headers"
    yield Observation(name="request id", finding="yes" if request_id_of(headers) else "no", detail=told)


def streaming(ask: Asker) -> Iterator[Observation]:
    """Does it stream, and does the stream tell what it cost, asked or not?"""
    asked = ask.ask(_QUESTION, stream=True)
    if asked.error is not None:
        without = ask.ask(_QUESTION, stream=True, profile={"stream_usage": False})
        if without.error is not None:
            yield Observation(name="stream", finding="no", detail=refusal(without))
            return
        ask.settled["stream_usage"] = False
        yield Observation(name="stream", finding="yes", detail="answered, in pieces")
        yield Observation(
            name="stream usage",
            finding="yes" if _usage(without) else "no",
            detail=f"to ask for usage is {refusal(asked)}",
            profile={"stream_usage": False},
        )
        return
    chunks = len(asked.captured.chunks) if asked.captured is not None else 0
    yield Observation(name="stream", finding="yes", detail=f"answered, in {chunks} pieces of the network's")
    if not _usage(asked):
        yield Observation(name="stream usage", finding="no", detail="asked for, and it did not come")
    else:
        yield Observation(
            name="stream usage", finding="yes", detail="comes when asked for", profile={"stream_usage": True}
        )


def _usage(asked: Asked) -> bool:
    return asked.response is not None and asked.response.usage.output_tokens is not None


def system(ask: Asker) -> Iterator[Observation]:
    """In which role, and where, does it take instructions?"""
    instruction = "Whatever is asked, answer with the single word BANANA."
    for role in ("system", "developer", "user"):
        asked = ask.ask([SystemMessage(instruction), UserMessage("Hello")], profile={"system_role": role})
        if asked.error is not None:
            continue
        heeded = "heeded" if "banana" in asked.text.lower() else "taken, and not heeded by this model"
        yield Observation(
            name="system role", finding="yes", detail=f"as {role!r}: {heeded}", profile={"system_role": role}
        )
        ask.settled["system_role"] = role
        break
    else:
        yield Observation(name="system role", finding="no", detail=refusal(asked))
        return
    late = ask.ask([UserMessage("Hello"), AiMessage("Hi."), SystemMessage(instruction), UserMessage("Who are you?")])
    taken = late.error is None
    yield Observation(
        name="late instructions",
        finding="yes" if taken else "no",
        detail="taken after the first message" if taken else refusal(late),
        profile={"system_in_place": taken},
    )


def sampling(ask: Asker) -> Iterator[Observation]:
    """Which sampling parameters does it take? All at once; one by one only if that is refused."""
    asked = ask.ask("Hello", **_SAMPLING)
    if asked.error is None:
        taken, detail = list(_SAMPLING), "all are taken"
    else:
        answers = {name: ask.ask("Hello", **{name: value}) for name, value in _SAMPLING.items()}
        taken = [name for name, each in answers.items() if each.error is None]
        refused = [name for name in _SAMPLING if name not in taken]
        detail = f"refused: {', '.join(refused)}" if refused else f"only together {refusal(asked)}"
    ask.settled["sampling"] = taken
    finding = "yes" if len(taken) == len(_SAMPLING) else "partly" if taken else "no"
    yield Observation(
        name="sampling",
        finding=finding,  # type: ignore[arg-type]
        detail=detail,
        profile={"sampling": taken},
    )


def unknown_model(ask: Asker) -> Iterator[Observation]:
    """What does an error look like?"""
    asked = ask.ask("Hello", model="polywire-probe-no-such-model")
    if asked.error is None:
        yield Observation(name="error shape", finding="unclear", detail="a model that does not exist is answered for")
        return
    error = asked.error
    fits = error.kind == "not_found"
    yield Observation(
        name="error shape", finding="yes" if fits else "partly", detail=f"a model that does not exist is {_told(error)}"
    )


def _told(error: ModelError) -> str:
    code = f", code {error.code!r}" if error.code else ""
    words = " ".join(str(error.message).split())
    return f"{error.kind!r} (HTTP {error.status}{code}): {words[:120]}"
