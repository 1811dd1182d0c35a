"""The chat codec: what `generateContent` takes. What it gives is read in `decode`."""

from __future__ import annotations

from typing import Any

from polywire import wire_json
from polywire.codec import Encoded, HttpRequest, HttpResponse, StreamDecoder
from polywire.errors import ModelError
from polywire.fast_dataclass import dataclass
from polywire.framing.sse import SseFraming
from polywire.markup import apply_markup_to_request, apply_markup_to_response, with_markup
from polywire.profiles import Profile, ProfileTable
from polywire.requests import ChatRequest, ChatRequestParameters, OpaqueTool
from polywire.responses import ChatResponse, Notice
from polywire.schemas import Lowered, lower_schema
from polywire.translation.custom import apply_custom_parameters
from polywire.translation.left_out import tell_left_out
from polywire.translation.names import NameMap
from polywire.translation.prepare import prepare
from polywire_gemini.decode import GeminiStreamDecoder, decode_answer
from polywire_gemini.encode_messages import encode_messages, in_turns
from polywire_gemini.errors import decode_error
from polywire_gemini.parts import WIRE
from polywire_gemini.profiles import PROFILES, model_path
from polywire_gemini.thinking import thinking_config

__all__ = ["GeminiCodec", "GeminiContext"]

_GENERATION = {
    "temperature": "temperature",
    "top_p": "topP",
    "max_tokens": "maxOutputTokens",
    "stop_sequences": "stopSequences",
    "seed": "seed",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}
_CACHED = frozenset({"systemInstruction", "tools", "toolConfig"})
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


@dataclass(frozen=True, slots=True)
class GeminiContext:
    """
    What decoding needs of the request: the tools' names, their lowered schemas by the name that was sent, and, for tools
    that went out as text, the profile and the request as it was made.
    """

    names: NameMap
    schemas: dict[str, Lowered]
    profile: Profile = PROFILES.base
    asked: ChatRequest | None = None


class GeminiCodec:
    """
    Google Gemini's `generateContent` and `streamGenerateContent`; stateless.

    Args:
        profiles: what the models take.
        path: what stands before the models, below the base URL.
    """

    wire = WIRE

    def __init__(self, profiles: ProfileTable = PROFILES, *, path: str = "") -> None:
        self._profiles = profiles
        self._path = path

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        profile = self._profiles.for_model(request.parameters.model)
        meant, told = apply_markup_to_request(request, profile)
        body, notices, context = self.encode_body(meant)
        model = model_path(request.parameters.model)
        # Without `alt=sse` the stream would be one JSON array.
        method = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return Encoded(
            HttpRequest(f"{self._path}{model}:{method}", wire_json.encode(body), {"content-type": "application/json"}),
            (*told, *notices),
            SseFraming,
            GeminiContext(context.names, context.schemas, profile, request),
        )

    def encode_body(self, request: ChatRequest) -> tuple[dict[str, Any], list[Notice], GeminiContext]:
        """Write the request's body, and say what was changed."""
        profile = self._profiles.for_model(request.parameters.model)
        prepared = prepare(request, profile, wire=WIRE)
        parameters, notices = prepared.parameters, prepared.notices
        context = GeminiContext(prepared.names, {})
        tell_left_out(request.messages, parameters, WIRE, notices)
        system, contents = encode_messages(prepared.messages, profile, notices)
        contents = in_turns(contents, notices)
        body: dict[str, Any] = {"contents": contents}
        if system is not None:
            body["systemInstruction"] = system
        _tools(body, parameters, profile, context, notices)
        if generation := _generation(parameters, profile, notices):
            body["generationConfig"] = generation
        for key, value in parameters.extras.get(WIRE, {}).items():
            if isinstance(value, dict) and isinstance(body.get(key), dict):
                body[key] = _laid_over(value, body[key])
            else:
                body.setdefault(key, value)
        apply_custom_parameters(body, parameters, notices, objects=("generationConfig", "toolConfig"))
        if body.get("cachedContent") is not None:
            # The cache holds these, and beside it the vendor refuses them.
            for key in _CACHED & body.keys():
                del body[key]
                notices.append(Notice("dropped", key, "a request that names cached content takes it from there"))
        return body, notices, context

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        context = _context(encoded)
        answer = decode_answer(response, context.names, context.schemas, encoded.origin)
        return apply_markup_to_response(answer, context.profile, context.asked, context.names)

    def decode_error(self, response: HttpResponse) -> ModelError:
        return decode_error(response)

    def stream_decoder(self, encoded: Encoded) -> StreamDecoder:
        context = _context(encoded)
        decoder = GeminiStreamDecoder(context.names, context.schemas)
        return with_markup(decoder, context.profile, context.asked, context.names)


