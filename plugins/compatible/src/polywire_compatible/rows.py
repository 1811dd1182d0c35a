"""
One row of data for each service or server that speaks OpenAI's Chat Completions, and how it differs.

A new one is a row here, an entry point in `pyproject.toml`, and its recorded bytes. The differences are changes to the
profile of any compatible endpoint (`polywire_openai.COMPATIBLE`); the words for `quirks` and `reasoning_parameter` are
those of `polywire_openai.profiles`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polywire.immutable import EMPTY
from polywire.profiles import ProfileRule, ProfileTable
from polywire_openai import COMPATIBLE, COMPATIBLE_PROFILES, OPENAI_PROFILES

__all__ = ["ROWS", "Row"]

_DATE = "2026-12-02"


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
    own: bool = False

    def profiles(self) -> ProfileTable:
        """Return the row's profile table."""
        if self.own:
            return OPENAI_PROFILES
        base = COMPATIBLE.changed(self.profile, where=f"row {self.name!r}")
        # A service with rows of its own tells all of them; only unknown services fall back on the families' names.
        shared = COMPATIBLE_PROFILES.rules if self.name == "openai-compatible" else ()
        return ProfileTable(base, (*shared, *self.rules), self.source, _DATE)


def _rule(models: str, source: str, **changes: Any) -> ProfileRule:
    return ProfileRule(models, changes, source, _DATE)


_THINKS_IN_CONTENT = "reasoning_content"

