"""What a target can choose of a DAG file."""

from __future__ import annotations

import re
import typing as t

from couler.backends.airflow.versions import NEWEST, OLDEST, Version
from couler.backends.base import Target
from couler.errors import EngineOptionError
from couler.ir.artifacts import Location, is_in_repository
from couler.ir.defaults import read_storage
from couler.ir.diagnostics import did_you_mean
from couler.ir.verify.names import image_problem, is_qualified, is_subdomain

_IMAGES = ("helper_image", "io_image")
_NEVER_EMPTY = (*_IMAGES, "files_claim", "files_store", "gpu_type_label")
_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_NO_NAME = '"{}" is no name of a {}: lower-case letters, digits and "-", as Kubernetes has them'


class Options(t.NamedTuple):
    """The options of a target."""

    helper_image: str = "busybox:1.37-musl"
    """An image with a static busybox at /bin/busybox, whose tools hand outputs on."""
    files_claim: str | None = None
    """A persistent volume claim that pods of all nodes can write, which keeps files."""
    files_store: Location | None = None
    """The storage that keeps files where there is no such claim."""
    files_path: str = ""
    """The folder, or the key, below which they are kept."""
    io_image: str | None = None
    """An image with Couler and git, which fetches files from elsewhere and puts them there."""
    gpu_type_label: str = "nvidia.com/gpu.product"
    """Label of nodes that names the type of their GPUs, as NVIDIA's feature discovery sets it."""
    connections: str = ""
    """Names of secrets that are connections of Airflow, with commas between them."""
    image: str = ""
    """Name of the images that `couler image` describes; their tags are added."""
    code: str = ""
    """How modules of the project come to steps: `couler.ir.code_files.place_code` reads it."""
    namespace: str | None = None
    """Where the pods run; None for that of Airflow's connection."""
    version: Version = NEWEST
    """Version of Airflow that the files are for."""


def options(target: Target) -> Options:
    """Read the options of a target."""
    known = set(Options._fields) - {"namespace", "version"}
    for name in target.options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise EngineOptionError(
                f"airflow has no option {name!r}; it has: {', '.join(sorted(known))}.{hint}"
            )
        _check(name, target.options[name])
    if target.namespace is not None and not _NAMESPACE.fullmatch(target.namespace):
        raise EngineOptionError(f"airflow: {_NO_NAME.format(target.namespace, 'namespace')}")
    version = _version(target.engine_version)
    given = {name: one for name, one in target.options.items() if name != "files_store"}
    store = _store(target)
    return Options(namespace=target.namespace, version=version, files_store=store, **given)


def _check(name: str, value: str) -> None:
    """Check the value of an option by itself."""
    problem = None
    if name in _NEVER_EMPTY and not value.strip():
        problem = "it is empty. Leave the option out, or give it a value"
    elif name in _IMAGES:
        problem = image_problem(value)
    elif name == "files_claim" and not is_subdomain(value):
        problem = _NO_NAME.format(value, "persistent volume claim")
    elif name == "gpu_type_label" and not is_qualified(value):
        problem = f'"{value}" is no label of nodes, such as nvidia.com/gpu.product'
    elif name == "files_path" and not {".", ".."}.isdisjoint(value.split("/")):
        problem = f'"{value}" is no folder inside of the place for files. Leave . and .. out'
    if problem is not None:
        raise EngineOptionError(f"airflow: {name}: {problem}")


def _store(target: Target) -> Location | None:
    """Return the storage that files are kept in: that which is named, or the only one."""
    named = target.options.get("files_store")
    kinds = [kind for kind in target.storages if kind != "plugin"]
    if named is None:
        kinds = kinds if len(kinds) == 1 else []
    elif named not in kinds:
        raise EngineOptionError(
            f"airflow: files_store={named} is none of the storages that are stated for the target"
            f"{': ' + ', '.join(kinds) if kinds else ', which are none'}"
        )
    else:
        kinds = [named]
    for kind in kinds:
        store = read_storage(kind, target.storages[kind])
        if not is_in_repository(store):
            return store
    return None


def _version(given: str | None) -> Version:
    if given is None:
        return NEWEST
    found = re.fullmatch(r"v?(\d+)\.(\d+)(\.\d+)?", given)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if not OLDEST <= version <= NEWEST:
        raise EngineOptionError(
            f"airflow: DAG files are written for Airflow 3.0 to 3.3, not for {given!r}"
        )
    return version
