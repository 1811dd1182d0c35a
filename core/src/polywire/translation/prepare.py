"""Where every codec's `encode` begins: a request made fit for one profile, value by value, each change with a notice."""

from __future__ import annotations

from collections.abc import Sequence

from polywire.fast_dataclass import dataclass
from polywire.messages import AiMessage, AiPart, Message, ToolCall, ToolResultMessage
from polywire.profiles import Profile
from polywire.requests import ChatRequest, ChatRequestParameters, ToolSpecification
from polywire.responses import Notice
from polywire.survey import Survey, survey
from polywire.translation.foreign import without_foreign_parts
from polywire.translation.ids import map_call_ids, must_map
from polywire.translation.media import check_image_count, check_media
from polywire.translation.names import NameMap
from polywire.translation.parallel import one_call_a_turn
from polywire.translation.parameters import fit_parameters
from polywire.translation.tool_media import media_after_results

__all__ = ["Prepared", "prepare", "prepare_messages"]


@dataclass(slots=True)
class Prepared:
    """
    A request that a wire can take.

    Attributes:
        messages: the history, with the wire's ids and names, without what belongs to other wires.
        parameters: what the profile takes; tool names are the wire's.
        names: maps tool names back when the answer is read.
        notices: every change.
        survey: what the history holds, where it goes as it came; `None` where it had to be changed.
    """

    messages: Sequence[Message]
    parameters: ChatRequestParameters
    names: NameMap
    notices: list[Notice]
    survey: Survey | None = None


def prepare(request: ChatRequest, profile: Profile, *, wire: str) -> Prepared:
    """
    Make a request fit for a profile. The request itself is not changed; where nothing must change, its own values come back.

    Raises:
        UnsupportedByModel: it asks for what the endpoint cannot do and what must not be left out.
    """
    parameters = request.parameters
    check_image_count(request.messages, profile)
    found = survey(request.messages)
    messages, names, notices = _fit_messages(request.messages, found, profile, wire, parameters)
    parameters, changed = fit_parameters(parameters, profile, wire, names)
    return Prepared(messages, parameters, names, notices + changed, found if messages is request.messages else None)


def prepare_messages(
    messages: Sequence[Message], profile: Profile, *, wire: str
) -> tuple[Sequence[Message], NameMap, list[Notice]]:
    """Make a history fit for a profile; see `prepare`."""
    return _fit_messages(messages, survey(messages), profile, wire)


def _fit_messages(
    messages: Sequence[Message],
    found: Survey,
    profile: Profile,
    wire: str,
    parameters: ChatRequestParameters | None = None,
) -> tuple[Sequence[Message], NameMap, list[Notice]]:
    names = NameMap([*_offered(parameters), *found.names], profile.tool_name_pattern, profile.tool_name_length)
    notices = list(names.notices)
    changed: list[Notice] = []
    if found.wires and found.wires != {wire}:
        messages, changed = without_foreign_parts(messages, wire)
        notices += changed
    if must_map(found, profile):
        messages, changed = map_call_ids(messages, profile)
        notices += changed
    moves_media = found.media_in_results and not profile.tool_result_images
    if moves_media or (found.parallel and not profile.parallel_tool_calls):
        check_media(messages, profile)
    if found.parallel and not profile.parallel_tool_calls:
        messages, changed = one_call_a_turn(messages)
        notices += changed
    if moves_media:
        messages, changed = media_after_results(messages)
        notices += changed
    if names:
        messages = [_renamed(message, names) for message in messages]
    return messages, names, notices


def _offered(parameters: ChatRequestParameters | None) -> list[str]:
    if parameters is None:
        return []
    names = [tool.name for tool in parameters.tools or () if isinstance(tool, ToolSpecification)]
    if parameters.tool_choice is not None:
        names += parameters.tool_choice.names
    return names


def _renamed(message: Message, names: NameMap) -> Message:
    if isinstance(message, AiMessage):
        if all(not isinstance(part, ToolCall) or names.to_wire(part.name) == part.name for part in message.parts):
            return message
        parts: list[AiPart] = [
            ToolCall(
                part.id,
                names.to_wire(part.name),
                part.arguments,
                part.source,
                incomplete=part.incomplete,
                extras=part.extras,
            )
            if isinstance(part, ToolCall)
            else part
            for part in message.parts
        ]
        return AiMessage(parts, message.origin, extras=message.extras)
    if isinstance(message, ToolResultMessage) and message.tool_name is not None:
        return ToolResultMessage(
            message.call_id,
            names.to_wire(message.tool_name),
            message.contents,
            message.is_error,
            message.error,
            extras=message.extras,
        )
    return message