def _laid_over(kept: dict[str, Any], typed: dict[str, Any]) -> dict[str, Any]:
    """Return what is typed over what was kept; a budget without a number of tokens stays beside the switch for thoughts."""
    laid = {**kept, **typed}
    own, said = kept.get("thinkingConfig"), typed.get("thinkingConfig")
    if isinstance(own, dict) and isinstance(said, dict) and said.keys() == {"includeThoughts"}:
        laid["thinkingConfig"] = {**own, **said}
    return laid


def _context(encoded: Encoded) -> GeminiContext:
    return encoded.context if isinstance(encoded.context, GeminiContext) else GeminiContext(NameMap(), {})


def _tools(
    body: dict[str, Any],
    parameters: ChatRequestParameters,
    profile: Profile,
    context: GeminiContext,
    notices: list[Notice],
) -> None:
    declarations: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    strict = False
    for tool in parameters.tools or ():
        if isinstance(tool, OpaqueTool):
            others.append(dict(tool.data))
            continue
        strict = strict or bool(tool.strict)
        declaration: dict[str, Any] = {"name": tool.name, **tool.extras.get(WIRE, {})}
        if tool.description is not None:
            declaration["description"] = tool.description
        lowered = lower_schema(tool.parameters, profile.schema_dialect, subject=f"tools.{tool.name}")
        notices += lowered.notices
        context.schemas[tool.name] = lowered
        if not lowered.takes_nothing:
            declaration["parameters"] = lowered.schema
        elif told := lowered.schema.get("description"):
            # What the schema's words say must not go with it.
            declaration["description"] = "\n".join(each for each in (tool.description, told) if each)
        declarations.append(declaration)
    # All declarations stand in one tool object.
    tools = ([{"functionDeclarations": declarations}] if declarations else []) + others
    if tools:
        body["tools"] = tools
    choice = parameters.tool_choice
    if choice is not None and declarations:
        # Names may only stand beside ANY or VALIDATED; the latter is "may call these, or answer".
        mode = "VALIDATED" if choice.mode == "auto" and (choice.names or strict) else _MODES[choice.mode]
        names = {"allowedFunctionNames": list(choice.names)} if choice.names and mode != "NONE" else {}
        body["toolConfig"] = {"functionCallingConfig": {"mode": mode, **names}}
    elif strict:
        body["toolConfig"] = {"functionCallingConfig": {"mode": "VALIDATED"}}


def _generation(parameters: ChatRequestParameters, profile: Profile, notices: list[Notice]) -> dict[str, Any]:
    generation: dict[str, Any] = {
        theirs: value for ours, theirs in _GENERATION.items() if (value := getattr(parameters, ours)) is not None
    }
    if "stopSequences" in generation:
        generation["stopSequences"] = list(generation["stopSequences"])
    wanted = parameters.response_format
    if wanted is not None and wanted.type != "text":
        generation["responseMimeType"] = "application/json"
        if wanted.schema is not None:
            dialect = profile.strict_schema_dialect or profile.schema_dialect
            lowered = lower_schema(wanted.schema, dialect, subject="response_format")
            notices += lowered.notices
            generation["responseJsonSchema"] = lowered.schema
    if parameters.reasoning is not None and (config := thinking_config(parameters.reasoning, profile, notices)):
        generation["thinkingConfig"] = config
    return generation
