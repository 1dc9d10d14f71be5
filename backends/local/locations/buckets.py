"""Locations on filesystems of fsspec: buckets, HDFS, and the repository of this machine."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tempfile
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from couler.backends.local.secrets import Entries
from couler.errors import ArtifactError, ConfigurationError
from couler.ir.artifacts import (
    AzureLocation,
    Encryption,
    GcsLocation,
    HdfsLocation,
    OssLocation,
    S3Location,
)
from couler.store.filesystems import OF_BUCKETS, open_filesystem, reported

if t.TYPE_CHECKING:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]  # has no types

Bucket: t.TypeAlias = S3Location | OssLocation | GcsLocation | HdfsLocation | AzureLocation


@dataclass(frozen=True, slots=True)
class Tree:
    """A file, or all files below a path, on a filesystem of fsspec.

    Attributes
    ----------
    url
        The address as fsspec reads it.
    options
        For the filesystem.
    bucket
        The bucket to make where it is missing; None for none.
    create
        What S3 is told of it.
    """

    url: str
    options: Mapping[str, t.Any]
    bucket: str | None = None
    create: Mapping[str, t.Any] = field(default_factory=dict)

    def fetch(self, target: Path) -> None:
        """Copy it to a path that is free.

        Raises
        ------
        FileNotFoundError
            There is nothing.
        StoreError, ConfigurationError
            The other side refuses, or cannot be reached.
        ArtifactError
            A file below it has a name that leads elsewhere.
        """
        with self._open() as (filesystem, path):
            if filesystem.isfile(path):
                filesystem.get_file(path, str(target))
                return
            try:
                files = sorted(filesystem.find(path))
            except FileNotFoundError:
                files = []
            inside = [name for name in files if name.rstrip("/") != path]
            if not inside and not filesystem.isdir(path):
                raise FileNotFoundError(f"there is nothing at {self.url}")
            target.mkdir()
            for name in inside:
                place = target / _relative(name, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                filesystem.get_file(name, str(place))

    def put(self, source: Path) -> None:
        """Copy a file or a directory there.

        Raises
        ------
        StoreError, ConfigurationError
            As `fetch`.
        OSError
            The source cannot be read.
        """
        with self._open() as (filesystem, path):
            if self.bucket is not None and not filesystem.exists(self.bucket):
                self._make_bucket(filesystem, self.bucket)
            if not source.is_dir():
                self._put_file(filesystem, source, path)
                return
            for folder, _, names in os.walk(source):
                for name in names:
                    file = Path(folder, name)
                    self._put_file(filesystem, file, f"{path}/{file.relative_to(source)}")

    def _make_bucket(self, filesystem: AbstractFileSystem, bucket: str) -> None:
        if self.url.startswith("s3://"):
            filesystem.call_s3("create_bucket", Bucket=bucket, **self.create)
        else:
            filesystem.mkdir(bucket)

    def _put_file(self, filesystem: AbstractFileSystem, source: Path, path: str) -> None:
        if self.url.partition("://")[0] not in OF_BUCKETS:
            filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
        filesystem.put_file(str(source), path)

    @contextlib.contextmanager
    def _open(self) -> Iterator[tuple[AbstractFileSystem, str]]:
        with reported(self.url):
            filesystem, path = open_filesystem(
                self.url, {**self.options, "skip_instance_cache": True}, what=self.url
            )
            yield filesystem, path


def _relative(name: str, path: str) -> str:
    parts = PurePosixPath(name.removeprefix(path).lstrip("/"))
    if not parts.parts or not {"..", "."}.isdisjoint(parts.parts):
        raise ArtifactError(f"{name!r} is no path below {path!r}")
    return str(parts)


def in_repository(url: str, key: str) -> Tree:
    """Return what has a key in the repository of this machine.

    Raises
    ------
    ArtifactError
        The key leads out of it.
    """
    if not key or key.startswith("/") or not {"..", "."}.isdisjoint(key.split("/")):
        raise ArtifactError(f"{key!r} is no key of a file")
    return Tree(f"{url.rstrip('/')}/{key}", {})


@contextlib.contextmanager
def open_bucket(location: Bucket, entries: Entries) -> Iterator[Tree]:
    """Give what is at a location; files with credentials are there meanwhile.

    Parameters
    ----------
    location
        Its texts are known.
    entries
        The secrets of this machine.

    Raises
    ------
    ConfigurationError
        An entry is missing, or this machine cannot be let in so.
    """
    with tempfile.TemporaryDirectory(prefix="couler-") as folder:
        match location:
            case S3Location():
                yield _s3(location, entries, Path(folder))
            case OssLocation():
                yield _oss(location, entries)
            case GcsLocation():
                yield _gcs(location, entries)
            case HdfsLocation():
                yield _hdfs(location, entries, Path(folder))
            case AzureLocation():
                yield _azure(location, entries)
            case _:
                t.assert_never(location)


def _s3(location: S3Location, entries: Entries, folder: Path) -> Tree:
    client: dict[str, t.Any] = {}
    if location.region is not None:
        client["region_name"] = location.region
    if location.ca is not None:
        client["verify"] = str(_write(folder / "ca.pem", entries.require(location.ca)))
    options: dict[str, t.Any] = {"client_kwargs": client}
    scheme = "http" if location.insecure else "https"
    if location.endpoint is not None:
        options["endpoint_url"] = f"{scheme}://{location.endpoint}"
    if location.access_key is not None and location.secret_key is not None:
        options["key"] = entries.require(location.access_key)
        options["secret"] = entries.require(location.secret_key)
    if location.session_token is not None:
        options["token"] = entries.require(location.session_token)
    if location.role_arn is not None:
        options |= _assume(location.role_arn, options, location.region)
    if location.encryption is not None:
        options["s3_additional_kwargs"] = _encryption(location.encryption, entries)
    create: dict[str, t.Any] = {}
    if location.region not in (None, "us-east-1"):  # which S3 refuses to be told
        create["CreateBucketConfiguration"] = {"LocationConstraint": location.region}
    if location.object_locking:
        create["ObjectLockEnabledForBucket"] = True
    bucket = location.bucket if location.create_bucket else None
    return Tree(f"s3://{location.bucket}/{location.key}", options, bucket, create)


def _assume(role: str, options: Mapping[str, t.Any], region: str | None) -> dict[str, t.Any]:
    """Return the credentials of a role, which are good for some time."""
    import botocore.session  # type: ignore[import-untyped]  # has no types

    session = botocore.session.get_session()
    client = session.create_client(
        "sts",
        region_name=region or "us-east-1",
        aws_access_key_id=options.get("key"),
        aws_secret_access_key=options.get("secret"),
        aws_session_token=options.get("token"),
    )
    with reported(f"the role {role}"):
        given = client.assume_role(RoleArn=role, RoleSessionName="couler")["Credentials"]
    return {
        "key": given["AccessKeyId"],
        "secret": given["SecretAccessKey"],
        "token": given["SessionToken"],
    }


def _encryption(wanted: Encryption, entries: Entries) -> dict[str, str]:
    if wanted.customer_key is not None:
        key = entries.require(wanted.customer_key) or ""
        return {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": key}
    if wanted.kms_key is None:
        return {"ServerSideEncryption": "AES256"}
    found = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": wanted.kms_key}
    if wanted.kms_context:
        context = json.dumps(dict(wanted.kms_context), sort_keys=True)
        found["SSEKMSEncryptionContext"] = base64.b64encode(context.encode()).decode()
    return found


def _oss(location: OssLocation, entries: Entries) -> Tree:
    options: dict[str, t.Any] = {"endpoint": location.endpoint}
    if location.access_key is not None and location.secret_key is not None:
        options["key"] = entries.require(location.access_key)
        options["secret"] = entries.require(location.secret_key)
    if location.security_token is not None:
        options["token"] = str(location.security_token)
    bucket = location.bucket if location.create_bucket else None
    return Tree(f"oss://{location.bucket}/{location.key}", options, bucket)


def _gcs(location: GcsLocation, entries: Entries) -> Tree:
    options: dict[str, t.Any] = {}
    if location.service_account_key is not None:
        text = entries.require(location.service_account_key) or ""
        try:
            options["token"] = json.loads(text)
        except ValueError as error:
            name = location.service_account_key
            raise ConfigurationError(
                f'the entry "{name.key}" of the secret "{name.secret}" is no key of a service '
                "account as JSON"
            ) from error
    return Tree(f"gcs://{location.bucket}/{location.key}", options)


def _hdfs(location: HdfsLocation, entries: Entries, folder: Path) -> Tree:
    if location.kerberos_keytab is not None:
        raise ConfigurationError(
            "this machine does not log in to HDFS by a keytab: log in with kinit, and name the "
            "cache of tickets by kerberos_cache"
        )
    host, _, port = location.addresses[0].partition(":")
    options: dict[str, t.Any] = {"host": host, "port": int(port)}
    if location.user is not None:
        options["user"] = location.user
    if location.kerberos_cache is not None:
        ticket = _write(folder / "krb5cc", entries.require(location.kerberos_cache))
        options["kerb_ticket"] = str(ticket)
    return Tree(f"hdfs://{location.addresses[0]}{location.path}", options)


def _azure(location: AzureLocation, entries: Entries) -> Tree:
    endpoint = (location.endpoint or "").rstrip("/")
    host = endpoint.partition("://")[2]
    # The account is the first part of the host or, in the emulator of Azure, the path.
    account = host.partition("/")[2] or host.partition(".")[0]
    options: dict[str, t.Any] = {"account_name": account}
    if location.account_key is not None:
        key = entries.require(location.account_key)
        options["connection_string"] = (
            f"BlobEndpoint={endpoint};AccountName={account};AccountKey={key}"
        )
    else:
        options["account_host"] = host
        options["anon"] = not location.use_sdk_credentials
    return Tree(f"abfs://{location.container}/{location.blob}", options)


def _write(path: Path, text: str | None) -> Path:
    path.touch(mode=0o600)
    path.write_text(text or "", encoding="utf-8")
    return path
