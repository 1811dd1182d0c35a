"""The whole suite of the usual transport again, with async calls over aiohttp; and what only aiohttp has."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import httpx
import pytest

aiohttp = pytest.importorskip("aiohttp", reason="the extra polywire[aiohttp] is not installed")

from polywire.transport.aiohttp_transport import AiohttpTransport  # noqa: E402


def _suite() -> ModuleType:
    path = Path(__file__).with_name("test_httpx_transport.py")
    spec = importlib.util.spec_from_file_location("transport_suite_over_aiohttp", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.__dict__.update(
        HttpxTransport=AiohttpTransport,
        REFUSED=(httpx.ConnectError, aiohttp.ClientConnectorError),
        BROKEN=(httpx.TransportError, aiohttp.ClientError),
        SILENT=(httpx.ReadTimeout, aiohttp.ServerTimeoutError),
    )
    return module


_SUITE = _suite()
serve, no_proxy_variables = _SUITE.serve, _SUITE.no_proxy_variables
globals().update({name: value for name, value in vars(_SUITE).items() if name.startswith("test_")})
