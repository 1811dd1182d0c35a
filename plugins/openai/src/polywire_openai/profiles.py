"""
What models and endpoints of this wire can do: OpenAI's own families, and the base for any compatible endpoint.

The wire's own quirks, for the `quirks` of a profile:

    extra_fields         which fields that this version does not know go back on the model's messages: `"none"`,
                         those of `"tool_calls"` (signatures), or `"all"`; default `"tool_calls"`
    refusal_field        is `refusal` taken on messages? else a refusal goes back as text; default true
    text_arrays          may content of text alone be a list? else several texts are joined; default true
    tool_message_name    shall a tool's result name its tool? default false
    cache_mark           the field for a cache mark: `"prompt_cache_breakpoint"` (default) or `"cache_control"`
    named_tool_choice    how one tool is forced: `"function"` (default: the object) or `"narrow"` (offer only that
                         tool, and require a call)
    allowed_tools        may the choice name several tools? else only those are offered; default true
    undocumented         kinds of media of which it is not known that the endpoint takes them: sent, with a notice
    image_form           `"bare"`: a picture's bytes as base64 alone, without `data:` before it
    audio_form           `"object"` (default; an address is an `audio_url` part), `"address"` (an address or a data URL
                         in the object), or `"string"` (bytes or address, without an object)
    document_form        how a document is written: `"file"` (default, an address in `file_data`), `"document_url"` (and
                         a file's id without an object), or `"file_url"`
    file_address         what makes an address of a file's id, where pictures and videos take one so
    field_names          names of sampling parameters that are not this wire's usual ones
    ranges               the smallest and the largest value of sampling parameters; what is beyond is brought to it
    while_thinking       changes to the profile for a request that asks for thinking
    thinking_streams_only   in a plain call thinking is switched off: the endpoint refuses it there
    smallest_budget      for thinking, in tokens
    reasoning_details    does the endpoint take sealed and structured thinking back? default true
    echo_as_read         does the endpoint take thinking back under any name? then under the one it came under
    end_mark             does every stream end with `[DONE]`, and a finish reason alone mean nothing? then one without it was
                         cut off; default false
    user_after_tool      may the user speak right after a tool's result? else a word of the model's is put between;
                         default true
    success_envelope     shall a tool's success be wrapped as `{"ok": true, "data": …}`? default false
    as_read              write back what was read exactly as it came; for conversion only

and the words for `reasoning_parameter`, which is the form in which thinking is asked for, are those of
`polywire_openai.reasoning_parameters`.
"""

from __future__ import annotations

from typing import get_args

from polywire.parameters import Effort
from polywire.profiles import Profile, ProfileRule, ProfileTable

__all__ = ["COMPATIBLE", "COMPATIBLE_PROFILES", "OPENAI", "OPENAI_PROFILES"]

_DATE = "2026-12-02"
_REFERENCE = "openai 3.57.0 (types/chat) and wire/openai-chat.md"
_GUIDES = "wire/openai-chat.md section 2, marked as vendor guides"
_EFFORTS = "developers.openai.com/api/docs/guides/reasoning, and the reference's words on reasoning_effort"
_EVERY_EFFORT: tuple[str, ...] = get_args(Effort)

OPENAI = Profile(
    tool_id_pattern=r"[\s\S]{1,40}",
    strict_schema_dialect="openai_strict",
    max_tokens_field="max_completion_tokens",
    stop_limit=4,
    reasoning_parameter="reasoning_effort",
    efforts=_EVERY_EFFORT,
    image_types=frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"}),
    audio_sources=frozenset({"data"}),
    audio_types=frozenset({"audio/wav", "audio/mpeg"}),
    document_sources=frozenset({"data", "file_id"}),
    document_types=frozenset({"application/pdf"}),
    quirks={"extra_fields": "none"},
)
"""OpenAI's own service, for a model that no rule knows."""

COMPATIBLE = Profile(
    reasoning_parameter="reasoning_effort",
    efforts=_EVERY_EFFORT,
    reasoning_echo="tool_calls",
    audio_sources=frozenset({"data"}),
    document_sources=frozenset({"data", "file_id"}),
    quirks={
        "extra_fields": "tool_calls",
        "refusal_field": False,
        "allowed_tools": False,
        "undocumented": ("audio", "document", "video"),
    },
)
"""Any other endpoint that speaks this wire, of which nothing more is known."""

