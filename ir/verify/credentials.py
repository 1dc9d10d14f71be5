"""Rules for credentials that stand as text in addresses and headers: workflows hold references."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator

from couler.ir.artifacts import (
    ArtifactoryLocation,
    AzureLocation,
    GitLocation,
    HttpLocation,
    Location,
    OssLocation,
    S3Location,
)
from couler.ir.values import Literal, Template, Text

_USER_INFO = re.compile(r"(?<=://)([^/?#\s]*)@")
_TOKEN = re.compile(r"gh[opsru]_|github_pat_|glpat-|x-token-auth$|x-oauth-basic$")
"""How names of users begin that are tokens."""

_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key"})
_OAUTH2 = frozenset({"assertion", "client_assertion", "client_secret", "password", "refresh_token"})
_UNKNOWN = "*"
"""Stands for a value that is not known yet."""


def has_password(address: str) -> bool:
    """Return whether an address has a password, or a token in place of the user."""
    return any(
        ":" in user.group(1) or _TOKEN.match(user.group(1)) for user in _USER_INFO.finditer(address)
    )


def without_password(address: str) -> str:
    """Return an address to be shown, without what stands before the host."""
    return _USER_INFO.sub("...@", address)


def shape(text: Text | None) -> str:
    """Return what is known of a text before the run; values stand as an asterisk."""
    if isinstance(text, str):
        return text
    if isinstance(text, Literal):
        return text.value if isinstance(text.value, str) else _UNKNOWN
    if isinstance(text, Template):
        return "".join(map(shape, text.parts))
    return "" if text is None else _UNKNOWN


def credential_problems(location: Location) -> Iterator[str]:
    """Yield where a location has a credential as text."""
    yield from credentials_in_address(location)
    if isinstance(location, HttpLocation):
        yield from _of_request(location)


def credentials_in_address(location: Location) -> Iterator[str]:
    """Yield where the addresses of a location have a credential, as far as they are known."""
    for field, text, mend in _addresses(location):
        known = shape(text)
        if has_password(known):
            yield f'its {field} "{without_password(known)}" has a password in it. {mend}'
        if isinstance(location, AzureLocation) and "?" in known:
            yield f"its {field} has a signature in it. {mend}"


def _addresses(location: Location) -> Iterator[tuple[str, Text | None, str]]:
    """Yield the addresses of a location, each with its field and where credentials go."""
    match location:
        case GitLocation():
            yield "repository", location.repository, _SECRETS.format("user and password")
        case HttpLocation():
            yield "url", location.url, _SECRETS.format("user and password")
        case ArtifactoryLocation():
            yield "url", location.url, _SECRETS.format("user and password")
        case AzureLocation():
            yield "endpoint", location.endpoint, _SECRETS.format("account_key")
        case S3Location() | OssLocation():
            if location.endpoint is not None:
                endpoint = f"://{location.endpoint.rpartition('//')[2]}"
                yield "endpoint", endpoint, _SECRETS.format("the access key and its secret")


_SECRETS = "Name entries of a secret as {}"


def _of_request(location: HttpLocation) -> Iterator[str]:
    for header in location.headers:
        if header.name.lower() in _HEADERS and _is_text(header.value):
            yield (
                f"its header {header.name} is a text, but workflows hold no credentials. Name "
                "entries of a secret as user and password or in oauth2, or take it from a "
                "parameter or a step"
            )
    if location.oauth2 is not None:
        for name in sorted(_OAUTH2 & location.oauth2.parameters.keys()):
            yield f"the parameter {name} of its oauth2 is a text. Name entries of a secret only"


def _is_text(text: Text) -> bool:
    """Return whether nothing of a text comes from a value of the workflow."""
    parts: tuple[t.Any, ...] = text.parts if isinstance(text, Template) else (text,)
    return all(isinstance(part, str | Literal) for part in parts)
