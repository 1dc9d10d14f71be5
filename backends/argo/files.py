"""Files as Argo's artifacts: where they are, how they are packed, when they are removed."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable, Iterable, Iterator, Sequence, Set as AbstractSet

from couler.backends.argo import pods
from couler.backends.argo.pods import Tree
from couler.backends.argo.scope import ScopeView
from couler.backends.argo.tags import Tagged, quote, tag, variable
from couler.ir.artifacts import (
    Archive,
    ArtifactoryLocation,
    AzureLocation,
    FileRemoval,
    FileSettings,
    GcsLocation,
    GitLocation,
    HdfsLocation,
    HttpLocation,
    Location,
    OssLocation,
    PluginLocation,
    RawLocation,
    RunFileRemoval,
    S3Location,
    Zip,
    is_in_repository,
)
from couler.ir.storage import ConfigKey, SecretKey
from couler.ir.values import TEXTS, ParamRef, StepRef, Text, is_file, thawed
from couler.ir.workflow import Group, Input, Output, Step

AWS = "s3.amazonaws.com"
"""The endpoint of a bucket that names none; without one Argo would look into its own bucket."""

_STRATEGIES = {
    "completion": "OnWorkflowCompletion",
    "deletion": "OnWorkflowDeletion",
    "never": "Never",
}

Say: t.TypeAlias = Callable[[str], str]
"""Returns the text for the field of a location."""


def kept_holes(step: Step) -> Iterator[tuple[str, Text]]:
    """Yield the texts of where outputs and the log are kept, with their names in the template."""
    for output in step.outputs:
        if output.at is not None:
            for field, text in TEXTS.visit(output.at):
                yield output_text(output, field), text
    if step.logs is not None and step.logs.at is not None:
        for field, text in TEXTS.visit(step.logs.at):
            yield log_text(field), text


def input_text(given: Input, field: str) -> str:
    """Return the name of a text in the location of an input."""
    return f"couler_at_{given.name}_{field}"


def output_text(output: Output, field: str) -> str:
    """Return the name of a text in the location of an output."""
    return f"couler_kept_{output.name}_{field}"


def log_text(field: str) -> str:
    """Return the name of a text in the location of a log."""
    return f"couler_log_{field}"


def location(where: Location, say: Say) -> Tree:
    """Return the fields of an artifact that tell where it is."""
    if is_in_repository(where):
        [(field, _), *_] = TEXTS.visit(where)
        return {"s3": {"key": say(field)}}
    return {where.kind: _without_nothing(_fields(where, say))}


def archive(packed: Archive | None) -> Tree:
    """Return how a file is packed, which Argo would otherwise decide by itself."""
    if packed is None:
        return {"none": {}}
    if isinstance(packed, Zip):
        return {"zip": {}}
    return {"tar": {} if packed.level is None else {"compressionLevel": packed.level}}


def removal(wanted: FileRemoval) -> Tree:
    """Return when files are removed, and by what pod."""
    tree: Tree = {
        "strategy": None if wanted.on is None else _STRATEGIES[wanted.on],
        "serviceAccountName": wanted.service_account,
        "podMetadata": pods.metadata(wanted.labels.items(), wanted.annotations.items()),
    }
    if isinstance(wanted, RunFileRemoval):
        tree["forceFinalizerRemoval"] = wanted.force
        tree["podSpecPatch"] = _json(wanted.pod_spec_patch)
    return _without_nothing(tree)


def settings(files: FileSettings) -> Tree:
    """Return the fields of a workflow's spec that are about its files."""
    tree: Tree = {"archiveLogs": files.keep_logs}
    if files.removal is not None:
        tree["artifactGC"] = removal(files.removal)
    if files.repository is not None:
        ref = {"configMap": files.repository.config_map, "key": files.repository.key}
        tree["artifactRepositoryRef"] = _without_nothing(ref)
    return _without_nothing(tree)


def archive_location(step: Step, say: Callable[[str], str]) -> Tree:
    """Return where a step's log is kept; nothing where the workflow decides."""
    if step.logs is None:
        return {}
    tree: Tree = {"archiveLogs": step.logs.keep}
    if step.logs.at is not None:
        tree.update(location(step.logs.at, lambda field: say(log_text(field))))
    return {"archiveLocation": tree}


