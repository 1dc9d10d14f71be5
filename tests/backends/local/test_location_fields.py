"""Every field of every location: it changes what this machine does, or it is refused."""

from __future__ import annotations

import contextlib
import io
import os
import ssl
import typing as t
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from couler.backends.base import Target, unsupported_uses
from couler.backends.local import LocalBackend
from couler.backends.local.locations.exchange import Exchange
from couler.ir.artifacts import (
    LOCATIONS,
    ArtifactoryLocation,
    AzureLocation,
    BasicAuth,
    ClientCertificate,
    Encryption,
    GcsLocation,
    GitLocation,
    HdfsLocation,
    HttpHeader,
    HttpLocation,
    Location,
    OAuth2,
    OssLocation,
    PluginLocation,
    RawLocation,
    S3Location,
)
from couler.ir.base import FrozenDict, Node
from couler.ir.storage import ConfigKey, SecretKey
from couler.ir.values import Literal
from couler.ir.workflow import Input
from couler.locations import buckets, web
from couler.locations.git import GitTree
from couler.locations.secrets import Entries
from couler.locations.stop import Stop
from couler.store import ObjectStore
from tests.corpus.build import flow, sh


def key(name: str) -> SecretKey:
    return SecretKey(secret="s", key=name)


class Entered(Entries):
    """Entries that all are there, each with a text of its own."""

    def find(self, key: SecretKey | ConfigKey) -> str | None:
        return f'{{"entry": "{key.key}"}}'

    def variable(self, name: str) -> str | None:
        return f"own {name}"


KEYS = {"access_key": key("access"), "secret_key": key("secret")}
S3 = {"key": "a", "bucket": "b"}
OSS = {"key": "a", "bucket": "b", "endpoint": "e"}
HDFS = {"path": "/a", "addresses": ("n:1",), "user": "u"}
AZURE = {"blob": "a", "container": "c", "endpoint": "https://x.blob.core.windows.net"}
HTTP = {"url": "http://127.0.0.1/a"}
OAUTH2 = {"client_id": key("i"), "client_secret": key("s"), "token_url": key("u")}
Change: t.TypeAlias = tuple[dict[str, t.Any], dict[str, t.Any]]

