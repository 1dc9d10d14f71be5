"""Files outside of a workflow as inputs and outputs of the IR, with checks of their fields."""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t
from collections.abc import Mapping

from pydantic import ValidationError

from couler.dsl.checks import OptionError, attempt, shown
from couler.dsl.environment import text_of
from couler.dsl.handles import Value
from couler.dsl.locations import (
    FileRemoval,
    FileSettings,
    GitArtifact,
    HttpArtifact,
    LocatedFile,
    OAuth2,
    S3Encryption,
    When,
)
from couler.dsl.secrets import Secret
from couler.ir import artifacts as ir
from couler.ir.base import Node, freeze_json
from couler.ir.storage import ConfigKey, SecretKey
from couler.ir.values import ValueType
from couler.ir.workflow import Input, Output

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder
    from couler.dsl.scope import Scope


_OWN = {field.name for field in dataclasses.fields(LocatedFile)}
_TEXTS = {"key", "path", "blob", "url", "repository", "revision", "content", "security_token"}
_CREDENTIALS = {
    "access_key": "accessKey",
    "secret_key": "secretKey",
    "session_token": "sessionToken",
    "service_account_key": "serviceAccountKey",
    "account_key": "accountKey",
    "user": "user",
    "password": "password",
    "ssh_key": "sshKey",
    "certificate": "certificate",
    "certificate_key": "certificateKey",
}
"""Fields that can be given as text, and the entries of the secret that is made of them."""

NAMELESS = "output"
"""The name of an output whose file has none."""

_ELSEWHERE = {"is_global", "secret", "headers", "oauth2", "encryption"}


def located_input(
    scope: Scope,
    file: LocatedFile,
    name: str,
    step: str | None,
    *,
    path: str | None = None,
    as_type: ValueType | None = None,
) -> Input:
    """Return the input by which a step takes a file from outside; report what is wrong with it."""

    def make() -> Input:
        if file.removal is not None:
            raise OptionError(
                "removal is for files that a step puts somewhere; what lies there stays"
            )
        return Input(
            name=name,
            type=as_type or _type_of(file),
            path=path,
            at=location_of(scope, file),
            archive=_archive(file),
            optional=file.optional,
            mode=file.mode,
            recurse_mode=file.recurse_mode,
        )

    made = attempt(scope.builder, f"input {name}", make, step)
    path = path if path and path.strip() else None  # an empty one has been reported
    return made or Input(name=name, type="file", path=path, at=ir.RawLocation(content="unknown"))


def located_output(scope: Scope, file: LocatedFile, name: str, step: str) -> Output | None:
    """Return the output by which a step gives a file out; report what is wrong with it."""
    return attempt(
        scope.builder,
        "output" if name == NAMELESS else f"output {name}",
        lambda: kept_at(scope, Output(name=name, type=_type_of(file), path=_path_of(file)), file),
        step,
    )


def kept_at(scope: Scope, output: Output, file: LocatedFile) -> Output:
    """Return an output that is put at a location besides."""
    for name in ("mode", "recurse_mode"):
        if getattr(file, name):
            raise OptionError(f"{name} is for files that a step takes in")
    update = {
        "at": location_of(scope, file),
        "archive": _archive(file),
        "optional": file.optional,
        "removal": None if file.removal is None else removal_of(file.removal),
    }
    return Output.model_validate({**dict(output), **update})


def keep_outputs(
    scope: Scope, step: str, outputs: tuple[Output, ...], keep: object
) -> tuple[Output, ...]:
    """Return the outputs of a typed step, those among them that are to be kept somewhere."""
    files = [output.name for output in outputs if output.type in ("file", "directory")]
    places = keep if isinstance(keep, Mapping) else dict.fromkeys(files[:1], keep)
    unknown = [name for name in places if name not in files]
    if unknown or (not isinstance(keep, Mapping) and len(files) != 1):
        told = f"{unknown[0]!r} is no file" if unknown else f"it gives {len(files)} files, not one"
        known = f"; files are: {', '.join(files)}" if files else ""
        scope.builder.report("CLR105", f'step "{step}": keep: {told}{known}', step=step)
        return outputs
    kept = []
    for output in outputs:
        place = places.get(output.name)
        if place is not None and not isinstance(place, LocatedFile):
            told = f"keep: {place!r:.60} is no location, such as couler.S3Artifact"
            scope.builder.report("CLR105", f'step "{step}": {told}', step=step)
        elif place is not None:
            make = functools.partial(kept_at, scope, output, place)
            output = attempt(scope.builder, "keep", make, step) or output
        kept.append(output)
    return tuple(kept)


