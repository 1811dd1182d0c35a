"""The rows of services on the net, each with where its facts are from."""

from __future__ import annotations

from polywire_compatible.row import DATA, DATA_AND_URL, REASONING_CONTENT, UNSTATED, Embeddings, Row, rule

__all__ = ["SERVICES"]

SERVICES = (
    Row(
        name="deepseek",
        summary="DeepSeek",
        base_url="https://api.deepseek.com",
        key=("DEEPSEEK_API_KEY",),
        source="vendor documentation, thinking mode and function calling",
        profile={
            "reasoning_field": REASONING_CONTENT,
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
            "reasoning_field": REASONING_CONTENT,
            "reasoning_echo": "always",
            "reasoning_parameter": "enable_thinking",
            "efforts": (),
            # `required` is refused by many models, and by all while they think.
            "tool_choices": {"auto", "none", "named"},
            "system_in_place": False,
            "image_sources": DATA_AND_URL,
            "audio_sources": DATA_AND_URL,
            "video_sources": DATA_AND_URL,
            "document_sources": (),
            "quirks": {
                "audio_form": "address",
                "undocumented": (),
                # A thinking model refuses to be made to call one tool.
                "while_thinking": {"tool_choices": ("auto", "none")},
            },
        },
        rules=(
            rule(
                "qwen3-[0-9]*",
                "vendor documentation: open models think in streams alone",
                quirks={"thinking_streams_only": True},
            ),
            rule(
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
            "image_sources": DATA_AND_URL,
            "audio_sources": DATA,
            "video_sources": DATA_AND_URL,
            "document_sources": DATA_AND_URL,
            "quirks": {
                "cache_mark": "cache_control",
                "allowed_tools": True,
                "undocumented": (),
                "reasoning_details": True,
            },
        },
        embeddings=Embeddings(
            source="openrouter 1.3.84 (operations/createembeddings); it states no limit, each route has its own",
            max_inputs=UNSTATED,
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
            "image_sources": DATA_AND_URL,
            "audio_sources": DATA_AND_URL,
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
            # 256 texts are taken, 257 are "Too many inputs in request, split into more batches."
            source="mistralai 3.7.0; rig-core 0.42.0, tried: 256 texts; langchain-mistralai: 16,000 tokens in a request",
            max_inputs=256,
            max_batch_bytes=32_000,
            dimensions_field="output_dimension",
        ),
    ),
    Row(
        name="groq",
        summary="Groq",
        base_url="https://api.groq.com/openai/v1",
        key=("GROQ_API_KEY",),
        source="groq 1.7.0 and vendor documentation; console.groq.com/docs/vision for pictures",
        profile={
            "reasoning_field": "reasoning",
            "efforts": ("none", "low", "medium", "high"),
            "sampling": {"temperature", "top_p", "seed", "stop_sequences"},
            "max_tokens_field": "max_completion_tokens",
            "stop_limit": 4,
            "reasoning_parameter": "include_reasoning",
            "image_sources": DATA_AND_URL,
            # A field that it does not know is refused, on messages too.
            "quirks": {"undocumented": ("audio", "document", "video"), "extra_fields": "none"},
            "max_images": 5,
            # A request with base64 may have four megabytes (HTTP 413), one with addresses twenty.
            "max_media_bytes": 3 * 1024 * 1024,
        },
    ),
    Row(
        name="xai",
        summary="xAI",
        base_url="https://api.x.ai/v1",
        key=("XAI_API_KEY",),
        source="docs.x.ai/developers/model-capabilities: text/reasoning, images/understanding",
        profile={
            "reasoning_field": REASONING_CONTENT,
            "reasoning_echo": "never",
            "image_sources": DATA_AND_URL,
            "image_types": ("image/jpeg", "image/png"),
            "max_media_bytes": 20 * 1024 * 1024,
            "quirks": {"undocumented": ("audio", "document", "video")},
        },
        rules=(
            rule(
                "grok-3-mini*|grok-4*|grok-5*",
                "docs.x.ai/developers/model-capabilities/text/reasoning: reasoning models refuse penalties and stop",
                sampling={"temperature", "top_p", "seed"},
            ),
            rule(
                "grok-2*|grok-3|grok-3-latest|grok-3-fast*|grok-4|grok-4-latest|grok-4-0*|grok-4-fast*|grok-4-1-fast*"
                "|grok-4.20|grok-4.20-*reasoning*|grok-code*",
                "docs.x.ai/docs/guides/reasoning; tried for NousResearch/hermes-agent pull request 23435: HTTP 400",
                reasoning_parameter=None,
                efforts=(),
            ),
            rule("grok-3-mini*", "docs.x.ai/docs/guides/reasoning: two words alone", efforts=("low", "high")),
            rule(
                "grok-4.3*",
                "docs.x.ai/developers/model-capabilities/text/reasoning#effort-levels",
                efforts=("none", "low", "medium", "high"),
            ),
            rule(
                "grok-4.20-multi-agent*",
                "docs.x.ai/developers/model-capabilities/text/reasoning: how many agents work",
                efforts=("low", "medium", "high", "xhigh"),
            ),
            rule(
                "grok-4.5*",
                "docs.x.ai/developers/model-capabilities/text/reasoning, as quoted in anomalyco/opencode issue 39448: "
                "it cannot be kept from thinking",
                efforts=("low", "medium", "high"),
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
            "reasoning_field": REASONING_CONTENT,
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
            rule("kimi-*", "vendor documentation: sampling is fixed", sampling={"stop_sequences"}),
            rule(
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
            "reasoning_field": REASONING_CONTENT,
            "reasoning_echo": "always",
            "reasoning_parameter": "thinking",
            "tool_choices": {"auto"},
            "parallel_switch": False,
            "strict_tools": False,
            "response_formats": {"json"},
            "sampling": {"temperature", "top_p", "seed", "stop_sequences"},
            "image_sources": DATA_AND_URL,
            "video_sources": {"url"},
            "document_sources": {"url"},
            "quirks": {
                # The SDK takes `data:image/…;base64,` off a picture, and brings both numbers between 0 and 1.
                "image_form": "bare",
                "ranges": {"temperature": (0.01, 0.99), "top_p": (0.01, 0.99)},
                "document_form": "file_url",
                "undocumented": ("audio",),
                # Each of several calls brings a finish reason: the first one does not end the answer.
                "end_mark": True,
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
            "image_sources": DATA_AND_URL,
            "audio_sources": DATA_AND_URL,
            "audio_types": ("audio/wav",),
            "video_sources": DATA_AND_URL,
            "document_sources": (),
            # Instructions, answers and results are strings; either name of the thinking is known.
            "quirks": {"text_arrays": False, "echo_as_read": True, "undocumented": ()},
        },
        embeddings=Embeddings(
            source="together 3.1.1: model and input alone; it states no limit",
            max_inputs=UNSTATED,
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
            "reasoning_field": REASONING_CONTENT,
            "reasoning_echo": "always",
            "reasoning_parameter": "thinking_budget",
            "stream_usage": False,
            "efforts": ("none", "low", "medium", "high"),
            "user_name": False,
            "image_sources": DATA_AND_URL,
            "video_sources": DATA_AND_URL,
            "quirks": {"smallest_budget": 1024, "undocumented": ("audio", "document")},
        },
        rules=(rule("*gpt-oss*", "vendor documentation: no other word is taken", efforts=("low", "medium", "high")),),
        embeddings=Embeddings(
            source="vendor documentation: OpenAI's shape; dimensions for models that can be shortened, no stated limit",
            max_inputs=UNSTATED,
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
)
