"""A tool: what the model sees, what is run, and how its results are treated."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, Literal, ParamSpec, TypeAlias, TypeVar, overload

from polywire.contents import CacheMark
from polywire.errors import InvalidToolArguments
from polywire.tool_specifications import ToolSpecification
from polywire.tools.context import ToolContext
from polywire.tools.functions import FunctionInterface, interface_of

__all__ = ["ReturnBehavior", "Tool", "as_tools", "tool"]

ParametersT = ParamSpec("ParametersT")
ReturnT = TypeVar("ReturnT")

ReturnBehavior: TypeAlias = Literal["to_model", "immediate", "immediate_if_last"]
"""
Where a result goes. `to_model`: back to the model, which answers. `immediate`: to the caller, without another round, where
every call of the turn says so. `immediate_if_last`: likewise where the turn's last call says so. After a failure the
model is always asked again.
"""

_BEHAVIORS = ("to_model", "immediate", "immediate_if_last")


class Tool(Generic[ParametersT, ReturnT]):
    """
    A function that a model may call. Made by `@tool`; still callable as the function it is.

    Args:
        function: what is run. With a `specification` of your own it is the executor: it gets the arguments as one dict,
            and the `ToolContext` as well where it takes a second parameter.
        specification: the tool as the model sees it; left out, it is made of the function when first needed.
        name, description, strict, cache, extras: laid over what the function says.
        returns: where results go.
        requires_approval: run only where the service's hook approves.
        timeout: seconds one call may take; `None`: the service's own limit.
        max_result_characters: longer text is cut, visibly; `None`: the service's own limit.
    """

    __slots__ = ("__dict__", "__weakref__", "_bound", "_given", "_interface", "_made", "_overrides", "function", "max_result_characters", "requires_approval", "returns", "timeout")  # fmt: skip

    def __init__(
        self,
        function: Callable[ParametersT, ReturnT],
        specification: ToolSpecification | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        strict: bool | None = None,
        cache: CacheMark | None = None,
        extras: Mapping[str, Any] | None = None,
        returns: ReturnBehavior = "to_model",
        requires_approval: bool = False,
        timeout: float | None = None,
        max_result_characters: int | None = None,
    ) -> None:
        if not callable(function) and not isinstance(function, (staticmethod, classmethod)):
            msg = f"a tool is made of a function, not of {type(function).__name__}"
            raise TypeError(msg)
        if returns not in _BEHAVIORS:
            msg = f"returns must be one of {', '.join(map(repr, _BEHAVIORS))}, not {returns!r}"
            raise ValueError(msg)
        if timeout is not None and timeout <= 0:
            msg = f"timeout must be more than 0 seconds, not {timeout}"
            raise ValueError(msg)
        if max_result_characters is not None and max_result_characters < 0:
            msg = f"max_result_characters must not be negative, not {max_result_characters}"
            raise ValueError(msg)
        self.function = function
        given = {"name": name, "description": description, "strict": strict, "cache": cache, "extras": extras}
        self._overrides = {key: value for key, value in given.items() if value is not None}
        if specification is not None and self._overrides:
            msg = f"a tool with a specification of its own takes no {', '.join(self._overrides)}"
            raise TypeError(msg)
        self._given = specification
        self._interface: FunctionInterface | None = None
        # What was made of the function, unbound and bound: shared with the copies that stand for bound methods.
        self._made: dict[bool, ToolSpecification] = {}
        self._bound = False
        self.returns: ReturnBehavior = returns
        self.requires_approval = requires_approval
        self.timeout = timeout
        self.max_result_characters = max_result_characters
        for attribute in ("__name__", "__qualname__", "__doc__", "__module__", "__wrapped__"):
            value = function if attribute == "__wrapped__" else getattr(function, attribute, None)
            if value is not None:
                self.__dict__[attribute] = value

    def __repr__(self) -> str:
        return f"Tool({getattr(self.function, '__name__', self.function)!r})"

    def __call__(self, *arguments: ParametersT.args, **keywords: ParametersT.kwargs) -> ReturnT:
        """Call the function, as if it were no tool."""
        return self.function(*arguments, **keywords)

    def __get__(self, instance: Any, owner: type | None = None) -> Tool[..., ReturnT]:
        """Bind a method that is a tool to its instance."""
        descriptor = self.function
        if instance is None and not isinstance(descriptor, (staticmethod, classmethod)):
            return self
        bound: Tool[..., ReturnT] = object.__new__(Tool)
        for slot in Tool.__slots__:
            if not slot.startswith("__"):
                setattr(bound, slot, getattr(self, slot))
        bound.__dict__.update(self.__dict__)
        bound.function = descriptor.__get__(instance, owner) if hasattr(descriptor, "__get__") else descriptor
        bound._interface, bound._bound = None, True
        return bound

    @property
    def interface(self) -> FunctionInterface:
        """What is known of the function."""
        if self._interface is None:
            self._interface = interface_of(self.function)
        return self._interface

    @property
    def specification(self) -> ToolSpecification:
        """The tool as the model sees it."""
        if self._given is not None:
            return self._given
        made = self._made.get(self._bound)
        if made is None:
            made = self._made[self._bound] = self.interface.specification(**self._overrides)
        return made

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.specification.name

    @property
    def is_async(self) -> bool:
        """Whether the function is known to give an awaitable."""
        function = self.function
        if self._given is not None:
            call = getattr(function, "__call__", None)  # noqa: B004 - asked for what it is
            return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
        return self.interface.is_async

    def bind(self, arguments: dict[str, Any], context: ToolContext[Any]) -> tuple[list[Any], dict[str, Any]]:
        """
        Make the function's own arguments of a model's.

        Raises:
            InvalidToolArguments: they do not fit.
        """
        if self._given is not None:
            required = self._given.parameters.get("required") or ()
            missing = [name for name in required if name not in arguments]
            if missing:
                msg = f"the arguments do not fit: {', '.join(missing)}: Field required"
                raise InvalidToolArguments(msg, tool_name=self.name)
            return [arguments, context] if _takes_two(self.function) else [arguments], {}
        return self.interface.bind(arguments, context)


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    positional = [each for each in parameters if each.kind in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD}]
    return len(positional) >= 2 or any(each.kind is each.VAR_POSITIONAL for each in parameters)


@overload
def tool(function: Callable[ParametersT, ReturnT], /) -> Tool[ParametersT, ReturnT]: ...
@overload
def tool(
    function: str | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    strict: bool | None = None,
    cache: CacheMark | None = None,
    extras: Mapping[str, Any] | None = None,
    returns: ReturnBehavior = "to_model",
    requires_approval: bool = False,
    timeout: float | None = None,
    max_result_characters: int | None = None,
) -> Callable[[Callable[ParametersT, ReturnT]], Tool[ParametersT, ReturnT]]: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """
    Make a tool of a function or method: `@tool`, or `@tool(name=…, requires_approval=True, …)`.

    A string as the only argument is the description: `@tool("Returns the weather for the given city")`. The options are
    those of `Tool`.
    """
    if isinstance(function, str):
        options.setdefault("description", function)
        function = None
    if function is None:
        return lambda decorated: Tool(decorated, **options)
    return Tool(function, **options)


def as_tools(item: Any) -> list[Tool[..., Any]]:
    """
    Return the tools that an item stands for.

    An item is a `Tool`, a function, method or callable object, a pair of a `ToolSpecification` and its executor, or an
    instance (or module) with methods (or functions) marked `@tool`.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(item, Tool):
        return [item]
    if isinstance(item, ToolSpecification):
        msg = (
            f"the tool {item.name!r} has no executor: give (specification, executor), or Tool(executor, specification)"
        )
        raise TypeError(msg)
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], ToolSpecification):
        return [Tool(item[1], item[0])]
    if isinstance(item, Mapping):
        return [Tool(executor, specification) for specification, executor in item.items()]
    if inspect.isroutine(item):
        return [Tool(item)]
    marked = _marked(item)
    if marked:
        return marked
    if callable(item) and not inspect.isclass(item):
        return [Tool(item)]
    if isinstance(item, Iterable) and not isinstance(item, (str, bytes)):
        return [each for inner in item for each in as_tools(inner)]
    msg = (
        f"{item!r} is no tool: give a function, a Tool, (specification, executor),"
        " or an instance with methods marked @tool"
    )
    raise TypeError(msg)


def _marked(item: Any) -> list[Tool[..., Any]]:
    """Return what is marked `@tool` in an instance, class or module, in the order of definition, base classes first."""
    names: dict[str, None] = {}
    if inspect.ismodule(item):
        names.update(dict.fromkeys(vars(item)))
    else:
        owner = item if inspect.isclass(item) else type(item)
        for each in reversed(owner.__mro__):
            names.update(dict.fromkeys(vars(each)))
        if not inspect.isclass(item):
            names.update(dict.fromkeys(getattr(item, "__dict__", ())))
    tools = []
    for name in names:
        found = inspect.getattr_static(item, name, None)
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        if isinstance(found, Tool):
            tools.append(getattr(item, name))
    return tools
