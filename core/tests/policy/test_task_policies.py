"""Embedding, image and speech models behind the same policies as chat models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from polywire.contents import AudioContent, ImageContent
from polywire.embeddings import EmbeddingModel, EmbeddingRequest, EmbeddingResponse
from polywire.errors import BadRequest, ModelTimeout, Overloaded, RateLimited, SettingsError
from polywire.media_models import ImageModel, ImageRequest, ImageResponse, SpeechModel, SpeechRequest, SpeechResponse
from polywire.models import ChatModel, ModelInformation
from polywire.policy import (
    DeadlinePolicy,
    FallbackPolicy,
    LimitPolicy,
    PolicyEmbeddingModel,
    PolicyImageModel,
    PolicySpeechModel,
    RetryPolicy,
    Runtime,
)
from polywire.policy.observers import AttemptEnded, AttemptStarted, CallEnded, CallStarted, Waiting
from polywire.requests import ChatRequestParameters
from polywire.responses import TokenUsage


class World:
    """A time of its own: sleeping moves it on, and so does every answer."""

    def __init__(self) -> None:
        self.time = 100.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)

    def runtime(self) -> Runtime:
        return Runtime(clock=self.now, sleep=self.sleep, asleep=self.asleep, random=lambda: 0.0)


class Scripted(EmbeddingModel):
    """Answers with the texts' lengths, or as the script says: an error, or seconds that the answer takes."""

    information = ModelInformation("toys", ChatRequestParameters(model="m1"))
    max_inputs = 2

    def __init__(self, world: World, *script: Any) -> None:
        self.world = world
        self.script = list(script)
        self.asked: list[EmbeddingRequest] = []
        self.closed = 0

    def do_embed(self, request: EmbeddingRequest) -> EmbeddingResponse:
        self.asked.append(request)
        step = self.script.pop(0) if self.script else None
        if isinstance(step, Exception):
            raise step
        self.world.time += step or 0.0
        return EmbeddingResponse(
            tuple((float(len(text)),) for text in request.inputs), TokenUsage(len(request.inputs), None, 10)
        )

    async def do_aembed(self, request: EmbeddingRequest) -> EmbeddingResponse:
        return self.do_embed(request)

    def close(self) -> None:
        self.closed += 1


Embed = Callable[..., EmbeddingResponse]


@pytest.fixture(params=["sync", "async"])
def embed(request: pytest.FixtureRequest) -> Embed:
    if request.param == "sync":
        return lambda it, /, *arguments, **keywords: it.embed(*arguments, **keywords)
    return lambda it, /, *arguments, **keywords: asyncio.run(it.aembed(*arguments, **keywords))


@pytest.fixture
def world() -> World:
    return World()


def test_only_the_batch_that_failed_is_sent_again(world: World, embed: Embed) -> None:
    inner = Scripted(world, None, Overloaded("busy", retry_after=3), None, None)
    model = PolicyEmbeddingModel(inner, [RetryPolicy(attempts=3)], runtime=world.runtime())

    response = embed(model, ["a", "bb", "ccc", "dddd", "eeeee"])

    assert [vector[0] for vector in response.vectors] == [1, 2, 3, 4, 5]
    assert [request.inputs for request in inner.asked] == [("a", "bb"), ("ccc", "dddd"), ("ccc", "dddd"), ("eeeee",)]
    assert world.slept == [3.0]
    assert response.usage == TokenUsage(5, None, 30)


def test_what_will_not_help_is_not_repeated(world: World, embed: Embed) -> None:
    inner = Scripted(world, BadRequest("no"))
    model = PolicyEmbeddingModel(inner, [RetryPolicy(attempts=3)], runtime=world.runtime())

    with pytest.raises(BadRequest):
        embed(model, ["a"])
    assert len(inner.asked) == 1


def test_the_last_error_carries_those_before_it(world: World, embed: Embed) -> None:
    first, last = Overloaded("one"), Overloaded("two")
    model = PolicyEmbeddingModel(Scripted(world, first, last), [RetryPolicy(attempts=2)], runtime=world.runtime())

    with pytest.raises(Overloaded, match="two") as caught:
        embed(model, "a")
    assert caught.value.attempts == (first,)


@pytest.mark.parametrize("asked", [True, False])
def test_one_deadline_holds_for_all_batches_together(world: World, embed: Embed, asked: bool) -> None:
    inner = Scripted(world, 6.0, 6.0, 6.0)
    model = PolicyEmbeddingModel(inner, [DeadlinePolicy(total=None if asked else 10)], runtime=world.runtime())

    with pytest.raises(ModelTimeout) as caught:
        embed(model, ["a", "b", "c", "d", "e"], **({"deadline": 10} if asked else {}))
    assert len(inner.asked) == 2
    assert (caught.value.provider, caught.value.model) == ("toys", "m1")


