"""Embedding, image and speech models behind HTTP: one driver, batches in order, usage summed up, defaults laid under."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from polywire.auth import BearerAuth
from polywire.codec import Encoded, HttpRequest, HttpResponse
from polywire.contents import AudioContent, ImageContent
from polywire.embeddings import EmbeddingModel, EmbeddingRequest, EmbeddingResponse, merge_embeddings
from polywire.errors import (
    EmptyResponse,
    ModelError,
    ModelTimeout,
    ProtocolError,
    RateLimited,
    SettingsError,
    UnknownParameter,
    UnsupportedByModel,
)
from polywire.http_embeddings import HttpEmbeddingModel
from polywire.http_errors import error_from_response
from polywire.http_media import HttpImageModel, HttpSpeechModel
from polywire.media_models import ImageRequest, ImageResponse, SpeechRequest, SpeechResponse
from polywire.responses import Notice, TokenUsage
from polywire.testing.transport import FakeTransport, Reply

PURPOSE = Notice("dropped", "purpose", "there are no purposes here")


class LengthCodec:
    """A toy service: the vector of a text is its length and its first character's number."""

    wire = "toy"
    max_inputs = 3
    max_batch_bytes: int | None = None

    def encode(self, request: EmbeddingRequest) -> Encoded:
        body = {"model": request.model, "texts": list(request.inputs), "size": request.dimensions}
        body.update(request.custom_parameters)
        return Encoded(
            HttpRequest("embed", json.dumps(body).encode(), {"content-type": "application/json"}),
            (PURPOSE,) if request.purpose else (),
            metadata_headers={"x-request-id": "request_id"},
        )

    def decode(self, response: HttpResponse, encoded: Encoded) -> EmbeddingResponse:
        body = json.loads(response.body)
        return EmbeddingResponse(tuple(map(tuple, body["vectors"])), TokenUsage(body["tokens"], None, body["tokens"]))

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_response(response)


def answer(request: HttpRequest) -> Reply:
    texts = json.loads(request.body)["texts"]
    vectors = [[float(len(text)), float(ord(text[0]))] for text in texts]
    return Reply(body={"vectors": vectors, "tokens": len(texts)}, headers={"x-request-id": f"r{len(texts)}"})


def vector_of(text: str) -> tuple[float, float]:
    return (float(len(text)), float(ord(text[0])))


Embed = Callable[..., EmbeddingResponse]


@pytest.fixture(params=["sync", "async"])
def embed(request: pytest.FixtureRequest) -> Embed:
    if request.param == "sync":
        return lambda it, /, *arguments, **keywords: it.embed(*arguments, **keywords)
    return lambda it, /, *arguments, **keywords: asyncio.run(it.aembed(*arguments, **keywords))


def made(*answers: Any, codec: Any = None, **arguments: Any) -> tuple[HttpEmbeddingModel, FakeTransport]:
    transport = FakeTransport(*(answers or (answer,)), repeat=not answers)
    arguments = {"defaults": {"model": "m1"}, "provider": "toys", **arguments}
    return HttpEmbeddingModel(
        codec or LengthCodec(), base_url="https://toy.test/v1", transport=transport, **arguments
    ), transport


def test_one_text_is_one_request_and_one_vector(embed: Embed) -> None:
    model, transport = made(auth=BearerAuth("sk-toy-key"), headers={"x-team": "blue"})

    response = embed(model, "hello")

    assert response.vector == (5.0, 104.0)
    assert response.usage == TokenUsage(1, None, 1)
    assert response.metadata == {"request_id": "r1"}
    assert transport.last.url == "https://toy.test/v1/embed"
    assert transport.last.headers["authorization"] == "Bearer sk-toy-key"
    assert transport.last.headers["x-team"] == "blue"
    assert transport.last.json == {"model": "m1", "texts": ["hello"], "size": None}


def test_more_texts_than_the_vendor_takes_go_in_batches_and_come_back_in_order(embed: Embed) -> None:
    model, transport = made()
    texts = [chr(97 + number) * (number + 1) for number in range(8)]

    response = embed(model, texts)

    assert [len(each.json["texts"]) for each in transport.requests] == [3, 3, 2]
    assert [text for each in transport.requests for text in each.json["texts"]] == texts
    assert list(response.vectors) == [vector_of(text) for text in texts]
    assert response.usage == TokenUsage(8, None, 8)
    assert [each["request_id"] for each in response.metadata["batches"]] == ["r3", "r3", "r2"]


