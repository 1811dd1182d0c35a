"""
The contract for embedding models: texts in, vectors out, in the same order.

Written like the chat contract: callers use `embed` and `aembed`, authors override `do_embed` and, where there is more to
offer, `do_aembed`. `EmbeddingCodec` is what a provider author writes; `HttpEmbeddingModel` runs it.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from polywire.codec import Encoded, HttpResponse
from polywire.errors import ModelError, UnknownParameter, did_you_mean
from polywire.immutable import EMPTY, freeze_mapping
from polywire.models import NO_INFORMATION, ModelInformation, merge_options
from polywire.parameters import check_number
from polywire.requests import NO_OPTIONS, CallOptions
from polywire.responses import NO_USAGE, Notice, TokenUsage

__all__ = ["EmbeddingCodec", "EmbeddingModel", "EmbeddingPurpose", "EmbeddingRequest", "EmbeddingResponse", "Vector"]

Vector: TypeAlias = tuple[float, ...]
EmbeddingPurpose: TypeAlias = Literal["query", "document", "similarity", "classification", "clustering"]
"""What the vectors are for; wires that make no difference leave it out, with a notice."""

_OPTION_NAMES = ("deadline", "tags")


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
        ValueError: there is no text, or one is empty (some vendors refuse it, others make a vector of nothing).
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
        object.__setattr__(self, "inputs", texts)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "dimensions", dimensions)
        object.__setattr__(self, "purpose", purpose)
        object.__setattr__(self, "custom_parameters", freeze_mapping(custom_parameters, name="custom_parameters"))
        object.__setattr__(self, "options", NO_OPTIONS if options is None else options)

    def over(self, defaults: EmbeddingRequest | None) -> EmbeddingRequest:
        """Return this request laid over a model's defaults, field by field."""
        if defaults is None:
            return self
        return EmbeddingRequest(
            self.inputs,
            self.model or defaults.model,
            self.dimensions or defaults.dimensions,
            self.purpose or defaults.purpose,
            {**defaults.custom_parameters, **self.custom_parameters},
            merge_options(defaults.options, self.options),
        )

    def batch(self, inputs: Sequence[str]) -> EmbeddingRequest:
        """Return the same request for some of its texts."""
        return EmbeddingRequest(inputs, self.model, self.dimensions, self.purpose, self.custom_parameters, self.options)


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


class EmbeddingModel(abc.ABC):
    """A model that turns texts into vectors. Thread-safe, and usable from any number of event loops."""

    information: ModelInformation = NO_INFORMATION

    def embed(self, inputs: str | Iterable[str] | EmbeddingRequest, /, **parameters: Any) -> EmbeddingResponse:
        """
        Embed one text or several; they are sent in batches of the vendor's size and come back in order.

        `parameters` are the fields of `EmbeddingRequest`, and `deadline` and `tags`.

        Raises:
            ModelError: a batch failed.
            ValueError, TypeError: the request is wrong; raised before any network.
        """
        return self.do_embed(fold_embedding_request(inputs, parameters))

    async def aembed(self, inputs: str | Iterable[str] | EmbeddingRequest, /, **parameters: Any) -> EmbeddingResponse:
        """Embed one text or several. As `embed`."""
        return await self.do_aembed(fold_embedding_request(inputs, parameters))

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


def fold_embedding_request(
    inputs: str | Iterable[str] | EmbeddingRequest, parameters: Mapping[str, Any]
) -> EmbeddingRequest:
    """Fold every form into one `EmbeddingRequest`; a keyword that is no field is an error that names the nearest."""
    known = {"model", "dimensions", "purpose", "custom_parameters", "options", *_OPTION_NAMES}
    for name in parameters:
        if name not in known:
            msg = f"unknown parameter {name!r}{did_you_mean(name, known)}"
            raise UnknownParameter(msg)
    fields = dict(parameters)
    options = fields.pop("options", None) or NO_OPTIONS
    given = {name: fields.pop(name) for name in _OPTION_NAMES if name in fields}
    options = merge_options(options, CallOptions(**given) if given else None)
    if isinstance(inputs, EmbeddingRequest):
        return EmbeddingRequest(inputs.inputs, **fields, options=options).over(inputs) if parameters else inputs
    return EmbeddingRequest(inputs, **fields, options=options)


class EmbeddingCodec(Protocol):
    """Three pure functions between polywire's values and one vendor's embedding endpoint."""

    wire: str
    max_inputs: int
    """At most so many texts in one HTTP request; the driver splits longer ones and keeps the order."""

    def encode(self, request: EmbeddingRequest) -> Encoded:
        """Write one batch."""

    def decode(self, response: HttpResponse, encoded: Encoded) -> EmbeddingResponse:
        """Read the answer to one batch, in the order of its texts."""

    def decode_error(self, response: HttpResponse) -> ModelError:
        """Read an answer of any status but 2xx. Never raises."""