CHANGES: dict[type[Node], dict[str, Change]] = {
    S3Location: {
        "key": (S3, {"key": "other"}),
        "bucket": (S3, {"bucket": "other"}),
        "endpoint": (S3, {"endpoint": "minio:9000"}),
        "region": (S3, {"region": "eu-central-1"}),
        "insecure": (S3, {"insecure": True}),
        "access_key": (S3 | KEYS, {"access_key": key("other")}),
        "secret_key": (S3 | KEYS, {"secret_key": key("other")}),
        "session_token": (S3 | KEYS, {"session_token": key("token")}),
        "role_arn": (S3, {"role_arn": "arn:aws:iam::1:role/r"}),
        "ca": (S3, {"ca": key("ca")}),
        "create_bucket": (S3, {"create_bucket": True}),
        "object_locking": (S3 | {"create_bucket": True}, {"object_locking": True}),
        "encryption": (S3, {"encryption": Encryption()}),
    },
    Encryption: {
        "kms_key": ({}, {"kms_key": "k"}),
        "kms_context": ({"kms_key": "k"}, {"kms_context": FrozenDict(a="b")}),
        "customer_key": ({}, {"customer_key": key("own")}),
    },
    OssLocation: {
        "key": (OSS, {"key": "other"}),
        "bucket": (OSS, {"bucket": "other"}),
        "endpoint": (OSS, {"endpoint": "other"}),
        "access_key": (OSS | KEYS, {"access_key": key("other")}),
        "secret_key": (OSS | KEYS, {"secret_key": key("other")}),
        "security_token": (OSS | KEYS, {"security_token": Literal(value="given")}),
        "use_sdk_credentials": (OSS, {"use_sdk_credentials": True}),
        "create_bucket": (OSS, {"create_bucket": True}),
        "delete_after_days": (OSS, {"delete_after_days": 3}),
        "infrequent_access_after_days": (OSS, {"infrequent_access_after_days": 3}),
    },
    GcsLocation: {
        "key": (S3, {"key": "other"}),
        "bucket": (S3, {"bucket": "other"}),
        "service_account_key": (S3, {"service_account_key": key("account")}),
    },
    HdfsLocation: {
        "path": (HDFS, {"path": "/other"}),
        "addresses": (HDFS, {"addresses": ("n:1", "m:1")}),
        "user": (HDFS, {"user": "other"}),
        "force": (HDFS, {"force": True}),
        "data_transfer_protection": (HDFS, {"data_transfer_protection": "privacy"}),
        "kerberos_cache": (HDFS, {"kerberos_cache": key("cache")}),
        "kerberos_keytab": (HDFS, {"kerberos_keytab": key("keytab")}),
        "kerberos_user": (HDFS, {"kerberos_user": "u"}),
        "kerberos_realm": (HDFS, {"kerberos_realm": "R"}),
        "kerberos_config": (HDFS, {"kerberos_config": ConfigKey(config_map="c", key="k")}),
        "kerberos_service": (HDFS, {"kerberos_service": "hdfs/_HOST"}),
    },
    GitLocation: {
        name: ({"repository": "https://x/a.git"}, {name: value})
        for name, value in {
            "repository": "https://x/b.git",
            "revision": "v1",
            "branch": "main",
            "depth": 1,
            "fetch": ("refs/x",),
            "submodules": False,
            "ssh_key": key("ssh"),
            "insecure_ignore_host_key": True,
            "insecure_skip_tls": True,
        }.items()
    }
    | {
        name: (
            {"repository": "https://x/a.git", "user": key("u"), "password": key("p")},
            {name: key("other")},
        )
        for name in ("user", "password")
    },
    AzureLocation: {
        "blob": (AZURE, {"blob": "other"}),
        "container": (AZURE, {"container": "other"}),
        "endpoint": (AZURE, {"endpoint": "https://y.blob.core.windows.net"}),
        "account_key": (AZURE, {"account_key": key("account")}),
        "use_sdk_credentials": (AZURE, {"use_sdk_credentials": True}),
    },
    HttpLocation: {
        "url": (HTTP, {"url": "http://127.0.0.1/b"}),
        "headers": (HTTP, {"headers": (HttpHeader(name="X-Day", value="monday"),)}),
        "basic": (HTTP, {"basic": BasicAuth(user=key("u"), password=key("p"))}),
        "client_certificate": (
            HTTP,
            {"client_certificate": ClientCertificate(certificate=key("c"), key=key("k"))},
        ),
        "oauth2": (HTTP, {"oauth2": OAuth2(**OAUTH2)}),
    },
    HttpHeader: {
        "name": ({"name": "X-A", "value": "1"}, {"name": "X-B"}),
        "value": ({"name": "X-A", "value": "1"}, {"value": "2"}),
    },
    BasicAuth: {
        name: ({"user": key("u"), "password": key("p")}, {name: key("other")})
        for name in ("user", "password")
    },
    ClientCertificate: {
        name: ({"certificate": key("c"), "key": key("k")}, {name: key("other")})
        for name in ("certificate", "key")
    },
    OAuth2: {name: (OAUTH2, {name: key("other")}) for name in OAUTH2}
    | {
        "scopes": (OAUTH2, {"scopes": ("read",)}),
        "parameters": (OAUTH2, {"parameters": FrozenDict(audience="data")}),
    },
    ArtifactoryLocation: {
        name: (HTTP | {"user": key("u"), "password": key("p")}, {name: value})
        for name, value in {
            "url": "http://127.0.0.1/b",
            "user": key("other"),
            "password": key("other"),
        }.items()
    },
    RawLocation: {"content": ({"content": "a"}, {"content": "b"})},
    PluginLocation: {
        name: ({"key": "a", "name": "p", "configuration": "c"}, {name: value})
        for name, value in {
            "key": "b",
            "name": "q",
            "configuration": "d",
            "timeout_s": 3,
        }.items()
    },
}
"""For each field what a location has, and what is changed of it."""

INSIDE: dict[type[Node], Callable[[t.Any], Location]] = {
    Encryption: lambda node: S3Location(**S3, encryption=node),
    HttpHeader: lambda node: HttpLocation(**HTTP, headers=(node,)),
    BasicAuth: lambda node: HttpLocation(**HTTP, basic=node),
    ClientCertificate: lambda node: HttpLocation(**HTTP, client_certificate=node),
    OAuth2: lambda node: HttpLocation(**HTTP, oauth2=node),
}

THE_SAME_ANYHOW = {
    (S3Location, "use_sdk_credentials"): "without keys the SDK takes those of this machine",
}

