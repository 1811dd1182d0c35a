"""Runs any embedding codec over any transport, in batches of the vendor's size."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

from polywire.embeddings import EmbeddingModel, EmbeddingRequest, EmbeddingResponse, merge_embeddings
from polywire.errors import ProtocolError
from polywire.http_exchange import fill_in
from polywire.http_tasks import HttpTaskModel, TaskPlan, task_plan
from polywire.responses import Notice
from polywire.task_requests import lay_over

__all__ = ["HttpEmbeddingModel"]


def _check(part: EmbeddingResponse, batch: EmbeddingRequest) -> None:
    """
    Raises:
        ProtocolError: there is not one vector of numbers for each text.
    """
    if len(part.vectors) != len(batch.inputs):
        msg = f"{len(batch.inputs)} texts were sent, and {len(part.vectors)} vectors came"
        raise ProtocolError(msg)
    for index, vector in enumerate(part.vectors):
        try:
            # The sum of what is no number is none [measured: a tenth of what reading the vector costs].
            is_one = bool(vector) and isfinite(sum(vector))
        except TypeError:
            is_one = False
        if not is_one:
            msg = f"vector {index} of the answer is no list of numbers"
            raise ProtocolError(msg)


def _with_length(part: EmbeddingResponse, batch: EmbeddingRequest) -> EmbeddingResponse:
    """Say so where the vectors have another length than was asked for: many servers pass over what they do not know."""
    length = len(part.vectors[0])
    if batch.dimensions in (None, length) or any(notice.subject == "dimensions" for notice in part.notices):
        return part
    told = f"the vectors have {length} numbers, not the {batch.dimensions} that were asked for"
    return replace(part, notices=(*part.notices, Notice("approximated", "dimensions", told)))


class HttpEmbeddingModel(HttpTaskModel, EmbeddingModel):
    """
    An embedding model behind HTTP; `HttpTaskModel` tells its arguments.

    More texts than the codec takes at once (`max_inputs`, `max_batch_bytes`) go in several requests, one after the other; the vectors come back in the
    texts' order, with the usage summed up. The first batch that fails ends the call.
    """

    _request_type = EmbeddingRequest

    def __init__(self, codec: Any, **arguments: Any) -> None:
        super().__init__(codec, **arguments)
        self.max_inputs = codec.max_inputs
        self.max_batch_bytes = codec.max_batch_bytes

    def _plan(self, request: EmbeddingRequest) -> TaskPlan[EmbeddingResponse]:
        request = lay_over(request, self._endpoint.defaults)
        parts = []
        for batch in request.batches(self.max_inputs, self.max_batch_bytes):
            part: EmbeddingResponse = yield from task_plan(self._endpoint, batch)
            try:
                _check(part, batch)
            except ProtocolError as error:
                fill_in(error, self._endpoint.provider, batch.model)
                raise
            parts.append(_with_length(part, batch))
        return merge_embeddings(parts)

    def do_embed(self, request: EmbeddingRequest) -> EmbeddingResponse:
        """Answer one request."""
        response: EmbeddingResponse = self._run(request)
        return response

    async def do_aembed(self, request: EmbeddingRequest) -> EmbeddingResponse:
        """Answer one request, from async code."""
        response: EmbeddingResponse = await self._arun(request)
        return response
