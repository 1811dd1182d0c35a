"""The rows of servers on a machine of one's own, and of any other endpoint."""

from __future__ import annotations

from polywire_compatible.row import DATA, DATA_AND_URL, REASONING_CONTENT, UNSTATED, Embeddings, Row

__all__ = ["SERVERS"]

SERVERS = (
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
            "image_sources": DATA_AND_URL,
            "audio_sources": DATA_AND_URL,
            "video_sources": DATA_AND_URL,
            "document_sources": (),
            "quirks": {"undocumented": ()},
        },
        embeddings=Embeddings(
            source="vLLM 0.33.0; it states no limit, and takes dimensions for models that can be shortened",
            max_inputs=UNSTATED,
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
            "reasoning_field": REASONING_CONTENT,
            # An object in tool_choice is taken for "auto" without a word.
            "tool_choices": {"auto", "none", "required"},
            "efforts": ("none", "low", "medium", "high"),
            "image_sources": DATA_AND_URL,
            "audio_sources": DATA,
            "audio_types": ("audio/wav", "audio/mpeg"),
            "document_sources": (),
            "quirks": {"undocumented": ()},
        },
        embeddings=Embeddings(
            source="llama.cpp server README: no dimensions, no stated limit",
            max_inputs=UNSTATED,
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
            "reasoning_field": REASONING_CONTENT,
            "tool_choices": {"auto", "none", "required"},
            "parallel_switch": False,
            "response_formats": {"json_schema"},
            "efforts": ("none", "minimal", "low", "medium", "high", "xhigh"),
            # An address is refused: "'url' field must be a base64 encoded image".
            "image_sources": DATA,
            # The name of the thinking depends on a setting and on the version.
            "quirks": {"echo_as_read": True, "undocumented": ("audio", "document", "video")},
        },
        embeddings=Embeddings(
            source="vendor documentation: model and input alone; no stated limit",
            max_inputs=UNSTATED,
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
            "image_sources": DATA,
            "audio_sources": DATA,
            "document_sources": (),
            "quirks": {"undocumented": ()},
        },
        embeddings=Embeddings(source="Ollama server source of 2026-08-21; it states no limit", max_inputs=UNSTATED),
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
