"""What a model or an endpoint can do, as data: core holds the schema and the matching, plugins hold the rows."""

from polywire.profiles.schema import Profile, ProfileRule, ProfileTable

__all__ = ["Profile", "ProfileRule", "ProfileTable"]
