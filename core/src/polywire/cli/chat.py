"""`polywire chat`: ask a model from the command line."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any, Optional

import typer

from polywire.cli.failures import ExitCode, InputError
from polywire.cli.options import DebugOption, SettingsOption, open_factory, parse_parameters, wrong_parameters
from polywire.cli.terminal import Terminal

__all__ = ["chat"]


def chat(
    prompt: Annotated[
        Optional[list[str]],  # noqa: UP045 - older typer reads no `X | None` inside Annotated
        typer.Argument(
            metavar="PROMPT", help="What to say. Left out at a terminal: a conversation.", show_default=False
        ),
    ] = None,
    model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--model", "-m", metavar="NAME", help="A model of the settings file, or provider:model.", show_default=False
        ),
    ] = None,
    system: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--system", "-s", metavar="TEXT", help="Instructions for the model.", show_default=False),
    ] = None,
    parameters: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--option",
            "-o",
            metavar="NAME=VALUE",
            help="A request parameter, such as temperature=0.2.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole response as JSON.")] = False,
    thinking: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option(
            "--thinking/--no-thinking",
            help="Show the model's thinking on standard error; else only at a terminal.",
            show_default=False,
        ),
    ] = None,
    usage: Annotated[bool, typer.Option("--usage", "-u", help="Tell tokens and time after each answer.")] = False,
    stream: Annotated[bool, typer.Option("--stream/--no-stream", help="Show the answer as it arrives.")] = True,
    settings: SettingsOption = None,
    _debug: DebugOption = False,
) -> None:
    """
    Ask a model, and show its answer as it arrives.

    What is piped in goes along: after the prompt, or as the prompt. With neither, at a terminal, it is a conversation.
    """
    text = prompt_text(prompt or [], sys.stdin)
    terminal = Terminal()
    keywords = parse_parameters(parameters or [])
    if text is None and as_json:
        msg = "--json needs a prompt"
        raise InputError(msg)
    with open_factory(settings) as factory:
        # After the settings, which are the first thing that a newcomer has to get right.
        from polywire.cli.answers import AnswerView
        from polywire.cli.conversation import Conversation

        _require_chat(factory, model)
        chosen = factory.chat_model(model)
        view = AnswerView(terminal, thinking=terminal.error_is_terminal if thinking is None else thinking, usage=usage)
        conversation = Conversation(chosen, view, system=system, parameters=keywords, stream=stream)
        if text is None:
            conversation.run(terminal, name=model)
            return
        with wrong_parameters():
            request = conversation.request(text)
        if as_json:
            terminal.write(json_text(chosen.chat(request)) + "\n")
        else:
            view.ask(chosen, request, stream=stream)


def _require_chat(factory: Any, name: str | None) -> None:
    """Refuse a model that makes something else than answers, and name those that do."""
    tables = getattr(getattr(factory, "settings", None), "models", {})
    table = tables.get(name)
    if table is None or table.kind == "chat":
        return
    fitting = [each for each, other in tables.items() if other.kind == "chat"]
    choose = f"; choose a chat model with -m: {', '.join(fitting)}" if fitting else ""
    msg = f'chat: {name!r} makes no answers: its table says kind = "{table.kind}"{choose}'
    raise InputError(msg, ExitCode.SETTINGS)


def prompt_text(words: list[str], stdin: Any) -> str | None:
    """
    Put together what is asked: the words of the command line, and after an empty line what is piped in.

    Returns:
        `None` where there is neither, and a person at the keyboard.

    Raises:
        InputError: there is neither, and nobody to ask.
    """
    words = [word for word in words if word != "-"]
    prompt = " ".join(words)
    if stdin is None or stdin.closed:
        piped = ""
    elif stdin.isatty():
        if not words:
            return None
        piped = ""
    else:
        piped = stdin.buffer.read().decode("utf-8-sig", "replace")
    text = "\n\n".join(part for part in (prompt, piped.rstrip()) if part.strip())
    if not text:
        msg = 'chat: nothing to ask: give a prompt (polywire chat "…") or pipe one in'
        raise InputError(msg)
    return text


def json_text(response: Any) -> str:
    """Write a response as JSON: the form of `response_to_json`, with the visible text in front."""
    from polywire.serialization import response_to_json
    from polywire.wire_json import replace_surrogates

    document = {"text": response.text, **response_to_json(response)}
    return json.dumps(replace_surrogates(document), indent=2, ensure_ascii=False, default=str)
