"""Where each fact of a profile comes from."""

from __future__ import annotations

from polywire.cli.profile_view import Source, explain_profile, profile_table_of
from polywire.models import ModelInformation
from polywire.profiles import Profile, ProfileRule, ProfileTable

TABLE = ProfileTable(
    Profile(system_role="developer", stop_limit=4),
    (
        ProfileRule("big-*", {"stop_limit": 2, "cache_marks": 4}, "https://x.example/big", "2026-01-02"),
        ProfileRule("small-*", {"parallel_tool_calls": False}, "https://x.example/small", "2026-01-03"),
        ProfileRule("*-9", {"cache_marks": 8}, "https://x.example/nine", "2026-01-04"),
    ),
    source="https://x.example",
    date="2026-01-01",
).overridden({"image_types": ["image/png"]})


def test_each_field_names_the_source_that_had_the_last_word() -> None:
    facts, sources = explain_profile(TABLE, TABLE.for_model("big-9"), "big-9")
    by_name = {fact.name: (fact.value, fact.label) for fact in facts}

    assert by_name["system_role"] == ('"developer"', "base")
    assert by_name["stop_limit"] == ("2", "rule 1")
    assert by_name["cache_marks"] == ("8", "rule 2")
    assert by_name["image_types"] == ('["image/png"]', "settings")
    assert by_name["parallel_tool_calls"] == ("true", "")
    assert by_name["tool_id_pattern"] == ("-", "")
    assert by_name["image_sources"] == ('["data", "url"]', "")
    assert sources == (
        Source("base", "*", "https://x.example", "2026-01-01"),
        Source("rule 1", "big-*", "https://x.example/big", "2026-01-02"),
        Source("rule 2", "*-9", "https://x.example/nine", "2026-01-04"),
        Source("settings", "big-9", "the settings file", ""),
    )


def test_the_table_is_found_behind_the_look_up_and_may_be_missing() -> None:
    assert profile_table_of(ModelInformation(profile=TABLE.for_model)) is TABLE
    assert profile_table_of(ModelInformation(profile=lambda _: Profile())) is None
    assert profile_table_of(ModelInformation()) is None

    facts, sources = explain_profile(None, Profile(stop_limit=1), "x")
    assert {fact.label for fact in facts} == {""}
    assert sources == ()
