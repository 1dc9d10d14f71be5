"""Rules for environment variables, secrets, volumes and mounts."""

from __future__ import annotations

import posixpath
import re
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from couler.ir.diagnostics import did_you_mean
from couler.ir.pods import PodContainer
from couler.ir.storage import (
    ClaimVolume,
    ConfigKey,
    ConfigVolume,
    CsiVolume,
    EmptyVolume,
    EnvFrom,
    EnvVar,
    EphemeralVolume,
    HostVolume,
    Mount,
    NewClaimVolume,
    NfsVolume,
    ProjectedVolume,
    SecretKey,
    SecretVolume,
    SourceVolume,
    Volume,
)
from couler.ir.verify.names import (
    Add,
    check_label_name,
    check_object_name,
    repeated,
)
from couler.ir.verify.objects import check_object, fields_of
from couler.ir.verify.quantities import check_quantity
from couler.ir.verify.scope import ScopeView
from couler.ir.verify.values import Reader
from couler.ir.workflow import Step

RESERVED_VARIABLES = "COULER_"

_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def check_environment(reader: Reader, step: Step) -> None:
    """Check a step's environment variables."""
    view = reader.view
    check_variable_names(step.env, lambda code, text: view.add(code, step, text))
    for variable in step.env:
        check_one_source(variable, f"env.{variable.name}", reader.add)
    for source in step.env_from:
        _check_env_from(view, step, source)


def check_container_environment(reader: Reader, container: PodContainer) -> None:
    """Check the environment variables of another container of a step's pod."""
    view, step = reader.view, reader.step
    assert step is not None, "containers are those of steps"
    check_variable_names(container.env, reader.add)
    for variable in container.env:
        check_one_source(variable, f"{container.name}.env.{variable.name}", reader.add)
    for source in container.env_from:
        _check_env_from(view, step, source)


def check_variable_names(variables: Sequence[EnvVar], add: Add) -> None:
    """Check the names of environment variables."""
    for variable in variables:
        name = variable.name
        if _VARIABLE.fullmatch(name) is None:
            add(
                "CLR413",
                f'"{name}" is no name of an environment variable: letters, digits, "_", "-" and '
                '".", no digit first.',
            )
        elif name.startswith(RESERVED_VARIABLES):
            add(
                "CLR413",
                f'"{name}" is kept for Couler: choose a name that does not begin with '
                f'"{RESERVED_VARIABLES}".',
            )
    for name in repeated(variable.name for variable in variables):
        add("CLR151", f'the environment variable "{name}" is given twice. Remove one.')


def check_one_source(variable: EnvVar, field: str, add: Add) -> None:
    """Check that exactly one of value, secret and config is given."""
    given = [name for name in ("value", "secret", "config") if getattr(variable, name) is not None]
    if len(given) != 1:
        has = f"has {' and '.join(given)}" if given else "has no value"
        add("CLR414", f"{field} {has}. Give exactly one of value, secret and config.")
    if variable.secret is not None:
        check_secret_key(variable.secret, add)
    if variable.config is not None:
        check_config_key(variable.config, add)


def check_secret_key(key: SecretKey, add: Add) -> None:
    """Check the reference to an entry of a secret."""
    check_object_name(key.secret, "secret", add)
    _check_key(key, "secret", add)


def check_config_key(key: ConfigKey, add: Add) -> None:
    """Check the reference to an entry of a config map."""
    check_object_name(key.config_map, "config map", add)
    _check_key(key, "config map", add)


def _check_key(key: SecretKey | ConfigKey, what: str, add: Add) -> None:
    if _KEY.fullmatch(key.key) is None:
        add(
            "CLR411",
            f'"{key.key}" is no key of a {what}: letters, digits, "-", "_" and ".".',
        )


def _check_env_from(view: ScopeView, step: Step, source: EnvFrom) -> None:
    add = view.adder(step)

    if (source.secret is None) == (source.config_map is None):
        has = "has both" if source.secret is not None else "has neither"
        add("CLR414", f"env_from {has}. Give either a secret or a config map.")
    check_object_name(source.secret, "secret", add)
    check_object_name(source.config_map, "config map", add)
    if source.prefix and _VARIABLE.fullmatch(source.prefix) is None:
        add("CLR413", f'"{source.prefix}" cannot begin the name of an environment variable.')


def check_paths(view: ScopeView, step: Step) -> None:
    """Check the paths at which a step finds volumes and files."""
    taken = check_mounts(view, step, step.mounts)

    add = view.adder(step)

    for given in step.inputs:
        if given.path is not None:
            _take(taken, given.path, f'the input "{given.name}"', add)


