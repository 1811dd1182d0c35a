"""The response headers that say something about an answer."""

from __future__ import annotations

from polywire.immutable import FrozenDict

__all__ = ["METADATA_HEADERS"]

METADATA_HEADERS = FrozenDict(
    {
        "request-id": "request_id",
        "anthropic-organization-id": "organization_id",
        "anthropic-workspace-id": "workspace_id",
        "anthropic-ratelimit-*": "rate_limits",
        "anthropic-priority-*": "priority_limits",
        "anthropic-fast-*": "fast_limits",
    }
)
"""The response headers that go into `ChatResponse.metadata`, and their names there."""
