"""Spans and metrics for polywire's calls, by OpenTelemetry's conventions for generative AI."""

from polywire_opentelemetry.extension import OpenTelemetry

__all__ = ["OpenTelemetry"]