def location_of(scope: Scope, file: LocatedFile) -> ir.Location:
    """Return the location of the IR."""
    check_file(file)
    fields: dict[str, t.Any] = {}
    for one in dataclasses.fields(file):
        value = getattr(file, one.name)
        if one.name in _OWN or one.name in _ELSEWHERE or value is None:
            continue
        name = file._FIELDS.get(one.name, one.name)
        is_secret = name in _CREDENTIALS and file._KIND is not ir.HdfsLocation
        if isinstance(value, Value) and name not in _TEXTS and not is_secret:
            raise OptionError(_never_a_value(file, one.name, value))
        fields[name] = value
    if file._KEYED is not None and file._KEYED not in fields:
        fields[file._KEYED] = _default_key(file, file._KEYED)
    if file._KIND is ir.HdfsLocation:
        fields.setdefault("path", file.path)
    for name in _TEXTS & fields.keys():
        fields[name] = _text(scope, fields[name])
    _add_credentials(scope.builder, file, fields)
    if isinstance(file, HttpArtifact):
        _add_web(scope, file, fields)
    encryption = getattr(file, "encryption", None)
    if encryption is not None and encryption is not False:
        fields["encryption"] = _encryption(encryption)
    for name in ("addresses", "fetch"):
        if name in fields:
            fields[name] = texts_of(fields[name], name)
    if isinstance(fields.get("security_token"), str):
        raise OptionError(
            "security_token: a text is refused, as workflows hold no credentials. Take it from a "
            "parameter or a step"
        )
    if isinstance(file, GitArtifact) and file.archive is not None:
        raise OptionError("archive: a working tree of Git is in none")
    return make_location(file, fields)


def removal_of(given: object, *, whole: bool = False) -> ir.FileRemoval:
    """Return when files are removed, of a step or of a `whole` workflow."""
    removal = FileRemoval(t.cast("t.Any", given)) if isinstance(given, str) else given
    if not isinstance(removal, FileRemoval):
        raise OptionError(f"removal: {given!r:.60} is no couler.FileRemoval")
    if removal.on not in (None, *t.get_args(When)):
        told = shown(removal.on)
        raise OptionError(f"removal: {told} is none of {', '.join(map(repr, t.get_args(When)))}")
    fields: dict[str, t.Any] = {
        "on": removal.on,
        "service_account": removal.service_account,
        "labels": dict(removal.labels),
        "annotations": dict(removal.annotations),
    }
    if whole:
        patch = freeze_json(dict(removal.pod_spec_patch))
        return ir.RunFileRemoval(**fields, force=removal.force, pod_spec_patch=patch)
    if removal.force is not None or removal.pod_spec_patch:
        raise OptionError("removal: force and pod_spec_patch are for whole workflows")
    return ir.FileRemoval(**fields)


def settings_of(files: object) -> ir.FileSettings:
    """Return where the files of a workflow are kept."""
    if not isinstance(files, FileSettings):
        raise OptionError(f"{files!r:.60} is no couler.FileSettings")
    repository = None
    if files.config_map is not None or files.key is not None:
        repository = ir.RepositoryRef(config_map=files.config_map, key=files.key)
    removal = None if files.removal is None else removal_of(files.removal, whole=True)
    return ir.FileSettings(
        repository=repository,
        removal=t.cast("ir.RunFileRemoval | None", removal),
        keep_logs=files.keep_logs,
    )


def logs_of(scope: Scope, given: object) -> ir.LogSettings:
    """Return where the log of a step is kept."""
    if isinstance(given, bool):
        return ir.LogSettings(keep=given)
    if not isinstance(given, LocatedFile):
        raise OptionError(f"{given!r:.60} is neither True nor False nor a location")
    return ir.LogSettings(at=location_of(scope, given))


