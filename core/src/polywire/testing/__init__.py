"""
What applications and plugin authors test with: a scripted model, a transport without a network, and the conformance kit.

The names are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polywire.testing.conformance import (
        RULES as RULES,
        CodecConformance as CodecConformance,
        CodecUnderTest as CodecUnderTest,
        Violation as Violation,
        check_rule as check_rule,
    )
    from polywire.testing.recordings import (
        Expected as Expected,
        Recording as Recording,
        load_recordings as load_recordings,
    )
    from polywire.testing.scripted import ScriptedChatModel as ScriptedChatModel
    from polywire.testing.transport import FakeTransport as FakeTransport, Reply as Reply

_HOMES = {
    "CodecConformance": "conformance",
    "CodecUnderTest": "conformance",
    "Expected": "recordings",
    "FakeTransport": "transport",
    "RULES": "conformance",
    "Recording": "recordings",
    "Reply": "transport",
    "ScriptedChatModel": "scripted",
    "Violation": "conformance",
    "check_rule": "conformance",
    "load_recordings": "recordings",
}

__all__ = [
    "RULES",
    "CodecConformance",
    "CodecUnderTest",
    "Expected",
    "FakeTransport",
    "Recording",
    "Reply",
    "ScriptedChatModel",
    "Violation",
    "check_rule",
    "load_recordings",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
