"""Where an Airflow is and how to get in: the fields of a connection."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field as ModelField, model_validator

from couler.backends.remote import Connection, GivenText, Seconds
from couler.config_files import Table
from couler.errors import ConfigurationError
from couler.rest.client import RestClient
from couler.rest.credentials import Credential, Token
from couler.rest.patience import Patience

EXTRA = "airflow-client"


def _without_password(dags: str) -> str:
    """Return the address of a folder, which is recorded and shown with errors."""
    for part in dags.split("::"):  # fsspec's way to have one file system on another
        try:
            password = urlsplit(part).password if "://" in part else None
        except ValueError:  # it is no URL; the file system says so
            continue
        if password:
            raise ValueError(
                "it has a password in its address, which would be recorded. Leave it out, and give "
                "it to fsspec: by a variable such as FSSPEC_FTP_PASSWORD, or by what the file "
                "system reads by itself, such as a key of ssh"
            )
    return dags


class Fields(Table):
    """What a target may say of how Airflow is reached."""

    address: GivenText = ModelField(
        examples=["that of Airflow's API server, such as https://airflow.example:8080"]
    )
    dags: t.Annotated[GivenText, AfterValidator(_without_password)] | None = None
    token: t.Any = None
    username: GivenText | None = None
    password: t.Any = None
    ca: GivenText | None = None
    insecure: bool = False
    timeout_s: Seconds = 30.0
    parse_timeout_s: Seconds = 600.0
    patience_s: Seconds = 300.0
    poll_s: Seconds = 3.0

    @model_validator(mode="after")
    def _check_way_in(self) -> t.Self:
        if self.token is not None and (self.username, self.password) != (None, None):
            raise ValueError("it has a token and a name with a password: only one of them gets in")
        if (self.username is None) != (self.password is None):
            raise ValueError("it needs a username and a password, or neither")
        return self


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
    fields = connection.read(Fields)
    plain = fields.model_dump(exclude={"token", "username", "password"})
    access = Access(**plain)
    token: Token | None = None
    if fields.token is not None:
        token = Credential(f"the token of {connection.place}", fields.token, environment)
    elif fields.username is not None:
        what = f"the password of {connection.place}"
        token = Login(access, fields.username, Credential(what, fields.password, environment))
    return replace(access, token=token)
