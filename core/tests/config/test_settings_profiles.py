"""Changes to a profile in settings: every field takes what it is declared to take, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polywire.config import LlmFactory
from polywire.plugins import Registry

Problems = Callable[[Callable[[], object]], list[str]]

MISTAKES: list[tuple[str, Any, str]] = [
    ("tool_calling", "natve", ": must be 'native', 'markup' or 'none'; did you mean 'native'?"),
    ("tool_calling", 1, ": must be 'native', 'markup' or 'none'"),
    ("system_role", "systm", ": must be 'system', 'developer' or 'user'; did you mean 'system'?"),
    ("reasoning_echo", "allways", ": must be 'never', 'tool_calls' or 'always'; did you mean 'always'?"),
    ("tool_ids_unique", "turns", ": must be 'turn' or 'conversation'; did you mean 'turn'?"),
    ("max_images", "three", ": must be a whole number"),
    ("max_images", 1.5, ": must be a whole number"),
    ("max_images", True, ": must be a whole number"),
    ("cache_marks", -1, ": must be 0 or more"),
    ("parallel_tool_calls", "no", ": must be true or false"),
    ("stream_usage", 0, ": must be true or false"),
    ("sampling", "temperature", ": must be a list of words"),
    ("sampling", {"temperature": True}, ": must be a list of words"),
    ("sampling", ["temperature", 3], "[1]: must be text"),
    ("image_types", [1], "[0]: must be text"),
    ("max_tokens_field", 3, ": must be text"),
    ("tool_name_pattern", "[a-z", ": must be a regular expression"),
    ("effort_names", ["low"], ": must be a table"),
    ("quirks", "all", ": must be a table"),
]
NEAR = [
    ("sampling", "temprature", "temperature"),
    ("tool_choices", "requird", "required"),
    ("response_formats", "jsn", "json"),
    ("image_sources", "urls", "url"),
    ("document_sources", "file-id", "file_id"),
    ("efforts", "hihg", "high"),
    ("tool_markup", "hermess", "hermes"),
]


@pytest.mark.parametrize("table", ["models", "providers"])
@pytest.mark.parametrize(("field", "value", "line"), MISTAKES)
def test_a_value_that_does_not_fit_its_field(
    table: str, field: str, value: Any, line: str, registry: Registry, problems: Problems
) -> None:
    assert told(table, {field: value}, registry, problems) == [f"settings [{table}.acme] profile.{field}{line}"]


@pytest.mark.parametrize("table", ["models", "providers"])
@pytest.mark.parametrize(("field", "word", "near"), NEAR)
def test_a_word_that_is_none(
    table: str, field: str, word: str, near: str, registry: Registry, problems: Problems
) -> None:
    (line,) = told(table, {field: [near, word]}, registry, problems)

    assert line.startswith(f"settings [{table}.acme] profile.{field}[1]: must be ")
    assert line.endswith(f"; did you mean '{near}'?")


def test_a_schema_dialect_that_is_none(registry: Registry, problems: Problems) -> None:
    (line,) = told("models", {"schema_dialect": "openai_strct"}, registry, problems)

    assert line.startswith("settings [models.acme] profile.schema_dialect: ")
    assert "did you mean 'openai_strict'" in line


def test_every_mistake_of_a_profile_is_told(registry: Registry, problems: Problems) -> None:
    changes = {"tool_calling": "natve", "max_images": "three", "sampling": ["temprature"], "promt": 1}

    lines = told("models", changes, registry, problems)

    assert [line.partition(": ")[0] for line in lines] == [
        "settings [models.acme] profile.tool_calling",
        "settings [models.acme] profile.max_images",
        "settings [models.acme] profile.sampling[0]",
        "settings [models.acme] profile",
    ]


@pytest.mark.parametrize("value", ["sk-secret-value", ["sk-secret-value"], {"sk-secret-value": 1}])
def test_no_mistake_of_a_profile_shows_its_value(value: Any, registry: Registry, problems: Problems) -> None:
    for field in ("tool_calling", "max_images", "sampling", "tool_name_length", "schema_dialect", "max_tokens_field"):
        if field != "max_tokens_field" or not isinstance(value, str):
            assert "secret" not in str(told("providers", {field: value}, registry, problems))


GOOD: dict[str, Any] = {
    "tool_calling": "markup",
    "tool_markup": ["hermes", "qwen_xml"],
    "parallel_tool_calls": False,
    "tool_choices": [],
    "sampling": ["seed"],
    "efforts": ["low", "max"],
    "effort_names": {"max": "ultra"},
    "schema_dialect": "openai_strict+no_references",
    "image_types": ["image/x-of-its-own"],
    "image_sources": ["file_id"],
    "max_images": 0,
    "stop_limit": None,
    "reasoning_parameter": "a_word_of_the_wire",
    "quirks": {"anything": ["at", "all"]},
}


def test_what_fits_is_taken_as_it_is(registry: Registry) -> None:
    factory = LlmFactory.from_config(
        {"models": {"m": {"provider": "keyless", "model": "m", "profile": GOOD}}}, registry=registry
    )

    assert factory.settings.models["m"].profile == GOOD


def test_the_environment_writes_numbers_and_truth_as_text(registry: Registry) -> None:
    environ = {
        "POLYWIRE__PROVIDERS__KEYLESS__PROFILE__MAX_IMAGES": "3",
        "POLYWIRE__PROVIDERS__KEYLESS__PROFILE__PREFILL": "false",
    }
    factory = LlmFactory.from_config({"providers": {"keyless": {}}}, registry=registry, environ=environ)
    factory.chat_model("keyless:m")

    settings = vars(factory)["_builder"].connections["keyless"].settings
    assert settings.profile == {"max_images": 3, "prefill": False}


def told(table: str, changes: dict[str, Any], registry: Registry, problems: Problems) -> list[str]:
    keys = {"provider": "keyless", "model": "m"} if table == "models" else {}
    document = {table: {"acme": {**keys, "profile": changes}}}
    return problems(lambda: LlmFactory.from_config(document, registry=registry))
