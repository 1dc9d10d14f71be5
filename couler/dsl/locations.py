"""Files outside of a workflow, as programs name them: objects of S3, Git, URLs and more."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from couler.dsl._context import ProgramError
from couler.dsl.checks import shown
from couler.ir import artifacts as ir
from couler.ir.storage import ConfigKey, SecretKey

Credential: t.TypeAlias = SecretKey | str | None
"""An entry of a secret that exists, or plain text, which becomes an entry of a secret of the
program: workflows hold references only."""

When: t.TypeAlias = t.Literal["completion", "deletion", "never"]


@dataclass(frozen=True, slots=True)
class FileRemoval:
    """When a kept file is removed.

    Attributes
    ----------
    on
        `completion` or `deletion` of the run, or `never`.
    service_account
        Account of the pod that removes it.
    labels, annotations
        Of that pod.
    force
        For a whole workflow: a run can be deleted although its files could not be.
    pod_spec_patch
        For a whole workflow: merged into the specification of that pod.
    """

    on: When | None = None
    service_account: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    force: bool | None = None
    pod_spec_patch: Mapping[str, t.Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileSettings:
    """Where the files of a workflow are kept, and for how long.

    Attributes
    ----------
    config_map, key
        The entry of a config map that describes the repository of files; None for the target's.
    removal
        When the files of a run are removed.
    keep_logs
        Whether the steps' logs are kept with the files.
    """

    config_map: str | None = None
    key: str | None = None
    removal: FileRemoval | When | None = None
    keep_logs: bool | None = None


@dataclass(frozen=True)
class LocatedFile:
    """What all files outside of a workflow have in common; programs make those of a kind.

    Attributes
    ----------
    path
        Where the process finds or writes the file; relative paths start at `COULER_WORK`.
        It can be left out for what a step takes in.
    directory
        It is a folder with all that is in it.
    archive
        How it is packed outside: `tar` or `zip`. Steps see it unpacked.
    compression_level
        Of a tar archive, 0 to 9.
    optional
        It need not be there, or the process need not write it.
    mode
        Permissions of the copy that a step takes in, such as `0o600`.
    recurse_mode
        All that is in a folder has these permissions.
    removal
        When what a step gave out is removed.
    name
        Name of the output; by default that of the file.
    """

    path: str | None = None
    directory: bool = field(default=False, kw_only=True)
    archive: t.Literal["tar", "zip"] | None = field(default=None, kw_only=True)
    compression_level: int | None = field(default=None, kw_only=True)
    optional: bool = field(default=False, kw_only=True)
    mode: int | None = field(default=None, kw_only=True)
    recurse_mode: bool = field(default=False, kw_only=True)
    removal: FileRemoval | When | None = field(default=None, kw_only=True)
    name: str | None = field(default=None, kw_only=True)

    _KIND: t.ClassVar[type[ir.Location]]
    """What it is in the IR."""

    _FIELDS: t.ClassVar[Mapping[str, str]] = {}
    """Fields that have another name in the IR."""

    _KEYED: t.ClassVar[str | None] = None
    """The text that is by default the path without the slash before it."""

    def __post_init__(self) -> None:
        """Take a path of `pathlib` as text; refuse what is none where the program names it."""
        path: object = self.path
        if isinstance(path, os.PathLike):
            object.__setattr__(self, "path", os.fspath(path))
        elif path is not None and not isinstance(path, str):
            raise ProgramError(
                "CLR105",
                f"{type(self).__name__}: its path is {shown(path)}, which is no path of a file "
                "in the step; give it as text",
            )

    @property
    def is_folder(self) -> bool:
        """Whether the steps see a folder."""
        return self.directory


_ACCESS_KEYS = {"accesskey_id": "access_key", "accesskey_secret": "secret_key"}


@dataclass(frozen=True)
class S3Artifact(LocatedFile):
    """An object of S3, or of a store that speaks its language.

    Attributes
    ----------
    accesskey_id, accesskey_secret, session_token
        Credentials: entries of secrets, or text.
    bucket, endpoint, region
        Where; the endpoint is host and port, that of AWS by default.
    key
        The object, or the prefix of a folder; by default the path.
    is_global
        Kept for programs of the ancestor.
    insecure
        Use plain HTTP.
    secret
        Name of a secret whose entries `accessKey` and `secretKey` are the credentials.
    role_arn, use_sdk_credentials
        Be let in by a role, or by what the pod is given.
    ca
        The entry of a secret with the certificates that are trusted.
    create_bucket, object_locking
        Make the bucket if it is not there, with locks on its objects.
    encryption
        Encrypt by S3's own key (True) or by another.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("copy") as wf:
    ...     copied = couler.run_container(
    ...         "busybox", ["cp", "in.csv", "out.csv"], working_dir=".",
    ...         input=couler.S3Artifact("in.csv", bucket="data", key="raw/in.csv"),
    ...         output=couler.S3Artifact("out.csv", bucket="data", key="clean/out.csv"))
    """

    accesskey_id: Credential = None
    accesskey_secret: Credential = None
    bucket: str | None = None
    key: object = None
    endpoint: str | None = None
    is_global: bool = False
    insecure: bool | None = None
    region: str | None = field(default=None, kw_only=True)
    secret: str | None = field(default=None, kw_only=True)
    session_token: Credential = field(default=None, kw_only=True)
    role_arn: str | None = field(default=None, kw_only=True)
    use_sdk_credentials: bool | None = field(default=None, kw_only=True)
    ca: SecretKey | None = field(default=None, kw_only=True)
    create_bucket: bool | None = field(default=None, kw_only=True)
    object_locking: bool | None = field(default=None, kw_only=True)
    encryption: S3Encryption | bool | None = field(default=None, kw_only=True)

    _KIND = ir.S3Location
    _FIELDS: t.ClassVar[Mapping[str, str]] = _ACCESS_KEYS
    _KEYED = "key"


@dataclass(frozen=True, slots=True)
class S3Encryption:
    """A key of KMS, with its context, or the entry of a secret with one's own key."""

    kms_key: str | None = None
    kms_context: Mapping[str, t.Any] = field(default_factory=dict)
    customer_key: SecretKey | None = None


