"""What Acme's models can do and demand, as data."""

from polywire.profiles import Profile, ProfileTable

__all__ = ["PROFILES"]

PROFILES = ProfileTable(
    Profile(
        sampling=frozenset({"temperature", "top_p", "seed", "stop_sequences"}),
        response_formats=frozenset(),
        parallel_switch=False,
        strict_tools=False,
        user_name=False,
        image_sources=frozenset({"data"}),
    ),
    source="Acme's API reference",
    date="2026-12-02",
)
