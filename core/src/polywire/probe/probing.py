"""The whole probe: all questions in their order, and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from polywire.models import StreamingChatModel
from polywire.probe import abilities, basics
from polywire.probe.asking import Asker
from polywire.probe.values import Observation, ProbeReport
from polywire.recording.endpoint import open_endpoint

__all__ = ["probe"]

_QUESTIONS: tuple[Callable[[Asker], Iterator[Observation]], ...] = (
    basics.plain,
    basics.streaming,
    basics.system,
    basics.sampling,
    abilities.tools,
    abilities.choices,
    abilities.parallel,
    abilities.strict,
    abilities.response_formats,
    abilities.images,
    basics.unknown_model,
)
"""Cheapest first; a later one builds on what an earlier one settled."""


def probe(
    source: Any,
    name: str | None = None,
    *,
    deadline: float = 60.0,
    on_observation: Callable[[Observation], None] = lambda _: None,
    **arguments: Any,
) -> ProbeReport:
    """
    Find out with some twenty short calls what a model's endpoint does.

    Args:
        source: the settings, as `LlmFactory.from_config` takes them.
        name: a name from the settings, or `provider:model`; `None`: the default model.
        deadline: seconds for each call.
        on_observation: told of each as it is made.
        **arguments: as `polywire.recording.open_endpoint` takes them.

    Raises:
        SettingsError: the model cannot be built.
        ModelError: it does not answer, turns this caller away, or asks to wait: a call that fails so says nothing of what
            the endpoint can do.
    """
    with open_endpoint(source, name, **arguments) as known:
        profile, streams = known.profile, isinstance(known.model, StreamingChatModel)
        found = ProbeReport(
            name=known.name,
            in_settings=known.in_settings,
            connection=known.connection,
            model=known.model_id,
            known=profile,
            observations=(),
            calls=0,
        )
    opener: Callable[[Mapping[str, Any]], Any] = partial(_opened, source, found.name, arguments)
    observations: list[Observation] = []
    with Asker(opener, deadline=deadline).closing() as asker:
        for question in _QUESTIONS:
            if question is basics.streaming and not streams:
                continue
            for observation in question(asker):
                observations.append(observation)
                on_observation(observation)
        calls = asker.calls
    return ProbeReport(
        name=found.name,
        in_settings=found.in_settings,
        connection=found.connection,
        model=found.model,
        known=found.known,
        observations=tuple(observations),
        calls=calls,
    )


def _opened(source: Any, name: str, arguments: Mapping[str, Any], profile: Mapping[str, Any]) -> Any:
    return open_endpoint(source, name, profile=profile, **arguments)
