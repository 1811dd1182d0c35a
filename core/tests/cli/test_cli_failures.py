"""Failures as lines and exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polywire.cli.failures import ExitCode, InputError, exit_code_of, line_of
from polywire.errors import (
    ERROR_KINDS,
    HistoryError,
    ModelError,
    PluginError,
    RateLimited,
    ServerError,
    SettingsError,
    UnknownParameter,
    UnknownProvider,
)

# What each word of the header of the error tree tells a script.
EXPECTED = {
    "authentication": 10,
    "permission": 10,
    "rate_limit": 11,
    "quota": 12,
    "connection": 13,
    "timeout": 13,
    "server": 14,
    "overloaded": 14,
    "bad_request": 15,
    "context_length": 15,
    "unsupported": 15,
    "not_found": 15,
    "content_filter": 16,
    "stream_interrupted": 17,
    "empty_response": 17,
    "protocol": 17,
}


@pytest.mark.parametrize("kind", sorted(ERROR_KINDS))
def test_every_kind_of_model_error_has_its_exit_code(kind: str) -> None:
    assert exit_code_of(ERROR_KINDS[kind]("no")) == EXPECTED[kind]


def test_a_plugins_own_error_counts_as_the_class_it_is_made_from() -> None:
    class Throttled(RateLimited):
        kind = "acme_throttled"

    assert exit_code_of(Throttled("slow down")) == 11


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("x"), 4),
        (UnknownProvider("x"), 4),
        (PluginError("x"), 4),
        (HistoryError("x"), 5),
        (UnknownParameter("x"), 2),
        (InputError("x"), 2),
        (InputError("x", ExitCode.INPUT), 5),
        (KeyError("x"), 1),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
    ],
)
def test_other_errors_have_theirs(error: BaseException, code: int) -> None:
    assert exit_code_of(error) == code


def test_the_line_of_a_model_error_says_kind_place_and_what_the_server_asks() -> None:
    error = RateLimited("slow down", status=429, provider="acme", model="big", retry_after=3)

    assert line_of(error) == "rate limit: acme:big: slow down (HTTP 429, retry after 3 s)"


def test_the_line_tells_how_often_it_was_tried() -> None:
    error = ServerError("down", attempts=[ServerError("down"), ServerError("down")])

    assert line_of(error) == "server: down (after 3 attempts)"


@pytest.mark.parametrize("text", ["two\nlines", "a\r\nb", "\x1b[2Jcleared", "bell\x07", "tab\there", "\u2028sep"])
def test_a_line_is_one_line_without_controls(text: str) -> None:
    line = line_of(ModelError(text))

    assert re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", line) is None


def test_an_unexpected_error_points_to_the_traceback() -> None:
    assert line_of(KeyError("x")) == "unexpected KeyError: 'x' (--debug shows where it happened)"


def test_every_exit_code_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
    documented = {int(number) for number in re.findall(r"^\| (\d+) \|", page, flags=re.MULTILINE)}

    assert documented == {int(code) for code in ExitCode}
