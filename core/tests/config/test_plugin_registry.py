"""The registry: names without importing, one plugin's failure disturbs nobody else, and every failure is told."""

from __future__ import annotations

import logging
import pickle
import sys
import threading
from typing import Any

import pytest

from polywire.errors import PluginError, SettingsError, UnknownProvider
from polywire.models import ChatModel
from polywire.plugins import CONTRACT_VERSION, Provider, ProviderSettings, Registry, wire_named

FAILURES = {
    "ImportError": ('raise ImportError("no luck")', ImportError),
    "RuntimeError": ('raise RuntimeError("not today")', RuntimeError),
    "SyntaxError": ("def broken(:", SyntaxError),
    "SystemExit": ("raise SystemExit(3)", SystemExit),
    "GeneratorExit": ("raise GeneratorExit", GeneratorExit),
    "own exception": ("class Odd(BaseException): pass\nraise Odd('odd')", BaseException),
    "missing module": ("import a_module_that_nobody_has", ModuleNotFoundError),
    "missing name": ("from polywire import no_such_name", ImportError),
    "zero division": ("1 / 0", ZeroDivisionError),
    "recursion": ("def f(): f()\nf()", RecursionError),
}


def build(context: Any) -> ChatModel:
    return ChatModel.from_function(lambda request: "hello")


def test_names_come_from_metadata_and_import_nothing(install: Any, good: str) -> None:
    install("polywire-one", {"plugin_one": good}, {"one": "plugin_one", "uno": "plugin_one"})
    install("polywire-bad", {"plugin_bad": "1 / 0"}, {"bad": "plugin_bad"})

    registry = Registry()

    assert {"one", "uno", "bad"} <= set(registry.names())
    assert "one" in registry
    assert "two" not in registry
    assert list(registry.names()) == sorted(registry.names())
    assert "plugin_one" not in sys.modules
    assert "plugin_bad" not in sys.modules
    assert registry.diagnostics == ()


def test_a_plugin_is_loaded_when_first_asked_for_and_alone(install: Any, good: str) -> None:
    install("polywire-one", {"plugin_one": good}, {"one": "plugin_one"})
    install("polywire-two", {"plugin_two": good}, {"two": "plugin_two"})
    registry = Registry()

    provider = registry.provider("one")

    assert provider.name == "one"
    assert registry.provider("one") is provider
    assert "plugin_two" not in sys.modules


def test_many_names_of_one_object(install: Any, good: str) -> None:
    install("polywire-many", {"plugin_many": good}, {f"name-{n}": "plugin_many" for n in range(5)})
    registry = Registry()

    assert [registry.provider(f"name-{n}").name for n in range(5)] == [f"name-{n}" for n in range(5)]
    assert registry.diagnostics == ()


def test_only_the_object_of_the_entry_point_is_asked(install: Any, good: str) -> None:
    """A plugin that answers to every name answers only to those that it declares."""
    install("polywire-greedy", {"plugin_greedy": good.replace("a good one", "greedy")}, {"greedy": "plugin_greedy"})
    install("polywire-modest", {"plugin_modest": good.replace("a good one", "modest")}, {"modest": "plugin_modest"})
    registry = Registry()

    assert registry.provider("greedy").summary == "greedy"
    assert registry.provider("modest").summary == "modest"


@pytest.mark.parametrize("failure", FAILURES)
def test_one_that_does_not_import_stops_nobody(
    failure: str, install: Any, good: str, caplog: pytest.LogCaptureFixture
) -> None:
    source, original = FAILURES[failure]
    install("polywire-bad", {"plugin_bad": source}, {"bad": "plugin_bad", "worse": "plugin_bad"}, version="2.5")
    install("polywire-good", {"plugin_good": good}, {"good": "plugin_good"})
    registry = Registry()

    with caplog.at_level(logging.WARNING, "polywire"):
        for _ in range(3):
            with pytest.raises(PluginError) as caught:
                registry.provider("bad")
        assert registry.provider("good").name == "good"

    assert isinstance(caught.value.__cause__, original)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    for told in (warnings[0], str(caught.value)):
        assert "'bad'" in told
        assert "polywire-bad 2.5" in told
        assert type(caught.value.__cause__).__name__ in told
    assert [each.name for each in registry.diagnostics] == ["bad"]
    assert "bad" in registry.names()


