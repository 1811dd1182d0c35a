"""
From a function to what a model sees, and from a model's arguments back to the function's own types.

The signature, its annotations and the docstring give the name, the descriptions and the JSON Schema; pydantic makes the
schema and validates, so that schema and run time agree. Each function is looked at once.

Rules:

- A parameter's description is that of `Annotated[type, "…"]` or `Field(description=…)`, else the docstring's.
- `*args` and `**kwargs` are refused: a model gives arguments by name, and only those it has been told of.
- A parameter of type `ToolContext` is filled by the service and never shown to the model.
- `null` for a parameter that has a default and does not take null means "not given".
- Defaults are copied for each call. Arguments that are not parameters are refused, with the nearest name.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin
from weakref import WeakKeyDictionary

from polywire import wire_json
from polywire.errors import InvalidToolArguments, PolywireError, did_you_mean
from polywire.schemas.dialects import SchemaDialect
from polywire.schemas.normalising import Normaliser
from polywire.schemas.references import ReferenceTable
from polywire.tool_specifications import ToolSpecification
from polywire.tools.annotations import for_pydantic
from polywire.tools.context import ToolContext
from polywire.tools.docstrings import read_docstring

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["FunctionInterface", "interface_of", "specification_of"]

_UNCHANGING = (str, int, float, bool, bytes, type(None), frozenset)


class FunctionInterface:
    """
    What is known of one function: its name, description and schema, and how to call it with a model's arguments.

    Attributes:
        name: the function's own name; `None` where it has none (a lambda).
        description: from the docstring.
        schema: JSON Schema of the arguments.
        is_async: whether calling it gives an awaitable.
    """

    __slots__ = ("_defaults", "_keys", "_model", "_nullable", "_positional", "context_name", "description", "is_async", "name", "schema")  # fmt: skip

    def __init__(self, function: Callable[..., Any]) -> None:
        target = _target(function)
        self.name = _name(function)
        where = self.name or repr(function)
        documentation = read_docstring(_docstring(function), where=where)
        self.description = documentation.description
        self.is_async = inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - asked for what it is, not whether it is there
        )
        hints = _hints(function, where)
        bound = function.keywords if isinstance(function, functools.partial) else {}
        self.context_name: str | None = None
        self._positional: list[str] = []
        self._defaults: dict[str, Any] = {}
        parameters: dict[str, tuple[Any, Any]] = {}
        for parameter in inspect.signature(function).parameters.values():
            name = parameter.name
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
                star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
                msg = (
                    f"{where} cannot be a tool: {star}{name} has no names or types that a model could be told;"
                    " give it named parameters (a list, or a model with fields)"
                )
                raise TypeError(msg)
            if name in bound:
                continue
            annotation = hints.get(name, Any if parameter.annotation is parameter.empty else parameter.annotation)
            if _is_context(annotation):
                self.context_name = name
                continue
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._positional.append(name)
            if parameter.default is not parameter.empty:
                self._defaults[name] = parameter.default
            parameters[name] = (for_pydantic(annotation), parameter.default)
        self._keys = {name: f"p{index}" for index, name in enumerate(parameters)}
        self._model, self.schema = _model_of(where, parameters, documentation.parameters)
        normaliser = Normaliser(SchemaDialect(), ReferenceTable(self.schema), lambda *_: None)
        properties = self.schema["properties"]
        self._nullable = frozenset(name for name in properties if normaliser.takes_null(properties[name]))

    def bind(self, arguments: Mapping[str, Any], context: Any = None) -> tuple[list[Any], dict[str, Any]]:
        """
        Make the function's own arguments of a model's.

        Raises:
            InvalidToolArguments: they do not fit; the message says where and how, in words a model can act on.
        """
        given = {
            name: value
            for name, value in arguments.items()
            if value is not None or name not in self._defaults or name in self._nullable
        }
        validated = self._validated(given)
        values: dict[str, Any] = {}
        for name, key in self._keys.items():
            if name in given:
                values[name] = getattr(validated, key)
            elif name in self._defaults:
                values[name] = _fresh(self._defaults[name])
        if self.context_name is not None:
            values[self.context_name] = context
        positional = [values.pop(name) for name in self._positional if name in values]
        return positional, values

    def _validated(self, given: Mapping[str, Any]) -> BaseModel:
        from pydantic import ValidationError

        try:
            return self._model.model_validate_json(wire_json.encode(given))
        except ValidationError as error:
            raise InvalidToolArguments(_explained(error, self._keys), tool_name=self.name) from None

    def specification(self, **overrides: Any) -> ToolSpecification:
        """
        Return the function as a tool, with some fields given.

        Raises:
            ValueError: it has no name, and none is given.
        """
        name = overrides.pop("name", None) or self.name
        if name is None:
            msg = "a function without a name of its own needs one: tool(name=…), or specification_of(function, name=…)"
            raise ValueError(msg)
        description = overrides.pop("description", None) or self.description
        parameters = overrides.pop("parameters", None) or self.schema
        return ToolSpecification(name, description, parameters, **overrides)


_known: WeakKeyDictionary[Any, dict[bool, FunctionInterface]] = WeakKeyDictionary()


def interface_of(function: Callable[..., Any]) -> FunctionInterface:
    """
    Look at a function, once.

    Raises:
        TypeError: it cannot be a tool; the message says why.
    """
    # A bound method is made anew at each access, and all of them share one function.
    key = getattr(function, "__func__", function)
    is_bound = key is not function
    try:
        entries = _known.setdefault(key, {})
    except TypeError:
        return FunctionInterface(function)
    if is_bound not in entries:
        entries[is_bound] = FunctionInterface(function)
    return entries[is_bound]


def specification_of(function: Callable[..., Any], **overrides: Any) -> ToolSpecification:
    """
    Make a tool's specification of a function.

    Args:
        function: a function, method or callable object, sync or async.
        **overrides: fields of `ToolSpecification` that win over what the function says.

    Raises:
        TypeError: the function cannot be a tool; the message says why.
    """
    known = getattr(function, "specification", None)
    if isinstance(known, ToolSpecification) and not overrides:
        return known
    if not callable(function):
        msg = f"a tool is made of a function, not of {type(function).__name__}"
        raise TypeError(msg)
    return interface_of(function).specification(**overrides)


# -- looking at a function --------------------------------------------------------------------------------------------------


def _target(function: Any) -> Any:
    """Return the plain function behind a method, a partial or a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isfunction(function) or inspect.ismethod(function) or inspect.isclass(function):
        return function
    return getattr(function, "__call__", function)  # noqa: B004


