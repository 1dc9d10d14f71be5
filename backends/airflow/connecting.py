"""Where an Airflow is and how to get in: the fields of a connection."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from couler.backends.remote import Connection, refuse_unknown_fields
from couler.errors import ConfigurationError
from couler.rest.client import RestClient
from couler.rest.credentials import Credential, Token
from couler.rest.patience import Patience

EXTRA = "airflow-client"

_SECONDS = ("parse_timeout_s", "patience_s", "poll_s", "timeout_s")
_KNOWN = ("address", "ca", "dags", "insecure", "password", "token", "username", *_SECONDS)


@dataclass(frozen=True, slots=True)
class Access:
    """Where an Airflow is and how to get in."""

    address: str
    dags: str | None = None
    token: Token | None = None
    ca: str | None = None
    insecure: bool = False
    timeout_s: float = 30.0
    parse_timeout_s: float = 600.0
    patience_s: float = 300.0
    poll_s: float = 3.0

    def client(self, patience: Patience | None = None) -> RestClient:
        """Return a client of the server."""
        return RestClient(
            "airflow",
            self.address,
            extra=EXTRA,
            token=self.token,
            ca=self.ca,
            insecure=self.insecure,
            timeout_s=self.timeout_s,
            patience=patience or Patience.of_calls(self.patience_s),
            passing=_is_database_fault,
        )


def _is_database_fault(body: bytes) -> bool:
    """Return whether the database has failed, which often passes."""
    try:
        detail = json.loads(body)["detail"]
        return isinstance(detail, dict) and detail.get("reason") == "Database error"
    except (ValueError, RecursionError, LookupError, TypeError):
        return False  # it does not come from Airflow's own handler of errors


@dataclass(slots=True)
class Login:
    """A token that the server gives for a name and a password (`POST /auth/token`)."""

    access: Access
    username: str
    password: Credential
    can_change: bool = True
    _token: str | None = field(default=None, init=False, repr=False)

    def read(self) -> str:
        """Return the token; the first time, the server is asked for it."""
        if self._token is None:
            given = {"username": self.username, "password": self.password.read()}
            with self.access.client() as client:
                answer = client.call("POST", "/auth/token", send=given, repeat=True)
            token = answer.get("access_token") if isinstance(answer, dict) else None
            if not isinstance(token, str):
                raise ConfigurationError(
                    f"airflow: {self.access.address}/auth/token gives no token for a name and a "
                    "password; its kind of accounts may want another way: give the target a token"
                )
            self._token = token
        return self._token

    def forget(self) -> None:
        """Ask for a new one next time."""
        self._token = None
        self.password.forget()


def read_access(connection: Connection, environment: Mapping[str, str]) -> Access:
    """Read the fields of a connection."""
    refuse_unknown_fields(connection, _KNOWN)
    fields = _Fields(connection)
    address = fields.text("address")
    if address is None:
        raise ConfigurationError(
            f"{fields.place} needs an address: that of Airflow's API server, such as "
            "https://airflow.example:8080"
        )
    access = Access(
        address=address,
        dags=_without_password(fields.text("dags"), fields),
        ca=fields.text("ca"),
        insecure=fields.boolean("insecure"),
    )
    seconds: dict[str, t.Any] = {
        name: fields.seconds(name) for name in _SECONDS if name in fields.given
    }
    access = replace(access, **seconds)
    return replace(access, token=_token(access, fields, environment))


def _without_password(dags: str | None, fields: _Fields) -> str | None:
    """Return the address of a folder, which is recorded and shown with errors."""
    for part in (dags or "").split("::"):  # fsspec's way to have one file system on another
        try:
            password = urlsplit(part).password if "://" in part else None
        except ValueError:  # it is no URL; the file system says so
            continue
        if password:
            raise ConfigurationError(
                f"{fields.place}: dags has a password in its address, which would be recorded. "
                "Leave it out, and give it to fsspec: by a variable such as FSSPEC_FTP_PASSWORD, "
                "or by what the file system reads by itself, such as a key of ssh"
            )
    return dags


def _token(access: Access, fields: _Fields, environment: Mapping[str, str]) -> Token | None:
    given = fields.given
    if "token" in given and ("username" in given or "password" in given):
        raise ConfigurationError(
            f"{fields.place} has both a token and a name with a password: only one of them gets in"
        )
    if "token" in given:
        return Credential(f"the token of {fields.place}", given["token"], environment)
    username = fields.text("username")
    if username is None and "password" not in given:
        return None
    if username is None or "password" not in given:
        raise ConfigurationError(f"{fields.place} needs a username and a password, or neither")
    password = Credential(f"the password of {fields.place}", given["password"], environment)
    return Login(access, username, password)


class _Fields:
    """The fields of a connection, by their types."""

    def __init__(self, connection: Connection) -> None:
        self.given = connection.fields
        self.place = f'the target "{connection.name}"' if connection.name else "the target"

    def text(self, name: str) -> str | None:
        found = self.given.get(name)
        if found is not None and not (isinstance(found, str) and found.strip()):
            raise ConfigurationError(f"{self.place}: {name} is no text: {found!r}")
        return found

    def boolean(self, name: str) -> bool:
        found = self.given.get(name, False)
        if not isinstance(found, bool):
            raise ConfigurationError(f"{self.place}: {name} is neither true nor false: {found!r}")
        return found

    def seconds(self, name: str) -> float:
        found = self.given[name]
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found < 1e6:
            raise ConfigurationError(
                f"{self.place}: {name} is no number of seconds above 0: {found!r}"
            )
        return float(found)
