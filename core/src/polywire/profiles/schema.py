"""
What a model or an endpoint can do, as data with a source and a date.

A codec reads the profile and never asks for a vendor's or a model's name. A plugin publishes a `ProfileTable`: a base
profile, and rules that change it for models whose id matches a pattern. The settings file may change any field for one
model. A field that a wire has no use for is ignored by its codec.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from fnmatch import translate
from functools import lru_cache
from typing import Any, Literal

from polywire.errors import SettingsError, did_you_mean
from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY, freeze_mapping

__all__ = ["Profile", "ProfileRule", "ProfileTable"]

SamplingParameter = Literal["temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "stop_sequences"]
ALL_SAMPLING: frozenset[str] = frozenset(
    {"temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "stop_sequences"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """
    One endpoint's or model's abilities and demands.

    Tools:
        tool_calling: `"native"`, as the wire has it; `"markup"`, written into the text and read out of it; `"none"`.
        tool_markup: which forms of calls written as text are read (`"hermes"`, `"qwen_xml"`, …); for `"markup"`, the
            first is also the one that is written. With `"native"` they are read in addition.
        parallel_tool_calls: may one turn hold several calls? If not, the switch is sent off, and a turn of several
            calls is written as turns of one call each, in order, with a notice.
        parallel_switch: does the wire's on/off switch for that exist here?
        tool_choices: which of `auto`, `none`, `required`, `named` may be sent.
        strict_tools: is `strict` taken?
        tool_name_pattern, tool_name_length: what a tool's name must look like.
        tool_id_pattern: what a call's id must look like; `None`: anything.
        tool_ids_unique: must ids be unique over the whole `"conversation"`, or only in their `"turn"`?
        schema_dialect: which subset of JSON Schema the endpoint takes; `"full"` is all of it.
        strict_schema_dialect: the subset that `strict` tools and answers demand.
        tool_result_images: may a tool's result hold pictures?

    Roles:
        system_role: the role in which instructions are written.
        system_in_place: may instructions stand after the first message?
        alternating_roles: must user and assistant take turns?
        prefill: may the last message be the assistant's?
        user_name: is `name` taken on messages?

    Reasoning:
        reasoning_field: where thinking text is read from and written to; `None`: nowhere.
        reasoning_echo: must earlier thinking be sent back: `"never"`, on turns with `"tool_calls"`, `"always"`.
        reasoning_echo_empty: must the field be there even when there was no thinking?
        empty_content_with_reasoning: write `""`, not null, beside thinking.
        reasoning_parameter: the form in which effort and budget are asked for; a word of the wire's codec.
        efforts: the efforts that may be sent, weakest first; empty: none.
        effort_names: how an effort is spelled here, where not as in `Reasoning`.
        think_tags: does text begin with `<think>`…`</think>` that is to be read as thinking?

    Sampling and limits:
        sampling: which of the typed sampling parameters are taken.
        max_tokens_field: the field's name.
        default_max_tokens: sent where the caller gives none and the wire demands one.
        stop_limit: at most so many stop sequences.
        blank_stop_sequences: may a stop sequence be white space alone?
        response_formats: which forms of typed answer exist: `json`, `json_schema`.
        stream_usage: must usage be asked for in a stream?
        cache_marks: at most so many marks; 0: none are taken.

    Media:
        image_sources, audio_sources, video_sources, document_sources: which of `data`, `url`, `file_id` are taken.
        image_types, audio_types, document_types: media types taken; empty: no check on this side.
        max_media_bytes: the largest inline item, in bytes before base64.
        max_images: at most so many in one request.

    quirks: anything else that one codec wants to know, by its own words.
    """

    tool_calling: Literal["native", "markup", "none"] = "native"
    tool_markup: tuple[str, ...] = ()
    parallel_tool_calls: bool = True
    parallel_switch: bool = True
    tool_choices: frozenset[str] = frozenset({"auto", "none", "required", "named"})
    strict_tools: bool = True
    tool_name_pattern: str = r"[A-Za-z0-9_-]+"
    tool_name_length: int = 64
    tool_id_pattern: str | None = None
    tool_ids_unique: Literal["turn", "conversation"] = "turn"
    schema_dialect: str = "full"
    strict_schema_dialect: str | None = None
    tool_result_images: bool = False

    system_role: Literal["system", "developer", "user"] = "system"
    system_in_place: bool = True
    alternating_roles: bool = False
    prefill: bool = True
    user_name: bool = True

    reasoning_field: str | None = None
    reasoning_echo: Literal["never", "tool_calls", "always"] = "never"
    reasoning_echo_empty: bool = False
    empty_content_with_reasoning: bool = False
    reasoning_parameter: str | None = None
    efforts: tuple[str, ...] = ()
    effort_names: Mapping[str, Any] = EMPTY
    think_tags: bool = False

    sampling: frozenset[str] = ALL_SAMPLING
    max_tokens_field: str = "max_tokens"
    default_max_tokens: int | None = None
    stop_limit: int | None = None
    blank_stop_sequences: bool = True
    response_formats: frozenset[str] = frozenset({"json", "json_schema"})
    stream_usage: bool = True
    cache_marks: int = 0

    image_sources: frozenset[str] = frozenset({"data", "url"})
    audio_sources: frozenset[str] = frozenset()
    video_sources: frozenset[str] = frozenset()
    document_sources: frozenset[str] = frozenset()
    image_types: frozenset[str] = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
    audio_types: frozenset[str] = frozenset()
    document_types: frozenset[str] = frozenset()
    max_media_bytes: int | None = None
    max_images: int | None = None

    quirks: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in _SETS and not isinstance(value, frozenset):
                object.__setattr__(self, each.name, frozenset(_words(each.name, value)))
            elif each.name in _TUPLES and not isinstance(value, tuple):
                object.__setattr__(self, each.name, tuple(_words(each.name, value)))
        object.__setattr__(self, "effort_names", freeze_mapping(self.effort_names, name="effort_names"))
        object.__setattr__(self, "quirks", freeze_mapping(self.quirks, name="quirks"))

    def changed(self, changes: Mapping[str, Any], *, where: str = "profile") -> Profile:
        """
        Return this profile with some fields changed; `quirks` merge by key.

        Raises:
            SettingsError: a key is no field of a profile; the message names `where` and the nearest field.
        """
        for key in changes:
            if key not in _FIELDS:
                msg = f"{where}: unknown profile field {key!r}{did_you_mean(key, _FIELDS)}"
                raise SettingsError(msg)
        merged = dict(changes)
        if "quirks" in merged:
            merged["quirks"] = {**self.quirks, **merged["quirks"]}
        return replace(self, **merged)


def _words(name: str, value: Any) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        msg = f"profile field {name!r} must be a list of words, not {value!r}"
        raise SettingsError(msg)
    return [str(item) for item in value]


_FIELDS = frozenset(each.name for each in fields(Profile))
_SETS = frozenset(each.name for each in fields(Profile) if "frozenset" in str(each.type))
_TUPLES = frozenset(each.name for each in fields(Profile) if str(each.type).startswith("tuple"))


@dataclass(frozen=True, slots=True)
class ProfileRule:
    """
    Changes for the models whose id matches one of `models` (shell patterns, `|` between them, case-insensitive).

    `source` says where the fact comes from and `date` when it was read, so that anyone can check it again.
    """

    models: str
    changes: Mapping[str, Any]
    source: str
    date: str

    def matches(self, model: str) -> bool:
        """Whether the rule is for this model id."""
        return _matcher(self.models)(model.lower()) is not None


@lru_cache(maxsize=1024)
def _matcher(patterns: str) -> Any:
    return re.compile("|".join(translate(pattern.strip().lower()) for pattern in patterns.split("|"))).match


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """
    A provider's profiles: the base, and the rules laid on it, in order.

    `overrides` (from the settings file) are laid on last. Resolved profiles are remembered by model id.
    """

    base: Profile
    rules: tuple[ProfileRule, ...] = ()
    source: str = ""
    date: str = ""
    overrides: Mapping[str, Any] = EMPTY
    _resolved: dict[str, Profile] = field(default_factory=dict, init=False, repr=False, compare=False, hash=False)

    def for_model(self, model: str | None) -> Profile:
        """Return the profile of a model id; an id that no rule knows has the base."""
        key = model or ""
        profile = self._resolved.get(key)
        if profile is None:
            profile = self.base
            for rule in self.rules:
                if rule.matches(key):
                    profile = profile.changed(rule.changes, where=f"rule {rule.models!r}")
            if self.overrides:
                profile = profile.changed(self.overrides)
            if len(self._resolved) < 4096:
                self._resolved[key] = profile
        return profile

    def overridden(self, changes: Mapping[str, Any], *, where: str = "profile") -> ProfileTable:
        """
        Return the table with the settings file's own changes on top.

        Raises:
            SettingsError: a key is no field of a profile.
        """
        self.base.changed(changes, where=where)
        return ProfileTable(self.base, self.rules, self.source, self.date, {**self.overrides, **changes})

    def rules_for(self, model: str) -> tuple[ProfileRule, ...]:
        """Return the rules that apply to a model id, in order: where its profile comes from."""
        return tuple(rule for rule in self.rules if rule.matches(model))
