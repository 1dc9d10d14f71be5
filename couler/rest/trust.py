"""Whom a client trusts, and why it does not."""

from __future__ import annotations

import ssl
from pathlib import Path

from couler.errors import ConfigurationError


def is_plain(address: str) -> bool:
    """Return whether a server speaks HTTP without TLS."""
    return address.lower().startswith("http:")


def trust(address: str, ca: str | None, insecure: bool) -> ssl.SSLContext | bool:
    """Return what checks the certificate of a server: False for nothing, True for the system."""
    if insecure:
        return False
    if ca is None:
        return not is_plain(address)
    place = Path(ca).expanduser()
    try:
        return ssl.create_default_context(cafile=str(place))
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"the certificates {place} cannot be read: {error}") from error


def distrust_of(error: BaseException) -> str | None:
    """Return why no connection can be made to a server as it is, however often it is tried."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted: {cause.verify_message}. Name a file of certificates "
            "to trust: `ca` of the target, or the one in the kubeconfig"
        )
    if getattr(cause, "reason", None) in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
        return "it does not speak TLS. Is it http:// in place of https://?"
    return None
