"""Which proxy a request goes through, and that no odd value of the environment breaks anything."""

from __future__ import annotations

import pytest

from polywire.errors import SettingsError
from polywire.transport.proxies import check_proxy, proxy_for


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def test_without_a_proxy_the_connection_is_direct() -> None:
    assert proxy_for("https://h.example/v1") is None


@pytest.mark.parametrize(
    ("variables", "url", "proxy"),
    [
        ({"HTTPS_PROXY": "http://p:1"}, "https://h/v1", "http://p:1"),
        ({"https_proxy": "http://p:1"}, "https://h/v1", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "http://h/v1", None),
        ({"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:2"}, "http://h/v1", "http://p:1"),
        ({"ALL_PROXY": "http://p:3"}, "https://h/v1", "http://p:3"),
        ({"ALL_PROXY": "http://p:3", "HTTPS_PROXY": "http://p:2"}, "https://h/v1", "http://p:2"),
        ({"HTTPS_PROXY": "p:1"}, "https://h/v1", "http://p:1"),
        ({"HTTPS_PROXY": " http://p:1\n"}, "https://h/v1", "http://p:1"),
        ({"HTTPS_PROXY": ""}, "https://h/v1", None),
        ({"HTTPS_PROXY": "http://user:password@p:1"}, "https://h/v1", "http://user:password@p:1"),
    ],
)
def test_the_environments_proxy(
    environment: pytest.MonkeyPatch, variables: dict[str, str], url: str, proxy: str | None
) -> None:
    for name, value in variables.items():
        environment.setenv(name, value)

    assert proxy_for(url) == proxy
    assert proxy_for(url, trust_env=False) is None
    assert proxy_for(url, proxy="") is None
    assert proxy_for(url, proxy="http://own:9") == "http://own:9"


@pytest.mark.parametrize(
    ("no_proxy", "direct", "proxied"),
    [
        (
            "localhost,127.0.0.1,::1,[::1]",
            ["http://localhost:1/", "http://127.0.0.1/", "http://[::1]:8080/"],
            ["http://h/"],
        ),
        ("fe80::/10", ["http://[fe80::1]/"], ["http://[2001:db8::1]/", "http://h/"]),
        ("localhost\n192.168.1.1", ["http://localhost/", "http://192.168.1.1/"], ["http://192.168.1.2/"]),
        ("10.0.0.0/8 , 192.168.0.0/16", ["http://10.1.2.3/", "http://192.168.9.9:1/"], ["http://11.0.0.1/"]),
        (".corp.example", ["http://a.corp.example/", "http://corp.example/"], ["http://evilcorp.example/"]),
        ("corp.example", ["http://a.corp.example/", "http://corp.example/"], ["http://xcorp.example/"]),
        ("h:8080", ["http://h:8080/"], ["http://h:9090/"]),
        ("H.Example", ["http://h.example/"], []),
        ("*", ["http://h/", "http://[::1]/"], []),
        (",, ,", [], ["http://h/"]),
        ("http://h", [], ["http://x/"]),
        ("[::1", [], ["http://h/"]),
        ("10.0.0.0/99", [], ["http://10.0.0.1/"]),
        ("%%%(((", [], ["http://h/"]),
        ("\x00\x7f", [], ["http://h/"]),
    ],
)
def test_exceptions_from_the_proxy(
    environment: pytest.MonkeyPatch, no_proxy: str, direct: list[str], proxied: list[str]
) -> None:
    environment.setenv("ALL_PROXY", "http://p:1")
    if "\x00" in no_proxy:
        no_proxy = no_proxy.replace("\x00", "\x01")  # the system takes no null byte
    environment.setenv("NO_PROXY", no_proxy)

    assert [proxy_for(url) for url in direct] == [None] * len(direct)
    assert [proxy_for(url) for url in proxied] == ["http://p:1"] * len(proxied)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("socks5h://127.0.0.1:9", "SOCKS"),
        ("socks5://user:secret-password@127.0.0.1:9", "SOCKS"),
        ("ftp://user:secret-password@p", "'ftp'"),
        ("htp://p", "did you mean 'http'"),
        ("http://", "http://host:port"),
        ("http://user:secret-password@p:port", "http://host:port"),
        ("http://[::1", "http://host:port"),
        ("http://p:99999", "http://host:port"),
    ],
)
@pytest.mark.parametrize("variable", ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"])
def test_a_proxy_that_cannot_be_used_names_its_variable(
    environment: pytest.MonkeyPatch, value: str, words: str, variable: str
) -> None:
    environment.setenv(variable, value)

    with pytest.raises(SettingsError, match=words) as caught:
        proxy_for("https://h/v1")
    assert variable in str(caught.value)
    assert "secret-password" not in str(caught.value)
    assert proxy_for("https://h/v1", trust_env=False) is None


def test_a_proxy_of_the_settings_names_the_setting() -> None:
    with pytest.raises(SettingsError, match="the setting 'proxy'"):
        proxy_for("https://h", proxy="gopher://p")
    assert check_proxy("https://p:443", "x") == "https://p:443"
