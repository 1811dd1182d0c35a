"""
What the Gemini families take.

Quirks of this codec: `thinking_efforts`, tokens for each effort where a model counts its thinking; `signature_placeholder`,
written on the first call of a turn that another model made, where the model demands a signature.
"""

from urllib.parse import quote

from polywire.profiles import Profile, ProfileRule, ProfileTable

__all__ = ["PROFILES", "model_path"]

SOURCE = "google-genai 3.6.1 (types, converters) and the vendor's documentation"
DATE = "2026-12-01"
_LEVELS = "docs.cloud.google.com/gemini-enterprise-agent-platform/models: thinking, and guides/gemini-3-5-flash"
_BUDGETS = "ai.google.dev/gemini-api/docs/thinking"
_FOUND = "2026-12-02"


_TUNED = "tunedModels/"


def model_path(model: str | None) -> str:
    """
    Where a model stands below the API's address: with the others under `models/`, whether or not that, or its publisher, is
    said; tuned models have a place of their own (google-genai 3.6.1, _transformers.t_model).
    """
    name = model or ""
    if name.startswith(_TUNED):
        return _TUNED + quote(name.removeprefix(_TUNED), safe="")
    return "models/" + quote(name.rpartition("/models/")[2].removeprefix("models/"), safe="")


def _anywhere(names: str) -> str:
    """The pattern for models by these names, wherever they are said to stand."""
    return "|".join(f"{name}|models/{name}|*/models/{name}" for name in names.split("|"))


PROFILES = ProfileTable(
    Profile(
        parallel_switch=False,
        tool_name_pattern=r"[A-Za-z_][A-Za-z0-9_.:-]*",
        tool_name_length=128,
        schema_dialect="gemini",
        strict_schema_dialect="gemini_json",
        user_name=False,
        reasoning_field="thought",
        reasoning_echo="always",
        reasoning_parameter="thinking_budget",
        max_tokens_field="maxOutputTokens",
        stop_limit=5,
        image_sources=frozenset({"data", "url", "file_id"}),
        image_types=frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}),
        audio_sources=frozenset({"data", "url", "file_id"}),
        audio_types=frozenset(
            {"audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac", "audio/mp4"}
        ),
        video_sources=frozenset({"data", "url", "file_id"}),
        document_sources=frozenset({"data", "url", "file_id"}),
        max_media_bytes=20 * 1024 * 1024,
        quirks={"thinking_efforts": {"none": 0, "minimal": 512, "low": 1024, "medium": 8192, "high": 24576}},
    ),
    (
        ProfileRule(
            _anywhere("gemini-3*|gemini-4*|gemini-flash-latest|gemini-pro-latest"),
            {
                "reasoning_parameter": "thinking_level",
                "efforts": ("minimal", "low", "medium", "high", "xhigh"),
                "tool_result_images": True,
                "quirks": {"signature_placeholder": "skip_thought_signature_validator"},
            },
            f"{SOURCE}: the words of ThinkingLevel",
            DATE,
        ),
        ProfileRule(_anywhere("gemini-3*"), {"efforts": ("minimal", "low", "medium", "high")}, _LEVELS, _FOUND),
        ProfileRule(
            _anywhere("gemini-3.*pro*|gemini-3.7-flash|gemini-3.8-flash|gemini-flash-latest|gemini-pro-latest"),
            {"efforts": ("low", "medium", "high")},
            f"{_LEVELS}: 3.1 Pro, 3.7 Flash and 3.8 Flash; the latest names stand for two of them",
            _FOUND,
        ),
        ProfileRule(_anywhere("gemini-3-pro*"), {"efforts": ("low", "high")}, _LEVELS, _FOUND),
        ProfileRule(
            _anywhere("gemini-2.5-pro*"),
            {"quirks": {"thinking_efforts": {"none": 128, "minimal": 512, "low": 1024, "medium": 8192, "high": 32768}}},
            f"{_BUDGETS}: 128 to 32768 tokens, this model cannot be kept from thinking",
            _FOUND,
        ),
        ProfileRule(
            _anywhere("gemini-1*|gemini-2.0*|gemma*"),
            {"reasoning_parameter": None},
            f"{_BUDGETS}: the first models that think are those of 2.5",
            _FOUND,
        ),
    ),
    SOURCE,
    DATE,
)
