"""Files outside of a workflow: where, how they are packed, when they are removed, lists of them."""

from __future__ import annotations

import re
import typing as t

from pydantic import Field as ModelField, PositiveInt

from couler.ir.base import FrozenDict, JsonMap, Node, TextMap, Variant
from couler.ir.storage import ConfigKey, SecretKey
from couler.ir.traversal import At
from couler.ir.values import TEXTS, Text, Value


class Encryption(Node):
    """How objects of S3 are encrypted: by S3's own key, by one of KMS, or by one's own."""

    kms_key: str | None = None
    kms_context: JsonMap = FrozenDict()
    customer_key: SecretKey | None = None


class S3Location(Variant):
    """An object of S3, or all below a prefix."""

    kind: t.Literal["s3"] = "s3"
    key: Text
    bucket: str | None = None
    endpoint: str | None = None
    """Host and port; None for that of AWS."""
    region: str | None = None
    insecure: bool | None = None
    """Whether the connection is plain HTTP."""
    access_key: SecretKey | None = None
    secret_key: SecretKey | None = None
    session_token: SecretKey | None = None
    role_arn: str | None = None
    use_sdk_credentials: bool | None = None
    ca: SecretKey | None = None
    create_bucket: bool | None = None
    object_locking: bool | None = None
    """Of a bucket that is created."""
    encryption: Encryption | None = None


class OssLocation(Variant):
    """An object of Alibaba's OSS, or all below a prefix."""

    kind: t.Literal["oss"] = "oss"
    key: Text
    bucket: str | None = None
    endpoint: str | None = None
    access_key: SecretKey | None = None
    secret_key: SecretKey | None = None
    security_token: Value | None = None
    """A temporary token, which engines take as a value; the IR holds none, so never a literal."""
    use_sdk_credentials: bool | None = None
    create_bucket: bool | None = None
    delete_after_days: PositiveInt | None = None
    infrequent_access_after_days: PositiveInt | None = None


class GcsLocation(Variant):
    """An object of Google Cloud Storage, or all below a prefix."""

    kind: t.Literal["gcs"] = "gcs"
    key: Text
    bucket: str | None = None
    service_account_key: SecretKey | None = None


class HdfsLocation(Variant):
    """A file of HDFS."""

    kind: t.Literal["hdfs"] = "hdfs"
    path: Text
    addresses: tuple[str, ...] = ()
    """Name nodes: host and port."""
    user: str | None = None
    force: bool | None = None
    """Whether a file that is there is replaced."""
    data_transfer_protection: t.Literal["authentication", "integrity", "privacy"] | None = None
    kerberos_cache: SecretKey | None = None
    kerberos_keytab: SecretKey | None = None
    kerberos_user: str | None = None
    kerberos_realm: str | None = None
    kerberos_config: ConfigKey | None = None
    kerberos_service: str | None = None
    """The principal of the name nodes."""


class GitLocation(Variant):
    """A working tree of a Git repository."""

    kind: t.Literal["git"] = "git"
    repository: Text
    revision: Text | None = None
    """Commit, tag or branch; None for the default branch."""
    branch: str | None = None
    """The only branch that is cloned; None for all."""
    depth: PositiveInt | None = None
    fetch: tuple[str, ...] = ()
    """Further refs that are fetched."""
    submodules: bool = True
    user: SecretKey | None = None
    password: SecretKey | None = None
    ssh_key: SecretKey | None = None
    insecure_ignore_host_key: bool = False
    insecure_skip_tls: bool = False


class AzureLocation(Variant):
    """A blob of Azure's blob storage, or all below a prefix."""

    kind: t.Literal["azure"] = "azure"
    blob: Text
    container: str | None = None
    endpoint: str | None = None
    """URL of the account, such as `https://ACCOUNT.blob.core.windows.net`."""
    account_key: SecretKey | None = None
    use_sdk_credentials: bool | None = None


class HttpHeader(Node):
    """A header of a request."""

    name: str
    value: t.Annotated[Text, At("")]


class BasicAuth(Node):
    """User and password of HTTP."""

    user: SecretKey
    password: SecretKey


class ClientCertificate(Node):
    """A certificate by which the client makes itself known, and its private key."""

    certificate: SecretKey
    key: SecretKey


class OAuth2(Node):
    """A token of OAuth 2 by client credentials."""

    client_id: SecretKey
    client_secret: SecretKey
    token_url: SecretKey
    scopes: tuple[str, ...] = ()
    parameters: TextMap = FrozenDict()
    """Further parameters of the request for the token."""


class HttpLocation(Variant):
    """What a URL gives to GET, or takes by PUT."""

    kind: t.Literal["http"] = "http"
    url: Text
    headers: t.Annotated[
        tuple[HttpHeader, ...], At("", key=lambda index, _: f"header_{index}")
    ] = ()
    basic: BasicAuth | None = None
    client_certificate: ClientCertificate | None = None
    oauth2: OAuth2 | None = None


class ArtifactoryLocation(Variant):
    """A file of JFrog Artifactory."""

    kind: t.Literal["artifactory"] = "artifactory"
    url: Text
    user: SecretKey
    password: SecretKey


class RawLocation(Variant):
    """A file whose content stands in the workflow."""

    kind: t.Literal["raw"] = "raw"
    content: Text