def _fields(where: Location, say: Say) -> Tree:
    match where:
        case S3Location():
            return _s3(where, say)
        case OssLocation():
            return _oss(where, say)
        case GcsLocation():
            key = _key(where.service_account_key)
            return {"bucket": where.bucket, "key": say("key"), "serviceAccountKeySecret": key}
        case HdfsLocation():
            return _hdfs(where, say)
        case GitLocation():
            return _git(where, say)
        case AzureLocation():
            return {
                "endpoint": where.endpoint,
                "container": where.container,
                "blob": say("blob"),
                "accountKeySecret": _key(where.account_key),
                "useSDKCreds": where.use_sdk_credentials,
            }
        case HttpLocation():
            return _http(where, say)
        case ArtifactoryLocation():
            return {
                "url": say("url"),
                "usernameSecret": _key(where.user),
                "passwordSecret": _key(where.password),
            }
        case RawLocation():
            return {"data": say("content")}
        case PluginLocation():
            return {
                "name": where.name,
                "key": say("key"),
                "configuration": where.configuration,
                "connectionTimeoutSeconds": where.timeout_s,
            }
    t.assert_never(where)


def _s3(where: S3Location, say: Say) -> Tree:
    encryption = where.encryption
    tree: Tree = {
        "endpoint": where.endpoint or AWS,
        "bucket": where.bucket,
        "region": where.region,
        "key": say("key"),
        "insecure": where.insecure,
        "accessKeySecret": _key(where.access_key),
        "secretKeySecret": _key(where.secret_key),
        "sessionTokenSecret": _key(where.session_token),
        "roleARN": where.role_arn,
        "useSDKCreds": where.use_sdk_credentials,
        "caSecret": _key(where.ca),
    }
    if where.create_bucket:
        tree["createBucketIfNotPresent"] = {"objectLocking": bool(where.object_locking)}
    if encryption is not None:
        encrypted = {
            "enableEncryption": True,
            "kmsKeyId": encryption.kms_key,
            "kmsEncryptionContext": _json(encryption.kms_context),
            "serverSideCustomerKeySecret": _key(encryption.customer_key),
        }
        tree["encryptionOptions"] = _without_nothing(encrypted)
    return tree


def _oss(where: OssLocation, say: Say) -> Tree:
    lifecycle = {
        "markDeletionAfterDays": where.delete_after_days,
        "markInfrequentAccessAfterDays": where.infrequent_access_after_days,
    }
    return {
        "endpoint": where.endpoint,
        "bucket": where.bucket,
        "key": say("key"),
        "accessKeySecret": _key(where.access_key),
        "secretKeySecret": _key(where.secret_key),
        "securityToken": None if where.security_token is None else say("security_token"),
        "useSDKCreds": where.use_sdk_credentials,
        "createBucketIfNotPresent": where.create_bucket,
        "lifecycleRule": _without_nothing(lifecycle),
    }


def _hdfs(where: HdfsLocation, say: Say) -> Tree:
    return {
        "addresses": list(where.addresses),
        "path": say("path"),
        "hdfsUser": where.user,
        "force": where.force,
        "dataTransferProtection": where.data_transfer_protection,
        "krbCCacheSecret": _key(where.kerberos_cache),
        "krbKeytabSecret": _key(where.kerberos_keytab),
        "krbUsername": where.kerberos_user,
        "krbRealm": where.kerberos_realm,
        "krbConfigConfigMap": _key(where.kerberos_config),
        "krbServicePrincipalName": where.kerberos_service,
    }


def _git(where: GitLocation, say: Say) -> Tree:
    return {
        "repo": say("repository"),
        "revision": None if where.revision is None else say("revision"),
        "branch": where.branch,
        "singleBranch": None if where.branch is None else True,
        "depth": where.depth,
        "fetch": list(where.fetch),
        "disableSubmodules": None if where.submodules else True,
        "usernameSecret": _key(where.user),
        "passwordSecret": _key(where.password),
        "sshPrivateKeySecret": _key(where.ssh_key),
        "insecureIgnoreHostKey": where.insecure_ignore_host_key or None,
        "insecureSkipTLS": where.insecure_skip_tls or None,
    }


def _http(where: HttpLocation, say: Say) -> Tree:
    auth: Tree = {}
    if where.basic is not None:
        auth["basicAuth"] = {
            "usernameSecret": _key(where.basic.user),
            "passwordSecret": _key(where.basic.password),
        }
    if where.client_certificate is not None:
        auth["clientCert"] = {
            "clientCertSecret": _key(where.client_certificate.certificate),
            "clientKeySecret": _key(where.client_certificate.key),
        }
    if where.oauth2 is not None:
        parameters = where.oauth2.parameters.items()
        oauth2 = {
            "clientIDSecret": _key(where.oauth2.client_id),
            "clientSecretSecret": _key(where.oauth2.client_secret),
            "tokenURLSecret": _key(where.oauth2.token_url),
            "scopes": list(where.oauth2.scopes),
            "endpointParams": [{"key": name, "value": value} for name, value in parameters],
        }
        auth["oauth2"] = _without_nothing(oauth2)
    headers = [
        {"name": header.name, "value": say(f"header_{index}")}
        for index, header in enumerate(where.headers)
    ]
    return {"url": say("url"), "headers": headers, "auth": auth}