def check_mounts(view: ScopeView, step: Step, mounts: Iterable[Mount]) -> dict[str, str]:
    """Check the paths at which a container finds volumes; return what is at each."""
    known = {volume.name: volume for volume in view.workflow.volumes}
    taken: dict[str, str] = {}

    add = view.adder(step)

    for mount in mounts:
        if mount.volume not in known:
            add(
                "CLR168",
                f'it mounts the volume "{mount.volume}", which the workflow does not declare.'
                f"{view.report.hint(mount.volume, known)}",
            )
        check_mount(mount, taken, add)
    return taken


def check_mount(mount: Mount, taken: dict[str, str], add: Add) -> None:
    """Check the path at which a container finds a volume, and note that it is taken."""
    if not mount.path.startswith("/") or ":" in mount.path:
        add(
            "CLR415",
            f'it mounts a volume at "{mount.path}", but that must be an absolute path without ":".',
        )
    sub_path = mount.sub_path
    if sub_path is not None and (sub_path.startswith("/") or ".." in sub_path.split("/")):
        add("CLR415", f'the sub_path "{sub_path}" leads out of the volume.')
    _take(taken, mount.path, f'the volume "{mount.volume}"', add)


def _take(taken: dict[str, str], path: str, what: str, add: Add) -> None:
    normal = posixpath.normpath(path)
    other = taken.setdefault(normal, what)
    if other is not what:
        add("CLR416", f'{what} and {other} are both at "{path}". Move one.')


def check_volume(volume: Volume, add: Add) -> None:
    """Check a volume of the workflow."""
    check_label_name(volume.name, "volume", add)
    match volume:
        case ClaimVolume():
            check_object_name(volume.claim, "volume claim", add)
        case NewClaimVolume() | EphemeralVolume():
            check_quantity(volume.size, f"size of the volume {volume.name}", add, bytes_=True)
            [known] = fields_of("PersistentVolumeClaimSpec")["accessModes"]
            for mode in volume.access_modes:
                if mode not in known["enum"]:
                    hint = did_you_mean(mode, known["enum"])
                    add("CLR421", f'"{mode}" is no access mode of the volume {volume.name}.{hint}')
            if not volume.access_modes:
                add("CLR421", f"the volume {volume.name} has no access mode. Name one.")
            check_object_name(volume.storage_class, "storage class", add)
        case EmptyVolume():
            if volume.size is not None:
                check_quantity(volume.size, f"size of the volume {volume.name}", add, bytes_=True)
        case SecretVolume():
            check_object_name(volume.secret, "secret", add)
            _check_items(volume, add)
        case ConfigVolume():
            check_object_name(volume.config_map, "config map", add)
            _check_items(volume, add)
        case HostVolume() | NfsVolume():
            if not volume.path.startswith("/"):
                add(
                    "CLR415",
                    f'the volume {volume.name} needs an absolute path, not "{volume.path}".',
                )
            if isinstance(volume, NfsVolume) and not volume.server.strip():
                add("CLR421", f"the volume {volume.name} names no server.")
        case CsiVolume():
            check_object_name(volume.driver, "driver", add)
            check_object_name(volume.secret, "secret", add)
        case ProjectedVolume():
            for source in volume.sources:
                _check_source(volume.name, source, "VolumeProjection", add)
        case SourceVolume():
            _check_source(volume.name, volume.source, "Volume", add)
        case _:
            t.assert_never(volume)


def _check_items(volume: SecretVolume | ConfigVolume, add: Add) -> None:
    for key, path in volume.items.items():
        if _KEY.fullmatch(key) is None:
            add("CLR411", f'"{key}" is no key: letters, digits, "-", "_" and ".".')
        if not path or path.startswith("/") or ".." in path.split("/"):
            add("CLR415", f'the path "{path}" leads out of the volume {volume.name}.')


def _check_source(name: str, source: Mapping[str, t.Any], kind: str, add: Add) -> None:
    """Check that a source of files is of one kind that Kubernetes has, and its fields."""
    if len(source) != 1:
        add("CLR421", f"a source of the volume {name} must have exactly one kind.")
    fields = {field: one for field, one in fields_of(kind).items() if field != "name"}
    for field, value in source.items():
        if field in fields:
            check_object(value, fields[field], f"volume {name}: {field}", add)
        else:
            hint = did_you_mean(field, fields)
            add("CLR421", f'"{field}" is no source of the volume {name}.{hint}')
