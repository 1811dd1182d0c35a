"""From functions to specifications, and from a model's arguments to the function's own types."""

from __future__ import annotations

import dataclasses
import enum
import functools
import sys
import typing
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from polywire import ToolCall, ToolService, ToolSpecification, tool
from polywire.errors import PolywireError
from polywire.testing.scripted import ScriptedChatModel
from polywire.tools import Tool, ToolContext, as_tools, specification_of
from polywire.tools.docstrings import read_docstring


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Item(BaseModel):
    n: int


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Options(typing.TypedDict, total=False):
    deep: bool


def run(function: Any, arguments: Any, **options: Any) -> Any:
    """What the model is told when it calls a function so; and, where it ran, what it returned."""
    service = ToolService([function], **options)
    model = ScriptedChatModel(ToolCall("c1", service.tools[0].name, arguments), "done")
    (execution,) = service.chat(model, "go").executions
    return execution


def test_signature_annotations_and_docstring_make_the_specification() -> None:
    def weather(city: str, unit: Literal["c", "f"] = "c", days: Annotated[int, "how many days"] = 1) -> str:
        """
        Returns the weather.

        In great detail.

        Args:
            city: the city's
                name
            unit (str): the unit
            days: not used, the annotation wins
        """
        return city + unit + str(days)

    specification = ToolSpecification.from_function(weather)

    assert specification.name == "weather"
    assert specification.description == "Returns the weather.\n\nIn great detail."
    assert specification.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "the city's name"},
            "unit": {"type": "string", "enum": ["c", "f"], "default": "c", "description": "the unit"},
            "days": {"type": "integer", "default": 1, "description": "how many days"},
        },
        "required": ["city"],
    }
    assert specification_of(weather, name="w", description="d", strict=True).strict is True


@pytest.mark.parametrize(
    "docstring",
    [
        "Find it.\n\n:param query: what to find\n:returns: it",
        "Find it.\n\nParameters\n----------\nquery : str\n    what to find\n\nReturns\n-------\nstr\n    it",
        "Find it.\n\nArgs:\n    query (str): what to find\n\nReturns:\n    it",
    ],
)
def test_three_styles_of_docstring(docstring: str) -> None:
    documentation = read_docstring(docstring, where="find")

    assert documentation.description == "Find it."
    assert documentation.parameters == {"query": "what to find"}


def test_a_docstring_without_sections_needs_no_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docstring_parser", None)

    assert read_docstring("Find it.\n\nQuickly.", where="find").description == "Find it.\n\nQuickly."
    with pytest.raises(PolywireError, match=r"pip install 'polywire\[tools\]'"):
        read_docstring("Find it.\n\nArgs:\n    query: what", where="find")


def test_rich_types_arrive_as_themselves() -> None:
    seen: list[Any] = []

    def f(
        when: datetime,
        level: Level,
        pick: Literal["a", "b"],
        items: list[Item],
        u: int | str,
        point: Point,
        options: Options,
        tags: set[str] = set(),  # noqa: B006 - that defaults are copied is the point
    ) -> None:
        seen.extend([when, level, pick, items, u, point, options, tags])

    schema = specification_of(f).parameters
    arguments = {
        "when": "2026-01-02T03:04:05Z",
        "level": "low",
        "pick": "a",
        "items": [{"n": 1}],
        "u": "7",
        "point": {"x": 1},
        "options": {"deep": True},
    }

    assert schema["properties"]["when"] == {"type": "string", "format": "date-time"}
    assert schema["$defs"]["Level"]["enum"] == ["low", "high"]
    assert "tags" not in schema["required"]
    assert not run(f, arguments).failed
    assert seen == [
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), Level.LOW, "a", [Item(n=1)], "7", Point(1, 0), {"deep": True}, set(),
    ]  # fmt: skip
    assert seen[0].utcoffset() == timedelta(0)
    wrong = run(f, {**arguments, "level": "medium"})
    assert wrong.failed
    assert "'low' or 'high'" in wrong.result.text


def test_null_for_an_optional_parameter_means_not_given() -> None:
    def f(topic: str, lang: str = "en", note: str | None = "n") -> str:
        return f"{topic} {lang} {note}"

    assert run(f, {"topic": "sun", "lang": None}).result.text == "sun en n"
    assert run(f, {"topic": "sun", "note": None}).result.text == "sun en None"
    assert run(f, {"topic": None}).failed


def test_schema_and_run_time_agree_on_what_is_required() -> None:
    class P(BaseModel):
        names: list[str] = []

    seen: list[P] = []

    def needed(params: P) -> None:
        seen.append(params)

    def optional(params: P = P()) -> None:  # noqa: B008
        params.names.append("x")
        seen.append(params)

    assert specification_of(needed).parameters["required"] == ["params"]
    assert "required" not in specification_of(optional).parameters
    assert "params" in run(needed, {}).result.text
    assert run(needed, {}).failed
    assert not run(needed, {"params": {}}).failed
    for _ in range(2):
        assert not run(optional, {}).failed
        assert seen[-1].names == ["x"]


def test_mutable_defaults_are_copied_for_each_call() -> None:
    def f(tags: list[str] = []) -> str:  # noqa: B006
        tags.append("x")
        return ",".join(tags)

    assert [run(f, {}).result.text for _ in range(3)] == ["x", "x", "x"]


