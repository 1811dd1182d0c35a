"""What an endpoint really does: `polywire probe`, as functions."""

from __future__ import annotations

from polywire.probe.probing import probe
from polywire.probe.values import Observation, ProbeReport

__all__ = ["Observation", "ProbeReport", "probe"]