@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=6), min_size=1, max_size=40),
    st.one_of(st.none(), st.integers(1, 7)),
    st.one_of(st.none(), st.integers(1, 12)),
)
def test_batches_hold_every_text_once_in_order_and_keep_to_both_bounds(
    texts: list[str], size: int | None, size_in_bytes: int | None
) -> None:
    batches = list(EmbeddingRequest(texts).batches(size, size_in_bytes))

    assert [text for batch in batches for text in batch.inputs] == texts
    for batch in batches:
        assert size is None or len(batch.inputs) <= size
        length = sum(len(text.encode()) for text in batch.inputs)
        assert size_in_bytes is None or length <= size_in_bytes or len(batch.inputs) == 1
    if len(texts) <= (size or 99) and sum(len(text.encode()) for text in texts) <= (size_in_bytes or 999):
        assert len(batches) == 1


def test_a_batch_is_cut_by_its_length_too(embed: Embed) -> None:
    codec = LengthCodec()
    codec.max_batch_bytes = 6
    model, transport = made(codec=codec)

    response = embed(model, ["aaaa", "bb", "c", "éé", "dddddddddd", "e"])

    assert [each.json["texts"] for each in transport.requests] == [["aaaa", "bb"], ["c", "éé"], ["dddddddddd"], ["e"]]
    assert len(response.vectors) == 6


def test_notices_of_the_batches_are_told_once(embed: Embed) -> None:
    model, _ = made()

    assert embed(model, ["a"] * 7, purpose="query").notices == (PURPOSE,)


def test_where_a_field_that_cannot_be_sent_is_an_error_nothing_is_sent(embed: Embed) -> None:
    model, transport = made(unsupported="error")

    with pytest.raises(UnsupportedByModel, match="no purposes"):
        embed(model, "a", purpose="query")
    assert transport.requests == []


def test_a_call_lies_over_the_defaults_field_by_field_and_custom_parameters_by_key(embed: Embed) -> None:
    defaults = {"model": "m1", "dimensions": 8, "custom_parameters": {"a": 1, "b": 1}, "purpose": None}
    model, transport = made(defaults=defaults)

    embed(model, "x", model="m2", custom_parameters={"b": 2})

    assert transport.last.json == {"model": "m2", "texts": ["x"], "size": 8, "a": 1, "b": 2}
    assert model.information.model == "m1"


def test_parameters_win_over_a_request_that_is_given_whole(embed: Embed) -> None:
    model, transport = made()
    request = EmbeddingRequest("x", "m3", 4, custom_parameters={"a": 1, "b": 1})

    embed(model, request, dimensions=16, custom_parameters={"b": 2})

    assert transport.last.json == {"model": "m3", "texts": ["x"], "size": 16, "a": 1, "b": 2}


@pytest.mark.parametrize(
    ("wrong", "near"), [("dimension", "dimensions"), ("purposes", "purpose"), ("deadlines", "deadline")]
)
def test_an_unknown_parameter_is_refused_with_the_nearest(embed: Embed, wrong: str, near: str) -> None:
    model, transport = made()

    with pytest.raises(UnknownParameter, match=f"{wrong}.*did you mean '{near}'"):
        embed(model, "x", **{wrong: 3})
    assert transport.requests == []


def test_an_unknown_default_is_refused_when_the_model_is_made() -> None:
    with pytest.raises(UnknownParameter, match=r"'dimension'.*did you mean 'dimensions'"):
        made(defaults={"dimension": 3})
    with pytest.raises(UnknownParameter, match="'inputs'"):
        made(defaults={"inputs": "a text belongs to one call"})


def test_without_a_model_nothing_is_sent(embed: Embed) -> None:
    model, transport = made(defaults={})

    with pytest.raises(SettingsError, match="no model is named"):
        embed(model, "x")
    assert transport.requests == []


@pytest.mark.parametrize("count", [0, 2, 4])
def test_fewer_or_more_vectors_than_texts_are_a_protocol_error(embed: Embed, count: int) -> None:
    model, _ = made({"vectors": [[1.0]] * count, "tokens": 3})

    with pytest.raises(ProtocolError, match=f"3 texts were sent, and {count} vectors came") as caught:
        embed(model, ["a", "b", "c"])
    assert (caught.value.provider, caught.value.model) == ("toys", "m1")


def test_the_first_batch_that_fails_ends_the_call(embed: Embed) -> None:
    model, transport = made(answer, Reply(status=429, body={"error": "slow down"}, headers={"retry-after": "7"}))

    with pytest.raises(RateLimited) as caught:
        embed(model, ["a"] * 9)
    assert caught.value.retry_after == 7
    assert (caught.value.provider, caught.value.model) == ("toys", "m1")
    assert len(transport.requests) == 2


def test_a_key_that_the_server_repeats_does_not_show(embed: Embed) -> None:
    model, _ = made(Reply(status=401, body={"error": "bad key sk-toy-key"}), auth=BearerAuth("sk-toy-key"))

    with pytest.raises(ModelError) as caught:
        embed(model, "a")
    assert "sk-toy-key" not in f"{caught.value} {caught.value.body} {model!r}"


