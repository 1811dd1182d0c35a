"""Plugins that are really installed, for the time of a test; and a provider to talk to without a network."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from polywire.codec import Encoded, HttpRequest, HttpResponse
from polywire.errors import ModelError, ServerError
from polywire.messages import AiMessage
from polywire.plugins import BuildContext, Provider, ProviderSettings, Registry
from polywire.requests import ChatRequest
from polywire.responses import ChatResponse, FinishReason
from polywire.testing.transport import FakeTransport

GOOD = """
from polywire.models import ChatModel
from polywire.plugins import Provider, ProviderSettings, hookimpl

def build(context):
    return ChatModel.from_function(lambda request: f"{context.plugin} says {request.messages[-1].text}")

@hookimpl
def polywire_provider(name):
    return Provider(name, "a good one", ProviderSettings, build)
"""


class Installed:
    """Writes distributions into a folder of the import path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []

    def __call__(
        self,
        distribution: str,
        modules: Mapping[str, str],
        entry_points: Mapping[str, str],
        *,
        group: str = "polywire",
        version: str = "1.0",
        requires: tuple[str, ...] = (),
    ) -> None:
        """Install one distribution: modules by name with their source, entry points by name with their value."""
        for name, source in modules.items():
            (self.folder / f"{name}.py").write_text(source, encoding="utf-8")
            self.modules.append(name)
        information = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        information.mkdir(exist_ok=True)
        metadata = [f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}"]
        metadata += [f"Requires-Dist: {each}" for each in requires]
        (information / "METADATA").write_text("\n".join(metadata) + "\n", encoding="utf-8")
        points = [f"{name} = {value}" for name, value in entry_points.items()]
        (information / "entry_points.txt").write_text("\n".join([f"[{group}]", *points]) + "\n", encoding="utf-8")
        importlib.invalidate_caches()


@pytest.fixture
def install(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    """Install distributions that are gone after the test."""
    folder = tmp_path_factory.mktemp("site")
    monkeypatch.syspath_prepend(str(folder))
    installed = Installed(folder)
    yield installed
    for name in installed.modules:
        sys.modules.pop(name, None)


@pytest.fixture
def good() -> str:
    """The source of a plugin that works under any name."""
    return GOOD


@pytest.fixture(autouse=True)
def own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to be in, and no variable of the machine's that settings look at."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("POLYWIRE") or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)


class EchoCodec:
    """Sends the last message and the parameters as JSON, and takes the answer's body as text."""

    wire = "echo"

    def encode(self, request: ChatRequest, *, stream: bool) -> Encoded:
        parameters = request.parameters
        body: dict[str, Any] = {
            "model": parameters.model,
            "temperature": parameters.temperature,
            "text": getattr(request.messages[-1], "text", None),
            **parameters.custom_parameters,
        }
        return Encoded(HttpRequest("echo", json.dumps(body).encode()))

    def decode(self, response: HttpResponse, encoded: Encoded) -> ChatResponse:
        return ChatResponse(AiMessage(response.body.decode()), finish_reason=FinishReason.STOP)

    def decode_error(self, response: HttpResponse) -> ModelError:
        return ServerError("it failed", status=response.status)

    def stream_decoder(self, encoded: Encoded) -> Any:
        raise NotImplementedError


class AcmeSettings(ProviderSettings):
    """The table of the provider that tests use."""

    region: str = "eu"
    size: int = 1


def build_acme(context: BuildContext) -> Any:
    return context.http_chat_model(EchoCodec(), auth=context.bearer_auth(), base_url="https://acme.example/v1")


ACME = Provider(
    "acme", "a provider for tests", AcmeSettings, build_acme, variables={"api_key": ("ACME_API_KEY", "ACME_KEY")}
)
KEYLESS = Provider("keyless", "one that asks for no key", ProviderSettings, build_acme)


@pytest.fixture
def registry() -> Registry:
    """The providers `acme`, which needs a key, and `keyless`."""
    return Registry([ACME, KEYLESS], installed=False)


@pytest.fixture
def transport() -> FakeTransport:
    """Answers every request with `"hello"`."""
    return FakeTransport("hello", repeat=True)


@pytest.fixture
def problems() -> Callable[[Callable[[], object]], list[str]]:
    """Run something that must find mistakes, and return their lines."""
    from polywire.config import InvalidSettings

    def lines(action: Callable[[], object]) -> list[str]:
        with pytest.raises(InvalidSettings) as caught:
            action()
        assert str(caught.value).splitlines() == list(caught.value.problems)
        return list(caught.value.problems)

    return lines
