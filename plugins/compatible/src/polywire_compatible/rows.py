"""
One row of data for each service or server that speaks OpenAI's Chat Completions, and how it differs.

A new one is a row here, an entry point in `pyproject.toml`, and its recorded bytes. The differences are changes to the
profile of any compatible endpoint (`polywire_openai.COMPATIBLE`); the words for `quirks` and `reasoning_parameter` are
those of `polywire_openai.profiles`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from polywire.immutable import EMPTY
from polywire.profiles import ProfileRule, ProfileTable
from polywire_openai import COMPATIBLE, COMPATIBLE_PROFILES, OPENAI_PROFILES

__all__ = ["ROWS", "Embeddings", "Row"]

_DATE = "2026-12-02"


# Servers leave thinking in the text where they have no parser for the model's form of it: wire/compat-vendors.md section 2.
# Sealed and structured thinking is OpenRouter's own; elsewhere the field is unknown, and some refuse what they do not know.
_ANY_ROW = {"quirks": {"think_tags_fallback": True, "reasoning_details": False}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """
    A service's `/embeddings`.

    Attributes:
        max_inputs: at most so many texts in one request.
        max_batch_bytes: at most so many bytes of text in one request; `None`: only the texts are counted.
        encoding: the form that vectors are asked for in; `None`: as they come.
        dimensions_field: where their length is asked for; `None`: it cannot be chosen.
        purposes: the field for what they are for, and the service's words.
        path, deployment_path: as for chat.
        source: where this is from, and what of it is a guess.
    """

    source: str
    max_inputs: int
    max_batch_bytes: int | None = None
    encoding: Literal["base64", "float"] | None = None
    dimensions_field: str | None = "dimensions"
    purposes: tuple[str, Mapping[str, str]] = ("", EMPTY)
    path: str = "embeddings"
    deployment_path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """
    One service or server.

    Attributes:
        name: the provider's name in settings.
        summary: one line for `polywire providers`.
        base_url: where it is; `None`: the settings must say.
        key: environment variables that usually hold the key.
        url: environment variables that usually hold the address.
        key_required: whether it never answers without a key.
        profile: what differs from any compatible endpoint.
        rules: what differs for single models.
        key_header: a header of its own for the key; `None`: `Authorization: Bearer`.
        path: where requests go, below the base URL.
        deployment_path: where they go instead if the settings give an `api_version`; `{model}` is the deployment.
        addresses: what differs at other addresses of the same service, by a pattern for the base URL.
        embeddings: its `/embeddings`; `None`: it has none.
        other_hosts: the service's other addresses, to which the usual key may go as well.
        source: where this is from.
        own: the models are OpenAI's own, and so are their profiles.
    """

    name: str
    summary: str
    base_url: str | None
    source: str
    key: tuple[str, ...] = ()
    url: tuple[str, ...] = ()
    key_required: bool = True
    profile: Mapping[str, Any] = field(default=EMPTY)
    rules: tuple[ProfileRule, ...] = ()
    key_header: str | None = None
    path: str = "chat/completions"
    deployment_path: str | None = None
    addresses: Mapping[str, Mapping[str, Any]] = field(default=EMPTY)
    embeddings: Embeddings | None = None
    other_hosts: tuple[str, ...] = ()
    own: bool = False

    def profiles(self, base_url: str | None = None) -> ProfileTable:
        """Return the row's profile table, as it holds at its own address or at another one."""
        if self.own:
            return OPENAI_PROFILES
        base = COMPATIBLE.changed(_ANY_ROW).changed(self.profile, where=f"row {self.name!r}")
        for pattern, changes in self.addresses.items():
            if base_url is not None and fnmatchcase(base_url.rstrip("/"), pattern):
                base = base.changed(changes, where=f"row {self.name!r} at {pattern!r}")
        # A service with rows of its own tells all of them; only unknown services fall back on the families' names.
        shared = COMPATIBLE_PROFILES.rules if self.name == "openai-compatible" else ()
        return ProfileTable(base, (*shared, *self.rules), self.source, _DATE)


def _rule(models: str, source: str, **changes: Any) -> ProfileRule:
    return ProfileRule(models, changes, source, _DATE)


