"""Mistakes in what is handed to `convert` are named by the word that is wrong, with the nearest right one."""

from __future__ import annotations

from typing import Any

import pytest

from polywire.conversion import convert
from polywire.errors import ModelError, ProtocolError

pytest.importorskip("polywire_openai", reason="the plugins are distributions of their own")
pytest.importorskip("polywire_anthropic", reason="the plugins are distributions of their own")

ASKED = [{"role": "user", "content": "hi"}]


@pytest.mark.parametrize("key", ["mesages", "message", "Messages", "messsages"])
@pytest.mark.parametrize("kind", [None, "request"])
def test_a_misspelt_conversation_is_not_taken_for_a_response(key: str, kind: Any) -> None:
    with pytest.raises(ProtocolError) as caught:
        convert({"model": "x", key: ASKED}, source="openai", target="anthropic", kind=kind)

    assert str(caught.value) == f"the payload has no 'messages'; did you mean that by {key!r}?"


@pytest.mark.parametrize("payload", [{"model": "x"}, {"content": [{"type": "nothing"}], "x": 1}])
def test_what_resembles_nothing_keeps_its_own_error(payload: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as caught:
        convert(payload, source="openai", target="anthropic")

    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("source", "target"), [("openai", "anthropic"), ("anthropic", "openai")])
def test_a_misspelt_role_is_named_with_its_place(source: str, target: str, whole: bool) -> None:
    messages = [*ASKED, {"role": "usr", "content": "hi"}]
    payload: Any = {"model": "x", "max_tokens": 5, "messages": messages} if whole else messages

    with pytest.raises(ModelError) as caught:
        convert(payload, source=source, target=target)

    text = str(caught.value)
    assert "messages[1]" in text
    assert text.count("'usr'") == 1
    assert text.endswith("; did you mean 'user'?")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"history": "fix"}, "unknown history 'fix'; known: repair, strict"),
        ({"history": "repare"}, "unknown history 'repare'; did you mean 'repair'?"),
        ({"kind": "reqest"}, "unknown kind 'reqest'; did you mean 'request'?"),
    ],
)
def test_unknown_words_are_refused_at_once(options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=r"^unknown") as caught:
        convert(ASKED, source="openai", target="anthropic", **options)

    assert str(caught.value) == words
