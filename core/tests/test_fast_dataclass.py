"""`polywire.fast_dataclass` makes what `dataclasses` makes, only sooner: every shape is made by both and compared."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import typing
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

import pytest
from pydantic import TypeAdapter

import polywire
from polywire.fast_dataclass import dataclass as fast

T = TypeVar("T")
Decorator = Callable[..., Any]


def plain(make: Decorator) -> Any:
    @make(frozen=True, slots=True)
    class Value:
        """A value."""

        a: str
        b: int | None = None
        c: list[int] = dataclasses.field(default_factory=list)
        d: str = dataclasses.field(default="d", repr=False, compare=False)
        e: dict[str, int] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False, hash=False)
        f: int = dataclasses.field(default=3, init=False)
        known: ClassVar[int] = 1

    return Value


def single(make: Decorator) -> Any:
    @make(frozen=True, slots=True)
    class Single:
        """One field."""

        a: Any

    return Single


def nothing(make: Decorator) -> Any:
    @make(frozen=True, slots=True)
    class Nothing:
        """No field."""

    return Nothing


def keywords(make: Decorator) -> Any:
    @make(frozen=True, slots=True, kw_only=True)
    class Keywords:
        """By name."""

        a: Any = 1
        b: int = 2

    return Keywords


def mixed(make: Decorator) -> Any:
    @make(frozen=True, slots=True)
    class Mixed:
        """Both."""

        kind: str = dataclasses.field(default="k", kw_only=True)
        a: Any
        b: int = 2

    return Mixed


def checked(make: Decorator) -> Any:
    @make(frozen=True, slots=True)
    class Checked:
        """Checked and completed when made."""

        a: Any
        b: int = 0

        def __post_init__(self) -> None:
            if self.b < 0:
                msg = "negative"
                raise ValueError(msg)
            object.__setattr__(self, "b", self.b + 1)

    return Checked


def own_methods(make: Decorator) -> Any:
    @make(frozen=True, slots=True)
    class Own:
        """Has methods of its own."""

        a: Any
        b: int = 0

        def __repr__(self) -> str:
            return "Own(...)"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and other.b == self.b

        def __hash__(self) -> int:
            return 7

    return Own


def own_equality(make: Decorator) -> Any:
    @make(frozen=True, slots=True)
    class Own:
        """Is compared in its own way."""

        a: Any
        b: int = 0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and other.a == self.a

    return Own


def changeable(make: Decorator) -> Any:
    @make(slots=True)
    class Changeable:
        """May change."""

        a: Any
        b: int = 0

    return Changeable


def by_identity(make: Decorator) -> Any:
    @make(slots=True, eq=False, weakref_slot=True)
    class Identity:
        """Compared by identity."""

        a: Any
        b: int = 0

    return Identity


def own_init(make: Decorator) -> Any:
    @make(frozen=True, slots=True, init=False)
    class OwnInit:
        """Makes itself."""

        a: Any
        b: int = 0

        def __init__(self, a: Any, b: int = 5) -> None:
            object.__setattr__(self, "a", a)
            object.__setattr__(self, "b", b)

    return OwnInit


def derived(make: Decorator) -> Any:
    @make(frozen=True, slots=True)
    class Base:
        """The base."""

        a: Any
        b: int = 0

    @make(frozen=True, slots=True)
    class Derived(Base):
        """With more, and another default."""

        c: str = "c"
        b: int = 9

    return Derived


def generic(make: Decorator) -> Any:
    @make(frozen=True, slots=True)
    class Box(Generic[T]):
        """Holds something."""

        a: T
        b: int = 0

    return Box


SHAPES = [
    plain, single, nothing, keywords, mixed, checked, own_methods, own_equality, changeable, by_identity, own_init,
    derived, generic,
]  # fmt: skip
shapes = pytest.mark.parametrize("shape", SHAPES, ids=lambda each: each.__name__)


def told(work: Callable[[], Any]) -> Any:
    """What comes of it, exceptions included, without what differs between two classes of one name."""
    try:
        return work()
    except Exception as error:
        return type(error).__name__, str(error)


def arguments(cls: Any) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    return [((), {}), (("x",), {}), (("x", 2), {}), ((), {"a": "x", "b": 2}), (("x",), {"kind": "z"}), (("x", -1), {}),
            (("x", 2, "y"), {}), (("x",), {"nonsense": 1}), ((), {"b": 2}), (([1],), {})]  # fmt: skip


@shapes
def test_it_is_described_alike(shape: Any) -> None:
    ours, theirs = shape(fast), shape(dataclasses.dataclass)

    def fields(cls: Any) -> list[Any]:
        return [(e.name, e.type, e.default, e.default_factory, e.init, e.repr, e.hash, e.compare, e.kw_only)
                for e in dataclasses.fields(cls)]  # fmt: skip

    assert dataclasses.is_dataclass(ours)
    assert fields(ours) == fields(theirs)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    for parameter in ("init", "repr", "eq", "order", "unsafe_hash", "frozen"):
        assert getattr(ours.__dataclass_params__, parameter) == getattr(theirs.__dataclass_params__, parameter)
    assert (ours.__doc__, ours.__qualname__, ours.__module__) == (
        theirs.__doc__,
        theirs.__qualname__,
        theirs.__module__,
    )
    # Before 3.11.3 `dataclasses` leaves a `__weakref__` that works no more in a class with slots.
    beside = {"__init__", "__weakref__"}
    assert set(vars(ours)) - beside == set(vars(theirs)) - beside
    assert typing.get_type_hints(ours.__init__, localns={"T": T}) == typing.get_type_hints(
        theirs.__init__, localns={"T": T}
    )


@shapes
def test_its_objects_behave_alike(shape: Any) -> None:
    made: dict[str, list[Any]] = {}
    for name, make in (("ours", fast), ("theirs", dataclasses.dataclass)):
        cls = shape(make)
        made[name] = found = []
        objects = []
        for positional, named in arguments(cls):
            value = told(lambda p=positional, n=named, c=cls: c(*p, **n))
            found.append(value if isinstance(value, tuple) else type(value).__name__)
            if not isinstance(value, tuple):
                objects.append(value)
        for value in objects:
            found.append([value == other for other in objects])
            found.append([value != other for other in objects])
            if cls.__hash__ is not object.__hash__:
                found.append(told(lambda v=value: hash(v)))
                found.append(value == copy.copy(value))
                found.append(repr(value).replace(f"{id(value):x}", ""))
            found.append(told(lambda v=value: dataclasses.asdict(v)))
            found.append(told(lambda v=value: dataclasses.astuple(dataclasses.replace(v, a="new"))))
            found.append(told(lambda v=value: dataclasses.astuple(copy.deepcopy(v))))
            found.append(told(lambda v=value: setattr(v, "a", 1)) if dataclasses.fields(value) else None)
            # Where the standard library stumbles over itself, ours says what is wrong.
            other = told(lambda v=value: setattr(v, "other", 1))
            found.append("refused" if other[0] in ("TypeError", "FrozenInstanceError") else other)
            if cls.__dataclass_params__.frozen:
                found.append(told(lambda v=value: delattr(v, "a")) if dataclasses.fields(value) else None)
                found.append(told(lambda v=value: v.__getstate__()))

    assert made["ours"] == made["theirs"]


def test_every_method_is_the_standard_librarys_once_it_was_used() -> None:
    cls = plain(fast)
    before = vars(cls)["__eq__"], vars(cls)["__hash__"], vars(cls)["__repr__"]
    value = cls("x")

    assert value == cls("x")
    assert repr(value) == f"{cls.__qualname__}(a='x', b=None, c=[], f=3)"
    assert hash(single(fast)(1)) == hash((1,))
    with pytest.raises(TypeError, match="unhashable"):
        hash(value)
    assert all(old is not new for old, new in zip(before, (cls.__eq__, cls.__hash__, cls.__repr__), strict=True))


def test_one_that_holds_itself_is_shown() -> None:
    cls = changeable(fast)
    value = cls(1)
    value.a = value

    assert repr(value) == f"{cls.__qualname__}(a=..., b=0)"


@pytest.mark.parametrize(("base", "above"), [(fast, dataclasses.dataclass), (dataclasses.dataclass, fast)])
def test_each_derives_from_the_other(base: Decorator, above: Decorator) -> None:
    parent: Any = plain(base)

    @above(frozen=True, slots=True)
    class Child(parent):  # type: ignore[misc]
        """A child."""

        g: int = 7

    child = Child("x", 1)

    assert [each.name for each in dataclasses.fields(Child)] == ["a", "b", "c", "d", "e", "f", "g"]
    assert (child.a, child.b, child.c, child.g) == ("x", 1, [], 7)
    assert child == Child("x", 1)
    assert child != parent("x", 1)
    assert parent("x", 1) != child
    assert repr(child).endswith("Child(a='x', b=1, c=[], f=3, g=7)")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'g'"):
        child.g = 1


def test_a_child_that_is_none_may_have_attributes_of_its_own() -> None:
    class Child(plain(fast)):  # type: ignore[misc]
        pass

    child = Child("x")
    child.own = 1

    assert child.own == 1
    assert child == Child("x")
    with pytest.raises(dataclasses.FrozenInstanceError):
        child.a = "y"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del child.a


def test_mistakes_in_a_class_are_told_as_ever() -> None:
    with pytest.raises(ValueError, match="mutable default"):

        @fast(frozen=True, slots=True)
        class Mutable:
            """Shares a list."""

            a: list[int] = []  # noqa: RUF012

    with pytest.raises(TypeError, match="without slots"):
        fast(slots=False)


VALUES = [
    value
    for name in polywire.__all__
    if isinstance(value := getattr(polywire, name), type) and dataclasses.is_dataclass(value)
]


@pytest.mark.parametrize("cls", VALUES, ids=lambda cls: cls.__name__)
def test_every_public_value_is_a_frozen_dataclass_with_slots(cls: Any) -> None:
    assert cls.__dataclass_params__.frozen or cls is polywire.Encoded
    assert "__slots__" in vars(cls)
    assert set(typing.get_type_hints(cls.__init__)) - {"return"} <= {
        parameter.name for parameter in inspect.signature(cls.__init__).parameters.values()
    }


def test_values_are_pickled_matched_and_read_by_pydantic() -> None:
    message = polywire.AiMessage([polywire.TextContent("hi"), polywire.ToolCall("1", "f", "{}")])

    assert pickle.loads(pickle.dumps(message)) == message
    assert hash(pickle.loads(pickle.dumps(message))) == hash(message)
    match message.parts[0]:
        case polywire.TextContent(text):
            assert text == "hi"
        case _:
            pytest.fail("a dataclass matches by its fields")
    usage = polywire.TokenUsage(input_tokens=1, output_tokens=2)
    adapter = TypeAdapter(polywire.TokenUsage)
    assert adapter.validate_python(adapter.dump_python(usage)) == usage
