"""Locations on filesystems of fsspec: buckets, HDFS, and the repository of this machine."""

from __future__ import annotations

import base64
import json
import os
import re
import typing as t
from collections.abc import Mapping
from pathlib import Path

from couler.errors import ArtifactError, ConfigurationError
from couler.ir.artifacts import (
    AzureLocation,
    Encryption,
    GcsLocation,
    HdfsLocation,
    OssLocation,
    S3Location,
)
from couler.locations.private import write_private
from couler.locations.secrets import Entries
from couler.locations.trees import Tree
from couler.store.filesystems import reported

_NAME_NODES = "couler"
"""What several name nodes are called together."""

_STS = ("AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL")
"""The variables that name the service which gives roles."""

_AMAZON = re.compile(r"\.amazonaws\.com(\.cn)?(:[0-9]+)?$")

Bucket: t.TypeAlias = S3Location | OssLocation | GcsLocation | HdfsLocation | AzureLocation


def in_repository(url: str, key: str) -> Tree:
    """Return what has a key in the repository of this machine."""
    if not key or key.startswith("/") or not {"..", "."}.isdisjoint(key.split("/")):
        raise ArtifactError(f"{key!r} is no key of a file")
    return Tree(url, key, {})


def open_bucket(location: Bucket, entries: Entries, private: Path) -> Tree:
    """Return what is at a location."""
    match location:
        case S3Location():
            return _s3(location, entries, private)
        case OssLocation():
            return _oss(location, entries)
        case GcsLocation():
            return _gcs(location, entries)
        case HdfsLocation():
            return _hdfs(location)
        case AzureLocation():
            return _azure(location, entries)
    t.assert_never(location)


def _s3(location: S3Location, entries: Entries, private: Path) -> Tree:
    client: dict[str, t.Any] = {}
    if location.region is not None:
        client["region_name"] = location.region
    ca = None
    if location.ca is not None:
        ca = client["verify"] = str(write_private(private / "ca.pem", entries.require(location.ca)))
    stated: dict[str, t.Any] = {}
    if location.endpoint is not None:
        scheme = "http" if location.insecure else "https"
        stated["endpoint_url"] = f"{scheme}://{location.endpoint}"
    options: dict[str, t.Any] = {"client_kwargs": client, **stated}
    if location.insecure:
        options["use_ssl"] = False
    if location.access_key is not None and location.secret_key is not None:
        options["key"] = entries.require(location.access_key)
        options["secret"] = entries.require(location.secret_key)
        if location.session_token is not None:
            options["token"] = entries.require(location.session_token)
    elif location.role_arn is not None:
        options |= _assume(location, stated, ca)
    if location.encryption is not None:
        options["s3_additional_kwargs"] = _encryption(location.encryption, entries)
    create: dict[str, t.Any] = {}
    if location.region not in (None, "us-east-1"):  # which S3 refuses to be told
        create["CreateBucketConfiguration"] = {"LocationConstraint": location.region}
    if location.object_locking:
        create["ObjectLockEnabledForBucket"] = True
    bucket = location.bucket if location.create_bucket else None
    return Tree(f"s3://{location.bucket}", str(location.key), options, bucket, create)


def _assume(location: S3Location, stated: Mapping[str, t.Any], ca: str | None) -> dict[str, str]:
    """Return the credentials of a role, which are good for some time."""
    import botocore.session  # type: ignore[import-untyped]  # has no types

    is_amazon = location.endpoint is None or _AMAZON.search(location.endpoint)
    where = {} if is_amazon or any(map(os.environ.get, _STS)) else stated
    client = botocore.session.get_session().create_client(
        "sts", region_name=location.region or "us-east-1", verify=ca, **where
    )
    with reported(f"the role {location.role_arn}"):
        given = client.assume_role(RoleArn=location.role_arn, RoleSessionName="couler")
    found = given["Credentials"]
    return {
        "key": found["AccessKeyId"],
        "secret": found["SecretAccessKey"],
        "token": found["SessionToken"],
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
    elif takes_own_credentials(location):
        options["key"], options["secret"], token = oss_credentials(entries)
        if token is not None:
            options["token"] = token
    if location.security_token is not None:
        options["token"] = str(location.security_token)
    return Tree(f"oss://{location.bucket}", str(location.key), options)


def takes_own_credentials(location: OssLocation) -> bool:
    """Return whether OSS is to let in what its own programs on this machine are let in by."""
    return bool(location.use_sdk_credentials) and location.access_key is None


def oss_credentials(entries: Entries) -> tuple[str, str, str | None]:
    """Return key, secret and, where there is one, token that OSS's own programs are let in by."""
    key, secret, token = (
        entries.variable(f"ALIBABA_CLOUD_{name}")
        for name in ("ACCESS_KEY_ID", "ACCESS_KEY_SECRET", "SECURITY_TOKEN")
    )
    if key is None or secret is None:
        raise ConfigurationError(
            "use_sdk_credentials of OSS takes the credentials of this machine. Set "
            "ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET"
        )
    return key, secret, token


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
    return Tree(f"gcs://{location.bucket}", str(location.key), options)


def _hdfs(location: HdfsLocation) -> Tree:
    host, _, port = location.addresses[0].partition(":")
    options: dict[str, t.Any] = {"host": host, "port": int(port)}
    if len(location.addresses) > 1:
        host = _NAME_NODES
        options = {"host": host, "port": 0, "extra_conf": _one_of(location.addresses)}
    if location.user is not None:
        options["user"] = location.user
    replaces = bool(location.force)
    return Tree(f"hdfs://{host}", str(location.path), options, replaces=replaces)


def _one_of(addresses: tuple[str, ...]) -> dict[str, str]:
    """Return Hadoop's settings for name nodes of which one is active."""
    names = [f"n{number}" for number, _ in enumerate(addresses)]
    prefix = "org.apache.hadoop.hdfs.server.namenode.ha"
    settings = {
        "dfs.nameservices": _NAME_NODES,
        f"dfs.ha.namenodes.{_NAME_NODES}": ",".join(names),
        f"dfs.client.failover.proxy.provider.{_NAME_NODES}": (
            f"{prefix}.ConfiguredFailoverProxyProvider"
        ),
    }
    for name, address in zip(names, addresses, strict=True):
        settings[f"dfs.namenode.rpc-address.{_NAME_NODES}.{name}"] = address
    return settings


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
    return Tree(f"abfs://{location.container}", str(location.blob), options)