def test_an_interrupt_is_no_failure_of_the_plugin(install: Any) -> None:
    install("polywire-slow", {"plugin_slow": "raise KeyboardInterrupt"}, {"slow": "plugin_slow"})
    registry = Registry()

    with pytest.raises(KeyboardInterrupt):
        registry.provider("slow")
    assert registry.diagnostics == ()


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        ("return None", "no_answer", "answers None"),
        ("return 'acme'", "type", "str"),
        ("return ProviderSettings", "type", "Provider"),
        ("raise ValueError('oh')", "no_answer", "ValueError: oh"),
        ("return Provider(name, '', dict, len)", "type", "ProviderSettings"),
        ("return Provider(name, '', ProviderSettings, 'build')", "type", "build_chat"),
        ("return Provider(name, '', ProviderSettings, len, contract=99)", "contract", "version 99"),
        ("return Provider(name, '', ProviderSettings, len, contract='1')", "type", "contract"),
        ("return Provider(name)", "no_answer", "TypeError"),
    ],
)
def test_wrong_answers_are_recorded(answer: str, kind: str, words: str, install: Any, good: str) -> None:
    source = (
        "from polywire.plugins import Provider, ProviderSettings, hookimpl\n"
        f"@hookimpl\ndef polywire_provider(name):\n    {answer}\n"
    )
    install("polywire-odd", {"plugin_odd": source}, {"odd": "plugin_odd"})
    install("polywire-good", {"plugin_good": good}, {"good": "plugin_good"})
    registry = Registry()

    found = registry.load_all()

    assert isinstance(found["good"], Provider)
    diagnostic = registry.diagnostic("odd")
    assert diagnostic is found["odd"]
    assert diagnostic is not None
    assert (diagnostic.kind, diagnostic.distribution) == (kind, "polywire-odd 1.0")
    assert words in diagnostic.message


def test_a_module_without_the_hook_says_what_is_missing(install: Any) -> None:
    install("polywire-plain", {"plugin_plain": "def polywire_provider(name): ..."}, {"plain": "plugin_plain"})

    with pytest.raises(PluginError, match="@hookimpl"):
        Registry().provider("plain")


@pytest.mark.parametrize(
    "value", ["plugin_shapes:Static", "plugin_shapes:instance", "plugin_shapes:Class", "plugin_shapes"]
)
def test_the_object_may_be_a_module_a_class_or_an_instance(value: str, install: Any, good: str) -> None:
    source = good + (
        "\nclass Class:\n    @hookimpl\n    def polywire_provider(self, name):\n        return polywire_provider(name)\n"
        "class Static:\n    @staticmethod\n    @hookimpl\n    def polywire_provider(name):\n        return polywire_provider(name)\n"
        "instance = Class()\n"
    )
    install("polywire-shapes", {"plugin_shapes": source}, {"shape": value})

    assert Registry().provider("shape").name == "shape"


def test_a_name_that_two_distributions_claim_is_nobodys(install: Any, good: str) -> None:
    install("polywire-left", {"plugin_left": good}, {"same": "plugin_left", "left": "plugin_left"})
    install("polywire-right", {"plugin_right": good}, {"same": "plugin_right"})
    registry = Registry()

    with pytest.raises(PluginError) as caught:
        registry.provider("same")

    assert "polywire-left 1.0" in str(caught.value)
    assert "polywire-right 1.0" in str(caught.value)
    assert "uninstall" in str(caught.value)
    assert "plugin_left" not in sys.modules
    assert registry.provider("left").name == "left"


def test_strict_raises_at_once(install: Any, good: str) -> None:
    install("polywire-good", {"plugin_good": good}, {"good": "plugin_good"})
    install("polywire-bad", {"plugin_bad": "raise RuntimeError('no')"}, {"bad": "plugin_bad"})

    with pytest.raises(PluginError) as caught:
        Registry(strict=True)

    assert isinstance(caught.value.__cause__, RuntimeError)


def test_an_unknown_name_is_told_from_a_broken_one(install: Any) -> None:
    install("polywire-acme", {"plugin_acme": "raise RuntimeError('rusty')"}, {"acme": "plugin_acme"})
    registry = Registry()
    with pytest.raises(PluginError, match=r"acme.*installed but failed to load.*rusty"):
        registry.provider("acme")

    with pytest.raises(UnknownProvider) as caught:
        registry.provider("acmee")

    assert not isinstance(caught.value, (PluginError, KeyError))
    assert "did you mean 'acme'?" in str(caught.value)
    assert "acme (installed but failed to load: RuntimeError: rusty)" in str(caught.value)