FIELDS = [
    (cls, name)
    for cls in (*LOCATIONS.values(), *INSIDE)
    for name in cls.model_fields
    if name != "kind" and (cls, name) not in THE_SAME_ANYHOW
]


class Seen:
    """What the other side, or a program, would get to see."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.all: list[object] = []
        patch.setattr("botocore.session.get_session", lambda: self)
        patch.setattr(web, "open_url", self.open_url)
        patch.setattr(ssl, "create_default_context", lambda: self)
        patch.setattr(GitTree, "_git", self.git)
        patch.setattr(GitTree, "_has", lambda *_: True)

    def create_client(self, *words: str, **options: object) -> Seen:
        self.all.append((words, _without_paths(options)))
        return self

    def assume_role(self, **options: object) -> object:
        self.all.append(options)
        names = ("AccessKeyId", "SecretAccessKey", "SessionToken")
        return {"Credentials": dict.fromkeys(names, "given")}

    def load_cert_chain(self, *paths: Path) -> None:
        self.all.append([path.read_text() for path in paths])

    @contextlib.contextmanager
    def open_url(self, request: urllib.request.Request, **_: object) -> Iterator[io.BytesIO]:
        self.all.append((request.full_url, request.data, sorted(request.header_items())))
        answer = io.BytesIO(b'{"access_token": "t"}')
        answer.length = 0  # type: ignore[attr-defined]  # as an answer of HTTP has it
        yield answer

    def git(self, words: list[str], environ: dict[str, str], folder: object = None) -> str:
        known = {name: text for name, text in environ.items() if "SSH" in name or "GIT" in name}
        asked = environ.get("GIT_ASKPASS")
        if asked is not None:
            known["GIT_ASKPASS"] = ""
            self.all += [Path(asked).with_name(name).read_text() for name in ("user", "password")]
        for word in known.get("GIT_SSH_COMMAND", "").split():
            if word.endswith("/key"):
                self.all.append(Path(word).read_text())
                known["GIT_SSH_COMMAND"] = known["GIT_SSH_COMMAND"].replace(word, "key")
        places = [word for word in words if not word.startswith("/")]
        self.all.append((places, known))
        return "commit"


def _without_paths(options: t.Any) -> t.Any:
    """Return options with the content of files in place of their paths."""
    if isinstance(options, Mapping):
        return {name: _without_paths(value) for name, value in options.items()}
    is_path = isinstance(options, str) and os.path.isfile(options)
    return Path(options).read_text() if is_path else options


REFUSED = "refused"


def what_is_done(location: Location, folder: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Return all that a location leads to, or that it is refused."""
    kind: t.Literal["file", "directory"] = "file"
    if isinstance(location, GitLocation):
        kind = "directory"
    step = sh("a", "true", inputs=[Input(name="x", type=kind, at=location)])
    if any(unsupported_uses(flow("w", step), LocalBackend(), Target(), {})):
        return REFUSED
    entries = Entered({})
    with monkeypatch.context() as patch:
        seen = Seen(patch)
        if isinstance(location, buckets.Bucket):
            private = folder / "private"
            private.mkdir()
            tree = buckets.open_bucket(location, entries, private)
            options = _without_paths(tree.options)
            found = (tree.root, tree.key, options, tree.bucket, tree.create, tree.replaces)
            return found, seen.all
        store = ObjectStore(str(folder / "store"))
        exchange = Exchange(store, "", entries, folder / "scratch", {})
        target = folder / "target"
        exchange._transfer.fetch(location, target, None, Stop())
        return seen.all, target.read_bytes() if target.exists() else None


def test_every_field_has_an_entry() -> None:
    known = {(cls, name) for cls, changes in CHANGES.items() for name in changes}
    assert known == set(FIELDS)


@pytest.mark.parametrize(
    ("cls", "name"), FIELDS, ids=[f"{cls.__name__}.{name}" for cls, name in FIELDS]
)
def test_a_field_is_used_or_refused(
    cls: type[Node], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, change = CHANGES[cls][name]
    make = INSIDE.get(cls, lambda node: node)
    done = []
    for number, fields in enumerate((before, before | change)):
        folder = tmp_path / str(number)
        folder.mkdir()
        done.append(what_is_done(make(cls(**fields)), folder, monkeypatch))
    assert done[1] == REFUSED or done[0] != done[1]
