"""The factory: names, one object for one name, what models share, rules from three layers, and closing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from polywire.config import Extension, LlmFactory
from polywire.errors import (
    HistoryError,
    PluginError,
    PolywireError,
    RateLimited,
    ServerError,
    SettingsError,
    UnknownProvider,
)
from polywire.messages import AiMessage, ToolCall, UserMessage
from polywire.models import ChatModel, StreamingChatModel
from polywire.plugins import Provider, ProviderSettings, Registry
from polywire.policy import DeadlinePolicy, FallbackPolicy, LimitPolicy, PolicyModel, RetryPolicy
from polywire.testing.transport import FakeTransport, Reply

MODELS = {
    "default_model": "assistant",
    "models": {
        "assistant": {"provider": "keyless", "model": "m"},
        "spare": {"provider": "keyless", "model": "n"},
    },
}


class Plain(ChatModel):
    """A model that cannot stream, and is closed once."""

    def __init__(self) -> None:
        self.closed = 0

    def do_chat(self, request: Any) -> Any:
        return ChatModel.from_function(lambda _: "plain").do_chat(request)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def factory(registry: Registry, transport: FakeTransport) -> LlmFactory:
    return LlmFactory.from_config(MODELS, registry=registry, transport=transport)


# Names


def test_the_same_name_is_the_same_object(factory: LlmFactory) -> None:
    assert factory.chat_model("assistant") is factory.chat_model("assistant")
    assert factory.chat_model() is factory.chat_model("assistant")
    assert factory.streaming_chat_model() is factory.chat_model()
    assert factory.chat_model("spare") is not factory.chat_model()
    assert factory.chat_model("keyless:x") is factory.chat_model("keyless:x")
    assert factory.models == ("assistant", "spare")


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("keyless:llama3.2:1b", "llama3.2:1b"),
        ("keyless:anthropic/claude-x", "anthropic/claude-x"),
        ("keyless:hf.co/b/M-GGUF:Q4_K_M", "hf.co/b/M-GGUF:Q4_K_M"),
        ("keyless:openai/gpt-oss-120b", "openai/gpt-oss-120b"),
        ("keyless:acme:m", "acme:m"),
        ("keyless:arn:aws:x:1:y/z", "arn:aws:x:1:y/z"),
        ("keyless:models/gemma@2", "models/gemma@2"),
    ],
)
def test_a_models_id_reaches_the_wire_unchanged(
    name: str, model: str, factory: LlmFactory, transport: FakeTransport, registry: Registry
) -> None:
    factory.chat_model(name).chat("hi")
    assert transport.last.json["model"] == model
    from_file = LlmFactory.from_config(
        {"models": {"a": {"provider": "keyless", "model": model}}}, registry=registry, transport=transport
    )
    from_file.chat_model().chat("hi")
    assert transport.last.json["model"] == model


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("acmee:gpt", UnknownProvider, "unknown provider 'acmee'; did you mean 'acme'?"),
        ("gpt-x", UnknownProvider, "there is no model 'gpt-x'."),
        ("assistent", UnknownProvider, "there is no model 'assistent'; did you mean 'assistant'?"),
        ("", UnknownProvider, "'' names neither provider nor model."),
        ("  ", UnknownProvider, "'  ' names neither provider nor model."),
        (":", UnknownProvider, "':' names neither provider nor model."),
        (":gpt", UnknownProvider, "there is no model ':gpt'."),
        ("keyless", UnknownProvider, "'keyless' is a provider, not a model: write it as keyless:model."),
        ("keyless:", SettingsError, "'keyless:' names no model: write it as keyless:model."),
        ("keyless: ", SettingsError, "'keyless: ' names no model: write it as keyless:model."),
    ],
)
def test_names_that_lead_nowhere(name: str, error: type[Exception], words: str, factory: LlmFactory) -> None:
    with pytest.raises(error) as caught:
        factory.chat_model(name)

    assert str(caught.value).startswith(words)
    assert "Known providers: acme, keyless" in str(caught.value)
    assert not isinstance(caught.value, KeyError)


def test_a_broken_provider_is_told_from_an_unknown_one(install: Any) -> None:
    install("polywire-rusty", {"plugin_rusty": "raise RuntimeError('rusty')"}, {"rusty": "plugin_rusty"})
    factory = LlmFactory.from_config({}, registry=Registry())

    with pytest.raises(PluginError, match=r"'rusty' of the distribution polywire-rusty 1\.0 is installed but failed"):
        factory.chat_model("rusty:m")
    with pytest.raises(UnknownProvider, match="did you mean 'rusty'"):
        factory.chat_model("rustyy:m")


def test_tables_win_over_plugins_of_the_same_name(registry: Registry, transport: FakeTransport) -> None:
    document = {"providers": {"keyless": {"plugin": "acme", "api_key": "k"}, "office": {"plugin": "keyless"}}}
    factory = LlmFactory.from_config(document, registry=registry, transport=transport)

    factory.chat_model("keyless:m").chat("hi")
    assert transport.last.headers["authorization"] == "Bearer k"
    assert factory.chat_model("office:m").information.provider == "office"


def test_without_a_default_the_only_model_is_it(registry: Registry) -> None:
    one = {"models": {"a": {"provider": "keyless", "model": "m"}}}
    assert LlmFactory.from_config(one, registry=registry).chat_model().information.model == "m"
    with pytest.raises(SettingsError, match="set default_model, or ask for one of assistant, spare"):
        LlmFactory.from_config({"models": MODELS["models"]}, registry=registry).chat_model()
    with pytest.raises(SettingsError, match="names no chat model"):
        LlmFactory.from_config({}, registry=registry).chat_model()


def test_a_model_that_cannot_stream_is_refused_as_one(transport: FakeTransport) -> None:
    registry = Registry([Provider("plain", "", ProviderSettings, lambda context: Plain())], installed=False)
    factory = LlmFactory.from_config({}, registry=registry)

    assert factory.chat_model("plain:m").chat("hi").text == "plain"
    assert not isinstance(factory.chat_model("plain:m"), StreamingChatModel)
    with pytest.raises(SettingsError, match="'plain:m' cannot stream"):
        factory.streaming_chat_model("plain:m")


def test_other_kinds_of_models_are_asked_for_as_such(registry: Registry) -> None:
    document = {"models": {"v": {"provider": "keyless", "model": "m", "kind": "embedding"}}}
    factory = LlmFactory.from_config(document, registry=registry)

    with pytest.raises(SettingsError, match=r"'v' is an embedding model; use factory.embedding_model\('v'\)"):
        factory.chat_model("v")
    with pytest.raises(SettingsError, match="'keyless' offers no embedding models"):
        factory.embedding_model()
    with pytest.raises(SettingsError, match="names no image model"):
        factory.image_model()


# What is shared


def test_threads_that_ask_first_get_one_model_and_one_connection(registry: Registry) -> None:
    made: list[str] = []

    def connect(name: str, settings: ProviderSettings) -> Any:
        made.append(name)
        return FakeTransport("hello", repeat=True)

    factory = LlmFactory.from_config(MODELS, registry=registry, transport=connect)
    barrier = threading.Barrier(8)
    found: list[Any] = []

    def ask() -> None:
        barrier.wait(10)
        found.extend([factory.chat_model(), factory.chat_model("spare")])

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(found) == 16
    assert len({id(each) for each in found}) == 2
    assert made == ["keyless"]


def test_nothing_is_opened_before_it_is_asked_for(registry: Registry) -> None:
    def connect(name: str, settings: ProviderSettings) -> Any:
        raise AssertionError(name)

    document = {**MODELS, "providers": {"keyless": {}, "acme": {}}}
    LlmFactory.from_config(document, registry=registry, transport=connect).close()


# Rules


def policies(model: Any) -> dict[type, Any]:
    assert isinstance(model, PolicyModel)
    return {type(each): each for each in model.policies}


def test_rules_of_three_layers(registry: Registry, transport: FakeTransport) -> None:
    document = {
        "defaults": {"retry": {"attempts": 2, "max_wait": "9s", "jitter": 0}, "deadline": 100, "between_events": "3s"},
        "providers": {"keyless": {"retry": {"attempts": 3}, "deadline": "50s", "timeouts": {"read": 7, "connect": 3}}},
        "models": {
            "near": {"provider": "keyless", "retry": {"initial_wait": 1}, "deadline": 5, "timeouts": {"read": "2s"}},
            "far": {"provider": "acme"},
        },
    }
    factory = LlmFactory.from_config(
        document, registry=registry, transport=transport, environ={"ACME_KEY": "k"}
    )  # fmt: skip

    near, middle, far = (policies(factory.chat_model(name)) for name in ("near", "keyless:m", "far"))

    retry = near[RetryPolicy]
    assert (retry.attempts, retry.max_wait, retry.jitter, retry.initial_wait) == (3, 9.0, 0.0, 1.0)
    assert (middle[RetryPolicy].attempts, far[RetryPolicy].attempts) == (3, 2)
    assert [each[DeadlinePolicy].total for each in (near, middle, far)] == [5.0, 50.0, 100.0]
    assert near[DeadlinePolicy].between_events == 3.0
    factory.chat_model("near").chat("hi", model="m")
    assert (transport.last.timeouts.read, transport.last.timeouts.connect) == (2.0, 3.0)
    factory.chat_model("keyless:m").chat("hi")
    assert transport.last.timeouts.read == 7.0


def test_a_timeout_of_nothing_is_no_limit_and_one_for_all_has_a_short_form() -> None:
    from polywire.transport import Timeouts

    def timeouts(written: Any) -> Any:
        read = ProviderSettings.model_validate({"timeouts": written}).timeouts
        assert read is not None
        return read.over(Timeouts(1, 2, 3, 4))

    assert timeouts({"read": 0, "pool": "1m"}) == Timeouts(1, None, 3, 60)
    assert timeouts("9s") == Timeouts(9, 9, 9, 9)
    assert timeouts({}) == Timeouts(1, 2, 3, 4)


def test_without_rules_a_call_is_made_once(registry: Registry) -> None:
    transport = FakeTransport(Reply(status=500), "hello")
    factory = LlmFactory.from_config(MODELS, registry=registry, transport=transport)

    with pytest.raises(ServerError):
        factory.chat_model().chat("hi")
    assert len(transport.requests) == 1


def test_retries_take_the_injected_sleep_and_chance(registry: Registry) -> None:
    transport = FakeTransport(Reply(status=500), Reply(status=500), "hello")
    slept: list[float] = []
    time = [0.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time[0] += seconds

    document = {**MODELS, "defaults": {"retry": {"attempts": 3, "initial_wait": 2, "jitter": 0.5}}}
    factory = LlmFactory.from_config(
        document, registry=registry, transport=transport, clock=lambda: time[0], sleep=sleep, random=lambda: 1.0
    )

    assert factory.chat_model().chat("hi").text == "hello"
    assert slept == [1.0, 2.0]


def test_fallbacks_are_asked_in_order(registry: Registry) -> None:
    transport = FakeTransport(Reply(status=500), "from the spare")
    document = {
        "models": {
            "assistant": {
                "provider": "keyless",
                "model": "m",
                "fallback": ["spare"],
                "circuit_breaker": {"failures": 1},
            },
            "spare": {"provider": "keyless", "model": "n"},
        }
    }
    factory = LlmFactory.from_config(document, registry=registry, transport=transport)
    assistant = factory.chat_model("assistant")

    response = assistant.chat("hi")

    assert response.text == "from the spare"
    assert [each.json["model"] for each in transport.requests] == ["m", "n"]
    fallback = policies(assistant)[FallbackPolicy]
    assert fallback.breaker().failures == 1
    assert fallback.breaker("spare").failures == 5


def test_a_breaker_that_is_switched_off(registry: Registry, transport: FakeTransport) -> None:
    document = {
        "defaults": {"circuit_breaker": {"enabled": False}},
        "models": {"a": {"provider": "keyless", "model": "m", "fallback": ["keyless:n"]}},
    }
    model = LlmFactory.from_config(document, registry=registry, transport=transport).chat_model()

    assert policies(model)[FallbackPolicy].breaker() is None


def test_limits_belong_to_the_connection(registry: Registry, transport: FakeTransport) -> None:
    document = {
        **MODELS,
        "providers": {"keyless": {"limits": {"concurrency": 3}}, "other": {"plugin": "keyless"}},
    }
    factory = LlmFactory.from_config(document, registry=registry, transport=transport)

    shared = [policies(factory.chat_model(name)).get(LimitPolicy) for name in ("assistant", "spare", "keyless:x")]
    assert shared[0] is shared[1]
    assert shared[1] is shared[2]
    assert shared[0].concurrency == 3
    assert LimitPolicy not in policies(factory.chat_model("other:m"))


def test_all_models_of_a_connection_keep_the_pause_that_one_of_them_was_asked_for(registry: Registry) -> None:
    transport = FakeTransport(RateLimited("slow down", retry_after=7.0), "answer")
    now, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    document = {
        "models": {
            "patient": {"provider": "keyless", "model": "m", "retry": {"attempts": 2, "max_wait": "1s"}},
            "plain": {"provider": "keyless", "model": "n"},
        }
    }
    factory = LlmFactory.from_config(
        document, registry=registry, transport=transport, clock=lambda: now[0], sleep=sleep, random=lambda: 0.0
    )
    with pytest.raises(RateLimited):
        factory.chat_model("patient").chat("hi")

    assert factory.chat_model("plain").chat("hi").text == "answer"
    assert sum(slept) == pytest.approx(7.0, abs=0.01)


def test_a_history_that_does_not_close_is_refused_before_any_wait(registry: Registry, transport: FakeTransport) -> None:
    document = {**MODELS, "providers": {"keyless": {"limits": {"concurrency": 1}}}}
    factory = LlmFactory.from_config(document, registry=registry, transport=transport)
    open_call = [UserMessage("q"), AiMessage([ToolCall("1", "f", "{}")]), UserMessage("and?")]

    with pytest.raises(HistoryError):
        factory.chat_model().chat(open_call)
    assert transport.requests == []


def test_parameters_and_profile_reach_the_plugin(transport: FakeTransport) -> None:
    seen: list[Any] = []

    def build(context: Any) -> ChatModel:
        seen.append(context)
        return Plain()

    registry = Registry([Provider("p", "", ProviderSettings, build)], installed=False)
    document = {
        "providers": {"p": {"profile": {"prefill": False, "quirks": {"a": 1, "b": 1}}, "history": "repair"}},
        "models": {
            "a": {
                "provider": "p",
                "model": "m",
                "temperature": 0,
                "max_tokens": 5,
                "stop_sequences": "END",
                "reasoning": {"effort": "low"},
                "tool_choice": "none",
                "custom_parameters": {"x": {"y": [1]}},
                "profile": {"quirks": {"b": 2}, "user_name": False},
                "unsupported": "error",
            }
        },
    }
    LlmFactory.from_config(document, registry=registry, transport=transport).chat_model()
    (context,) = seen

    defaults = context.defaults
    assert (defaults.model, defaults.temperature, defaults.max_tokens) == ("m", 0.0, 5)
    assert defaults.stop_sequences == ("END",)
    assert (defaults.reasoning.effort, defaults.tool_choice.mode) == ("low", "none")
    assert defaults.custom_parameters == {"x": {"y": [1]}}
    assert context.profile == {"prefill": False, "quirks": {"a": 1, "b": 2}, "user_name": False}
    assert (context.history, context.unsupported, context.plugin, context.dimensions) == ("repair", "error", "p", None)
    assert context.transport.send == transport.send


# Closing


@pytest.mark.parametrize("asynchronous", [False, True])
def test_closing(asynchronous: bool) -> None:
    plain, transports = Plain(), []

    def connect(name: str, settings: ProviderSettings) -> Any:
        transports.append(FakeTransport("hello", repeat=True))
        return transports[-1]

    def build(context: Any) -> ChatModel:
        assert context.transport
        return plain

    registry = Registry([Provider("p", "", ProviderSettings, build)], installed=False)
    document = {"models": {"a": {"provider": "p", "fallback": ["b"]}, "b": {"provider": "p"}}}

    def factory() -> LlmFactory:
        return LlmFactory.from_config(document, registry=registry, transport=connect)

    if asynchronous:

        async def run() -> LlmFactory:
            async with factory() as opened:
                assert (await opened.chat_model("a").achat("hi")).text == "plain"
            await opened.aclose()
            return opened

        closed = asyncio.run(run())
    else:
        with factory() as closed:
            closed.chat_model("a").chat("hi")
        closed.close()

    assert plain.closed >= 1
    assert [each.closed for each in transports] == [1]
    with pytest.raises(PolywireError, match="the factory is closed"):
        closed.chat_model("a")


def test_a_transport_that_was_handed_in_stays_open(registry: Registry, transport: FakeTransport) -> None:
    with LlmFactory.from_config(MODELS, registry=registry, transport=transport) as factory:
        factory.chat_model().chat("hi")

    assert transport.closed == 0


# Extensions

EXTENSION = """
from polywire.config import Extension
from polywire.models import ChatModel

