"""Which proxy a request goes through: the one set, or the environment's, as HTTP clients in Python have it."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from importlib.util import find_spec
from urllib.parse import SplitResult, urlsplit

from polywire.errors import SettingsError, did_you_mean

__all__ = ["check_proxy", "proxy_for"]

_SCHEMES = ("http", "https", "socks5", "socks5h")


def proxy_for(url: str, *, proxy: str | None = None, trust_env: bool = True) -> str | None:
    """
    Return the proxy to reach `url` through, or `None` for a direct connection.

    Args:
        url: the address that will be called.
        proxy: the proxy from the settings; it wins over the environment. `""` means none at all.
        trust_env: look at `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, and the system's own settings.

    Raises:
        SettingsError: the proxy cannot be used; the message names the setting or the variable, and never the proxy's
            password.
    """
    if proxy is not None:
        return check_proxy(proxy, "the setting 'proxy'") if proxy else None
    if not trust_env:
        return None
    target = urlsplit(url)
    proxies = _proxies()
    for scheme in (target.scheme, "all"):
        found = proxies.get(scheme, "").strip()
        if found:
            if _bypassed(target, proxies):
                return None
            return check_proxy(found, f"the environment variable {_variable(scheme)}")
    return None


def _proxies() -> dict[str, str]:
    """
    Return the proxies of the environment and the system, by scheme.

    The module that knows them brings a client of its own and the parser of mails along [a tenth of the time to a
    program's first answer], so it is left alone where nothing but variables could name one, and none does.
    """
    by_variables = sys.platform not in ("darwin", "win32")
    if by_variables and not any(name.lower().endswith("_proxy") for name in os.environ):
        return {}
    from urllib.request import getproxies

    return getproxies()


def check_proxy(proxy: str, where: str) -> str:
    """
    Return a proxy's address in full.

    Raises:
        SettingsError: it cannot be used; the message names `where` it comes from.
    """
    address = proxy.strip()
    if "://" not in address:
        address = f"http://{address}"
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
        parts = urlsplit("")
    if parts.scheme and parts.scheme not in _SCHEMES:
        msg = f"{where} names a proxy of the kind {parts.scheme!r}{did_you_mean(parts.scheme, _SCHEMES)}"
        raise SettingsError(msg)
    if not host:
        msg = f"{where} is not the address of a proxy; write it as http://host:port"
        raise SettingsError(msg)
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        msg = f"{where} names a SOCKS proxy, which needs a package more: pip install 'httpx[socks]'"
        raise SettingsError(msg)
    return address


def _variable(scheme: str) -> str:
    name = f"{scheme}_proxy"
    return next((each for each in (name, name.upper()) if os.environ.get(each)), name.upper())


def _bypassed(target: SplitResult, proxies: dict[str, str]) -> bool:
    """
    Whether `NO_PROXY` excepts the host. It never raises, whatever stands in it.

    People write commas, blanks and line ends between the names, brackets around IPv6 addresses, and whole networks.
    """
    host = (target.hostname or "").lower()
    names = [name for name in re.split(r"[,\s]+", proxies.get("no", "")) if name]
    try:
        port = target.port
    except ValueError:
        port = None
    for name in names:
        bare = name.strip("[]").lower()
        if bare in (host, f"{host}:{port}", f"[{host}]:{port}") or _in_network(host, bare):
            return True
    where = f"{host}:{port}" if port else host
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

    return bool(proxy_bypass_environment(where, {**proxies, "no": ",".join(names)}))


def _in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
