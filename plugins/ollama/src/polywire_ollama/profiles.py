"""What Ollama's server takes. Which abilities a model has is told by the server (`/api/show`), not by its name."""

from polywire.profiles import Profile, ProfileRule, ProfileTable

__all__ = ["PROFILES"]

SOURCE = "Ollama server source, api/types.go and server/routes.go"
DATE = "2026-08-21"

PROFILES = ProfileTable(
    Profile(
        # There is no `tool_choice`: `none` leaves the tools out, anything stronger cannot be enforced.
        tool_choices=frozenset({"auto", "none"}),
        parallel_switch=False,
        strict_tools=False,
        # The server keeps a fixed set of keywords for each property and drops the others.
        schema_dialect="ollama",
        user_name=False,
        reasoning_field="thinking",
        reasoning_echo="always",
        reasoning_parameter="think",
        efforts=("none", "low", "medium", "high", "max"),
        max_tokens_field="num_predict",
        image_sources=frozenset({"data"}),
        image_types=frozenset({"image/png", "image/jpeg", "image/webp"}),
        cache_marks=0,
    ),
    (
        ProfileRule(
            "gpt-oss*|*/gpt-oss*",
            {"efforts": ("low", "medium", "high")},
            "Ollama server source: this family ignores on and off, and takes three grades",
            DATE,
        ),
    ),
    SOURCE,
    DATE,
)