_REASONING_FAMILIES = "o1*|o3*|o4*|gpt-5*|gpt-6*"
_NO_SAMPLING = frozenset({"seed", "stop_sequences"})
_REASONING_MODELS = ProfileRule(
    _REASONING_FAMILIES,
    {"max_tokens_field": "max_completion_tokens", "sampling": _NO_SAMPLING},
    _GUIDES,
    _DATE,
)

OPENAI_PROFILES = ProfileTable(
    OPENAI,
    (
        _REASONING_MODELS,
        ProfileRule(_REASONING_FAMILIES, {"system_role": "developer"}, f"{_REFERENCE} section 3", _DATE),
        ProfileRule(
            "gpt-5*-chat*",
            {"system_role": "system", "sampling": Profile().sampling},
            "the vendor's model pages",
            _DATE,
        ),
        ProfileRule(
            "o1*|o3*|o4*",
            {"efforts": ("low", "medium", "high"), "parallel_switch": False},
            "wire/openai-chat.md section 2 and compat-vendors.md section 3, Azure",
            _DATE,
        ),
        ProfileRule("o3*|o4-mini*", {"sampling": frozenset({"seed"})}, "wire/openai-chat.md section 2, stop", _DATE),
        ProfileRule(
            "gpt-5|gpt-5-mini*|gpt-5-nano*|gpt-5-20*|gpt-5-codex*",
            {"efforts": ("minimal", "low", "medium", "high")},
            _EFFORTS,
            _DATE,
        ),
        ProfileRule("gpt-5-pro*", {"efforts": ("high",)}, _EFFORTS, _DATE),
        ProfileRule("gpt-5.1*", {"efforts": ("none", "low", "medium", "high")}, _EFFORTS, _DATE),
        ProfileRule("gpt-5.1-codex-max*", {"efforts": ("low", "medium", "high", "xhigh")}, _EFFORTS, _DATE),
        ProfileRule(
            "gpt-5.2*|gpt-5.3*|gpt-5.4*|gpt-5.5*",
            {"efforts": ("none", "low", "medium", "high", "xhigh")},
            f"{_EFFORTS}; docs.rs/meerkat-core 0.6.25, tried: minimal is refused",
            _DATE,
        ),
        ProfileRule(
            "gpt-5.[6-9]*|gpt-6*",
            {"efforts": ("none", "low", "medium", "high", "xhigh", "max")},
            "what gpt-5.6-sol answers to minimal, pydantic/pydantic-ai issue 7081",
            _DATE,
        ),
        ProfileRule(
            "gpt-6-astra*|gpt-6.1-sol*",
            {"efforts": ("low", "medium", "high", "xhigh", "max")},
            "goruck/home-generative-agent v3.46.0-beta.1, tried: these two have no none",
            _DATE,
        ),
        ProfileRule("gpt-5.[6-9]*|gpt-6*", {"cache_marks": 4}, f"{_REFERENCE} section 8", _DATE),
        ProfileRule(
            "gpt-3.5*|gpt-4|gpt-4-0*|gpt-4-1106*|gpt-4-turbo*|gpt-4o-2024-05-13*|chatgpt-4o*",
            {"response_formats": frozenset({"json"}), "strict_tools": False},
            "the vendor's structured-output guide: json_schema since gpt-4o-2024-08-06",
            _DATE,
        ),
        ProfileRule(
            "gpt-3.5*|gpt-4|gpt-4-0613*|gpt-4-1106*|o3-mini*|gpt-audio*|gpt-4o*-audio*",
            {"image_sources": frozenset()},
            "the vendor's model pages",
            _DATE,
        ),
        ProfileRule(
            "gpt-3.5*|gpt-4*|chatgpt-4o*|gpt-audio*|gpt-5*-chat*",
            {"reasoning_parameter": None, "efforts": ()},
            "the vendor's model pages: they do not reason",
            _DATE,
        ),
    ),
    _REFERENCE,
    _DATE,
)
"""The profiles of OpenAI's own service."""

COMPATIBLE_PROFILES = ProfileTable(
    COMPATIBLE,
    (_REASONING_MODELS,),
    "wire/compat-vendors.md; the families keep their demands behind a gateway",
    _DATE,
)
"""The profiles for any other endpoint. Rows for single vendors live in the plugin that serves them."""