def _key(key: SecretKey | ConfigKey | None) -> Tree | None:
    """Return the selector of an entry."""
    if key is None:
        return None
    name = key.secret if isinstance(key, SecretKey) else key.config_map
    tree: Tree = {"name": name, "key": key.key}
    return {**tree, "optional": True} if key.optional else tree


def _json(value: t.Any) -> str | None:
    return json.dumps(thawed(value), ensure_ascii=False, sort_keys=True) if value else None


def _without_nothing(tree: Tree) -> Tree:
    """Return the fields that say something; false does."""
    return {name: value for name, value in tree.items() if value is False or value}


AT = "couler_at"
"""Input of a template: the location below which its files are kept."""

INDEX = "couler_i"
"""Input of a template under a foreach, and key of an item: the position of the item."""


def is_location(view: ScopeView, value: StepRef) -> bool:
    """Return whether a reference is to a file whose place follows from the names alone."""
    producer = view.steps.get(value.step)
    if producer is None or producer.foreach is not None or producer.loop is not None:
        return False
    output = view.output(value)
    return is_file(output.type) and output.value is None


def location_of(view: ScopeView, below: str, value: StepRef) -> Tagged:
    """Return where a run puts a file that a process of a scope keeps, with tags in it."""
    if view.owner is not None and is_item_wrapper(view.owner):
        index = variable(f"inputs.parameters.{INDEX}")
        return Tagged(f"{below}/{value.output}/{index}")
    return Tagged(f"{below}/{value.step}/{value.output}")


def location_expression(location: str, term: Callable[[Sequence[str]], str]) -> str:
    """Return an expression for a location, which holds tags of its own."""
    parts: list[str] = []
    rest = location
    while rest:
        before, opening, behind = rest.partition("{{")
        if before:
            parts.append(quote(before))
        if not opening:
            break
        inner, _, rest = behind.partition("}}")
        parts.append(term(inner.split(".")))
    joined = " + ".join(parts).replace("' + '", "")  # literals side by side
    return f"({joined})" if " + " in joined else joined


def keeps_files(step: Step) -> bool:
    """Return whether a process keeps a file, or one inside of a group."""
    if isinstance(step.action, Group):
        return any(map(keeps_files, step.action.steps))
    return any(True for _ in file_outputs(step))


def file_outputs(step: Step) -> Iterator[Output]:
    """Yield the outputs that a process keeps in the repository, under a key of our own."""
    return (output for output in step.outputs if is_file(output.type) and output.at is None)


def is_item_wrapper(step: Step) -> bool:
    """Return whether a step is the group that `lower` makes around the one step of a foreach."""
    return (
        step.foreach is not None
        and isinstance(step.action, Group)
        and step.action.transparent
        and len(step.action.steps) == 1
    )


def unwrapped(step: Step) -> Step:
    """Return the step that the groups are around which `lower` makes of one step; or itself."""
    while (
        isinstance(step.action, Group)
        and step.action.transparent
        and step.foreach is None
        and step.loop is None
        and len(step.action.steps) == 1
    ):
        [step] = step.action.steps
    return step


_NOTHING = "couler-nothing"
"""Input of the template of a scope."""

_EMPTY_ZIP = "PK\x05\x06" + 18 * "\0"
"""The one archive that is text in UTF-8, as an artifact in the manifest has to be."""


def can_be_empty(value: Text | None, view: ScopeView, given: AbstractSet[str]) -> bool:
    """Return whether the folder that a reader is given can be one without files."""
    from couler.ir.ranges import is_known, known_items

    if isinstance(value, ParamRef):
        return value.name in given
    if not isinstance(value, StepRef) or value.step not in view.steps:
        return False
    foreach = unwrapped(view.steps[value.step]).foreach
    if foreach is None:
        return False
    # The lists are of one length, else there are no items and no files, and the run fails.
    return not any(is_known(items) and known_items(items) for items in foreach.over.values())


def empty_folder_argument(name: str, condition: str) -> Tree:
    """Return the argument for an input of files, which Argo leaves out where there are any."""
    wanted = tag(f"{condition} ? 'inputs.artifacts.{_NOTHING}' : 'none'")
    return {"name": name, "optional": True, "from": wanted}


def empty_folder_input(tasks: Iterable[Tree]) -> Tree:
    """Return the input artifacts of the template of a scope, where tasks of it need that."""
    arguments = (task.get("arguments") or {} for task in tasks)
    if not any("from" in given for one in arguments for given in one.get("artifacts") or ()):
        return {}
    nothing = {"name": _NOTHING, "raw": {"data": _EMPTY_ZIP}, "archive": {"zip": {}}}
    return {"artifacts": [nothing]}
