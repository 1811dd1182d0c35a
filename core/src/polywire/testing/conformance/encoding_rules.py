"""Rules of the request: what the codec writes, what it leaves out, and what it must never do."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator

from polywire.codec import Encoded
from polywire.errors import BadRequest, ModelError
from polywire.messages import AiMessage, ToolCall, ToolError, ToolResultMessage, UserMessage
from polywire.requests import CallOptions, ChatRequest, ChatRequestParameters, ToolChoice, ToolSpecification
from polywire.testing.conformance.rules import rule
from polywire.testing.conformance.subject import CodecUnderTest
from polywire.testing.conformance.values import SEARCH, conversations, parameters, requests_of, tool_turn

__all__: list[str] = []


def _text(encoded: Encoded) -> str:
    """The body with escapes undone, so that words can be looked for."""
    try:
        return json.dumps(json.loads(encoded.http.body), ensure_ascii=False)
    except ValueError:
        return encoded.http.body.decode("utf-8", "replace")


@rule(
    "every-value",
    "every kind of message and content is written, refused with a BadRequest, or left out with a notice",
    "what is lost in silence is found by the user, weeks later",
)
def every_value(subject: CodecUnderTest) -> Iterator[str]:
    for name, messages, words in conversations():
        try:
            encoded = subject.encode(requests_of(messages))
        except BadRequest:
            continue
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {error}"
            continue
        body = _text(encoded)
        for word in words:
            # A word may stand inside JSON text inside JSON, where its quotes are escaped once more.
            if word not in body and not encoded.notices:
                yield f"{name}: {word!r} is neither in the body nor told of in a notice"


@rule(
    "media-not-lost",
    "a picture, sound or document is in the body, refused, or told of",
    "a model that never saw the picture describes one all the same",
)
def media_not_lost(subject: CodecUnderTest) -> Iterator[str]:
    for name, messages, _ in conversations():
        if "Content by" not in name:
            continue
        try:
            with_media = subject.encode(requests_of(messages))
        except BadRequest:
            continue
        without = subject.encode(requests_of([UserMessage("quagga")]))
        if with_media.http.body == without.http.body and not with_media.notices:
            yield f"{name}: the body is the same without it"


@rule(
    "every-parameter",
    "every typed parameter changes the body, is refused with a BadRequest, or is told of in a notice that names it",
    "an option that does nothing is worse than one that fails",
)
def every_parameter(subject: CodecUnderTest) -> Iterator[str]:
    for name, fields in parameters():
        base = {key: value for key, value in fields.items() if key != name}
        try:
            encoded = subject.encode(ChatRequest("quagga", ChatRequestParameters(**fields)))
        except BadRequest:
            continue
        plain = subject.encode(ChatRequest("quagga", ChatRequestParameters(**base)))
        told = any(notice.subject.split(".")[0].split("[")[0] == name for notice in encoded.notices)
        changed = (encoded.http.body, encoded.http.path, dict(encoded.http.headers)) != (
            plain.http.body,
            plain.http.path,
            dict(plain.http.headers),
        )
        if not changed and not told:
            yield f"{name}={fields[name]!r}: the request is the same without it, and no notice names it"


@rule(
    "custom-parameters",
    "custom parameters are copied into the body as they are, and win over typed ones with a notice",
    "they are the only way to what this codec does not know yet",
)
def custom_parameters(subject: CodecUnderTest) -> Iterator[str]:
    custom = {"x_okapi": {"deep": [1, "a", None]}}
    body = json.loads(subject.encode(ChatRequest("q", ChatRequestParameters(custom_parameters=custom))).http.body)
    if body.get("x_okapi") != custom["x_okapi"]:
        yield f"x_okapi became {body.get('x_okapi')!r}"
    for key, value in body.items():
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and key not in {"x_okapi", "stream"}:
            other = value + "-okapi" if isinstance(value, str) else value + 1
            encoded = subject.encode(ChatRequest("q", ChatRequestParameters(custom_parameters={key: other})))
            if json.loads(encoded.http.body).get(key) != other:
                yield f"{key}: the custom value does not win"
            elif not encoded.notices:
                yield f"{key}: the custom value takes the place of another without a notice"
            break


@rule(
    "options-stay-here",
    "CallOptions are never encoded",
    "deadlines and tags steer this side; vendors refuse or record them",
)
def options_stay_here(subject: CodecUnderTest) -> Iterator[str]:
    options = CallOptions(deadline=31.5, first_event=7.5, between_events=3.5, tags={"okapi": "quagga"})
    if subject.encode(ChatRequest("q", None, options)).http != subject.encode(ChatRequest("q")).http:
        yield "the request differs when options are given"


@rule(
    "repeatable",
    "the same request is written in the same bytes every time",
    "caches of vendors match prefixes, and signatures cover bytes",
)
def repeatable(subject: CodecUnderTest) -> Iterator[str]:
    for name, messages, _ in conversations():
        try:
            first, second = (subject.encode(requests_of(messages)) for _ in range(2))
        except BadRequest:
            continue
        if first.http != second.http:
            yield f"{name}: the second request is written otherwise than the first"


@rule(
    "growing-history",
    "a message is written in the same way at every later turn",
    "ids and names that change with the history break caches and signatures",
)
def growing_history(subject: CodecUnderTest) -> Iterator[str]:
    names = ("files.read", "wetter für")
    tools = tuple(ToolSpecification(name) for name in names)
    history = [UserMessage("q"), *tool_turn("functions.read:0", name="files.read")]
    longer = [*history, *tool_turn("functions.read:0", name="wetter für"), UserMessage("and?")]
    short, long = (_text(subject.encode(requests_of(each, tools=tools))) for each in (history, longer))
    for word in _names_and_ids(short):
        if word not in long:
            yield f"{word!r} is written otherwise when the history has grown"


def _names_and_ids(body: str) -> set[str]:
    return set(re.findall(r'"\w*(?:id|Id|ID|name|Name|tool|function)": "([^"]+)"', body))


@rule(
    "callers-objects",
    "encoding changes nothing of the caller's",
    "histories are shared by threads, retries and fallbacks",
)
def callers_objects(subject: CodecUnderTest) -> Iterator[str]:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"b": {"type": ["string", "null"]}}}},
    }
    before = copy.deepcopy(schema)
    for name, messages, _ in conversations():
        request = requests_of(messages, tools=(SEARCH, ToolSpecification("other", None, schema)))
        request = subject.request(request)
        twin = copy.deepcopy(request)
        try:
            subject.codec.encode(request, stream=False)
        except BadRequest:
            continue
        if request != twin or schema != before:
            yield f"{name}: the request was changed"


@rule(
    "tool-names",
    "tools, calls of the history and a forced choice carry the same name, valid on the wire, two tools never the same one",
    "a call of a tool that has another name in the list is refused, or runs the wrong tool",
)
def tool_names(subject: CodecUnderTest) -> Iterator[str]:
    names = ("files.read", "files/read", "wetter für", "a" * 140, "search")
    tools = tuple(ToolSpecification(name, f"description-{number}") for number, name in enumerate(names))
    sent: list[str] = []
    for name in names:
        request = requests_of([UserMessage("q"), *tool_turn("call_1", name=name)], tools=tools)
        try:
            encoded = subject.encode(request)
        except BadRequest:
            continue
        written = _names_and_ids(_text(encoded))
        sent.append(name)
        unmapped = {word for word in written if word in names}
        if name not in unmapped and not encoded.notices:
            yield f"the tool {name!r} is sent under another name without a notice"
    body = _text(subject.encode(ChatRequest("q", ChatRequestParameters(tools=tools))))
    listed = re.findall(r'"name": "([^"]+)"', body)
    if len(listed) != len(set(listed)):
        yield f"two tools are sent under one name: {sorted(listed)}"
    for name in names[:2]:
        forced = subject.encode(ChatRequest("q", ChatRequestParameters(tools=tools, tool_choice=ToolChoice.tool(name))))
        if (choice := _choice_names(_text(forced))) and not choice <= set(listed):
            yield f"the choice names {sorted(choice - set(listed))}, which is no tool of the list"


def _choice_names(body: str) -> set[str]:
    found: set[str] = set()
    for key, value in json.loads(body).items():
        if "choice" in key.lower() or "config" in key.lower():
            found |= set(re.findall(r'"name": "([^"]+)"', json.dumps(value, ensure_ascii=False)))
    return found


@rule(
    "call-ids",
    "a call and its result are written with the same id, and two calls never share one",
    "a result without its call is refused by the vendor",
)
def call_ids(subject: CodecUnderTest) -> Iterator[str]:
    if subject.links_by_name:
        return
    for ids in (("call_a1", "call_b2"), ("functions.search:0", "a b"), ("日本", "x" * 90)):
        try:
            body = _text(subject.encode(requests_of([UserMessage("q"), *tool_turn(*ids)])))
        except BadRequest:
            continue
        counts = [count for count in _id_counts(body).values() if count == 2]
        if len(counts) < len(ids):
            yield f"ids {ids!r}: the calls and results do not stand under pairs of equal ids: {_id_counts(body)}"


def _id_counts(body: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for found in re.findall(r'"\w*(?:id|Id|ID|ref|Ref)": "([^"]+)"', body):
        counts[found] = counts.get(found, 0) + 1
    return counts


@rule(
    "failed-results",
    "a failed result is written otherwise than a success with the same words, and never empty",
    "a model that takes a failure for an answer goes on as if nothing had happened",
)
def failed_results(subject: CodecUnderTest) -> Iterator[str]:
    def body(result: ToolResultMessage) -> bytes:
        return subject.encode(requests_of([UserMessage("q"), AiMessage(ToolCall("c1", "search")), result])).http.body

    success = body(ToolResultMessage("c1", "search", "okapi"))
    for failure in (
        ToolResultMessage("c1", "search", "okapi", True),
        ToolResultMessage("c1", "search", error=ToolError("timeout", "okapi")),
    ):
        if body(failure) == success:
            yield f"{failure!r} is written as if it had succeeded"
    if b"okapi" not in body(ToolResultMessage("c1", "search", error=ToolError("timeout", "okapi"))):
        yield "the words of the failure are not sent"


@rule(
    "no-tools",
    "an empty list of tools is no list, and a choice without tools is not sent",
    "vendors refuse both",
)
def no_tools(subject: CodecUnderTest) -> Iterator[str]:
    none = subject.encode(ChatRequest("q")).http.body
    for fields in ({"tools": ()}, {"tools": (), "tool_choice": "auto"}, {"parallel_tool_calls": True}):
        if subject.encode(ChatRequest("q", ChatRequestParameters(**fields))).http.body != none:
            yield f"{fields!r} changes the request"


@rule(
    "stream-switch",
    "a streamed request differs from a plain one and has a framing",
    "asked in the wrong way, the vendor answers in the other form",
)
def stream_switch(subject: CodecUnderTest) -> Iterator[str]:
    plain, streamed = (subject.encode(ChatRequest("q"), stream=stream) for stream in (False, True))
    if (plain.http.path, plain.http.body) == (streamed.http.path, streamed.http.body):
        yield "both are the same request"
    if streamed.framing is None:
        yield "Encoded.framing is missing for the streamed one"


@rule(
    "relative-and-unsigned",
    "the path is relative, and no header of the codec's is a credential",
    "the driver joins the address and signs; a codec that does either ignores the settings",
)
def relative_and_unsigned(subject: CodecUnderTest) -> Iterator[str]:
    http = subject.encode(ChatRequest("q")).http
    if http.path.startswith("/"):
        yield f"the path {http.path!r} begins with a slash, which would drop the base URL's own path"
    for name in http.headers:
        if name.lower() in {"authorization", "x-api-key", "api-key", "x-goog-api-key", "proxy-authorization"}:
            yield f"the codec writes the header {name!r}"


@rule(
    "refusals-before-network",
    "what a codec refuses is refused with a ModelError that says why",
    "a KeyError from deep inside helps nobody",
)
def refusals_before_network(subject: CodecUnderTest) -> Iterator[str]:
    for name, messages, _ in conversations():
        try:
            subject.encode(requests_of(messages))
        except ModelError as error:
            if len(error.message) < 10:
                yield f"{name}: the refusal says only {error.message!r}"
        except Exception as error:
            yield f"{name}: {type(error).__name__}: {error}"