@dataclass(frozen=True)
class OssArtifact(LocatedFile):
    """An object of Alibaba's OSS.

    Attributes
    ----------
    accesskey_id, accesskey_secret, bucket, key, endpoint, is_global, secret, \
    use_sdk_credentials, create_bucket
        As for `S3Artifact`; the endpoint has no default.
    security_token
        A temporary token: a value of the workflow, never text.
    delete_after_days, infrequent_access_after_days
        Rules for the life of the object.
    """

    accesskey_id: Credential = None
    accesskey_secret: Credential = None
    bucket: str | None = None
    key: object = None
    endpoint: str | None = None
    is_global: bool = False
    secret: str | None = field(default=None, kw_only=True)
    security_token: object = field(default=None, kw_only=True)
    use_sdk_credentials: bool | None = field(default=None, kw_only=True)
    create_bucket: bool | None = field(default=None, kw_only=True)
    delete_after_days: int | None = field(default=None, kw_only=True)
    infrequent_access_after_days: int | None = field(default=None, kw_only=True)

    _KIND = ir.OssLocation
    _FIELDS: t.ClassVar[Mapping[str, str]] = _ACCESS_KEYS
    _KEYED = "key"


@dataclass(frozen=True)
class GcsArtifact(LocatedFile):
    """An object of Google Cloud Storage; `service_account_key` is JSON."""

    bucket: str | None = None
    key: object = None
    service_account_key: Credential = None

    _KIND = ir.GcsLocation
    _KEYED = "key"


@dataclass(frozen=True)
class HdfsArtifact(LocatedFile):
    """A file of HDFS.

    Attributes
    ----------
    hdfs_path
        The file; by default the path.
    addresses
        Name nodes: host and port.
    user
        As whom, where Kerberos is not used.
    force
        Replace a file that is there.
    data_transfer_protection
        `authentication`, `integrity` or `privacy`.
    kerberos_cache, kerberos_keytab, kerberos_user, kerberos_realm, kerberos_config, \
    kerberos_service
        Credentials of Kerberos, and the principal of the name nodes.
    """

    addresses: Sequence[str] = ()
    hdfs_path: object = None
    user: str | None = None
    force: bool | None = field(default=None, kw_only=True)
    data_transfer_protection: str | None = field(default=None, kw_only=True)
    kerberos_cache: SecretKey | None = field(default=None, kw_only=True)
    kerberos_keytab: SecretKey | None = field(default=None, kw_only=True)
    kerberos_user: str | None = field(default=None, kw_only=True)
    kerberos_realm: str | None = field(default=None, kw_only=True)
    kerberos_config: ConfigKey | None = field(default=None, kw_only=True)
    kerberos_service: str | None = field(default=None, kw_only=True)

    _KIND = ir.HdfsLocation
    _FIELDS: t.ClassVar[Mapping[str, str]] = {"hdfs_path": "path"}


