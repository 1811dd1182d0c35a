"""
Recordings of a live endpoint, for the tests of a plugin: `polywire record`, as functions.

What is written is what `polywire.testing.load_recordings` reads and the conformance kit replays.
"""

from __future__ import annotations

from polywire.recording.capturing import Captured, CapturingTransport
from polywire.recording.endpoint import Endpoint, open_endpoint
from polywire.recording.secrets import SecretFound
from polywire.recording.takes import WEATHER, record, tool_request
from polywire.recording.writing import Take, write_recordings

__all__ = [
    "WEATHER",
    "Captured",
    "CapturingTransport",
    "Endpoint",
    "SecretFound",
    "Take",
    "open_endpoint",
    "record",
    "tool_request",
    "write_recordings",
]