class PluginLocation(Variant):
    """A file that a plugin of the engine fetches or keeps."""

    kind: t.Literal["plugin"] = "plugin"
    key: Text
    name: str | None = None
    configuration: str | None = None
    timeout_s: PositiveInt | None = None
    """For the connection to the plugin."""


Location = t.Annotated[
    S3Location
    | OssLocation
    | GcsLocation
    | HdfsLocation
    | GitLocation
    | AzureLocation
    | HttpLocation
    | ArtifactoryLocation
    | RawLocation
    | PluginLocation,
    ModelField(discriminator="kind"),
]

LOCATIONS: dict[str, type[Location]] = {
    kind.model_fields["kind"].default: kind for kind in t.get_args(t.get_args(Location)[0])
}
"""The class of each kind of location."""


class Tar(Variant):
    """A gzipped tar archive."""

    kind: t.Literal["tar"] = "tar"
    level: t.Annotated[int, ModelField(ge=0, le=9)] | None = None
    """Of the compression: 0 for none; None leaves it to the engine."""


class Zip(Variant):
    """A zip archive."""

    kind: t.Literal["zip"] = "zip"


Archive = t.Annotated[Tar | Zip, ModelField(discriminator="kind")]


class FileRemoval(Node):
    """When a kept file is removed, and by what pod."""

    on: t.Literal["completion", "deletion", "never"] | None = None
    """When the run has ended, or when it is deleted."""
    service_account: str | None = None
    labels: TextMap = FrozenDict()
    annotations: TextMap = FrozenDict()


class RunFileRemoval(FileRemoval):
    """When the files of a run are removed."""

    force: bool | None = None
    """Whether a run can be deleted although its files could not be."""
    pod_spec_patch: JsonMap = FrozenDict()


class RepositoryRef(Node):
    """An entry of a config map that describes a repository of files."""

    config_map: str | None = None
    key: str | None = None


class FileSettings(Node):
    """Where a workflow's files are kept, and for how long."""

    repository: RepositoryRef | None = None
    removal: RunFileRemoval | None = None
    keep_logs: bool | None = None
    """Whether the steps' logs are kept with the files."""


class LogSettings(Node):
    """Where a step's log is kept."""

    keep: bool = True
    at: Location | None = None


# texts and references of locations --------------------------------------------------------------

_STORAGE: dict[type[Location], str] = {
    S3Location: "bucket",
    OssLocation: "bucket",
    GcsLocation: "bucket",
    HdfsLocation: "addresses",
    AzureLocation: "container",
    PluginLocation: "name",
}
"""The field that names the storage, for the kinds that can do without."""

STORED = tuple(kind.model_fields["kind"].default for kind in _STORAGE)
"""The kinds whose storage can be stated once for a target."""


def is_in_repository(location: Location) -> bool:
    """Return whether a location is a key in the target's own repository."""
    field = _STORAGE.get(type(location))
    return field is not None and not getattr(location, field)


def storage_field(location: Location) -> str:
    """Return the name of the field that names a location's storage."""
    return _STORAGE[type(location)]


def repository_key(location: Location) -> Text:
    """Return the key of a location that is in the target's own repository."""
    return TEXTS.visit(location)[0][1]


LISTED = (S3Location, OssLocation, GcsLocation, AzureLocation, PluginLocation)
"""The kinds of locations that have many files below them."""

_PARTS = re.compile(r"(?P<deep>\*\*/)|(?P<all>\*\*)|(?P<name>\*)|(?P<one>\?)|(?P<set>\[)|.", re.S)
_SET = re.compile(r"\[(!?)([^]\[\\/^&~|]+)\]")
_SPECIAL = frozenset(".+*?()|[]{}^$\\")


class ListFiles(Variant):
    """List the files below a location, at any depth, without fetching them.

    The output `result` is the list of their keys, as the storage names them, in the order of their
    code points. The step fails if there is no file below the location.
    """

    kind: t.Literal["list_files"] = "list_files"
    at: Location
    pattern: str | None = None
    """Only those whose path below the location fits: see `pattern_expression`."""


def pattern_expression(pattern: str) -> str:
    r"""Return the regular expression of a pattern, as Python and Go read it, for a whole path."""
    made: list[str] = []
    position = 0
    while position < len(pattern):
        found = _PARTS.match(pattern, position)
        assert found is not None, "every character is some part"
        text, position = found.group(), found.end()
        match found.lastgroup:
            case "deep":
                made.append("(?:(?s:.)*/)?")
            case "all":
                made.append("(?s:.)*")
            case "name":
                made.append("[^/]*")
            case "one":
                made.append("[^/]")
            case "set":
                chosen = _SET.match(pattern, found.start())
                if chosen is None:
                    raise ValueError('"[" begins no set of characters, such as [a-z] or [!0-9]')
                made.append(f"[{'^/' if chosen[1] else ''}{chosen[2]}]")
                position = chosen.end()
            case _:
                made.append(f"\\{text}" if text in _SPECIAL else text)
    expression = "".join(made)
    try:
        re.compile(expression)
    except re.error as error:
        raise ValueError(f"a set of characters is none: {error.msg}") from error
    return expression


def fitting(paths: t.Iterable[str], pattern: str | None) -> list[str]:
    """Return the paths that fit a pattern."""
    if pattern is None:
        return list(paths)
    expression = re.compile(pattern_expression(pattern))
    return [path for path in paths if expression.fullmatch(path)]
