"""Several turns at a terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from polywire.cli.answers import AnswerView, InterruptedAnswer
from polywire.cli.failures import line_of
from polywire.cli.terminal import Terminal
from polywire.errors import PolywireError, did_you_mean
from polywire.messages import AiMessage, Message, SystemMessage, ToolCall, UserMessage
from polywire.models import ChatModel, fold_request
from polywire.requests import ChatRequest

__all__ = ["Conversation"]

_PROMPT = "> "
_MORE = ". "
_HELP = (
    "/new forgets what was said, /system TEXT sets the instructions, /quit or Ctrl-D leaves;"
    " a line that ends in \\ goes on in the next"
)
_COMMANDS = ("/help", "/new", "/quit", "/exit", "/bye", "/system")


class Conversation:
    """
    A model, instructions, parameters, and what was said so far.

    A turn that fails or is broken off before any text leaves no trace, so that the next one starts from a history that
    closes.
    """

    def __init__(
        self,
        model: ChatModel,
        view: AnswerView,
        *,
        system: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        stream: bool = True,
    ) -> None:
        self._model = model
        self._view = view
        self._system = system
        self._parameters = dict(parameters or {})
        self._stream = stream
        self.messages: list[Message] = []

    def request(self, text: str) -> ChatRequest:
        """
        Return the request for the next turn.

        Raises:
            UnknownParameter, ValueError, TypeError: a parameter is wrong.
        """
        system = [SystemMessage(self._system)] if self._system else []
        return fold_request([*system, *self.messages, UserMessage(text)], **self._parameters)

    def ask(self, text: str) -> None:
        """Have one turn; what was said is remembered."""
        request = self.request(text)
        try:
            answer = self._view.ask(self._model, request, stream=self._stream).message
        except InterruptedAnswer as stopped:
            if stopped.partial is None or not stopped.partial.text:
                raise
            self._remember(text, AiMessage(stopped.partial.text))
            raise
        self._remember(text, answer)

    def _remember(self, text: str, answer: AiMessage) -> None:
        # Nobody here answers a tool call, and an unanswered one would stop the next turn.
        parts = [part for part in answer.parts if not isinstance(part, ToolCall)]
        if parts:
            self.messages += [UserMessage(text), AiMessage(parts, answer.origin, extras=answer.extras)]

    def run(
        self, terminal: Terminal, *, name: str | None = None, read_line: Callable[[str], str] | None = None
    ) -> None:
        """
        Talk until the person leaves.

        Raises:
            KeyboardInterrupt: Ctrl-C at the prompt.
            UnknownParameter: a parameter is wrong; told before the first question.
        """
        self.request("?")
        read_line = read_line or line_reader(terminal)
        who = name or self._model.information.model or "the default model"
        terminal.note(f"Talking to {who}. /help for help, Ctrl-D to leave.")
        while True:
            text = self._read(read_line)
            if text is None:
                terminal.note("" if terminal.error_is_terminal else "bye")
                return
            if not text.strip():
                continue
            if text.lstrip().startswith("/") and self._is_command(text):
                if not self._command(text.strip(), terminal):
                    return
                continue
            try:
                self.ask(text)
            except InterruptedAnswer:
                terminal.note("stopped; Ctrl-C again leaves")
            except PolywireError as error:
                terminal.note(f"polywire: {line_of(error)}", "red")
            if terminal.output_is_terminal:
                terminal.line()

    def _read(self, read_line: Callable[[str], str]) -> str | None:
        lines: list[str] = []
        while True:
            try:
                line = read_line(_MORE if lines else _PROMPT)
            except EOFError:
                return "\n".join(lines) if lines else None
            if not line.endswith("\\"):
                return "\n".join([*lines, line])
            lines.append(line[:-1])

    def _is_command(self, text: str) -> bool:
        # "/etc/hosts is …" is something to say; "/hlep" is not.
        word = text.split(maxsplit=1)[0]
        return word.count("/") == 1 and (word in _COMMANDS or len(text.split()) == 1)

    def _command(self, text: str, terminal: Terminal) -> bool:
        word, _, rest = text.partition(" ")
        match word:
            case "/quit" | "/exit" | "/bye":
                return False
            case "/new":
                self.messages.clear()
                terminal.note("a new conversation")
            case "/system":
                self._system = rest.strip() or None
                terminal.note("instructions set" if self._system else "no instructions")
            case "/help":
                terminal.note(_HELP)
            case _:
                terminal.note(f"no such command {word!r}{did_you_mean(word, _COMMANDS)}", "yellow")
        return True


def line_reader(terminal: Terminal) -> Callable[[str], str]:
    """Return a function that asks the person for a line, with editing and recall where the platform has them."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - importing it is what gives `input` its line editing
    if terminal.output_is_terminal:
        styled = terminal.output_has_colour

        def ask(prompt: str) -> str:
            # The marks tell readline which bytes take no room on the line.
            return input(f"\001\x1b[1;36m\002{prompt}\001\x1b[0m\002" if styled else prompt)

        return ask

    def ask_beside(prompt: str) -> str:
        # The answers go into a file: what is not an answer stays out of it.
        terminal.write_error(prompt)
        return input()

    return ask_beside
