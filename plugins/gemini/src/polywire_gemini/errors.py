"""Errors. The vendor's status words (google.rpc.Code) are among those that all codecs share."""

from __future__ import annotations

import re

from polywire.codec import HttpResponse
from polywire.errors import ModelError
from polywire.http_errors import error_from_response
from polywire.immutable import EMPTY, FrozenDict

__all__ = ["decode_error"]

# A quota of the day is not there again in a moment, whatever delay is named beside it.
_DAILY_QUOTA = re.compile(rb'"quotaId"\s*:\s*"[^"]*PerDay')
_DAILY_KINDS = FrozenDict({"resource_exhausted": "quota"})


def decode_error(response: HttpResponse) -> ModelError:
    """Read an error answer, or an error frame of a stream."""
    return error_from_response(response, kinds=_DAILY_KINDS if _DAILY_QUOTA.search(response.body) else EMPTY)
