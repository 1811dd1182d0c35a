"""What a limiter hands out: a ticket while a call waits its turn, and a permit while it runs."""

from __future__ import annotations

from typing import Protocol

import msgspec

from polywire.errors import ModelTimeout, RateLimited
from polywire.policy.rates import Mark
from polywire.policy.runtime import Waiter

__all__ = ["LimitTimeout", "Limiter", "Permit", "Ticket"]


class LimitTimeout(RateLimited, ModelTimeout):
    """
    The call's time ran out while it waited for its turn under a limit of this side.

    It is both: a rate limit, and a timeout. `retry_after` is the time that would still have been needed, where it can be
    told. The call may well succeed after that, so it is `retryable`; `RetryPolicy` leaves that wait to the caller, whose
    `max_wait`, `max_pause` or deadline has just said that it is too long. A fallback leads on.
    """


class Permit(msgspec.Struct, eq=False, weakref=True):
    """
    The right to make one call.

    It must be released, and is: by its policy, at the end of its stream, or, where both are dropped, by its finaliser.

    Attributes:
        limiter: takes it back.
        requests, tokens: where the meters stood when it was granted.
        book: the one in this process that granted it.
        lease: its name in a store.
        notice: what the response shall say about how it was granted.
        released: whether it was given back.
    """

    limiter: Limiter
    requests: Mark | None
    tokens: Mark | None
    book: object = None
    lease: str | None = None
    notice: str | None = None
    released: bool = False

    def release(self, tokens: int | None = None, *, sent: bool = True) -> None:
        """
        Give the permit back. Idempotent, never blocks, and safe in a finaliser.

        Args:
            tokens: what the call cost; `None` lets the reservation stand.
            sent: with `False` the call never reached the vendor, and its request is not counted either.
        """
        if not self.released:
            self.limiter.release(self, tokens, sent=sent)

    def __del__(self) -> None:
        if not self.released:
            self.limiter.release(self, None, sent=True)


class Ticket(Waiter):
    """
    A place in the queue.

    Attributes:
        permit: the permit, once it has its turn.
        error: what keeps it from ever having one.
        due: when it is worth asking again, on the limiter's clock; `None` while only others can bring it on.
        expected: when its turn may come, where a limiter knows that without being asked again.
        limit: which limit holds it up: `requests per minute`, `tokens per minute`, `concurrency`, `pause`, `queue`.
        abandoned: nobody waits any more.
    """

    __slots__ = ("abandoned", "before", "due", "error", "expected", "limit", "news", "permit", "tokens")

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.tokens = tokens
        self.permit: Permit | None = None
        self.error: Exception | None = None
        self.due: float | None = None
        self.expected: float | None = None
        self.limit = "queue"
        self.abandoned = False
        self.news = False
        self.before = (0, 0)

    @property
    def ready(self) -> bool:
        return self.news

    def tell(self) -> None:
        """Wake the one who waits: something about this ticket has changed."""
        self.news = True
        self.notify()


class Limiter(Protocol):
    """Hands out permits, in turn."""

    def try_acquire(self, tokens: int) -> Permit | None:
        """Return a permit if one is free at once and nobody waits. Never blocks."""

    def enqueue(self, tokens: int) -> Ticket:
        """Join the queue."""

    def abandon(self, ticket: Ticket) -> None:
        """Leave the queue; a permit that came meanwhile goes back as if it had never been. Safe in a finaliser."""

    def poke(self) -> None:
        """Look again: the time that a ticket waited for has come."""

    def release(self, permit: Permit, tokens: int | None, *, sent: bool) -> None:
        """Take a permit back. Idempotent, never blocks, safe in a finaliser."""

    def pause(self, seconds: float) -> None:
        """Send nothing for so long: the provider asked for it."""

    def needed(self, ticket: Ticket) -> float | None:
        """Seconds that a waiting ticket still needs, as far as can be told."""

    def close(self) -> None:
        """Give back what the limiter itself holds. Idempotent."""