_ROWS = (
    Row(
        name="deepseek",
        summary="DeepSeek",
        base_url="https://api.deepseek.com",
        key=("DEEPSEEK_API_KEY",),
        source="vendor documentation, thinking mode and function calling",
        profile={
            "reasoning_field": _THINKS_IN_CONTENT,
            # Every turn with calls must bring its thinking back, even an empty one: else HTTP 400.
            "reasoning_echo": "tool_calls",
            "reasoning_echo_empty": True,
            "empty_content_with_reasoning": True,
            "reasoning_parameter": "thinking",
            "effort_names": {"minimal": "low", "medium": "high", "xhigh": "high"},
            "response_formats": {"json"},
            "strict_tools": False,
            "parallel_switch": False,
        },
    ),
    Row(
        name="qwen",
        summary="Qwen, on Alibaba Cloud Model Studio (DashScope)",
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key=("DASHSCOPE_API_KEY",),
        url=("DASHSCOPE_COMPATIBLE_BASE_URL",),
        source="dashscope 2.0.2 and vendor documentation",
        profile={
            "reasoning_field": _THINKS_IN_CONTENT,
            "reasoning_echo": "always",
            "reasoning_parameter": "enable_thinking",
            "efforts": (),
            # `required` is refused by many models, and by all while they think.
            "tool_choices": {"auto", "none", "named"},
            "system_in_place": False,
        },
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
            "quirks": {"cache_mark": "cache_control", "allowed_tools": True},
        },
    ),
    Row(
        name="vllm",
        summary="vLLM, on a machine of your own",
        base_url="http://localhost:8000/v1",
        key=("VLLM_API_KEY",),
        key_required=False,
        source="vLLM 0.33.0",
        profile={"reasoning_field": "reasoning", "reasoning_echo": "tool_calls"},
    ),
    Row(
        name="llama-cpp",
        summary="llama.cpp's server",
        base_url="http://localhost:8080/v1",
        key=("LLAMA_API_KEY",),
        key_required=False,
        source="llama.cpp server source and README",
        profile={
            "reasoning_field": _THINKS_IN_CONTENT,
            # An object in tool_choice is taken for "auto" without a word.
            "tool_choices": {"auto", "none", "required"},
            "efforts": ("none", "low", "medium", "high"),
        },
    ),
    Row(
        name="lm-studio",
        summary="LM Studio's server",
        base_url="http://localhost:1234/v1",
        key=("LM_API_TOKEN",),
        key_required=False,
        source="vendor documentation",
        profile={
            "reasoning_field": _THINKS_IN_CONTENT,
            "tool_choices": {"auto", "none", "required"},
            "parallel_switch": False,
            "think_tags": True,
            "response_formats": {"json_schema"},
            # Answers without thinking are the rule, and must stream at once.
            "quirks": {"think_tags_opening": "required"},
            "efforts": ("none", "minimal", "low", "medium", "high", "xhigh"),
        },
    ),
    Row(
        name="ollama-compatible",
        summary="Ollama's compatible route; its own API is the provider `ollama`",
        base_url="http://localhost:11434/v1",
        key=("OLLAMA_API_KEY",),
        key_required=False,
        source="Ollama server source of 2026-08-21",
        profile={
            "reasoning_field": "reasoning",
            "effort_names": {"minimal": "low", "xhigh": "max"},
            # tool_choice is ignored: what is forced or forbidden is kept to by offering no other tools, or none.
            "tool_choices": {"auto"},
            "parallel_switch": False,
            "image_sources": {"data"},
        },
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
            # Sound is a bare string there, and a file's part has another shape: neither is written wrongly.
            "audio_sources": (),
            "document_sources": {"data", "url"},
            "quirks": {
                "field_names": {"seed": "random_seed"},
                "extra_fields": "none",
                "tool_message_name": True,
                "document_form": "document_url",
            },
        },
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
        },
    ),
    Row(
        name="xai",
        summary="xAI",
        base_url="https://api.x.ai/v1",
        key=("XAI_API_KEY",),
        source="vendor documentation",
        profile={"reasoning_field": _THINKS_IN_CONTENT, "reasoning_echo": "never"},
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
        source="vendor documentation",
        profile={
            "reasoning_field": _THINKS_IN_CONTENT,
            "reasoning_echo": "tool_calls",
            "reasoning_parameter": "thinking_type",
            "max_tokens_field": "max_completion_tokens",
            "tool_choices": {"auto", "none"},
            "strict_tools": False,
            "parallel_switch": False,
            "stop_limit": 5,
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
        source="zai-sdk 0.2.3 and vendor documentation",
        profile={
            "reasoning_field": _THINKS_IN_CONTENT,
            "reasoning_echo": "always",
            "reasoning_parameter": "thinking",
            "tool_choices": {"auto"},
            "parallel_switch": False,
            "strict_tools": False,
            "response_formats": {"json"},
            "sampling": {"temperature", "top_p", "seed", "stop_sequences"},
        },
    ),
    Row(
        name="together",
        summary="Together",
        base_url="https://api.together.ai/v1",
        key=("TOGETHER_API_KEY",),
        source="together 3.1.1",
        profile={
            "reasoning_field": "reasoning",
            "reasoning_parameter": "reasoning_switch",
            "efforts": ("none", "low", "medium", "high"),
            "parallel_switch": False,
        },
    ),
    Row(
        name="fireworks",
        summary="Fireworks",
        base_url="https://api.fireworks.ai/inference/v1",
        key=("FIREWORKS_API_KEY",),
        source="fireworks-ai 1.2.30",
        profile={
            "reasoning_field": _THINKS_IN_CONTENT,
            "reasoning_echo": "always",
            "reasoning_parameter": "thinking_budget",
            "stream_usage": False,
        },
        rules=(_rule("*gpt-oss*", "vendor documentation: no other word is taken", efforts=("low", "medium", "high")),),
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
        source="openai 3.57.0, lib/azure",
        own=True,
    ),
    Row(
        name="openai-compatible",
        summary="any other endpoint that speaks Chat Completions; base_url says which",
        base_url=None,
        key_required=False,
        source="OpenAI's API reference, and what such endpoints are known to differ in",
    ),
)

ROWS: Mapping[str, Row] = {row.name: row for row in _ROWS}
"""The rows by provider name."""
