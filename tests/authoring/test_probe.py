"""`polywire probe` finds out what an endpoint really does: on endpoints with known oddities, and on a real llama.cpp."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from polywire import LlmFactory
from polywire.cli import main
from polywire.errors import RateLimited
from polywire.probe import ProbeReport, probe

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.odd_endpoint import serving

KEY = "sk-proj-0123456789abcdef"


def settings_for(address: str) -> dict[str, Any]:
    return {
        "providers": {"office": {"plugin": "openai-compatible", "base_url": address, "api_key": KEY}},
        "models": {"assistant": {"provider": "office", "model": "m", "retry": {"attempts": 3}}},
    }


def probed(*oddities: str) -> ProbeReport:
    with serving(*oddities) as endpoint:
        return probe(settings_for(endpoint.address), "assistant", environ={})


def finding(report: ProbeReport, name: str) -> str:
    return next(each.finding for each in report.observations if each.name == name)


def test_an_endpoint_without_oddities_does_everything() -> None:
    report = probed("limits")

    assert {each.name: each.finding for each in report.observations} == {
        "plain answer": "yes",
        "reasoning": "no",
        "limits in headers": "yes",
        "request id": "yes",
        "stream": "yes",
        "stream usage": "yes",
        "system role": "yes",
        "late instructions": "yes",
        "sampling": "yes",
        "tools": "yes",
        "forced choice": "yes",
        "parallel calls": "yes",
        "parallel switch": "yes",
        "strict tools": "yes",
        "typed answers": "yes",
        "images": "yes",
        "error shape": "yes",
    }
    assert report.differences == {}
    assert report.calls <= 20
    assert "nothing to set" in report.to_toml()


@pytest.mark.parametrize(
    ("oddity", "differences"),
    [
        ("max_completion_tokens", {"max_tokens_field": "max_completion_tokens"}),
        ("developer_only", {"system_role": "developer"}),
        ("no_late_system", {"system_in_place": False}),
        ("no_stream_options", {"stream_usage": False}),
        ("no_penalties", {"sampling": ["temperature", "top_p", "seed", "stop_sequences"]}),
        ("markup_calls", {"tool_markup": ["hermes"]}),
        ("choice_ignored", {"tool_choices": ["auto"]}),
        ("named_refused", {"tool_choices": ["auto", "required", "none"]}),
        ("switch_ignored", {"parallel_switch": False}),
        ("switch_refused", {"parallel_switch": False}),
        ("strict_refused", {"strict_tools": False}),
        ("no_json_schema", {"response_formats": ["json"]}),
        ("schema_ignored", {"response_formats": ["json"]}),
        ("no_images", {"image_sources": []}),
        ("thinks", {"reasoning_field": "reasoning_content"}),
        ("think_tags", {"think_tags": True}),
    ],
)
def test_each_oddity_is_found(oddity: str, differences: dict[str, Any]) -> None:
    found = probed(oddity).differences
    if oddity == "markup_calls":
        found.pop("tool_choices", None)  # a call that comes as text cannot be seen to be forced

    assert found == differences


def test_without_tools_nothing_more_is_asked_of_them() -> None:
    report = probed("no_tools")

    assert report.differences == {"tool_calling": "none"}
    assert {"forced choice", "parallel calls", "strict tools"}.isdisjoint(each.name for each in report.observations)


def test_what_cannot_be_seen_is_not_claimed() -> None:
    report = probed("one_call", "any_model", "no_stream_usage")

    assert finding(report, "parallel calls") == "unclear"
    assert finding(report, "parallel switch") == "unclear"
    assert finding(report, "error shape") == "unclear"
    assert finding(report, "stream usage") == "no"
    assert finding(report, "limits in headers") == "no"
    assert report.differences == {}


def test_a_limit_ends_the_probe_at_once() -> None:
    with serving("busy") as endpoint:
        with pytest.raises(RateLimited):
            probe(settings_for(endpoint.address), "assistant", environ={})

        assert len(endpoint.bodies) == 1, "a probe never retries"


def test_what_it_prints_belongs_into_the_settings_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("no_images", "named_refused", "no_penalties") as endpoint:
        path = tmp_path / "settings.toml"
        path.write_text(
            f'[providers.office]\nplugin = "openai-compatible"\nbase_url = "{endpoint.address}"\napi_key = "{KEY}"\n'
            '[models.assistant]\nprovider = "office"\nmodel = "m"\n',
            encoding="utf-8",
        )

        assert main(["probe", "assistant", "--settings", str(path)]) == 0

        printed = capsys.readouterr().out
        assert KEY[:12] not in printed
        path.write_text(path.read_text(encoding="utf-8") + "\n" + printed, encoding="utf-8")
        with LlmFactory.from_config(path) as factory:
            information = factory.chat_model("assistant").information
            assert information.profile is not None
            profile = information.profile("m")

    assert profile.image_sources == frozenset()
    assert profile.tool_choices == {"auto", "required", "none"}
    assert profile.sampling == {"temperature", "top_p", "seed", "stop_sequences"}


def test_a_model_without_a_table_gets_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with serving("no_images") as endpoint:
        path = tmp_path / "settings.toml"
        path.write_text(
            f'[providers.office]\nplugin = "openai-compatible"\nbase_url = "{endpoint.address}"\napi_key = "{KEY}"\n',
            encoding="utf-8",
        )
        assert main(["probe", "office:m:7b", "--settings", str(path)]) == 0
    document = tomllib.loads(capsys.readouterr().out)

    assert document["models"]["probed"] == {
        "provider": "office",
        "model": "m:7b",
        "profile": {"image_sources": []},
    }


def test_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with serving("no_images") as endpoint:
        path = tmp_path / "settings.toml"
        path.write_text(
            f'[providers.office]\nplugin = "openai-compatible"\nbase_url = "{endpoint.address}"\napi_key = "{KEY}"\n',
            encoding="utf-8",
        )
        assert main(["probe", "office:m", "--json", "--settings", str(path)]) == 0
    document = json.loads(capsys.readouterr().out)

    assert document["differences"] == {"image_sources": []}
    assert document["profile"]["tool_calling"] == "native"
    assert {each["finding"] for each in document["observations"]} <= {"yes", "no", "partly", "unclear"}


@pytest.mark.real_llama
def test_a_real_server(llama_server: str) -> None:
    settings = settings_for(llama_server)
    settings["models"]["assistant"].update(model="smollm2", temperature=0.0)
    report = probe(settings, "assistant", environ={})

    # Its source: an object in tool_choice is taken for "auto" without a word; pictures need a projector.
    assert report.differences == {"tool_choices": ["auto", "required", "none"], "image_sources": []}
    assert finding(report, "stream usage") == "yes"
    assert finding(report, "system role") == "yes"
    assert finding(report, "typed answers") == "yes"
    assert finding(report, "error shape") == "unclear", "it serves one model, whatever is asked for"
