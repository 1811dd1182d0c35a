"""A key from a provider's usual variable goes to the provider's own addresses, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from polywire.config import InvalidSettings, LlmFactory
from polywire.plugins import Provider, ProviderSettings, Registry
from polywire.plugins.addresses import host_of, is_loopback, is_own_address
from polywire.testing.transport import FakeTransport

SECRET = "sk-a-secret-of-acme"
OWN = ("https://api.acme.example/v1", "https://*-acme.example")


class TokenSettings(ProviderSettings):
    """A table with a second secret."""

    token: SecretStr | None = None
    region: str = "eu"


def build(context: Any) -> Any:
    from conftest import EchoCodec  # type: ignore[import-not-found]

    return context.http_chat_model(EchoCodec(), auth=context.bearer_auth(), base_url="https://api.acme.example/v1")


VENDOR = Provider(
    "vendor",
    "one with addresses of its own",
    TokenSettings,
    build,
    variables={
        "api_key": ("VENDOR_API_KEY",),
        "token": ("VENDOR_TOKEN",),
        "base_url": ("VENDOR_BASE_URL",),
        "region": ("VENDOR_REGION",),
    },
    own_addresses=OWN,
)


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Registry:
    monkeypatch.syspath_prepend(str(request.path.parent))
    return Registry([VENDOR], installed=False)


def sent_with(registry: Registry, table: dict[str, Any], **environ: str) -> str | None:
    transport = FakeTransport("hello", repeat=True)
    document = {"providers": {"vendor": table}}
    with LlmFactory.from_config(document, registry=registry, environ=environ, transport=transport) as factory:
        factory.chat_model("vendor:m").chat("hi")
    return transport.requests[0].headers.get("authorization")


@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        "https://api.acme.example",
        "https://api.acme.example/other/path",
        "https://API.acme.example:443/v1",
        "https://eu.api.acme.example/v1",
        "https://eu-acme.example/v1",
    ],
)
def test_the_usual_key_goes_to_the_providers_own_addresses(vendor: Registry, address: str | None) -> None:
    table = {} if address is None else {"base_url": address}

    assert sent_with(vendor, table, VENDOR_API_KEY=SECRET) == f"Bearer {SECRET}"


FOREIGN = [
    "https://gateway.example/v1",
    "http://api.acme.example/v1",
    "https://api.acme.example:8443/v1",
    "https://api.acme.example.evil.example/v1",
    "https://evil-api.acme.example.org/v1",
    "https://xapi.acme.example/v1",
    "https://evil.example/https://api.acme.example",
    "https://evil.example?@api.acme.example",
    "https://evil.example#@api.acme.example",
    "http://10.0.0.3:8000/v1",
]


@pytest.mark.parametrize("address", FOREIGN)
@pytest.mark.parametrize("by_variable", [False, True])
def test_the_usual_key_goes_nowhere_else(vendor: Registry, address: str, by_variable: bool) -> None:
    environ = {"VENDOR_API_KEY": SECRET} | ({"VENDOR_BASE_URL": address} if by_variable else {})

    with pytest.raises(InvalidSettings) as caught:
        sent_with(vendor, {} if by_variable else {"base_url": address}, **environ)

    (line,) = caught.value.problems
    assert line.startswith(
        "settings [providers.vendor] api_key: is missing: VENDOR_API_KEY is meant for 'vendor' itself"
    )
    assert host_of(address) in line
    assert 'api_key = "${VENDOR_API_KEY}"' in line
    assert SECRET not in line


@pytest.mark.parametrize("address", FOREIGN)
def test_a_key_that_the_table_names_goes_where_the_table_says(vendor: Registry, address: str) -> None:
    table = {"base_url": address, "api_key": "${VENDOR_API_KEY}"}

    assert sent_with(vendor, table, VENDOR_API_KEY=SECRET) == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("table", "environ"),
    [
        ({"base_url": "http://127.0.0.1:8080/v1"}, {"VENDOR_API_KEY": SECRET}),
        ({"base_url": "http://localhost:8080/v1"}, {"VENDOR_API_KEY": SECRET, "VENDOR_TOKEN": SECRET}),
        ({"base_url": "http://[::1]:8080/v1"}, {"VENDOR_API_KEY": SECRET}),
        ({"base_url": "https://gateway.example/v1"}, {}),
        ({"base_url": "https://gateway.example/v1", "api_key": ""}, {"VENDOR_API_KEY": SECRET}),
        ({"base_url": "https://gateway.example/v1", "api_key": "  ", "token": ""}, {"VENDOR_TOKEN": SECRET}),
    ],
)
def test_no_key_is_sent_where_none_is_meant(vendor: Registry, table: dict[str, Any], environ: dict[str, str]) -> None:
    assert sent_with(vendor, table, **environ) is None


def test_every_secret_stays_and_what_is_none_goes_along(vendor: Registry) -> None:
    environ = {"VENDOR_TOKEN": SECRET, "VENDOR_REGION": "us"}
    document = {"providers": {"vendor": {"base_url": "https://gateway.example/v1", "api_key": "their-own-key"}}}
    seen: list[TokenSettings] = []

    def make(_name: str, settings: Any) -> FakeTransport:
        seen.append(settings)
        return FakeTransport("hello")

    with LlmFactory.from_config(document, registry=vendor, environ=environ, transport=make) as factory:
        factory.chat_model("vendor:m").chat("hi")

    assert (seen[0].token, seen[0].region) == (None, "us")


def test_without_addresses_of_its_own_only_the_usual_address_counts(registry: Registry) -> None:
    document = {"providers": {"acme": {"base_url": "https://acme.example/v1"}}}
    with (
        LlmFactory.from_config(document, registry=registry, environ={"ACME_API_KEY": SECRET}) as factory,
        pytest.raises(InvalidSettings, match=r"does not go to acme\.example"),
    ):
        factory.chat_model("acme:m")


def test_other_connections_are_not_disturbed(registry: Registry, transport: FakeTransport) -> None:
    document = {
        "providers": {"gateway": {"plugin": "acme", "base_url": "https://gateway.example/v1"}, "acme": {}},
        "models": {"a": {"provider": "acme", "model": "m"}, "b": {"provider": "gateway", "model": "m"}},
    }
    environ = {"ACME_API_KEY": SECRET}
    with LlmFactory.from_config(document, registry=registry, environ=environ, transport=transport) as factory:
        factory.chat_model("a").chat("hi")
        with pytest.raises(InvalidSettings):
            factory.chat_model("b")

    assert [each.headers["authorization"] for each in transport.requests] == [f"Bearer {SECRET}"]


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("http://localhost:1234/v1", True),
        ("http://127.0.0.9:8000", True),
        ("localhost:11434", True),
        ("http://gpu-box:8000/v1", False),
        ("http://localhost.example/v1", False),
        ("https://api.acme.example\\@evil.example", False),
        ("https://api.acme.example\tx", False),
        ("https://[", False),
        ("", False),
    ],
)
def test_whose_an_address_is(address: str, own: bool) -> None:
    assert is_own_address(address, ("http://localhost:8000/v1",)) is own
    assert is_loopback(address) is own