def _type_of(file: LocatedFile) -> ValueType:
    return "directory" if file.is_folder else "file"


def _path_of(file: LocatedFile) -> str:
    if not file.path or not file.path.strip():
        raise OptionError("it needs a path, at which the process writes it")
    return str(file.path)


def _archive(file: LocatedFile) -> ir.Archive | None:
    if file.archive == "tar":
        return ir.Tar(level=file.compression_level)
    if file.compression_level is not None:
        raise OptionError('compression_level is for archive="tar"')
    if file.archive == "zip":
        return ir.Zip()
    if file.archive is not None:
        raise OptionError(f'archive: {file.archive!r} is neither "tar" nor "zip"')
    return None


def _default_key(file: LocatedFile, field: str) -> str:
    if not file.path:
        raise OptionError(f"it needs a {field}, or a path to take it from")
    return str(file.path).lstrip("/")


def _never_a_value(file: LocatedFile, name: str, value: Value) -> str:
    """Return that a field which says where a storage is cannot wait for the run, and what can."""
    own = [one.name for one in dataclasses.fields(file) if one.name not in _OWN]
    may = [one for one in own if file._FIELDS.get(one, one) in _TEXTS]
    return (
        f"the {name} must be known when the workflow is built, and {value!r} is known only when it "
        f"runs. Values of the workflow can be given as: {', '.join(may)}"
    )


def _text(scope: Scope, value: object) -> t.Any:
    """Return a text of a location: plain, or a value of the workflow."""
    return scope.resolve(value) if isinstance(value, Value) else text_of(value)


def _add_credentials(builder: Builder, file: LocatedFile, fields: dict[str, t.Any]) -> None:
    secret = getattr(file, "secret", None)
    if secret is not None:
        if not isinstance(secret, str):
            raise OptionError(
                f"secret: a value of type {type(secret).__name__} is no name of a secret, whose "
                "entries are accessKey and secretKey"
            )
        if fields.keys() & {"access_key", "secret_key"}:
            raise OptionError("secret and the credentials themselves are given. Leave one out")
        for name in ("access_key", "secret_key"):
            fields[name] = SecretKey(secret=secret, key=_CREDENTIALS[name])
    keys = {"access_key", "secret_key"} & fields.keys()
    if len(keys) == 1:
        own = [name for name, of in file._FIELDS.items() if of in ("access_key", "secret_key")]
        raise OptionError(f"{' and '.join(own)} go together. Give both, or none")
    plain = {
        name: entry
        for name, entry in _CREDENTIALS.items()
        if isinstance(fields.get(name), str) and file._KIND is not ir.HdfsLocation
    }
    if not plain:
        return
    data = {entry: str(fields[name]) for name, entry in plain.items()}
    where = fields.get("bucket") or fields.get("container") or ""
    made = _secret_of(builder, f"couler-{file._KIND.model_fields['kind'].default}-{where}", data)
    for name, entry in plain.items():
        fields[name] = SecretKey(secret=made, key=entry)


def _secret_of(builder: Builder, base: str, data: Mapping[str, str]) -> str:
    """Return the name of a secret of the program that has these values; make it if need be."""
    stem = re.sub("[^a-z0-9]+", "-", base.lower()).strip("-")[:50]
    name, count = stem, 1
    while name in builder.secrets and builder.secrets[name].reveal() != data:
        count += 1
        name = f"{stem}-{count}"
    builder.secrets.setdefault(name, Secret(name, dict(data)))
    return name


def _add_web(scope: Scope, file: HttpArtifact, fields: dict[str, t.Any]) -> None:
    if not isinstance(file.headers, Mapping):
        raise OptionError(f"headers: {type(file.headers).__name__} is no dict of texts")
    if file.headers:
        if any(value is None for value in file.headers.values()):
            raise OptionError("headers: one of them is None. Leave it out")
        fields["headers"] = tuple(
            ir.HttpHeader(name=str(name), value=_text(scope, value))
            for name, value in file.headers.items()
        )
    for whole, cls, names in (
        ("basic", ir.BasicAuth, {"user": "user", "password": "password"}),
        (
            "client_certificate",
            ir.ClientCertificate,
            {"certificate": "certificate", "certificate_key": "key"},
        ),
    ):
        given = {key: fields.pop(name) for name, key in names.items() if name in fields}
        if given and len(given) != len(names):
            raise OptionError(f"{' and '.join(names)} go together")
        if given:
            check_keys(cls, given)
            fields[whole] = cls.model_validate(given)
    if file.oauth2 is not None:
        fields["oauth2"] = _oauth2(file.oauth2)


