"""Keeps keys out of log lines: vendors like to repeat a rejected key in their error message."""

from __future__ import annotations

import re

__all__ = ["redact"]

_HIDDEN = "[redacted]"
_RULES = (
    # scheme://user:password@host
    (re.compile(r"(?<=://)[^/\s@]+(?=@)"), _HIDDEN),
    # Authorization schemes
    (re.compile(r"(?i)\b(bearer|basic|token)\s+[A-Za-z0-9._~+/=-]{8,}"), rf"\1 {_HIDDEN}"),
    # name = value, in URLs, JSON, headers and prose ("API key provided: abc")
    (
        re.compile(
            r"(?i)\b((?:x-)?(?:goog-)?(?:api[-_ ]?key|access[-_ ]?key|access[-_ ]?token|authorization|auth[-_ ]?token"
            r"|password|passwd|secret|signature|key|token)(?: provided)?[\"']?\s*[=:]\s*[\"']?)(?!\[redacted\])[^\s\"'&,;]{6,}"
        ),
        rf"\1{_HIDDEN}",
    ),
    # the look of a key: a short prefix and a long tail (sk-..., gsk_..., xai-..., AIza..., AKIA...)
    (re.compile(r"\b(?:[A-Za-z]{2,5}[-_](?:[A-Za-z0-9]+[-_])*)[A-Za-z0-9*_-]{12,}\b"), _HIDDEN),
    (re.compile(r"\b(?:AIza[\w-]{20,}|A[KS]IA[A-Z0-9]{12,}|eyJ[\w-]{10,}(?:\.[\w-]+)*)"), _HIDDEN),
    # any long run with letters and digits mixed
    (re.compile(r"\b(?=[A-Za-z0-9+/_-]*[0-9])(?=[A-Za-z0-9+/_-]*[A-Za-z])[A-Za-z0-9+/_-]{32,}={0,2}"), _HIDDEN),
)


def redact(text: str) -> str:
    """Replace everything in `text` that looks like a key; rather too much than too little."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