class Loud(Extension):
    seen = []
    closed = 0

    def __init__(self, *, mark: str = "!"):
        self.mark = mark

    def observers(self):
        return [self]

    def observe(self, event):
        self.seen.append(type(event).__name__)

    def wrap_model(self, model, name):
        return ChatModel.from_function(lambda request: f"{name}{self.mark} {model.do_chat(request).text}")

    def close(self):
        type(self).closed += 1

def wrong(**settings):
    return settings

def secretive(*, token):
    raise ValueError(f"no good: {token}")
"""


@pytest.fixture
def extensions(install: Any) -> Any:
    install(
        "polywire-loud",
        {"extension_loud": EXTENSION, "extension_bad": "raise RuntimeError('no')"},
        {
            "loud": "extension_loud:Loud",
            "wrong": "extension_loud:wrong",
            "secretive": "extension_loud:secretive",
            "bad": "extension_bad",
        },
        group="polywire.extensions",
    )


def test_an_extension_wraps_and_observes(extensions: Any, registry: Registry, transport: FakeTransport) -> None:
    assert "extension_loud" not in sys.modules
    document = {**MODELS, "extensions": ["loud"], "extension_settings": {"loud": {"mark": "?"}}}

    with LlmFactory.from_config(document, registry=registry, transport=transport) as factory:
        assert factory.chat_model().chat("hi").text == "assistant? hello"

    loud = sys.modules["extension_loud"].Loud
    assert loud.seen[0] == "CallStarted"
    assert loud.seen[-1] == "CallEnded"
    assert loud.closed == 1
    assert "extension_bad" not in sys.modules


@pytest.mark.parametrize(
    ("name", "table", "words"),
    [
        ("bad", {}, "the extension 'bad' is installed but failed to load: RuntimeError: no"),
        ("wrong", {}, "must return an Extension, not dict"),
        ("loud", {"mrk": 1}, "unknown key 'mrk'; did you mean 'mark'?"),
        ("secretive", {"token": "sk-SECRET-VALUE"}, "ValueError: no good: **********"),
        ("secretive", {}, "TypeError"),
        ("loud", {"mark": "${NOT_THERE}"}, "the environment variable NOT_THERE is not set"),
    ],
)
def test_an_extension_that_cannot_be_used(
    name: str, table: dict[str, Any], words: str, extensions: Any, registry: Registry
) -> None:
    with pytest.raises(SettingsError) as caught:
        LlmFactory.from_config({"extensions": [name], "extension_settings": {name: table}}, registry=registry)

    assert words in str(caught.value)
    assert "sk-SECRET" not in f"{caught.value!r} {caught.value.__context__!r}"


def test_an_extension_does_nothing_unless_it_says_so() -> None:
    extension = Extension()
    model = Plain()
    observers: Sequence[Any] = extension.observers()

    assert extension.wrap_model(model, "a") is model
    assert list(observers) == []
    extension.close()


# Lightness


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import polywire", {"httpx", "pydantic", "pydantic_settings", "pluggy", "importlib.metadata"}),
        ("import polywire.plugins, polywire.config", {"httpx", "pydantic", "pydantic_settings", "pluggy"}),
        ("from polywire.plugins import Registry; Registry().names()", {"httpx", "pydantic_settings"}),
        (
            "from polywire import LlmFactory; LlmFactory.from_config({})",
            {"httpx", "tenacity", "redis", "rich", "typer"},
        ),
    ],
)
def test_what_is_not_needed_is_not_imported(code: str, heavy: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )

    assert heavy.isdisjoint(done.stdout.split())
