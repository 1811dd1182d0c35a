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
from pathlib import Path
from typing import Any

import pytest

from polywire.errors import ConnectionFailed, ModelTimeout
from polywire.models import ChatModel
from polywire.policy import LimitPolicy, PolicyModel

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