def _name(function: Any) -> str | None:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None) or type(function).__name__
    return None if name == "<lambda>" else name


def _docstring(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        # The function's own words only: `inspect.getdoc` would look for those of a class it happens to stand in.
        return function.__doc__
    own = getattr(type(function), "__call__", None)  # noqa: B004
    return getattr(own, "__doc__", None) or function.__doc__


def _hints(function: Any, where: str) -> dict[str, Any]:
    target = inspect.unwrap(_target(function))
    if inspect.isclass(target):
        target = target.__init__
    try:
        return typing.get_type_hints(target, include_extras=True)
    except NameError as error:
        # Types of an enclosing function: they are still there while the code that makes the tool runs.
        try:
            return typing.get_type_hints(target, localns=_enclosing_names(), include_extras=True)
        except NameError:
            msg = f"the annotations of {where} cannot be resolved: {error}"
            raise TypeError(msg) from error


def _enclosing_names() -> dict[str, Any]:
    names: dict[str, Any] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            for name, value in frame.f_locals.items():
                names.setdefault(name, value)
        frame = frame.f_back
    return names


def _is_context(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_context(get_args(annotation)[0])
    if origin in {typing.Union, types.UnionType}:
        return any(_is_context(each) for each in get_args(annotation))
    return annotation is ToolContext or origin is ToolContext


def _fresh(default: Any) -> Any:
    """Return a default that the call may change without changing the next one's."""
    if isinstance(default, _UNCHANGING):
        return default
    from pydantic.fields import FieldInfo

    if isinstance(default, FieldInfo):
        return default.get_default(call_default_factory=True, validated_data={})
    try:
        return copy.deepcopy(default)
    except Exception:
        return default


# -- pydantic ---------------------------------------------------------------------------------------------------------------


def _model_of(
    where: str, parameters: Mapping[str, tuple[Any, Any]], descriptions: Mapping[str, str]
) -> tuple[type[BaseModel], dict[str, Any]]:
    from pydantic import ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError
    from pydantic.fields import FieldInfo

    from polywire.tools.json_schema import PlainJsonSchema

    fields: dict[str, Any] = {}
    for index, (name, (annotation, default)) in enumerate(parameters.items()):
        description = _described(annotation) or descriptions.get(name)
        details: dict[str, Any] = {"alias": name, **({"description": description} if description else {})}
        if isinstance(default, FieldInfo):
            # `x: int = Field(3, ge=0)`: its rules are kept, its alias is the parameter's name.
            annotation = Annotated[annotation, default]
            default = (
                ... if default.is_required() else default.get_default(call_default_factory=True, validated_data={})
            )
        elif default is inspect.Parameter.empty:
            default = ...
        # Fields have names of their own: a parameter may be called `schema`, `_x` or `model_config`.
        fields[f"p{index}"] = (annotation, Field(default, **details))
    try:
        model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        schema = model.model_json_schema(by_alias=True, schema_generator=PlainJsonSchema)
    except PydanticUserError as error:
        msg = f"{where} cannot be a tool: {str(error).splitlines()[0]}"
        raise TypeError(msg) from error
    except NameError as error:
        msg = f"{where} cannot be a tool: {error}"
        raise TypeError(msg) from error
    for key in ("title", "additionalProperties", "description"):
        schema.pop(key, None)
    schema.setdefault("properties", {})
    ordered = {key: schema[key] for key in ("type", "properties", "required") if key in schema}
    return model, {**ordered, **schema}


def _described(annotation: Any) -> str | None:
    """Return the description within `Annotated[type, "…"]`; a `Field` there is pydantic's to read."""
    if get_origin(annotation) is not Annotated:
        return None
    for extra in get_args(annotation)[1:]:
        text = extra if isinstance(extra, str) else getattr(extra, "documentation", None)
        if isinstance(text, str):
            return text
        if isinstance(getattr(extra, "description", None), str):
            return str(extra.description)
    return None


def _explained(error: Any, known: Iterable[str]) -> str:
    """Say what is wrong, one clause for each argument."""
    clauses = []
    for each in error.errors(include_url=False, include_context=False):
        place = ".".join(str(step) for step in each["loc"]) or "arguments"
        if each["type"] == "extra_forbidden" and len(each["loc"]) == 1:
            clauses.append(f"there is no parameter {place!r}{did_you_mean(place, known)}")
            continue
        clause = f"{place}: {each['msg']}"
        if each["type"] != "missing":
            clause += f" (given: {_shortened(each.get('input'))})"
        clauses.append(clause)
    return "the arguments do not fit: " + "; ".join(clauses)


def _shortened(value: Any) -> str:
    try:
        text = wire_json.compact(value)
    except (TypeError, PolywireError):
        text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