_REASONING_CONTENT = "reasoning_content"
_DATA_AND_URL = frozenset({"data", "url"})
_DATA = frozenset({"data"})
# A bound where a service states none: one answer stays within a few megabytes.
_UNSTATED = 256

_ROWS = (
    Row(
        name="deepseek",
        summary="DeepSeek",
        base_url="https://api.deepseek.com",
        key=("DEEPSEEK_API_KEY",),
        source="vendor documentation, thinking mode and function calling",
        profile={
            "reasoning_field": _REASONING_CONTENT,
            # Every turn with calls must bring its thinking back, even an empty one: else HTTP 400.
            "reasoning_echo": "tool_calls",
            "reasoning_echo_empty": True,
            "empty_content_with_reasoning": True,
            "reasoning_parameter": "thinking",
            "effort_names": {"minimal": "low", "medium": "high", "xhigh": "high"},
            "response_formats": {"json"},
            "strict_tools": False,
            "parallel_switch": False,
            "quirks": {
                "undocumented": ("image", "audio", "document", "video"),
                # While it thinks these are ignored without a word.
                "while_thinking": {"sampling": ("stop_sequences",)},
            },
        },
        # Strict tools exist only there.
        addresses={"*/beta": {"strict_tools": True, "strict_schema_dialect": "openai_strict"}},
    ),
    Row(
        name="qwen",
        summary="Qwen, on Alibaba Cloud Model Studio (DashScope)",
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key=("DASHSCOPE_API_KEY",),
        url=("DASHSCOPE_COMPATIBLE_BASE_URL",),
        other_hosts=(
            "https://dashscope-intl.aliyuncs.com",
            "https://dashscope-us.aliyuncs.com",
            "https://maas.aliyuncs.com",
        ),
        source="dashscope 2.0.2 and vendor documentation",
        profile={
            "reasoning_field": _REASONING_CONTENT,
            "reasoning_echo": "always",
            "reasoning_parameter": "enable_thinking",
            "efforts": (),
            # `required` is refused by many models, and by all while they think.
            "tool_choices": {"auto", "none", "named"},
            "system_in_place": False,
            "image_sources": _DATA_AND_URL,
            "audio_sources": _DATA_AND_URL,
            "video_sources": _DATA_AND_URL,
            "document_sources": (),
            "quirks": {
                "audio_form": "address",
                "undocumented": (),
                # A thinking model refuses to be made to call one tool.
                "while_thinking": {"tool_choices": ("auto", "none")},
            },
        },
        rules=(
            _rule(
                "qwen3-[0-9]*",
                "vendor documentation: open models think in streams alone",
                quirks={"thinking_streams_only": True},
            ),
            _rule(
                "qwen3-*-thinking*|qwen3-*-instruct*",
                "vendor documentation: whether they think is in their name",
                quirks={"thinking_streams_only": False},
            ),
        ),
        embeddings=Embeddings(
            source="vendor documentation: text-embedding-v4 takes ten texts", max_inputs=10, encoding="float"
        ),
    ),
    Row(
        name="openrouter",
        summary="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        key=("OPENROUTER_API_KEY",),
        source="openrouter 1.3.84 and vendor documentation",
        profile={
            "reasoning_field": "reasoning",
            "reasoning_echo": "tool_calls",
            "reasoning_parameter": "reasoning",
            "stream_usage": False,
            "cache_marks": 4,
            "image_sources": _DATA_AND_URL,
            "audio_sources": _DATA,
            "video_sources": _DATA_AND_URL,
            "document_sources": _DATA_AND_URL,
            "quirks": {
                "cache_mark": "cache_control",
                "allowed_tools": True,
                "undocumented": (),
                "reasoning_details": True,
            },
        },
        embeddings=Embeddings(
            source="openrouter 1.3.84 (operations/createembeddings); it states no limit, each route has its own",
            max_inputs=_UNSTATED,
            purposes=(
                "input_type",
                {
                    "query": "search_query",
                    "document": "search_document",
                    "classification": "classification",
                    "clustering": "clustering",
                },
            ),
        ),
    ),
    Row(
        name="vllm",
        summary="vLLM, on a machine of your own",
        base_url="http://localhost:8000/v1",
        key=("VLLM_API_KEY",),
        key_required=False,
        source="vLLM 0.33.0",
        profile={
            "reasoning_field": "reasoning",
            "reasoning_echo": "tool_calls",
            "reasoning_parameter": "include_reasoning",
            "image_sources": _DATA_AND_URL,
            "audio_sources": _DATA_AND_URL,
            "video_sources": _DATA_AND_URL,
            "document_sources": (),
            "quirks": {"undocumented": ()},
        },
        embeddings=Embeddings(
            source="vLLM 0.33.0; it states no limit, and takes dimensions for models that can be shortened",
            max_inputs=_UNSTATED,
        ),
    ),
    Row(
        name="llama-cpp",
        summary="llama.cpp's server",
        base_url="http://localhost:8080/v1",
        key=("LLAMA_API_KEY",),
        key_required=False,
        source="llama.cpp server source and README",
        profile={
            "reasoning_field": _REASONING_CONTENT,
            # An object in tool_choice is taken for "auto" without a word.
            "tool_choices": {"auto", "none", "required"},
            "efforts": ("none", "low", "medium", "high"),
            "image_sources": _DATA_AND_URL,
            "audio_sources": _DATA,
            "audio_types": ("audio/wav", "audio/mpeg"),
            "document_sources": (),
            "quirks": {"undocumented": ()},
        },
        embeddings=Embeddings(
            source="llama.cpp server README: no dimensions, no stated limit",
            max_inputs=_UNSTATED,
            dimensions_field=None,
        ),
    ),
    Row(
        name="lm-studio",
        summary="LM Studio's server",
        base_url="http://localhost:1234/v1",
        key=("LM_API_TOKEN",),
        key_required=False,
        source="vendor documentation",
        profile={
            "reasoning_field": _REASONING_CONTENT,
            "tool_choices": {"auto", "none", "required"},
            "parallel_switch": False,
            "response_formats": {"json_schema"},
            "efforts": ("none", "minimal", "low", "medium", "high", "xhigh"),
            # An address is refused: "'url' field must be a base64 encoded image".
            "image_sources": _DATA,
            # The name of the thinking depends on a setting and on the version.
            "quirks": {"echo_as_read": True, "undocumented": ("audio", "document", "video")},
        },
        embeddings=Embeddings(
            source="vendor documentation: model and input alone; no stated limit",
            max_inputs=_UNSTATED,
            dimensions_field=None,
        ),
    ),
    Row(
        name="ollama-compatible",
        summary="Ollama's compatible route; its own API is the provider `ollama`",
        base_url="http://localhost:11434/v1",
        key=("OLLAMA_API_KEY",),
        key_required=False,
        other_hosts=("https://ollama.com",),
        source="Ollama server source of 2026-08-21",
        profile={
            "reasoning_field": "reasoning",
            "effort_names": {"minimal": "low", "xhigh": "max"},
            # tool_choice is ignored: what is forced or forbidden is kept to by offering no other tools, or none.
            "tool_choices": {"auto"},
            "parallel_switch": False,
            "image_sources": _DATA,
            "audio_sources": _DATA,
            "document_sources": (),
            "quirks": {"undocumented": ()},
        },
        embeddings=Embeddings(source="Ollama server source of 2026-08-21; it states no limit", max_inputs=_UNSTATED),
    ),
    Row(
        name="mistral",
        summary="Mistral",
        base_url="https://api.mistral.ai/v1",
        key=("MISTRAL_API_KEY",),
        source="mistralai 3.7.0; issue reports for the pattern of ids",
        profile={
            "tool_id_pattern": r"[a-zA-Z0-9]{9}",
            "reasoning_field": "content",
            "reasoning_echo": "always",
            "stream_usage": False,
            "user_name": False,
            "image_sources": _DATA_AND_URL,
            "audio_sources": _DATA_AND_URL,
            "document_sources": {"data", "url", "file_id"},
            # A tool's message holds the same chunks as a user's.
            "tool_result_images": True,
            "quirks": {
                "audio_form": "string",
                "undocumented": (),
                "user_after_tool": False,
                "field_names": {"seed": "random_seed"},
                "extra_fields": "none",
                "tool_message_name": True,
                "document_form": "document_url",
            },
        },
        embeddings=Embeddings(
            source="mistralai 3.7.0; known from use: about 16,000 tokens in one request",
            max_inputs=_UNSTATED,
            max_batch_bytes=32_000,
            dimensions_field="output_dimension",
        ),
    ),
    Row(
        name="groq",
        summary="Groq",
        base_url="https://api.groq.com/openai/v1",
        key=("GROQ_API_KEY",),
        source="groq 1.7.0 and vendor documentation",
        profile={
            "reasoning_field": "reasoning",
            "efforts": ("none", "low", "medium", "high"),
            "sampling": {"temperature", "top_p", "seed", "stop_sequences"},
            "max_tokens_field": "max_completion_tokens",
            "stop_limit": 4,
            "reasoning_parameter": "include_reasoning",
            "image_sources": _DATA_AND_URL,
            # A field that it does not know is refused, on messages too.
            "quirks": {"undocumented": ("audio", "document", "video"), "extra_fields": "none"},
            "max_images": 5,
            # Four megabytes of base64.
            "max_media_bytes": 3 * 1024 * 1024,
        },
    ),
    Row(
        name="xai",
        summary="xAI",
        base_url="https://api.x.ai/v1",
        key=("XAI_API_KEY",),
        source="vendor documentation",
        profile={
            "reasoning_field": _REASONING_CONTENT,
            "reasoning_echo": "never",
            "image_sources": _DATA_AND_URL,
            "image_types": ("image/jpeg", "image/png"),
            "max_media_bytes": 20 * 1024 * 1024,
            "quirks": {"undocumented": ("audio", "document", "video")},
        },
        rules=(
            _rule(
                "grok-3-mini*|grok-4*|grok-5*",
                "vendor documentation: reasoning models refuse penalties and stop",
                sampling={"temperature", "top_p", "seed"},
            ),
            _rule(
                "grok-2*|grok-3|grok-3-fast*|grok-4|grok-4-0*|grok-code*",
                "vendor documentation: reasoning_effort is an error there",
                reasoning_parameter=None,
                efforts=(),
            ),
        ),
    ),
    Row(
        name="moonshot",
        summary="Moonshot (Kimi)",
        base_url="https://api.moonshot.ai/v1",
        key=("MOONSHOT_API_KEY",),
        other_hosts=("https://api.moonshot.cn",),
        source="vendor documentation",
        profile={
            "reasoning_field": _REASONING_CONTENT,
            "reasoning_echo": "tool_calls",
            "reasoning_parameter": "thinking_type",
            "max_tokens_field": "max_completion_tokens",
            "tool_choices": {"auto", "none"},
            "strict_tools": False,
            "parallel_switch": False,
            "stop_limit": 5,
            # A file of its own store is `ms://ID`.
            "image_sources": {"data", "url", "file_id"},
            "video_sources": {"data", "file_id"},
            "quirks": {"file_address": "ms://", "undocumented": ("audio", "document")},
        },
        rules=(
            _rule("kimi-*", "vendor documentation: sampling is fixed", sampling={"stop_sequences"}),
            _rule(
                "kimi-k3*",
                "vendor documentation: always thinks, in three grades",
                reasoning_parameter="reasoning_effort",
                efforts=("low", "high", "max"),
            ),
        ),
    ),
    Row(
        name="zhipu",
        summary="Zhipu (GLM, Z.ai)",
        base_url="https://api.z.ai/api/paas/v4",
        key=("ZAI_API_KEY", "ZHIPUAI_API_KEY"),
        other_hosts=("https://open.bigmodel.cn",),
        source="zai-sdk 0.2.3 and vendor documentation",
        profile={
            "reasoning_field": _REASONING_CONTENT,
            "reasoning_echo": "always",
            "reasoning_parameter": "thinking",
            "tool_choices": {"auto"},
            "parallel_switch": False,
            "strict_tools": False,
            "response_formats": {"json"},
            "sampling": {"temperature", "top_p", "seed", "stop_sequences"},
            "image_sources": _DATA_AND_URL,
            "video_sources": {"url"},
            "document_sources": {"url"},
            "quirks": {
                # The SDK takes `data:image/…;base64,` off a picture, and brings both numbers between 0 and 1.
                "image_form": "bare",
                "ranges": {"temperature": (0.01, 0.99), "top_p": (0.01, 0.99)},
                "document_form": "file_url",
                "undocumented": ("audio",),
            },
        },
        embeddings=Embeddings(
            source="zai-sdk 0.2.3 and vendor documentation: embedding-3 takes 64 texts", max_inputs=64
        ),
    ),
    Row(
        name="together",
        summary="Together",
        base_url="https://api.together.ai/v1",
        key=("TOGETHER_API_KEY",),
        other_hosts=("https://api.together.xyz",),
        source="together 3.1.1",
        profile={
            "reasoning_field": "reasoning",
            "reasoning_parameter": "reasoning_switch",
            "efforts": ("none", "low", "medium", "high"),
            "parallel_switch": False,
            "strict_tools": False,
            "image_sources": _DATA_AND_URL,
            "audio_sources": _DATA_AND_URL,
            "audio_types": ("audio/wav",),
            "video_sources": _DATA_AND_URL,
            "document_sources": (),
            # Instructions, answers and results are strings; either name of the thinking is known.
            "quirks": {"text_arrays": False, "echo_as_read": True, "undocumented": ()},
        },
        embeddings=Embeddings(
            source="together 3.1.1: model and input alone; it states no limit",
            max_inputs=_UNSTATED,
            dimensions_field=None,
        ),
    ),
    Row(
        name="fireworks",
        summary="Fireworks",
        base_url="https://api.fireworks.ai/inference/v1",
        key=("FIREWORKS_API_KEY",),
        source="fireworks-ai 1.2.30",
        profile={
            "reasoning_field": _REASONING_CONTENT,
            "reasoning_echo": "always",
            "reasoning_parameter": "thinking_budget",
            "stream_usage": False,
            "efforts": ("none", "low", "medium", "high"),
            "user_name": False,
            "image_sources": _DATA_AND_URL,
            "video_sources": _DATA_AND_URL,
            "quirks": {"smallest_budget": 1024, "undocumented": ("audio", "document")},
        },
        rules=(_rule("*gpt-oss*", "vendor documentation: no other word is taken", efforts=("low", "medium", "high")),),
        embeddings=Embeddings(
            source="vendor documentation: OpenAI's shape; dimensions for models that can be shortened, no stated limit",
            max_inputs=_UNSTATED,
        ),
    ),
    Row(
        name="azure-openai",
        summary="OpenAI's models on Azure; `model` is the deployment's name",
        base_url=None,
        key=("AZURE_OPENAI_API_KEY",),
        url=("AZURE_OPENAI_ENDPOINT",),
        key_header="api-key",
        path="openai/v1/chat/completions",
        deployment_path="openai/deployments/{model}/chat/completions",
        embeddings=Embeddings(
            source="openai 3.57.0, lib/azure; 2,048 texts",
            max_inputs=2048,
            max_batch_bytes=600_000,
            encoding="base64",
            path="openai/v1/embeddings",
            deployment_path="openai/deployments/{model}/embeddings",
        ),
        other_hosts=(
            "https://openai.azure.com",
            "https://cognitiveservices.azure.com",
            "https://services.ai.azure.com",
        ),
        source="openai 3.57.0, lib/azure",
        own=True,
    ),
    Row(
        name="openai-compatible",
        summary="any other endpoint that speaks Chat Completions; base_url says which",
        base_url=None,
        # It may be a gateway to any of the others.
        profile={"quirks": {"reasoning_details": True}},
        key_required=False,
        embeddings=Embeddings(source="OpenAI's API reference", max_inputs=2048, max_batch_bytes=600_000),
        source="OpenAI's API reference, and what such endpoints are known to differ in",
    ),
)

ROWS: Mapping[str, Row] = {row.name: row for row in _ROWS}
"""The rows by provider name."""
