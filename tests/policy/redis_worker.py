"""
One process that calls a model behind a shared limit; told on its command line what to do, prints what happened.

    redis_worker.py rate STORE SECONDS         calls as fast as the limit lets it; prints the time of each call
    redis_worker.py hold STORE LEASE           takes both places of the limit and never gives them back
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from polywire.models import ChatModel
from polywire.policy import LimitPolicy, PolicyModel

PER_MINUTE = 6000
BURST = 5


def rate(store: str, seconds: float) -> None:
    policy = LimitPolicy(name="joint", requests_per_minute=PER_MINUTE, request_burst=BURST, store=store)
    times: list[float] = []

    def answer(_: Any) -> str:
        times.append(time.time())
        return "ok"

    model = PolicyModel(ChatModel.from_function(answer), [policy])
    end = time.time() + seconds

    def caller() -> None:
        while time.time() < end:
            model.chat("q")

    threads = [threading.Thread(target=caller) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    policy.close()
    print(" ".join(f"{each:.6f}" for each in times), flush=True)


def hold(store: str, lease: float) -> None:
    policy = LimitPolicy(name="held", concurrency=2, store=store, lease=lease)
    taken = threading.Semaphore(0)

    def answer(_: Any) -> str:
        taken.release()
        threading.Event().wait()
        return "never"

    model = PolicyModel(ChatModel.from_function(answer), [policy])
    for _ in range(2):
        threading.Thread(target=lambda: model.chat("q"), daemon=True).start()
    taken.acquire()
    taken.acquire()
    print("held", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    {"rate": rate, "hold": hold}[sys.argv[1]](sys.argv[2], float(sys.argv[3]))