@pytest.mark.parametrize("kind", ["*args", "**options"])
def test_star_arguments_are_refused_with_a_reason(kind: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def f(a: int, {kind}): pass", namespace)

    with pytest.raises(TypeError, match=r"f cannot be a tool: \*+\w+ has no names"):
        specification_of(namespace["f"])


def test_awkward_parameter_names_are_no_trouble() -> None:
    def f(schema: str, model_config: int, _hidden: int, copy: bool, self_: str = "s") -> str:
        return f"{schema} {model_config} {_hidden} {copy} {self_}"

    specification = specification_of(f)

    assert list(specification.parameters["properties"]) == ["schema", "model_config", "_hidden", "copy", "self_"]
    assert run(f, {"schema": "a", "model_config": 1, "_hidden": 2, "copy": True}).result.text == "a 1 2 True s"


def test_field_rules_hold_and_positional_only_parameters_are_given() -> None:
    def f(a: Annotated[int, Field(ge=1, description="one or more")], /, b: int = Field(2, le=3)) -> int:
        return a + b

    schema = specification_of(f).parameters["properties"]

    assert schema["a"] == {"type": "integer", "minimum": 1, "description": "one or more"}
    assert run(f, {"a": 1}).result.text == "3"
    assert run(f, {"a": 0}).failed
    assert run(f, {"a": 1, "b": 9}).failed


def test_an_unknown_argument_is_named_with_the_nearest() -> None:
    def f(city: str = "") -> str:
        return city

    assert "did you mean 'city'" in run(f, {"citty": "Paris"}).result.text


def test_the_context_parameter_is_the_callers_alone() -> None:
    def f(q: str, context: ToolContext[dict[str, int]]) -> str:
        return f"{q} {context.value['user']} {context.call.id}"

    service = ToolService([f])
    model = ScriptedChatModel(ToolCall("c1", "f", {"q": "x"}), "done")
    result = service.chat(model, "go", context={"user": 7})

    assert list(service.specifications[0].parameters["properties"]) == ["q"]
    assert result.executions[0].result.text == "x 7 c1"
    assert "7" not in str(model.requests[0].messages)


def test_decorated_functions_stay_callable_and_names_and_words_can_be_given() -> None:
    @tool
    def plain(a: int) -> int:
        """Adds one."""
        return a + 1

    @tool("Adds two.")
    def described(a: int) -> int:
        return a + 2

    @tool(name="three", strict=True, requires_approval=True)
    def named(a: int) -> int:
        return a + 3

    assert (plain(1), described(1), named(1)) == (2, 3, 4)
    assert plain.specification.description == "Adds one."
    assert described.specification.description == "Adds two."
    assert (named.specification.name, named.specification.strict) == ("three", True)
    assert plain.specification is plain.specification


def test_all_marked_methods_of_an_instance() -> None:
    class Base:
        @tool
        def first(self) -> str:
            return f"first of {self!r}"

        def not_a_tool(self) -> None: ...

    class Weather(Base):
        def __init__(self, unit: str) -> None:
            self.unit = unit

        def __repr__(self) -> str:
            return self.unit

        @tool
        async def second(self, city: str) -> str:
            return f"{city} in {self.unit}"

        @tool
        @staticmethod
        def third() -> str:
            return "third"

        @classmethod
        @tool
        def fourth(cls) -> str:
            return cls.__name__

    service = ToolService([Weather("celsius")])
    assert [each.name for each in service.tools] == ["first", "second", "third", "fourth"]
    assert list(service.specifications[1].parameters["properties"]) == ["city"]
    model = ScriptedChatModel(
        [
            ToolCall("1", "first"),
            ToolCall("2", "second", {"city": "Paris"}),
            ToolCall("3", "third"),
            ToolCall("4", "fourth"),
        ],
        "done",
    )
    texts = [execution.result.text for execution in service.chat(model, "go").executions]

    assert texts == ["first of celsius", "Paris in celsius", "third", "Weather"]


def test_methods_callable_objects_and_partials() -> None:
    class Finder:
        """Finds."""

        def find(self, q: str) -> str:
            """Looks for it."""
            return f"found {q}"

        def __call__(self, q: str) -> str:
            return f"called {q}"

    def add(a: int, b: int) -> int:
        return a + b

    finder = Finder()
    assert specification_of(finder.find).description == "Looks for it."
    assert run(finder.find, {"q": "x"}).result.text == "found x"
    assert run(finder, {"q": "x"}).result.text == "called x"
    assert list(specification_of(functools.partial(add, b=1)).parameters["properties"]) == ["a"]
    assert run(functools.partial(add, b=1), {"a": 1}).result.text == "2"
    with pytest.raises(ValueError, match="name"):
        specification_of(lambda: 1)


def test_a_specification_of_your_own_with_its_executor() -> None:
    specification = ToolSpecification(
        "raw", "d", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    )

    assert run((specification, lambda arguments: arguments["a"] + 1), {"a": 1}).result.text == "2"
    assert "a: Field required" in run(Tool(lambda arguments: 1, specification), {}).result.text
    seen = run((specification, lambda arguments, context: context.call.id), {"a": 1})
    assert seen.result.text == "c1"
    with pytest.raises(TypeError, match="no executor"):
        as_tools(specification)


def test_a_schema_whose_root_is_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match="root has type 'object'"):
        ToolSpecification("f", None, {"type": "array"})


def test_a_function_is_looked_at_once() -> None:
    @tool
    def f(a: int) -> int:
        return a

    assert ToolService([f]).specifications[0] is ToolService([f]).specifications[0]


def test_types_of_an_enclosing_function_are_found() -> None:
    class Local(BaseModel):
        n: int

    def f(local: Local) -> int:
        return local.n

    assert run(f, {"local": {"n": 3}}).result.text == "3"