def test_a_sync_model_is_told_how_long_it_may_take(world: World) -> None:
    inner = Scripted(world, 4.0, None)
    model = PolicyEmbeddingModel(inner, [DeadlinePolicy(total=10)], runtime=world.runtime())

    model.embed(["a", "b", "c"], tags={"who": "me"})

    assert [request.options.deadline for request in inner.asked] == [10.0, 6.0]
    assert inner.asked[1].options.tags == {"who": "me"}


def test_every_batch_counts_for_the_limits_of_the_connection(world: World, embed: Embed) -> None:
    limits = LimitPolicy(requests_per_minute=60, request_burst=2, max_wait=0, clock=world.now)
    model = PolicyEmbeddingModel(Scripted(world), [limits], runtime=world.runtime())

    assert len(embed(model, ["a", "b", "c", "d"]).vectors) == 4
    with pytest.raises(ModelTimeout, match="waited 0 s for its turn"):
        embed(model, ["e"])


def test_tokens_are_reserved_by_the_length_of_the_texts_and_settled_by_the_answer(world: World, embed: Embed) -> None:
    limits = LimitPolicy(tokens_per_minute=60, token_burst=100, max_wait=0, clock=world.now)
    model = PolicyEmbeddingModel(Scripted(world), [limits], runtime=world.runtime())

    embed(model, "x" * 270)  # reckoned as 91 tokens, costs 10: 90 are left
    with pytest.raises(RateLimited, match="reckoned to cost 101 tokens"):
        embed(model, "x" * 300)
    embed(model, "x" * 240)  # 81, and 10: 80 are left
    with pytest.raises(ModelTimeout, match="tokens"):
        embed(model, "x" * 270)


def test_a_provider_that_asks_one_kind_of_model_to_wait_holds_up_the_other(world: World) -> None:
    limits = LimitPolicy(max_pause=1, clock=world.now)
    runtime = world.runtime()
    embedding = PolicyEmbeddingModel(Scripted(world, RateLimited("slow", retry_after=30)), [limits], runtime=runtime)
    pictures = PolicyImageModel(Pictures(), [limits], runtime=runtime)

    with pytest.raises(RateLimited):
        embedding.embed("a")
    with pytest.raises(RateLimited, match="asked for a pause"):
        pictures.generate("a cat")


def test_observers_are_told_of_one_call_and_of_each_attempt(world: World, embed: Embed) -> None:
    class Notes:
        def __init__(self) -> None:
            self.events: list[Any] = []

        def observe(self, event: Any) -> None:
            self.events.append(event)

    notes = Notes()
    inner = Scripted(world, Overloaded("busy"), None, None)
    model = PolicyEmbeddingModel(
        inner, [RetryPolicy(attempts=2)], name="vectors", observers=[notes], runtime=world.runtime()
    )

    embed(model, ["a", "b", "c"])

    kinds = [type(event) for event in notes.events]
    assert kinds.count(CallStarted) == kinds.count(CallEnded) == 1
    assert kinds.count(AttemptStarted) == kinds.count(AttemptEnded) == 3
    assert kinds.count(Waiting) == 1
    ended = notes.events[-1]
    assert (ended.attempts, ended.complete, ended.provider, ended.model) == (3, True, "toys", "m1")
    assert ended.usage == TokenUsage(3, None, 20)
    assert len({event.call.record.id for event in notes.events}) == 1


def test_the_log_speaks_of_such_calls_without_their_texts(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "polywire")
    model = PolicyEmbeddingModel(Scripted(world), name="vectors", runtime=world.runtime())

    model.embed("a private text")

    assert "vectors:m1 ended" in caplog.text
    assert "private" not in caplog.text


class Pictures(ImageModel):
    def do_generate(self, request: ImageRequest) -> ImageResponse:
        return ImageResponse((ImageContent(url="https://p.test/1.png"),) * request.count)


class Voice(SpeechModel):
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def do_speak(self, request: SpeechRequest) -> SpeechResponse:
        if self.errors:
            raise self.errors.pop(0)
        return SpeechResponse(AudioContent(data=b"x", media_type="audio/wav"))


def test_pictures_and_speech_are_retried_likewise(world: World) -> None:
    retry = RetryPolicy(attempts=2, initial_wait=1, jitter=0)
    speech = PolicySpeechModel(Voice(Overloaded("busy")), [retry], runtime=world.runtime())
    pictures = PolicyImageModel(Pictures(), [retry], runtime=world.runtime())

    assert speech.speak("hello").audio.data == b"x"
    assert len(asyncio.run(pictures.agenerate("a cat", count=2)).images) == 2
    assert world.slept == [1.0]


def test_a_fallback_is_refused_because_its_answer_would_not_fit(world: World) -> None:
    spare = ChatModel.from_function(lambda request: "hello")
    fallback = FallbackPolicy({"spare": spare}, runtime=world.runtime())

    with pytest.raises(SettingsError, match="fallbacks are for chat models"):
        PolicyEmbeddingModel(Scripted(world), [fallback], runtime=world.runtime())


def test_closing_closes_the_model_inside(world: World) -> None:
    inner = Scripted(world)
    model = PolicyEmbeddingModel(inner)

    model.close()
    asyncio.run(model.aclose())

    assert inner.closed == 2
