"""This library: the sides of the folder above, with the models' names that all peers are given."""

from __future__ import annotations

from polywire_side import Polywire, PolywireAnthropic
from workload import MODELS


class Peer(Polywire):
    def __init__(self, base: str) -> None:
        super().__init__(base, model=MODELS["openai"])


class PeerOnAnthropic(PolywireAnthropic):
    def __init__(self, base: str) -> None:
        super().__init__(base, model=MODELS["anthropic"], max_tokens=1024)
