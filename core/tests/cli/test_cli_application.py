"""The program around the commands: help, versions, subcommands of other distributions, a missing extra."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from polywire.cli import main

Run = Callable[..., Any]
Install = Callable[..., Path]

TYPER_COMMAND = """
import typer
app = typer.Typer()
@app.command()
def hello(name: str = "you", loud: bool = False):
    "Say hello."
    print(f"HELLO {name}" if loud else f"hello {name}")
    if name == "nobody":
        raise typer.Exit(7)
"""
TYPER_GROUP = """
import typer
app = typer.Typer()
@app.command()
def one(): print("one")
@app.command()
def two(): print("two")
"""
FUNCTION = """
def shout(word: str, times: int = 1) -> None:
    "Shout."
    print(word.upper() * times)
"""


@pytest.mark.parametrize("form", [("--version",), ("-V",), ("--debug", "--version")])
def test_the_version_is_that_of_the_distribution(run: Run, form: tuple[str, ...]) -> None:
    result = run(*form)

    assert (result.code, result.out, result.err) == (0, f"polywire {version('polywire')}\n", "")


@pytest.mark.parametrize("form", [(), ("--help",), ("-h",)])
def test_help_names_every_command(run: Run, form: tuple[str, ...]) -> None:
    result = run(*form)

    assert result.code == 0
    for name in ("chat", "models", "providers", "check", "convert"):
        assert f"\n  {name}" in result.out


@pytest.mark.parametrize("name", ["chat", "models", "providers", "check", "convert"])
def test_every_command_has_its_help(run: Run, name: str) -> None:
    result = run(name, "--help")

    assert result.code == 0
    assert result.out.startswith(f"Usage: polywire {name} ")
    assert "\x1b" not in result.out


def test_a_misspelt_command_names_the_nearest(run: Run) -> None:
    result = run("chta", "hi")

    assert (result.code, result.out) == (2, "")
    assert result.err == "polywire: no such command 'chta'; did you mean 'chat'?\n"


def test_a_wrong_option_is_one_line_that_leads_to_the_help(run: Run) -> None:
    result = run("chat", "--modle", "x", "hi")

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("polywire: chat: no such option: --modle")
    assert result.err.endswith("(see polywire chat --help)\n")
    assert result.err.count("\n") == 1


def test_an_option_of_the_program_itself_that_is_wrong(run: Run) -> None:
    result = run("--nope")

    assert result.code == 2
    assert result.err == "polywire: no such option: --nope (see polywire --help)\n"


def test_a_command_of_another_distribution_runs_under_its_name(run: Run, distribution: Install) -> None:
    distribution("acme-hello", {"acme_hello.py": TYPER_COMMAND}, {"polywire.commands": {"hello": "acme_hello:app"}})

    assert run("hello").out == "hello you\n"
    assert run("hello", "--name", "ann", "--loud").out == "HELLO ann\n"
    assert run("hello", "--name", "nobody").code == 7
    assert run("hello", "--help").out.lstrip().startswith("Usage: polywire hello")


def test_a_wrong_option_of_such_a_command_is_one_line_too(run: Run, distribution: Install) -> None:
    distribution("acme-hello", {"acme_hello.py": TYPER_COMMAND}, {"polywire.commands": {"hello": "acme_hello:app"}})
    result = run("hello", "--nmae", "x")

    assert result.code == 2
    assert result.err.startswith("polywire: hello: no such option: --nmae")
    assert result.err.count("\n") == 1


def test_a_group_of_commands_and_a_plain_function_will_do(run: Run, distribution: Install) -> None:
    distribution(
        "acme-more",
        {"acme_group.py": TYPER_GROUP, "acme_function.py": FUNCTION},
        {"polywire.commands": {"both": "acme_group:app", "shout": "acme_function:shout"}},
    )

    assert run("both", "two").out == "two\n"
    assert run("shout", "hey", "--times", "2").out == "HEYHEY\n"


def test_the_list_of_commands_names_it_without_loading_it(run: Run, distribution: Install) -> None:
    distribution(
        "acme-bad", {"acme_bad.py": "raise RuntimeError('boo')"}, {"polywire.commands": {"bad": "acme_bad:app"}}
    )
    result = run("--help")

    assert result.code == 0
    assert "From acme-bad." in result.out
    assert "acme_bad" not in sys.modules


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise RuntimeError('boo')", "cannot be loaded: RuntimeError: boo"),
        ("other = 1", "cannot be loaded: AttributeError"),
        ("app = 1", "must be a typer.Typer, a click command or a function, not int"),
    ],
)
def test_one_that_is_broken_says_so_and_stops_nobody(run: Run, distribution: Install, text: str, words: str) -> None:
    distribution("acme-bad", {"acme_bad.py": text}, {"polywire.commands": {"bad": "acme_bad:app"}})
    result = run("bad")

    assert result.code == 4
    assert result.err.startswith("polywire: the command 'bad' of acme-bad ")
    assert words in result.err
    assert result.err.count("\n") == 1
    assert run("--version").code == 0


def test_a_built_in_name_stays_the_built_in(run: Run, distribution: Install, factory: Any) -> None:
    distribution("acme-chat", {"acme_chat.py": TYPER_COMMAND}, {"polywire.commands": {"chat": "acme_chat:app"}})
    factory.models[None] = lambda _: "the real one"

    assert run("chat", "hi").out == "the real one\n"
    assert "acme_chat" not in sys.modules


def test_without_the_extra_one_line_says_how_to_install_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name.partition(".")[0] == "typer":
            msg = "No module named 'typer'"
            raise ModuleNotFoundError(msg, name="typer")
        return real(name, *arguments, **keywords)

    for module in [name for name in sys.modules if name.startswith("polywire.cli.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", refuse)
    code = main(["chat", "hi"])
    captured = capsys.readouterr()

    assert code == 3
    assert captured.out == ""
    assert captured.err == (
        "polywire: the command needs the extra 'cli', which is not installed: pip install \"polywire[cli]\"\n"
    )
    assert main(["--version"]) == 0


def test_another_missing_module_is_not_taken_for_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "polywire.cli.application", None)

    with pytest.raises(ModuleNotFoundError):
        main(["chat", "hi"])
