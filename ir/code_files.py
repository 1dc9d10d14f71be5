"""The code of a workflow in pods: annotations, which a volume shows as files, or an archive."""

from __future__ import annotations

import hashlib
import re
import typing as t
from collections.abc import Callable, Iterator, Mapping

from couler.errors import EngineOptionError
from couler.ir.artifacts import Location, Tar, is_in_repository
from couler.ir.defaults import Storages, read_storage
from couler.ir.diagnostics import Diagnostic
from couler.ir.walk import map_steps
from couler.ir.workflow import CodeFile, Input, Script, Step, Workflow

CODE_DIR = "/couler/code"
UNPACKED_DIR = "/tmp/couler-code"
"""Where a process that unpacks an archive by itself can write."""
CODE_VOLUME = "couler-code"
MAX_BYTES = 131_072
"""Most bytes of the files of a workflow; Kubernetes keeps twice as many in all annotations."""

_LONGEST_NAME = 63

_MODES = ("inline", "archive", "image")


def place_code(workflow: Workflow, options: Mapping[str, t.Any], storages: Storages) -> Workflow:
    """Return a workflow whose code comes to steps by the way that a target has for it.

    Without one it is inline where it can be, else an archive if the target states a storage.

    Raises
    ------
    EngineOptionError
        There is no such way, or no storage for an archive.
    """
    way = options.get("code")
    if way not in (None, *_MODES):
        raise EngineOptionError(f"code is one of {', '.join(_MODES)}, not {way!r}")
    if not workflow.code or way == "inline" or (way is None and _not_inline(workflow) is None):
        return workflow
    if way == "image":
        return _in_image(workflow)
    store = _store(options.get("files_store"), storages)
    if store is not None:
        return _in_archive(workflow, store)
    if way is None:
        return workflow
    raise EngineOptionError(
        "code=archive needs a storage that is stated for the target, such as "
        "--storage s3.bucket=NAME"
    )


def _store(named: str | None, storages: Storages) -> Location | None:
    """Return the storage of a name, else the first that is stated."""
    kinds = [kind for kind in storages if kind != "plugin" and named in (None, kind)]
    stores = (read_storage(kind, storages[kind]) for kind in kinds)
    return next((one for one in stores if not is_in_repository(one)), None)


def _in_archive(workflow: Workflow, store: Location) -> Workflow:
    files = sorted((one.path, one.data) for one in workflow.code)
    key = f"couler/code-{hashlib.sha256(repr(files).encode()).hexdigest()[:16]}.tgz"
    field = next(name for name in ("key", "path", "blob") if name in type(store).model_fields)
    at = store.model_copy(update={field: f"/{key}" if field == "path" else key})
    return workflow.model_copy(update={"code_at": at})


def take_archive(workflow: Workflow) -> Workflow:
    """Return a workflow whose steps take the archive of the code they import as an input."""
    if workflow.code_at is None:
        return workflow
    given = Input(
        name="couler_code", type="directory", path=UNPACKED_DIR, at=workflow.code_at, archive=Tar()
    )
    return _change_users(workflow, lambda one: {"inputs": (*one.inputs, given)})


def own_inputs(step: Step) -> tuple[Input, ...]:
    """Return the inputs of a step but for the archive of its code."""
    return tuple(one for one in step.inputs if one.path != UNPACKED_DIR)


def _in_image(workflow: Workflow) -> Workflow:
    """Return a workflow whose images have the code: no file travels."""
    changed = _change_users(
        workflow, lambda one: {"action": one.action.model_copy(update={"files": ()})}
    )
    return changed.model_copy(update={"code": ()})


def _change_users(workflow: Workflow, update: Callable[[Step], dict[str, object]]) -> Workflow:
    """Return a workflow with other fields of the steps that import its files."""
    return map_steps(
        workflow,
        lambda step: step.model_copy(update=update(step)) if uses_code(step) else step,
    )


def uses_code(step: Step) -> bool:
    """Return whether a step imports files of the workflow."""
    return isinstance(step.action, Script) and bool(step.action.files)


def mounts_code(step: Step) -> bool:
    """Return whether a step finds the files that it imports in a volume."""
    return uses_code(step) and own_inputs(step) == step.inputs


def code_annotations(workflow: Workflow) -> dict[str, str]:
    """Return the annotations of pods that hold the files."""
    return {key: one.text for key, one in _keys(workflow)}


def code_volume(workflow: Workflow) -> dict[str, t.Any]:
    """Return the volume that shows the annotations of its pod as files."""
    items = [
        {"path": one.path, "fieldRef": {"fieldPath": f"metadata.annotations['{key}']"}}
        for key, one in _keys(workflow)
    ]
    return {"name": CODE_VOLUME, "downwardAPI": {"items": items}}


CODE_MOUNT = {"name": CODE_VOLUME, "mountPath": CODE_DIR, "readOnly": True}


def check_code(engine: str, workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield what of the code cannot be an annotation."""
    why = _not_inline(workflow)
    if workflow.code_at is None and why is not None:
        advice = (
            "State a storage of the target (--storage s3.bucket=NAME), which takes an archive, or "
            "put the code into the image (--option code=image)"
        )
        yield Diagnostic(
            "CLR304", f"{engine}: {why}. {advice}", source=workflow.source, of_target=True
        )


def _not_inline(workflow: Workflow) -> str | None:
    """Return why the code cannot be text in the emitted file."""
    binary = [one.path for one in workflow.code if one.base64 is not None]
    size = sum(len(one.text.encode()) for one in workflow.code)
    if binary:
        return f"{', '.join(binary)}: what travels inline is text"
    if size > MAX_BYTES:
        return f"the files of the project take {size:,} bytes, and {MAX_BYTES:,} travel inline"
    return None


def _keys(workflow: Workflow) -> Iterator[tuple[str, CodeFile]]:
    """Yield the files, each with the key of its annotation: its path, as far as a key can be it."""
    known: set[str] = set()
    for number, one in enumerate(workflow.code):
        name = re.sub(r"[^A-Za-z0-9._-]", ".", one.path)[-_LONGEST_NAME:].strip("._-")
        if name in known or not name:
            name = f"{name[-_LONGEST_NAME + 5 :]}-{number}".strip("._-")
        known.add(name)
        yield f"code/{name}", one
