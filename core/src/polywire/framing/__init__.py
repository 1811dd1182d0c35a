"""Bytes into frames: what every stream is cut into before a decoder reads it."""
