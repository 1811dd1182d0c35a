"""
The contract for embedding models: texts in, vectors out, in the same order.

Written like the chat contract: callers use `embed` and `aembed`, authors override `do_embed` and, where there is more to
offer, `do_aembed`. `EmbeddingCodec` is what a provider author writes; `HttpEmbeddingModel` runs it.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol, TypeAlias, get_args

from polywire.codec import Encoded, HttpResponse
from polywire.errors import ModelError, did_you_mean
from polywire.fast_dataclass import dataclass
from polywire.immutable import EMPTY, freeze_mapping
from polywire.models import NO_INFORMATION, ModelInformation
from polywire.parameters import check_number
from polywire.requests import NO_OPTIONS, CallOptions
from polywire.responses import NO_USAGE, Notice, TokenUsage
from polywire.task_requests import check_fields, fold_task_request

__all__ = [
    "EmbeddingCodec",
    "EmbeddingModel",
    "EmbeddingPurpose",
    "EmbeddingRequest",
    "EmbeddingResponse",
    "Vector",
    "merge_embeddings",
]

Vector: TypeAlias = tuple[float, ...]
EmbeddingPurpose: TypeAlias = Literal["query", "document", "similarity", "classification", "clustering"]
"""What the vectors are for; wires that make no difference leave it out, with a notice."""
_NO_TEXTS = (bytes, bytearray, Mapping, set, frozenset)
"""What can be gone through all the same. Vectors come in the order of the texts, and a set has none."""


@dataclass(frozen=True, slots=True, init=False)
class EmbeddingRequest:
    """
    Texts to embed, and how.

    Attributes:
        inputs: the texts, at least one, none of them empty.
        model: the model's id; `None` takes the default.
        dimensions: the length of the vectors, for models that can shorten them.
        purpose: what they are for.
        custom_parameters: what only one vendor has, copied into the request body as it is.

    Raises:
        ValueError: there is no text, or one is empty (some vendors refuse it, others make a vector of nothing); or the
            purpose is none of the words.
        TypeError: something is of the wrong type.
    """

    inputs: tuple[str, ...]
    model: str | None = None
    dimensions: int | None = None
    purpose: EmbeddingPurpose | None = None
    custom_parameters: Mapping[str, Any] = EMPTY
    options: CallOptions = NO_OPTIONS

    def __init__(
        self,
        inputs: str | Iterable[str],
        model: str | None = None,
        dimensions: int | None = None,
        purpose: EmbeddingPurpose | None = None,
        custom_parameters: Mapping[str, Any] = EMPTY,
        options: CallOptions | None = None,
    ) -> None:
        if isinstance(inputs, _NO_TEXTS) or not isinstance(inputs, Iterable):
            msg = f"inputs must be a str or texts in an order, not {type(inputs).__name__}"
            raise TypeError(msg)
        texts = (inputs,) if isinstance(inputs, str) else tuple(inputs)
        if not texts:
            msg = "an embedding request needs at least one text"
            raise ValueError(msg)
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                msg = f"inputs[{index}] must be a str, not {type(text).__name__}"
                raise TypeError(msg)
            if not text:
                msg = f"inputs[{index}] is empty: there is nothing to embed"
                raise ValueError(msg)
        check_number("dimensions", dimensions, whole=True)
        if dimensions is not None and dimensions < 1:
            msg = f"dimensions must be at least 1, not {dimensions}"
            raise ValueError(msg)
        if purpose is not None and purpose not in get_args(EmbeddingPurpose):
            msg = f"unknown purpose {purpose!r}{did_you_mean(str(purpose), get_args(EmbeddingPurpose))}"
            raise ValueError(msg)
        object.__setattr__(self, "inputs", texts)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "dimensions", dimensions)
        object.__setattr__(self, "purpose", purpose)
        object.__setattr__(self, "custom_parameters", freeze_mapping(custom_parameters, name="custom_parameters"))
        object.__setattr__(self, "options", NO_OPTIONS if options is None else options)
        check_fields(self)

    def batch(self, inputs: Sequence[str]) -> EmbeddingRequest:
        """Return the same request for some of its texts."""
        return EmbeddingRequest(inputs, self.model, self.dimensions, self.purpose, self.custom_parameters, self.options)

    def batches(self, size: int | None, size_in_bytes: int | None = None) -> Iterator[EmbeddingRequest]:
        """
        Cut the request into those of at most `size` texts and `size_in_bytes` of UTF-8, in order.

        Itself where it is short enough. A text that is too long on its own is a batch of its own: whether that is too
        much is the vendor's to say.
        """
        batch: list[str] = []
        filled = 0
        for text in self.inputs:
            length = 0 if size_in_bytes is None else len(text.encode("utf-8", "surrogatepass"))
            full = size is not None and len(batch) >= size
            if batch and (full or (size_in_bytes is not None and filled + length > size_in_bytes)):
                yield self.batch(batch)
                batch, filled = [], 0
            batch.append(text)
            filled += length
        yield self if len(batch) == len(self.inputs) else self.batch(batch)


@dataclass(frozen=True, slots=True)
class EmbeddingResponse:
    """
    The vectors, in the order of the texts.

    Attributes:
        vectors: one tuple of numbers for each text.
        usage: what it cost; `None` where the vendor does not say.
        notices: what was dropped or approximated on the way.
        metadata: `id, model, request_id`, and what else the vendor said.
    """

    vectors: tuple[Vector, ...]
    usage: TokenUsage = NO_USAGE
    notices: tuple[Notice, ...] = ()
    metadata: Mapping[str, Any] = field(default=EMPTY)

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", tuple(tuple(vector) for vector in self.vectors))
        object.__setattr__(self, "notices", tuple(self.notices))
        object.__setattr__(self, "metadata", freeze_mapping(self.metadata, name="metadata"))

    @property
    def vector(self) -> Vector:
        """The one vector of a request for one text."""
        if len(self.vectors) != 1:
            msg = f"there are {len(self.vectors)} vectors; use .vectors"
            raise ValueError(msg)
        return self.vectors[0]


def merge_embeddings(parts: Sequence[EmbeddingResponse]) -> EmbeddingResponse:
    """
    Put the answers to the batches of one request together, in order: usage summed up, each notice once, and what is said
    of one text under its place in the whole.

    The metadata is the first answer's; of several, all stand under `batches` besides.
    """
    if len(parts) == 1:
        return parts[0]
    usage = parts[0].usage
    for part in parts[1:]:
        usage = usage + part.usage
    notices: list[Notice] = []
    before = 0
    for part in parts:
        notices += [_moved(notice, before) for notice in part.notices]
        before += len(part.vectors)
    return EmbeddingResponse(
        tuple(vector for part in parts for vector in part.vectors),
        usage,
        tuple(dict.fromkeys(notices)),
        {**parts[0].metadata, "batches": [dict(part.metadata) for part in parts]},
    )


_PLACE = re.compile(r"inputs\[(\d+)\]")


def _moved(notice: Notice, by: int) -> Notice:
    place = _PLACE.fullmatch(notice.subject)
    return notice if place is None else Notice(notice.kind, f"inputs[{int(place[1]) + by}]", notice.message)


class EmbeddingModel(abc.ABC):
    """A model that turns texts into vectors. Thread-safe, and usable from any number of event loops."""

    information: ModelInformation = NO_INFORMATION

    max_inputs: int | None = None
    """At most so many texts go in one request to the vendor; longer calls are split, each part a call to its limits."""
    max_batch_bytes: int | None = None
    """Likewise for the texts' length together, in bytes of UTF-8."""

    def embed(self, inputs: str | Iterable[str] | EmbeddingRequest, /, **parameters: Any) -> EmbeddingResponse:
        """
        Embed one text or several; they are sent in batches of the vendor's size and come back in order.

        `parameters` are the fields of `EmbeddingRequest`, and `deadline` and `tags`.

        Raises:
            ModelError: a batch failed.
            ValueError, TypeError: the request is wrong; raised before any network.
        """
        return self.do_embed(fold_task_request(EmbeddingRequest, inputs, parameters))

    async def aembed(self, inputs: str | Iterable[str] | EmbeddingRequest, /, **parameters: Any) -> EmbeddingResponse:
        """Embed one text or several. As `embed`."""
        return await self.do_aembed(fold_task_request(EmbeddingRequest, inputs, parameters))

    @abc.abstractmethod
    def do_embed(self, request: EmbeddingRequest) -> EmbeddingResponse:
        """Answer one request. For authors and wrappers; callers use `embed`."""

    async def do_aembed(self, request: EmbeddingRequest) -> EmbeddingResponse:
        """Answer one request; runs `do_embed` in a thread unless overridden."""
        import asyncio

        return await asyncio.to_thread(self.do_embed, request)

    def close(self) -> None:
        """Give back what the model holds. Idempotent."""

    async def aclose(self) -> None:
        """Give back what the model holds, from async code. Idempotent."""
        self.close()


class EmbeddingCodec(Protocol):
    """Three pure functions between polywire's values and one vendor's embedding endpoint."""

    wire: str
    max_inputs: int
    """At most so many texts in one HTTP request; the driver splits longer ones and keeps the order."""
    max_batch_bytes: int | None
    """Likewise for the texts' length together, in bytes of UTF-8; `None` where the vendor counts texts alone."""

    def encode(self, request: EmbeddingRequest) -> Encoded:
        """Write one batch."""

    def decode(self, response: HttpResponse, encoded: Encoded) -> EmbeddingResponse:
        """Read the answer to one batch, in the order of its texts."""

    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any status but 2xx. Never raises."""