@pytest.mark.parametrize(
    ("requires", "command"),
    [
        (("foo-sdk>=1; extra == 'foo'",), "pip install 'polywire-foo[foo]'"),
        (("Foo_SDK",), "pip install Foo_SDK"),
        ((), "pip install foo-sdk"),
    ],
)
def test_a_missing_dependency_comes_with_the_command(requires: tuple[str, ...], command: str, install: Any) -> None:
    install("polywire-foo", {"plugin_foo": "import foo_sdk.client"}, {"foo": "plugin_foo"}, requires=requires)
    registry = Registry()

    with pytest.raises(PluginError) as caught:
        registry.provider("foo")

    assert command in str(caught.value)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert registry.diagnostics[0].kind == "missing_dependency"


def test_the_plugins_own_module_that_is_missing_is_no_dependency(install: Any) -> None:
    install("polywire-gone", {}, {"gone": "plugin_that_is_gone"})

    with pytest.raises(PluginError) as caught:
        Registry().provider("gone")

    assert "pip install" not in str(caught.value)


def test_threads_that_ask_first_get_one_object_and_one_warning(
    install: Any, good: str, caplog: pytest.LogCaptureFixture
) -> None:
    slow = "import time\n"
    install("polywire-good", {"plugin_good": slow + good}, {"good": "plugin_good"})
    install("polywire-bad", {"plugin_bad": "raise RuntimeError('no')"}, {"bad": "plugin_bad"})
    registry = Registry()
    barrier = threading.Barrier(8)
    found: list[Any] = []

    def ask() -> None:
        barrier.wait(10)
        found.append(registry.provider("good"))
        try:
            registry.provider("bad")
        except PluginError as error:
            found.append(str(error))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    with caplog.at_level(logging.WARNING, "polywire"):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

    providers = [each for each in found if isinstance(each, Provider)]
    assert len(providers) == 8
    assert all(each is providers[0] for each in providers)
    assert len([each for each in found if isinstance(each, str)]) == 8
    assert len(caplog.records) == 1


def test_providers_given_in_code(install: Any, good: str) -> None:
    install("polywire-one", {"plugin_one": good}, {"one": "plugin_one"})
    mine = Provider("one", "mine", ProviderSettings, build)

    assert Registry([mine]).provider("one") is mine
    alone = Registry([mine], installed=False)
    assert alone.names() == ("one",)
    assert alone.declaration("one") is None


@pytest.mark.parametrize(
    ("providers", "error"),
    [
        (["one"], TypeError),
        ([Provider("a", "", ProviderSettings, build), Provider("a", "", ProviderSettings, build)], PluginError),
        ([Provider("a", "", ProviderSettings, build, contract=CONTRACT_VERSION + 1)], PluginError),
        ([Provider("a", "", dict, build)], PluginError),  # type: ignore[arg-type]
    ],
)
def test_wrong_providers_in_code_are_refused(providers: list[Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Registry(providers, installed=False)


def test_nothing_installed_says_so() -> None:
    with pytest.raises(UnknownProvider, match="No provider is installed"):
        Registry(installed=False).provider("acme")


def test_wires_are_found_by_provider_name() -> None:
    class One:
        name = "one"

    class Two:
        name = "two"

    one, two = One(), Two()
    offered: Any = (one, two)
    registry = Registry(
        [
            Provider("two", "", ProviderSettings, build, wires=lambda: offered),
            Provider("other", "", ProviderSettings, build, wires=offered),
            Provider("none", "", ProviderSettings, build),
        ],
        installed=False,
    )

    assert wire_named("two", registry) is two
    assert wire_named("other", registry) is one
    with pytest.raises(SettingsError, match="no wire"):
        wire_named("none", registry)
    with pytest.raises(UnknownProvider):
        wire_named("three", registry)


def test_a_diagnostic_can_be_sent_elsewhere(install: Any) -> None:
    install("polywire-bad", {"plugin_bad": "raise RuntimeError('no')"}, {"bad": "plugin_bad"})
    registry = Registry()
    with pytest.raises(PluginError) as caught:
        registry.provider("bad")

    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
