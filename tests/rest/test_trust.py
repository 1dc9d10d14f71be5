"""Servers that are not trusted: said at once, and how to mend it."""

from __future__ import annotations

import ssl

import pytest

from couler.errors import ConfigurationError
from couler.rest.client import RestClient
from couler.rest.trust import distrust_of
from tests.rest.faulty_server import FaultyServer


def test_https_where_there_is_http_is_no_matter_of_patience() -> None:
    server = FaultyServer()
    address = server.address.replace("http:", "https:")
    with (
        server.running(),
        RestClient("argo", address, extra="argo") as client,
        pytest.raises(ConfigurationError) as caught,
    ):
        client.call("GET", "/x")
    assert str(caught.value) == (
        f"argo: {address}: it does not speak TLS. Is it http:// in place of https://?"
    )


def raised_from(cause: Exception) -> Exception:
    error = ConnectionError("no connection")
    error.__cause__ = ValueError("on the way")
    error.__cause__.__context__ = cause
    return error


def test_a_certificate_that_is_not_trusted() -> None:
    cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
    cause.verify_message = "self-signed certificate"
    assert distrust_of(raised_from(cause)) == (
        "its certificate is not trusted: self-signed certificate. Name a file of certificates to "
        "trust: `ca` of the target, or the one in the kubeconfig"
    )


@pytest.mark.parametrize("cause", [ssl.SSLEOFError(8, "EOF"), ConnectionRefusedError(111, "no")])
def test_what_may_pass(cause: Exception) -> None:
    assert distrust_of(raised_from(cause)) is None
