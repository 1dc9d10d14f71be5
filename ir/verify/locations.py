"""Rules for locations outside of a workflow: complete, and such that an engine can use them."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator

from couler.ir.artifacts import (
    ArtifactoryLocation,
    AzureLocation,
    GcsLocation,
    GitLocation,
    HdfsLocation,
    HttpLocation,
    Location,
    OssLocation,
    PluginLocation,
    RawLocation,
    S3Location,
    is_in_repository,
    storage_field,
)
from couler.ir.storage import ENTRIES, SecretKey
from couler.ir.values import Literal, Text
from couler.ir.verify.credentials import credential_problems, without_password
from couler.ir.verify.environment import check_config_key, check_secret_key
from couler.ir.verify.names import Add

KEYS = ("key", "path", "blob")

_URL = re.compile(r"https?://[^\s/]+(/\S*|\?\S*)?")
_URL_BEGINS = "it begins with http:// or https:// and a host"
_SCHEME = re.compile(r"[a-zA-Z][-+.a-zA-Z0-9]*://")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BUCKET = re.compile(r"[a-zA-Z0-9]([-._a-zA-Z0-9]{0,220}[a-zA-Z0-9])?")
_KEY_OF = {"bucket": "key", "container": "blob"}
_HOST = re.compile(r"([^\s:/?#@\[\]]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?")
_REGION = re.compile(r"[-a-zA-Z0-9]+")
_ADDRESS = re.compile(r"[^\s:/]+:[0-9]+")
_HEADER = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")


def check_location(location: Location, field: str, add: Add) -> None:
    """Check a location, but for the values in its texts."""
    for problem in _problems(location):
        add("CLR461", f"{field}: {problem}.")
    for problem in credential_problems(location):
        add("CLR467", f"{field}: {problem}.")
    for _, key in ENTRIES.visit(location):
        if isinstance(key, SecretKey):
            check_secret_key(key, add)
        else:
            check_config_key(key, add)


def address_problems(location: Location) -> Iterator[str]:
    """Yield what is wrong with the texts of an address, of those that are known."""
    match location:
        case S3Location() | OssLocation() | GcsLocation() | PluginLocation():
            yield from _key(location.key)
        case HdfsLocation():
            path = _known(location.path)
            if is_in_repository(location) and path is not None and path.startswith("/"):
                yield f'"{path}" is a path of HDFS, but it names no addresses. Name them'
            elif is_in_repository(location):
                yield from _key(location.path, "path in the repository")
            elif path is not None and not path.startswith("/"):
                yield f'its path "{path}" must be absolute'
        case AzureLocation():
            yield from _key(location.blob, "blob")
        case HttpLocation() | ArtifactoryLocation():
            yield from _url(location.url, "url")
        case GitLocation():
            yield from _git_texts(location)
        case RawLocation():
            pass
        case _:
            t.assert_never(location)


def _problems(location: Location) -> Iterator[str]:
    if is_in_repository(location):
        yield from _incomplete(location)
    yield from address_problems(location)
    match location:
        case S3Location():
            yield from _s3(location)
        case OssLocation():
            yield from _oss(location)
        case PluginLocation():
            if location.name is None:
                yield "it names no plugin. Name one, or state the plugin storage for the target"
            if location.name is not None and not location.configuration:
                yield f'the plugin "{location.name}" has no configuration. Give one'
        case HdfsLocation():
            yield from _hdfs(location)
        case GitLocation():
            yield from _git(location)
        case AzureLocation():
            yield from _azure(location)
        case HttpLocation():
            yield from _http(location)
        case GcsLocation():
            yield from _name(location.bucket, "bucket")
        case ArtifactoryLocation():
            pass
        case RawLocation():
            if location.content == "":
                yield "it has no content. Give some"
        case _:
            t.assert_never(location)


def _incomplete(location: Location) -> Iterator[str]:
    """Yield what is said of a storage that has no name."""
    said = [
        name
        for name, field in type(location).model_fields.items()
        if name not in ("kind", *KEYS) and getattr(location, name) != field.get_default()
    ]
    if said:
        what = storage_field(location)
        # Programs call these otherwise than the IR.
        first = "credentials" if said[0] in ("access_key", "secret_key") else said[0]
        yield (
            f"it has {first}, but no {what}. Name the {what}, or state the {location.kind} "
            "storage once for the target"
        )


def _known(text: Text | None) -> str | None:
    """Return a text that is known now."""
    if isinstance(text, Literal):
        return text.value if isinstance(text.value, str) else None
    return text if isinstance(text, str) else None


def _key(text: Text, what: str = "key") -> Iterator[str]:
    key = _known(text)
    if key is None:
        return
    scheme = _SCHEME.match(key)
    if scheme is not None:
        yield (
            f'"{without_password(key)}" is an address, not a {what}. Name the storage by its own '
            f"fields, such as bucket, and give the {what} alone"
        )
    elif not key or key.startswith("/") or not {"..", "."}.isdisjoint(key.split("/")):
        yield f'"{key}" is no {what}: names with "/" between them, none of them "." or ".."'
    elif _CONTROL.search(key):
        yield f"{key!r} is no {what}: it has a control character in it"


def _name(name: str | None, what: str) -> Iterator[str]:
    """Yield what is wrong with the name of a bucket or container."""
    if name is None or (_BUCKET.fullmatch(name) and ".." not in name):
        return
    if _SCHEME.match(name):
        mend = f"Give the name of the {what} alone"
    elif "/" in name.strip("/"):
        mend = f'What comes after "/" belongs to the {_KEY_OF[what]}'
    else:
        mend = 'It has letters, digits, "-", "_" and ".", a letter or digit first and last'
    yield f'"{without_password(name)}" is no name of a {what}. {mend}'


def _pair(first: object, second: object, names: str) -> Iterator[str]:
    if (first is None) != (second is None):
        yield f"{names} go together. Name both, or none"


def _url(text: Text, what: str) -> Iterator[str]:
    url = _known(text)
    if url is not None and not _URL.fullmatch(url):
        told = "a blank in it is written %20" if " " in url.strip() else _URL_BEGINS
        yield f'"{without_password(url)}" is no {what}: {told}'


def _s3(location: S3Location) -> Iterator[str]:
    yield from _name(location.bucket, "bucket")
    yield from _access_keys(location)
    if location.role_arn is not None and location.access_key is not None:
        yield "it has keys and a role_arn, of which engines take the keys alone. Name one of them"
    if location.session_token is not None and location.access_key is None:
        yield "its session_token goes with an access key and its secret. Name them"
    if location.object_locking and not location.create_bucket:
        yield "object_locking is for a bucket that is created. Say create_bucket"
    if location.region is not None and not _REGION.fullmatch(location.region):
        yield f'"{location.region}" is no region, such as eu-central-1'
    if location.role_arn is not None and not location.role_arn.startswith("arn:"):
        yield f'"{location.role_arn}" is no role_arn, such as arn:aws:iam::123456789012:role/reader'
    encryption = location.encryption
    if encryption is not None and encryption.customer_key and encryption.kms_key:
        yield "it is encrypted by a key of one's own and by one of KMS. Name one of them"
    if encryption is not None and encryption.kms_context and not encryption.kms_key:
        yield "its kms_context goes with a kms_key. Name the key"
    if location.endpoint is None:
        return
    if "://" in location.endpoint:
        yield (
            f'its endpoint "{without_password(location.endpoint)}" has a scheme. Give host and '
            "port, and insecure for plain HTTP"
        )
    elif not _HOST.fullmatch(location.endpoint):
        yield f'its endpoint "{_shown(location.endpoint)}" is no host with or without a port'


def _shown(endpoint: str) -> str:
    return without_password(f"://{endpoint}").removeprefix("://")


def _access_keys(location: S3Location | OssLocation) -> Iterator[str]:
    yield from _pair(location.access_key, location.secret_key, "an access key and its secret")


def _oss(location: OssLocation) -> Iterator[str]:
    yield from _name(location.bucket, "bucket")
    yield from _access_keys(location)
    if location.endpoint is not None:
        host = _SCHEME.sub("", location.endpoint)
        if not _HOST.fullmatch(host):
            yield f'its endpoint "{_shown(host)}" is no host with or without a port'
    elif location.bucket:
        yield "its bucket has no endpoint. Name the endpoint"
    if location.security_token is not None and location.access_key is None:
        yield "its security_token goes with an access key and its secret. Name them"
    if isinstance(location.security_token, Literal | str):
        yield (
            "its security_token is a text, but workflows hold no credentials. Take it from a "
            "parameter or a step"
        )


def _hdfs(location: HdfsLocation) -> Iterator[str]:
    if is_in_repository(location):
        return
    for address in location.addresses:
        if not _ADDRESS.fullmatch(address):
            yield f'"{address}" is no address of a name node: host, ":" and port'
    if not (location.user or location.kerberos_cache or location.kerberos_keytab):
        yield "it names neither a user nor credentials of Kerberos. Give user"
    wanted: tuple[str, ...] = ()
    if location.kerberos_keytab is not None:
        wanted = ("kerberos_user", "kerberos_realm", "kerberos_config", "kerberos_service")
    elif location.kerberos_cache is not None:
        wanted = ("kerberos_config", "kerberos_service")
    missing = [name for name in wanted if getattr(location, name) is None]
    if missing:
        yield f"its credentials of Kerberos need {' and '.join(missing)} as well"


def _git(location: GitLocation) -> Iterator[str]:
    yield from _pair(location.user, location.password, "user and password")
    if location.ssh_key is not None and location.password is not None:
        yield "it has a password and an ssh_key. Name one of them"


def _git_texts(location: GitLocation) -> Iterator[str]:
    repository, revision = _known(location.repository), _known(location.revision)
    if repository is not None and (not repository.strip() or repository.startswith("-")):
        yield f'"{repository}" is no address of a repository'
    if revision is not None and (not revision.strip() or revision.startswith("-")):
        yield f'"{revision}" is no revision'
    for name in (location.branch, *location.fetch):
        if name is not None and (not name.strip() or name.startswith("-")):
            yield f'"{name}" is no branch or ref'


def _azure(location: AzureLocation) -> Iterator[str]:
    yield from _name(location.container, "container")
    if location.container and not location.endpoint:
        yield "its container has no endpoint, such as https://ACCOUNT.blob.core.windows.net"
    if location.endpoint is not None:
        yield from _url(location.endpoint, "endpoint")


def _http(location: HttpLocation) -> Iterator[str]:
    ways = ("basic", "client_certificate", "oauth2")
    given = [name for name in ways if getattr(location, name) is not None]
    if len(given) > 1:
        yield f"it has {' and '.join(given)}. Name one way to be let in"
    for header in location.headers:
        if not _HEADER.fullmatch(header.name):
            yield f'"{header.name}" is no name of an HTTP header'
