"""One answer of a model, shown as it arrives."""

from __future__ import annotations

import time
from typing import Any

from polywire.cli.terminal import Terminal
from polywire.events import TextDelta, ThinkingDelta
from polywire.models import ChatModel, StreamingChatModel
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, FinishReason
from polywire.streams import ChatStream

__all__ = ["AnswerView", "InterruptedAnswer", "describe_usage"]

_ENDINGS = {
    FinishReason.LENGTH: "the answer was cut at the token limit (max_tokens)",
    FinishReason.CONTENT_FILTER: "the provider's filter cut the answer off",
    FinishReason.REFUSAL: "the model declined to answer",
    FinishReason.PAUSE: "the model paused in the middle of its turn",
    FinishReason.ERROR: "the provider failed inside the answer",
}


class InterruptedAnswer(KeyboardInterrupt):
    """Ctrl-C came while an answer was arriving; `partial` is what had arrived."""

    def __init__(self, partial: ChatResponse | None) -> None:
        super().__init__()
        self.partial = partial


class AnswerView:
    """
    Shows answers: text on standard output as it comes, thinking dimmed on standard error, and what else happened there.

    Args:
        terminal: where to.
        thinking: whether thinking is shown.
        usage: whether tokens and time are told after each answer.
    """

    def __init__(self, terminal: Terminal, *, thinking: bool, usage: bool = False) -> None:
        self._terminal = terminal
        self._thinking = thinking
        self._usage = usage

    def ask(self, model: ChatModel, request: ChatRequest, *, stream: bool = True) -> ChatResponse:
        """
        Ask, show the answer, and return it.

        Raises:
            InterruptedAnswer: Ctrl-C.
            ModelError: the call failed; what had arrived has been shown.
        """
        started = time.perf_counter()
        self._terminal.show_pending("…")
        if stream and isinstance(model, StreamingChatModel):
            response = self._stream(model.stream(request))
        else:
            try:
                response = model.chat(request)
            except KeyboardInterrupt:
                self._terminal.clear_pending()
                raise InterruptedAnswer(None) from None
            except BaseException:
                self._terminal.clear_pending()
                raise
            self._terminal.clear_pending()
            if self._thinking and response.thinking:
                self._terminal.write_error(response.thinking, "dim")
                self._terminal.end_error_line()
            self._write_whole(response.text or "")
        self._after(response, time.perf_counter() - started)
        return response

    def _stream(self, stream: ChatStream) -> ChatResponse:
        terminal = self._terminal
        pending, text_open = True, False
        try:
            with stream:
                for event in stream:
                    if type(event) is TextDelta:
                        if pending:
                            terminal.clear_pending()
                            pending = False
                        if not text_open:
                            terminal.end_error_line()
                        # Before the text is out: Ctrl-C may come in between, and the line would stay open.
                        text_open = not event.text.endswith("\n")
                        terminal.write(event.text)
                    elif type(event) is ThinkingDelta and self._thinking:
                        if pending:
                            terminal.clear_pending()
                            pending = False
                        if text_open and terminal.output_is_terminal:
                            terminal.write("\n")
                            text_open = False
                        terminal.write_error(event.text, "dim")
        except KeyboardInterrupt:
            raise InterruptedAnswer(stream.partial) from None
        finally:
            if pending:
                terminal.clear_pending()
            if text_open:
                terminal.write("\n")
            terminal.end_error_line()
        return stream.response

    def _write_whole(self, text: str) -> None:
        if text:
            self._terminal.write(text if text.endswith("\n") else text + "\n")

    def _after(self, response: ChatResponse, seconds: float) -> None:
        note = self._terminal.note
        answered_by = response.metadata.get("answered_by")
        if answered_by:
            failed = [f"{each.get('model')}: {each.get('error')}" for each in response.metadata.get("fallbacks", ())]
            note(f"answered by {answered_by}" + (f", because of {'; '.join(failed)}" if failed else ""), "yellow")
        for call in response.tool_calls:
            note(f"[asks for {call.name}({call.arguments})]")
        for notice in response.notices:
            note(f"{notice.kind}: {notice.subject}: {notice.message}", "yellow")
        if response.finish_reason in _ENDINGS:
            note(_ENDINGS[response.finish_reason], "yellow")
        elif not response.text and not response.tool_calls:
            note("the model answered nothing", "yellow")
        if self._usage:
            note(f"[{describe_usage(response)}, {seconds:.1f} s]")


def describe_usage(response: ChatResponse) -> str:
    """Tell what an answer cost: `12 tokens in, 34 out (20 thinking)`."""
    usage = response.usage
    if not usage:
        return "tokens unknown"

    def count(number: Any) -> str:
        return "?" if number is None else f"{number}"

    text = f"{count(usage.input_tokens)} tokens in"
    if usage.cached_tokens:
        text += f" ({usage.cached_tokens} cached)"
    text += f", {count(usage.output_tokens)} out"
    if usage.reasoning_tokens:
        text += f" ({usage.reasoning_tokens} thinking)"
    return text
