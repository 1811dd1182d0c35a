"""Acme's chat models for polywire."""

from polywire_acme.codec import AcmeCodec
from polywire_acme.profiles import PROFILES

__all__ = ["PROFILES", "AcmeCodec"]
