"""Services and servers that speak OpenAI's Chat Completions, one row of data each."""

from polywire_compatible.rows import ROWS, Row

__all__ = ["ROWS", "Row"]
