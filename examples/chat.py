"""
Ask a model, and see its answer as it comes. Nothing here knows which model that is: the settings do.

    python examples/chat.py                                    # the default model of settings.toml
    python examples/chat.py --model spare "Why is the sky blue?"
    POLYWIRE_SETTINGS=examples/demo.toml python examples/chat.py
"""

from __future__ import annotations

import argparse

from polywire import LlmFactory

PROMPT = "Say in one sentence what a translator does."


def main() -> None:
    parser = argparse.ArgumentParser(description="Ask a model.")
    parser.add_argument("prompt", nargs="?", default=PROMPT)
    parser.add_argument("--model", help="a name from the settings, or provider:model")
    arguments = parser.parse_args()

    with LlmFactory.from_config() as factory:
        model = factory.streaming_chat_model(arguments.model)
        with model.stream(arguments.prompt) as stream:
            for text in stream.text_stream():
                print(text, end="", flush=True)
        print()


if __name__ == "__main__":
    main()