@dataclass(frozen=True)
class GitArtifact(LocatedFile):
    """The working tree of a Git repository, which is a folder.

    Attributes
    ----------
    repo
        Its address.
    revision
        Commit, tag or branch; by default the repository's own branch.
    branch
        The only branch that is fetched.
    depth
        How many commits of the history.
    fetch
        Further refs that are fetched.
    submodules
        Whether they are fetched, too.
    user, password, ssh_key
        Credentials: entries of secrets, or text.
    insecure_ignore_host_key, insecure_skip_tls
        Trust every server.

    Examples
    --------
    >>> import couler
    >>> source = couler.GitArtifact("/src", repo="https://git.example.org/app.git", revision="v2")
    >>> with couler.Workflow("tests") as wf:
    ...     test = couler.run_container("golang", ["go", "test"], input=source, working_dir="/src")
    """

    repo: object = None
    revision: object = None
    branch: str | None = field(default=None, kw_only=True)
    depth: int | None = field(default=None, kw_only=True)
    fetch: Sequence[str] = field(default=(), kw_only=True)
    submodules: bool = field(default=True, kw_only=True)
    user: Credential = field(default=None, kw_only=True)
    password: Credential = field(default=None, kw_only=True)
    ssh_key: Credential = field(default=None, kw_only=True)
    insecure_ignore_host_key: bool = field(default=False, kw_only=True)
    insecure_skip_tls: bool = field(default=False, kw_only=True)

    _KIND = ir.GitLocation
    _FIELDS: t.ClassVar[Mapping[str, str]] = {"repo": "repository"}

    @property
    def is_folder(self) -> bool:
        """A working tree is a folder."""
        return True


@dataclass(frozen=True)
class AzureArtifact(LocatedFile):
    """A blob of Azure; `endpoint` is the URL of the account."""

    container: str | None = None
    blob: object = None
    endpoint: str | None = None
    account_key: Credential = None
    use_sdk_credentials: bool | None = field(default=None, kw_only=True)

    _KIND = ir.AzureLocation
    _KEYED = "blob"


@dataclass(frozen=True, slots=True)
class OAuth2:
    """A token by client credentials: entries of secrets, scopes, further parameters."""

    client_id: SecretKey
    client_secret: SecretKey
    token_url: SecretKey
    scopes: Sequence[str] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HttpArtifact(LocatedFile):
    """What a URL gives to GET or takes by PUT.

    Attributes
    ----------
    url
        The URL.
    headers
        Headers of the request: text or values of the workflow.
    user, password
        Credentials of HTTP: entries of secrets, or text.
    certificate, certificate_key
        A certificate of the client and its key.
    oauth2
        How to get a token.
    """

    url: object = None
    headers: Mapping[str, object] = field(default_factory=dict, kw_only=True)
    user: Credential = field(default=None, kw_only=True)
    password: Credential = field(default=None, kw_only=True)
    certificate: Credential = field(default=None, kw_only=True)
    certificate_key: Credential = field(default=None, kw_only=True)
    oauth2: OAuth2 | None = field(default=None, kw_only=True)

    _KIND = ir.HttpLocation


@dataclass(frozen=True)
class ArtifactoryArtifact(LocatedFile):
    """A file of JFrog Artifactory; `user` and `password` are entries of secrets, or text."""

    url: object = None
    user: Credential = None
    password: Credential = None

    _KIND = ir.ArtifactoryLocation


@dataclass(frozen=True)
class RawArtifact(LocatedFile):
    """A file whose content is a text, or a value of the workflow."""

    data: object = None

    _KIND = ir.RawLocation
    _FIELDS: t.ClassVar[Mapping[str, str]] = {"data": "content"}


@dataclass(frozen=True)
class PluginArtifact(LocatedFile):
    """A file that a plugin of the engine fetches or keeps.

    Attributes
    ----------
    plugin
        Name of the plugin.
    key
        What the plugin calls the file; by default the path.
    configuration
        Text for the plugin.
    timeout
        For the connection to it, in seconds.
    """

    plugin: str | None = None
    key: object = None
    configuration: str | None = None
    timeout: int | None = field(default=None, kw_only=True)

    _KIND = ir.PluginLocation
    _FIELDS: t.ClassVar[Mapping[str, str]] = {"plugin": "name", "timeout": "timeout_s"}
    _KEYED = "key"


def create_s3_artifact(
    path: str,
    bucket: str | None = None,
    accesskey_id: Credential = None,
    accesskey_secret: Credential = None,
    key: object = None,
    endpoint: str | None = None,
    is_global: bool = False,
    insecure: bool | None = None,
) -> S3Artifact:
    """Return an object of S3; the ancestor's way to write `S3Artifact`."""
    return S3Artifact(
        path, accesskey_id, accesskey_secret, bucket, key, endpoint, is_global, insecure
    )


def create_oss_artifact(
    path: str,
    bucket: str | None = None,
    accesskey_id: Credential = None,
    accesskey_secret: Credential = None,
    key: object = None,
    endpoint: str | None = None,
    is_global: bool = False,
) -> OssArtifact:
    """Return an object of OSS; the ancestor's way to write `OssArtifact`."""
    return OssArtifact(path, accesskey_id, accesskey_secret, bucket, key, endpoint, is_global)
