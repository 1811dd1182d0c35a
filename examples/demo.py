"""
What `make demo` shows: one program, two providers, one settings file.

The program is `chat.py`. It runs once with the model inside its process, and once, unchanged, with the provider `openai` over
HTTP: a llama.cpp server that is started here, on the loopback address.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent


@contextmanager
def llama_server() -> Iterator[str]:
    """Start the server, and stop it; it also stops when this process ends in any other way."""
    server = subprocess.Popen(
        [sys.executable, "-m", "polywire_local", "--attached"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = server.stdout.readline().strip() if server.stdout else ""
        if not address:
            sys.exit("demo: the server did not start")
        yield address
    finally:
        server.communicate()


def ask(model: str, **environment: str) -> None:
    """Run the program."""
    subprocess.run(
        [sys.executable, str(HERE / "chat.py"), "--model", model],
        env={**os.environ, "POLYWIRE_SETTINGS": str(HERE / "demo.toml"), **environment},
        check=True,
    )


def main() -> None:
    print(
        "examples/chat.py --model in-process     # provider local: a real model in the program's own process",
        flush=True,
    )
    ask("in-process")
    with llama_server() as address:
        print(f"\nexamples/chat.py --model over-http      # provider openai: the same engine at {address}", flush=True)
        ask("over-http", POLYWIRE__PROVIDERS__LLAMA_SERVER__BASE_URL=address)


if __name__ == "__main__":
    main()