def _oauth2(given: object) -> ir.OAuth2:
    if not isinstance(given, OAuth2):
        raise OptionError(f"oauth2: a value of type {type(given).__name__} is no couler.OAuth2")
    fields = {
        "client_id": given.client_id,
        "client_secret": given.client_secret,
        "token_url": given.token_url,
        "scopes": texts_of(given.scopes, "scopes"),
        "parameters": dict(given.parameters),
    }
    check_keys(ir.OAuth2, fields)
    return ir.OAuth2.model_validate(fields)


def _encryption(given: object) -> ir.Encryption:
    if given is True:
        return ir.Encryption()
    if not isinstance(given, S3Encryption):
        raise OptionError(f"encryption: {given!r:.60} is neither True nor a couler.S3Encryption")
    context = freeze_json(dict(given.kms_context))
    fields = {
        "kms_key": given.kms_key,
        "kms_context": context,
        "customer_key": given.customer_key,
    }
    check_keys(ir.Encryption, fields)
    return ir.Encryption.model_validate(fields)


_KEYS: dict[type[SecretKey | ConfigKey], str] = {
    SecretKey: "an entry of a secret: couler.ir.storage.SecretKey(secret=..., key=...)",
    ConfigKey: "an entry of a config map: couler.ir.storage.ConfigKey(config_map=..., key=...)",
}
_FLAGS = ("directory", "optional", "recurse_mode")


def check_file(file: LocatedFile) -> None:
    """Refuse settings of a file that mean nothing, whatever its location."""
    for name in _FLAGS:
        if not isinstance(getattr(file, name), bool):
            raise OptionError(f"{name}: {getattr(file, name)!r:.60} is neither True nor False")
    if file.path is not None and not file.path.strip():
        raise OptionError("its path is empty. Say where the file is in the step, or leave it out")
    mode, level = file.mode, file.compression_level
    if mode is not None and (type(mode) is not int or not 0 <= mode <= 0o777):
        raise OptionError(f"mode: {mode!r:.60} are no permissions; write them as in 0o600")
    if level is not None and (type(level) is not int or not 0 <= level <= 9):
        raise OptionError(f"compression_level: {level!r:.60} is no number from 0 to 9")


def make_location(file: LocatedFile, fields: Mapping[str, t.Any]) -> ir.Location:
    """Return the location of the IR that has these fields."""
    cls = file._KIND
    for name, field in cls.model_fields.items():
        if field.is_required() and name != "kind" and name not in fields:
            raise OptionError(f"it needs {_called(file, name)}")
    for name, value in fields.items():
        _check_key(cls, name, value, _called(file, name))
    try:
        return cls.model_validate(dict(fields))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        name, *inner = map(str, problem["loc"])
        place = ".".join((_called(file, name), *inner))
        raise OptionError(f"{place}: {problem['msg']}") from error


def check_keys(cls: type[Node], fields: Mapping[str, t.Any]) -> None:
    """Refuse a text, or anything else, where a part of a location takes an entry of a secret."""
    for name, value in fields.items():
        _check_key(cls, name, value, name)


def texts_of(value: object, name: str) -> tuple[str, ...]:
    """Return a list of texts, of which one may stand alone."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise OptionError(f"{name}: {value!r:.60} is no list of texts")


def _called(file: LocatedFile, name: str) -> str:
    """Return the name that programs have for a field of the IR."""
    return next((own for own, of in file._FIELDS.items() if of == name), name)


def _check_key(cls: type[Node], name: str, value: object, called: str) -> None:
    field = cls.model_fields.get(name)
    if field is None or value is None:
        return
    for key, what in _KEYS.items():
        if key.__name__ in str(field.annotation) and not isinstance(value, key):
            raise OptionError(f"{called}: a value of type {type(value).__name__} is not {what}")
