"""
Models that make vectors, pictures and speech, behind the same policies as chat models.

A *task* is one request and one whole answer. To a policy it is a call like any other: it is retried, counted, held back
and broken off in the same way. Only asking the model and reckoning its cost differ.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from polywire.embeddings import EmbeddingModel, EmbeddingRequest, EmbeddingResponse, merge_embeddings
from polywire.errors import SettingsError
from polywire.media_models import ImageModel, ImageRequest, ImageResponse, SpeechModel, SpeechRequest, SpeechResponse
from polywire.models import ModelInformation
from polywire.policy.calls import Call, CallRecord
from polywire.policy.fallback import FallbackPolicy
from polywire.policy.observers import Observation, Observer, current_observers
from polywire.policy.opening import open_model
from polywire.policy.plans import Effect, Policy, arun, compose, run
from polywire.policy.runtime import DEFAULT_RUNTIME, Runtime
from polywire.requests import CallOptions

__all__ = ["PolicyEmbeddingModel", "PolicyImageModel", "PolicySpeechModel", "TaskCall"]

_BYTES_PER_TOKEN = 3


class TaskCall(Call):
    """One task, as policies see it: `request` and `model` are of its own kind."""

    __slots__ = ("_methods", "_words")

    request: Any
    model: Any

    def __init__(
        self,
        request: Any,
        model: Any,
        *,
        methods: tuple[str, str],
        words: Iterable[str],
        runtime: Runtime,
        name: str | None = None,
        observers: tuple[Observer, ...] = (),
        record: CallRecord | None = None,
    ) -> None:
        super().__init__(
            request, model, streaming=False, runtime=runtime, name=name, observers=observers, record=record
        )
        self._methods = methods
        self._words = words

    def part(self, request: Any, words: Iterable[str]) -> TaskCall:
        """Return the call for a part of the request: under the same deadline and on the same record."""
        part = TaskCall(
            request,
            self.model,
            methods=self._methods,
            words=words,
            runtime=self.runtime,
            name=self.name,
            observers=self.observers,
            record=self.record,
        )
        part.deadline = self.deadline
        return part

    @property
    def model_id(self) -> str | None:
        model: str | None = self.request.model or self.model.information.model
        return model

    def timed_request(self) -> Any:
        left = self.remaining()
        if left is None:
            return self.request
        return replace(self.request, options=CallOptions(deadline=left, tags=self.request.options.tags))

    def ask(self, request: Any) -> Any:
        return getattr(self.model, self._methods[0])(request)

    async def aask(self) -> Any:
        return await getattr(self.model, self._methods[1])(self.request)

    def expected_tokens(self) -> int:
        return sum(len(text.encode("utf-8", "surrogatepass")) for text in self._words) // _BYTES_PER_TOKEN + 1


class _PolicyTaskModel:
    """
    `model` behind `policies`, the outermost first; as `PolicyModel`, for a model that is no chat model.

    Args:
        model: any model of this kind.
        policies: deadline, retry, limits; a `LimitPolicy` that serves chat models too is their common limit.
        name: the model's name in the settings, for logs and observers.
        observers: told of calls, attempts, waits and limits.
        runtime: clock, sleeps and chance, for tests.

    Raises:
        SettingsError: there is a `FallbackPolicy`: vectors of two models cannot be compared, and voices and sizes have names
            that only one model knows.
    """

    _methods: ClassVar[tuple[str, str]]

    def __init__(
        self,
        model: Any,
        policies: Iterable[Policy] = (),
        *,
        name: str | None = None,
        observers: Sequence[Observer] = (),
        runtime: Runtime = DEFAULT_RUNTIME,
    ) -> None:
        self.model = model
        self.policies = tuple(policies)
        if any(isinstance(policy, FallbackPolicy) for policy in self.policies):
            msg = f"fallbacks are for chat models: the answer of another {type(model).__name__} would not fit"
            raise SettingsError(msg)
        self.name = name
        self.observers = tuple(observers)
        self.runtime = runtime
        self.information: ModelInformation = model.information
        self._through: Any = compose(self.policies, open_model)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, {list(self.policies)!r})"

    def _words(self, request: Any) -> Iterable[str]:
        """Return the texts whose length tells what the request will cost."""
        raise NotImplementedError

    def _plan(self, call: TaskCall) -> Generator[Effect, Any, Any]:
        plan: Generator[Effect, Any, Any] = self._through(call)
        return plan

    def _start(self, request: Any) -> tuple[TaskCall, Any]:
        call = TaskCall(
            request,
            self.model,
            methods=self._methods,
            words=self._words(request),
            runtime=self.runtime,
            name=self.name,
        )
        plan: Any = self._plan
        call.observers = current_observers(self.observers)
        return call, Observation(call).plan(plan) if call.observers else plan(call)

    def _run(self, request: Any) -> Any:
        call, plan = self._start(request)
        return _annotated(run(plan), call)

    async def _arun(self, request: Any) -> Any:
        call, plan = self._start(request)
        return _annotated(await arun(plan), call)

    def close(self) -> None:
        self.model.close()

    async def aclose(self) -> None:
        await self.model.aclose()


class PolicyEmbeddingModel(_PolicyTaskModel, EmbeddingModel):
    """
    An embedding model behind policies.

    More texts than the model takes at once (`max_inputs`, `max_batch_bytes`) go through the policies batch by batch, in order: each counts on its own for
    limits, and only the batch that failed is retried. A deadline holds for all of them together.
    """

    _methods = ("do_embed", "do_aembed")

    def _words(self, request: Any) -> Iterable[str]:
        return request.inputs  # type: ignore[no-any-return]

    def __init__(self, model: EmbeddingModel, policies: Iterable[Policy] = (), **arguments: Any) -> None:
        super().__init__(model, policies, **arguments)
        self.max_inputs = model.max_inputs
        self.max_batch_bytes = model.max_batch_bytes

    def _plan(self, call: TaskCall) -> Generator[Effect, Any, Any]:
        parts: list[EmbeddingResponse] = []
        for batch in call.request.batches(self.max_inputs, self.max_batch_bytes):
            part = call.part(batch, batch.inputs)
            parts.append((yield from self._through(part)))
            call.deadline = part.deadline  # set by a policy at the first batch, it holds for those that follow
        return merge_embeddings(parts)

    def do_embed(self, request: EmbeddingRequest) -> EmbeddingResponse:
        response: EmbeddingResponse = self._run(request)
        return response

    async def do_aembed(self, request: EmbeddingRequest) -> EmbeddingResponse:
        response: EmbeddingResponse = await self._arun(request)
        return response


class PolicyImageModel(_PolicyTaskModel, ImageModel):
    """A model for pictures behind policies."""

    _methods = ("do_generate", "do_agenerate")

    def _words(self, request: Any) -> Iterable[str]:
        return (request.prompt,)

    def do_generate(self, request: ImageRequest) -> ImageResponse:
        response: ImageResponse = self._run(request)
        return response

    async def do_agenerate(self, request: ImageRequest) -> ImageResponse:
        response: ImageResponse = await self._arun(request)
        return response


class PolicySpeechModel(_PolicyTaskModel, SpeechModel):
    """A model that speaks, behind policies."""

    _methods = ("do_speak", "do_aspeak")

    def _words(self, request: Any) -> Iterable[str]:
        return (request.text,)

    def do_speak(self, request: SpeechRequest) -> SpeechResponse:
        response: SpeechResponse = self._run(request)
        return response

    async def do_aspeak(self, request: SpeechRequest) -> SpeechResponse:
        response: SpeechResponse = await self._arun(request)
        return response


def _annotated(result: Any, call: TaskCall) -> Any:
    """Put what policies have to say on the response."""
    record = call.record
    if not record.notices and not record.metadata:
        return result
    return replace(
        result,
        notices=(*result.notices, *record.notices),
        metadata={**result.metadata, **(record.metadata or {})},
    )
