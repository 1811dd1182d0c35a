"""TLS contexts: made once per process for each set of settings, since one costs 17 ms and connections can share it."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache

from polywire.errors import SettingsError

__all__ = ["no_ssl_context", "ssl_context"]


@lru_cache(maxsize=32)
def ssl_context(verify: bool | str, cert: tuple[str, ...] | None, trust_env: bool) -> ssl.SSLContext:
    """
    Return the TLS context of these settings.

    Args:
        verify: check the server's certificate; or the path of the certificates to trust.
        cert: the paths of a client certificate, of its key, and the key's password, as far as there are.
        trust_env: look at `SSL_CERT_FILE` and `SSL_CERT_DIR`.

    Raises:
        SettingsError: a certificate cannot be read.
    """
    try:
        context = _made(verify, trust_env)
    except (OSError, ssl.SSLError) as error:
        msg = f"the certificates of the setting 'verify' cannot be read: {error}"
        raise SettingsError(msg) from error
    context.set_alpn_protocols(["http/1.1"])
    if cert is not None:
        try:
            context.load_cert_chain(*cert)
        except (OSError, ssl.SSLError) as error:
            msg = f"the certificate of the setting 'cert' cannot be read: {error}"
            raise SettingsError(msg) from error
    return context


def _made(verify: bool | str, trust_env: bool) -> ssl.SSLContext:
    if isinstance(verify, str):
        return _trusting(verify)
    if not verify:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    # The variables and their order are httpx's.
    if trust_env and (file := os.environ.get("SSL_CERT_FILE")):
        return ssl.create_default_context(cafile=file)
    if trust_env and (folder := os.environ.get("SSL_CERT_DIR")):
        return ssl.create_default_context(capath=folder)
    import certifi

    return ssl.create_default_context(cafile=certifi.where())


def _trusting(path: str) -> ssl.SSLContext:
    if os.path.isdir(path):  # noqa: PTH112
        return ssl.create_default_context(capath=path)
    return ssl.create_default_context(cafile=path)


@lru_cache(maxsize=1)
def no_ssl_context() -> ssl.SSLContext:
    """Return the context of connections that are not encrypted; it trusts nobody."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
