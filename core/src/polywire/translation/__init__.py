"""
What codecs share: pure functions between values, so that a rule about ids, names, turns or errors stands once.

`prepare` is where every codec's `encode` begins; `finish` and `calls` are where every `decode` ends.
"""
