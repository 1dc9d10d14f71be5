"""Locations that are URLs: files fetched by GET and put by PUT."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import shutil
import ssl
import typing as t
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from couler.errors import ArtifactError, StoreError
from couler.ir.artifacts import (
    ArtifactoryLocation,
    ClientCertificate,
    HttpLocation,
    OAuth2,
)
from couler.ir.storage import SecretKey
from couler.locations.opener import open_url
from couler.locations.private import write_private
from couler.locations.secrets import Entries
from couler.locations.stop import Stop

_OF_URLS = "!#$%&'()*+,/:;=?@[]~"
"""What else than letters and digits stands in a URL as it is; other letters are encoded."""

_TIMEOUT_S = 300.0
"""Without a word from the other side."""


@dataclass(frozen=True, slots=True)
class Url:
    """A location on the web."""

    location: HttpLocation | ArtifactoryLocation
    entries: Entries
    private: Path

    def fetch(self, target: Path) -> None:
        """Write what the URL gives to a path that is free."""
        with self._answer("GET", None) as response, target.open("wb") as file:
            shutil.copyfileobj(response, file)
            if response.length:  # what has been announced and did not come
                raise StoreError(f"GET {self._url}: it broke off {response.length} bytes early")

    def put(self, source: Path, root: Path, stop: Stop | None = None) -> None:
        """Send a file."""
        if source.is_dir():
            raise ArtifactError(f"{source.name!r} is a directory, but {self._url} takes one file")
        with source.open("rb") as file, self._answer("PUT", file, source.stat().st_size):
            pass

    @property
    def _url(self) -> str:
        return str(self.location.url)

    @contextlib.contextmanager
    def _answer(
        self, method: str, body: t.BinaryIO | None, size: int = 0
    ) -> Iterator[http.client.HTTPResponse]:
        url = urllib.parse.quote(self._url, safe=_OF_URLS)
        request = urllib.request.Request(url, body, method=method)
        if body is not None:
            request.add_header("Content-Length", str(size))
            request.add_header("Content-Type", "application/octet-stream")
        with self._let_in(request) as context:
            try:
                with open_url(request, timeout_s=_TIMEOUT_S, context=context) as response:
                    yield response
            except urllib.error.HTTPError as error:
                with error:
                    if error.code == 404 and method == "GET":
                        raise FileNotFoundError(f"there is nothing at {self._url}") from error
                    raise StoreError(f"{method} {self._url}: it answers {error.code}") from error
            except (OSError, ValueError, http.client.HTTPException) as error:
                reason = error.reason if isinstance(error, urllib.error.URLError) else error
                raise StoreError(f"{method} {self._url}: {reason}") from error

    @contextlib.contextmanager
    def _let_in(self, request: urllib.request.Request) -> Iterator[ssl.SSLContext | None]:
        """Give a request what lets it in; the context is for its connection."""
        location = self.location
        if isinstance(location, ArtifactoryLocation):
            request.add_header("Authorization", self._basic(location.user, location.password))
            yield None
            return
        for header in location.headers:
            request.add_header(header.name, str(header.value))
        if location.basic is not None:
            basic = self._basic(location.basic.user, location.basic.password)
            request.add_header("Authorization", basic)
        if location.oauth2 is not None:
            request.add_header("Authorization", f"Bearer {self._token(location.oauth2)}")
        if location.client_certificate is None:
            yield None
            return
        yield self._certified(location.client_certificate)

    def _basic(self, user: SecretKey, password: SecretKey) -> str:
        pair = f"{self._secret(user)}:{self._secret(password)}"
        return f"Basic {base64.b64encode(pair.encode()).decode()}"

    def _token(self, auth: OAuth2) -> str:
        """Ask for a token (RFC 6749, section 4.4)."""
        url = self._secret(auth.token_url)
        form = {"grant_type": "client_credentials", **auth.parameters}
        if auth.scopes:
            form["scope"] = " ".join(auth.scopes)
        request = urllib.request.Request(url, urllib.parse.urlencode(form).encode())
        request.add_header("Authorization", self._basic(auth.client_id, auth.client_secret))
        try:
            with open_url(request, timeout_s=_TIMEOUT_S) as response:
                return str(json.load(response)["access_token"])
        except urllib.error.HTTPError as error:
            with error:
                why = f"the answer is {error.code}"
        except urllib.error.URLError as error:
            why = str(error.reason)
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            why = type(error).__name__  # its text may hold the address, which is a secret
        secret = f'"{auth.token_url.key}" of the secret "{auth.token_url.secret}"'
        raise StoreError(f"no token for {self._url} from the address in {secret}: {why}")

    def _certified(self, wanted: ClientCertificate) -> ssl.SSLContext:
        context = ssl.create_default_context()
        files = [
            write_private(self.private / name, self._secret(key))
            for name, key in (("cert", wanted.certificate), ("key", wanted.key))
        ]
        try:
            context.load_cert_chain(files[0], files[1])
        except (OSError, ssl.SSLError) as error:
            raise StoreError(f"the certificate for {self._url}: {error}") from error
        return context

    def _secret(self, key: SecretKey) -> str:
        return self.entries.require(key) or ""
