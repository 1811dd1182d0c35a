"""Limits shared by processes, on a real Redis of the test's own on the loopback address."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from polywire.errors import ConnectionFailed, ModelTimeout, RateLimited, ServerError
from polywire.messages import AiMessage
from polywire.models import ChatModel
from polywire.policy import LimitPolicy, PolicyModel
from polywire.policy.observers import StoreUnavailable
from polywire.responses import ChatResponse, TokenUsage

WORKER = Path(__file__).parent / "redis_worker.py"
sys.path.insert(0, str(WORKER.parent))
from redis_worker import BURST, PER_MINUTE  # noqa: E402

pytestmark = pytest.mark.real_redis


class Redis:
    """A server that a test may stop and start again."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def address(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [
            "redis-server",
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(self.folder),
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers, "redis-server does not answer")

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=0.2):
                return True
        except OSError:
            return False

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def wait_until(condition: Callable[[], bool], complaint: str, seconds: float = 10) -> None:
    """Wait for something outside this process, looking again every few milliseconds."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, complaint
        pause.wait(0.01)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server), and no test double will do here")
    server = Redis(tmp_path)
    yield server
    server.stop()


def worker(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, str(WORKER), *arguments], stdout=subprocess.PIPE, text=True)


def test_two_processes_keep_the_joint_rate_within_two_percent(redis: Redis) -> None:
    workers = [worker("rate", redis.address, "4") for _ in range(2)]
    told = [process.communicate(timeout=60)[0] for process in workers]

    each = [[float(word) for word in text.split()] for text in told]
    times = sorted(each[0] + each[1])
    # From the second worker's start to the first one's end both were asking.
    first, last = max(part[0] for part in each), min(part[-1] for part in each)
    inside = [at for at in times if first <= at <= last]
    per_second = PER_MINUTE / 60

    assert all(part for part in each)
    assert len(inside) <= (per_second * (last - first)) * 1.02 + BURST + 1
    assert len(inside) >= (per_second * (last - first)) * 0.98 - 1
    # And in no window of any length is there more than rate x time and the burst.
    for size in (10, 50, 200):
        for start in range(0, len(times) - size, 7):
            window = times[start + size] - times[start]
            assert size <= per_second * window * 1.02 + BURST + 2


def test_a_process_that_is_killed_gives_its_permits_back(redis: Redis) -> None:
    lease = 1.0
    holder = worker("hold", redis.address, str(lease))
    assert holder.stdout is not None
    assert holder.stdout.readline().strip() == "held"
    policy = LimitPolicy(name="held", concurrency=2, store=redis.address, lease=lease)
    model = PolicyModel(ChatModel.from_function(lambda _: "mine"), [policy])
    with pytest.raises(ModelTimeout):
        model.chat("q", deadline=0.5)

    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    killed = time.monotonic()

    assert model.chat("q", deadline=10).text == "mine"
    assert time.monotonic() - killed < lease + 2.5
    policy.close()


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_store_that_goes_away_is_told_and_the_calls_go_on_or_fail_as_set(redis: Redis, way: str) -> None:
    def call(model: Any) -> Any:
        return model.chat("q", deadline=20) if way == "sync" else asyncio.run(model.achat("q", deadline=20))

    policies = {
        setting: LimitPolicy(name=setting, concurrency=4, store=redis.address, on_store_failure=setting)
        for setting in ("local", "fail")
    }
    models = {
        setting: PolicyModel(ChatModel.from_function(lambda _: "ok"), [policy]) for setting, policy in policies.items()
    }
    for model in models.values():
        assert call(model).notices == ()

    redis.stop()
    assert [notice.subject for notice in call(models["local"]).notices] == ["limits"]
    with pytest.raises(ConnectionFailed):
        call(models["fail"])

    redis.start()
    wait_until(lambda: not call(models["local"]).notices, "the shared limit is not used again", 40)
    for policy in policies.values():
        policy.close()


def shared(redis: Redis, answer: Any = "ok", **limits: Any) -> tuple[Any, LimitPolicy]:
    """One model behind a shared limit, as a process of its own would have it."""
    policy = LimitPolicy(name="shared", store=redis.address, **limits)
    function = answer if callable(answer) else lambda _: answer
    return PolicyModel(ChatModel.from_function(function), [policy]), policy


def test_tokens_are_settled_through_the_store(redis: Redis) -> None:
    limits: dict[str, Any] = {"tokens_per_minute": 6, "token_burst": 130, "estimate": 100}  # one in ten seconds
    cheap = ChatResponse(AiMessage("ok"), TokenUsage(input_tokens=5, output_tokens=5))
    (first, one), (second, two) = (shared(redis, lambda _: cheap, **limits) for _ in range(2))
    client = redis_client(redis)

    def refunded() -> int:
        return int(client.hget("polywire:{shared}:tokens", "refunded") or 0)

    # Each reserves 100 and gives 90 back: 10, 20, 30 are spent when the next asks for its 100 of the 130.
    for model in (first, second, first, second):
        before = refunded()
        assert model.chat("q", deadline=30).text == "ok"
        wait_until(lambda: refunded() > before, "a call is not settled")  # noqa: B023 - called at once
    with pytest.raises(RateLimited) as caught:
        first.chat("q", deadline=0.3)

    # 40 are spent, and 10 of them stand in the way: so many have to drain away, in a hundred seconds less those since then.
    assert caught.value.retry_after is not None
    assert 50 < caught.value.retry_after <= 100
    one.close()
    two.close()
    client.close()


def test_a_failed_call_gives_its_tokens_back_through_the_store(redis: Redis) -> None:
    limits: dict[str, Any] = {"tokens_per_minute": 60, "token_burst": 100, "estimate": 100}
    error = ServerError("no", status=500)

    def fail(_: Any) -> str:
        raise error

    (first, one), (second, two) = shared(redis, fail, **limits), shared(redis, **limits)
    with pytest.raises(ServerError):
        first.chat("q")

    assert second.chat("q", deadline=5).text == "ok"
    with pytest.raises(RateLimited):
        second.chat("q", deadline=0.2)
    one.close()
    two.close()


def test_a_providers_pause_holds_for_every_process(redis: Redis) -> None:
    error = RateLimited("slow down", retry_after=0.5)

    def fail(_: Any) -> str:
        raise error

    (first, one), (second, two) = shared(redis, fail), shared(redis)
    assert second.chat("q").text == "ok"
    with pytest.raises(RateLimited):
        first.chat("q")
    paused = time.monotonic()
    client = redis_client(redis)
    wait_until(lambda: client.exists("polywire:{shared}:pause"), "the pause does not reach the store")

    assert second.chat("q").text == "ok"
    assert time.monotonic() - paused > 0.45
    client.delete("polywire:{shared}:pause")
    with pytest.raises(RateLimited):
        first.chat("q")
    wait_until(lambda: client.exists("polywire:{shared}:pause"), "the pause does not reach the store")
    client.close()
    with pytest.raises(RateLimited, match="asked for a pause"):
        second.chat("q", deadline=0.1)
    one.close()
    two.close()


def test_a_store_that_comes_back_empty_grants_no_second_burst(redis: Redis) -> None:
    model, policy = shared(redis, requests_per_minute=6, request_burst=3)
    for _ in range(3):
        model.chat("q")

    redis.stop()
    redis.start()

    with pytest.raises(RateLimited) as caught:
        model.chat("q", deadline=0.3)
    assert caught.value.retry_after == pytest.approx(9.5, abs=0.6)
    policy.close()


def test_on_its_own_a_process_starts_without_a_burst(redis: Redis) -> None:
    _, policy = shared(redis, requests_per_minute=1200, request_burst=10, on_store_failure="local")
    told: list[Any] = []

    class Recorder:
        def observe(self, event: Any) -> None:
            told.append(event)

    model = PolicyModel(ChatModel.from_function(lambda _: "ok"), [policy], observers=[Recorder()])
    model.chat("q")
    redis.stop()
    started = time.monotonic()

    for _ in range(5):
        assert model.chat("q").notices

    assert time.monotonic() - started > 5 * 0.05 * 0.9
    assert [event.store for event in told if type(event) is StoreUnavailable] == [redis.address] * 5
    policy.close()


def test_two_processes_take_turns(redis: Redis) -> None:
    order: list[str] = []
    models = []
    for name in ("a", "b"):

        def answer(_: Any, name: str = name) -> str:
            order.append(name)
            threading.Event().wait(0.005)
            return "ok"

        models.append(shared(redis, answer, concurrency=1))
    threads = [
        threading.Thread(target=lambda model=model: [model.chat("q") for _ in range(5)])
        for model, _ in models
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sorted(order) == ["a"] * 15 + ["b"] * 15
    # While both have somebody waiting, neither is served twice in a row but by the chance of a moment.
    assert sum(one != other for one, other in pairwise(order)) >= 14
    for _, policy in models:
        policy.close()


def test_a_process_killed_at_the_head_of_the_queue_holds_up_nobody(redis: Redis) -> None:
    released = threading.Event()

    def wait_for_release(_: Any) -> str:
        released.wait(20)
        return "ok"

    policy = LimitPolicy(name="held", concurrency=2, store=redis.address, lease=1.0)
    holding = PolicyModel(ChatModel.from_function(wait_for_release), [policy])
    thread = threading.Thread(target=lambda: holding.chat("q"))
    thread.start()
    wait_until(lambda: policy.limiter.in_use == 1, "the first call does not run")  # type: ignore[attr-defined]
    other = worker("hold", redis.address, "1.0")  # takes the second place, and waits for a third
    client = redis_client(redis)
    wait_until(lambda: client.zcard("polywire:{held}:queue") == 1, "the other process does not wait")
    os.kill(other.pid, signal.SIGKILL)
    other.communicate()

    quick = PolicyModel(ChatModel.from_function(lambda _: "mine"), [policy])
    assert quick.chat("q", deadline=15).text == "mine"
    released.set()
    thread.join(20)
    policy.close()
    client.close()


def redis_client(redis: Redis) -> Any:
    from redis import Redis as Client

    return Client(port=redis.port, host="127.0.0.1")


def test_cancelled_and_late_calls_leave_nothing_in_the_store(redis: Redis) -> None:
    async def slow(_: Any) -> str:
        await asyncio.sleep(30)
        return "never"

    model, policy = shared(redis, slow, concurrency=2)
    client = redis_client(redis)

    async def main() -> None:
        tasks = [asyncio.ensure_future(model.achat("q")) for _ in range(6)]
        while policy.limiter.in_use < 2:  # type: ignore[attr-defined]  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert client.zcard("polywire:{shared}:leases") == 2
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    asyncio.run(main())

    wait_until(lambda: client.zcard("polywire:{shared}:leases") == 0, "a lease is left")
    assert policy.limiter.in_use == 0  # type: ignore[attr-defined]
    fresh, other = shared(redis, concurrency=2)
    assert fresh.chat("q", deadline=10).text == "ok"
    policy.close()
    other.close()
    client.close()


def test_the_address_of_a_store_is_told_without_its_password(redis: Redis) -> None:
    secret = "DO-NOT-LEAK-123"
    policy = LimitPolicy(name="secret", concurrency=1, store=f"redis://:{secret}@127.0.0.1:1/0")
    model = PolicyModel(ChatModel.from_function(lambda _: "ok"), [policy])

    with pytest.raises(ConnectionFailed, match=r"redis://127\.0\.0\.1:1/0") as caught:
        model.chat("q")

    assert secret not in f"{caught.value!r} {caught.value} {policy!r} {model!r} {policy.limiter!r}"
    policy.close()
