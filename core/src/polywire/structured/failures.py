"""
Why an answer did not become the value that was asked for.

    OutputError
    ├── OutputTruncated     the answer met its length limit; the same limit would cut it again, so nothing is retried
    ├── OutputRefused       the model declined, or a filter cut in
    └── OutputInvalid       the answer does not fit, also after the rounds of repair
"""

from __future__ import annotations

from collections.abc import Sequence

from polywire.errors import PolywireError
from polywire.responses import ChatResponse, TokenUsage, total_usage

__all__ = ["OutputError", "OutputInvalid", "OutputRefused", "OutputTruncated"]


class OutputError(PolywireError, ValueError):
    """
    There is no typed output.

    Attributes:
        response: the last answer.
        responses: every answer, in order; more than one after rounds of repair.
        text: the raw text of the last answer.
    """

    def __init__(self, message: str, responses: Sequence[ChatResponse], text: str = "") -> None:
        super().__init__(message)
        self.responses = tuple(responses)
        self.response = self.responses[-1]
        self.text = text

    @property
    def usage(self) -> TokenUsage:
        """What all the answers cost together."""
        return total_usage(response.usage for response in self.responses)


class OutputTruncated(OutputError):
    """The answer was cut off by a token limit: raise `max_tokens`, or ask for less."""


class OutputRefused(OutputError):
    """The model declined to answer, or a filter cut in."""


class OutputInvalid(OutputError):
    """The answer is not what was asked for."""