@pytest.mark.parametrize(
    ("body", "kind"), [(b"", EmptyResponse), (b"<html>hello</html>", ProtocolError), (b'{"vectors": 3}', ProtocolError)]
)
def test_an_answer_that_is_none_is_named(embed: Embed, body: bytes, kind: type[ModelError]) -> None:
    model, _ = made(Reply(body=body))

    with pytest.raises(kind):
        embed(model, "a")


def test_a_deadline_that_is_over_sends_nothing_more() -> None:
    class Clock:
        now = 0.0

    def late(request: HttpRequest) -> Reply:
        Clock.now += 6.0
        return answer(request)

    class Dog:
        """A watchdog that never barks: only its clock counts here."""

        def clock(self) -> float:
            return Clock.now

        def schedule(self, at: float, action: Any) -> Any:
            class Alarm:
                cancelled = False

                def __init__(self) -> None:
                    self.at = at

                def cancel(self) -> None:
                    self.cancelled = True

            return Alarm()

    transport = FakeTransport(late, repeat=True)
    dog: Any = Dog()
    model = HttpEmbeddingModel(
        LengthCodec(), base_url="https://toy.test", transport=transport, defaults={"model": "m"}, watchdog=dog
    )

    with pytest.raises(ModelTimeout):
        model.embed(["a"] * 9, deadline=10)
    assert len(transport.requests) == 2


def test_answers_without_usage_stay_unknown_and_what_is_known_adds_up() -> None:
    silent, told = EmbeddingResponse(((1.0,),)), EmbeddingResponse(((2.0,),), TokenUsage(3, None, 3))

    assert merge_embeddings([silent, silent]).usage == TokenUsage()
    assert merge_embeddings([silent, told, told]).usage == TokenUsage(6, None, 6)
    assert merge_embeddings([told]) is told


class PictureCodec:
    wire = "toy"

    def encode(self, request: ImageRequest) -> Encoded:
        body = {"prompt": request.prompt, "model": request.model, "size": request.size, "n": request.count}
        return Encoded(HttpRequest("images", json.dumps(body).encode()))

    def decode(self, response: HttpResponse, encoded: Encoded) -> ImageResponse:
        return ImageResponse((ImageContent(data=response.body),))

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_response(response)


class VoiceCodec:
    wire = "toy"

    def encode(self, request: SpeechRequest) -> Encoded:
        body = {"text": request.text, "model": request.model, "voice": request.voice}
        return Encoded(HttpRequest("speech", json.dumps(body).encode()), (Notice("dropped", "format", "one only"),))

    def decode(self, response: HttpResponse, encoded: Encoded) -> SpeechResponse:
        return SpeechResponse(AudioContent(data=response.body, media_type="audio/wav"))

    def decode_error(self, response: HttpResponse) -> ModelError:
        return error_from_response(response)


PNG = b"\x89PNG\r\n\x1a\n rest"


def test_pictures_are_made_over_the_same_driver() -> None:
    transport = FakeTransport(Reply(body=PNG), Reply(body=PNG), Reply(status=500, body="oh"))
    model = HttpImageModel(
        PictureCodec(), base_url="https://toy.test", transport=transport, defaults={"model": "p1", "size": "8x8"}
    )

    assert model.generate("a cat", count=2).images[0].data == PNG
    assert transport.last.json == {"prompt": "a cat", "model": "p1", "size": "8x8", "n": 2}
    assert asyncio.run(model.agenerate(ImageRequest("a dog", "p2"), size="9x9")).images[0].media_type == "image/png"
    assert transport.last.json == {"prompt": "a dog", "model": "p2", "size": "9x9", "n": 1}
    with pytest.raises(ModelError) as caught:
        model.generate("a bird")
    assert caught.value.model == "p1"
    with pytest.raises(UnknownParameter, match="did you mean 'count'"):
        model.generate("a bird", counts=1)


def test_speech_is_made_over_the_same_driver() -> None:
    transport = FakeTransport(Reply(body=b"sound"), repeat=True)
    model = HttpSpeechModel(
        VoiceCodec(), base_url="https://toy.test", transport=transport, defaults={"model": "s1", "voice": "ann"}
    )

    response = model.speak("hello", format="mp3", deadline=5)
    assert response.audio.data == b"sound"
    assert [notice.subject for notice in response.notices] == ["format"]
    assert transport.last.json == {"text": "hello", "model": "s1", "voice": "ann"}
    assert asyncio.run(model.aspeak("hello", voice="bob")).audio.media_type == "audio/wav"
    assert transport.last.json["voice"] == "bob"


def test_an_embedding_model_of_ones_own_needs_one_method() -> None:
    class Lengths(EmbeddingModel):
        def do_embed(self, request: EmbeddingRequest) -> EmbeddingResponse:
            return EmbeddingResponse(tuple((float(len(text)),) for text in request.inputs))

    assert Lengths().embed(["a", "bb"]).vectors == ((1.0,), (2.0,))
    assert asyncio.run(Lengths().aembed("abc")).vector == (3.0,)
