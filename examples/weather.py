"""
One loop with a tool; the settings decide which model runs it.

    python examples/weather.py --settings settings.toml --model assistant "What is the weather in Hangzhou?"
"""

from __future__ import annotations

import argparse
from typing import Annotated

from polywire import LlmFactory, ToolService, tool
from polywire.models import ChatModel
from polywire.tools import ToolChatResult


@tool
def get_weather(city: Annotated[str, "the city's name"]) -> str:
    """Return the weather of a city."""
    return f"Weather in {city}: 22 °C, sunny"


def ask(model: ChatModel, question: str) -> ToolChatResult:
    """Let the model answer, with the tool, in at most five rounds."""
    return ToolService([get_weather], max_round_trips=5).chat(model, question)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", nargs="?", default="What is the weather in Hangzhou?")
    parser.add_argument("--settings", help="the settings file; left out, it is found")
    parser.add_argument("--model", help="a name from the file; left out, the default")
    options = parser.parse_args()
    with LlmFactory.from_config(options.settings) as factory:
        result = ask(factory.chat_model(options.model), options.question)
    for execution in result.executions:
        print(f"[{execution.call.name} {execution.call.arguments} → {execution.result.text}]")
    print(result.text)


if __name__ == "__main__":
    main()
