"""The code of a workflow in pods: annotations, which a volume shows as files."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator

from couler.errors import EngineOptionError
from couler.ir.diagnostics import Diagnostic
from couler.ir.walk import map_steps
from couler.ir.workflow import CodeFile, Script, Step, Workflow

CODE_DIR = "/couler/code"
CODE_VOLUME = "couler-code"
MOST_BYTES = 131_072
"""Most bytes of the files of a workflow; Kubernetes keeps twice as many in all annotations."""

_LONGEST_NAME = 63


WAYS = ("inline", "image")


def check_way(engine: str, way: object) -> None:
    """Refuse an option that is no way by which code comes to steps."""
    if way not in WAYS:
        raise EngineOptionError(f"{engine}: code is one of {', '.join(WAYS)}, not {way!r}")


def in_image(workflow: Workflow) -> Workflow:
    """Return a workflow whose images have the code: no file travels."""

    def change(step: Step) -> Step:
        if not uses_code(step):
            return step
        return step.model_copy(update={"action": step.action.model_copy(update={"files": ()})})

    return map_steps(workflow, change).model_copy(update={"code": ()})


def uses_code(step: Step) -> bool:
    """Return whether a step imports files of the workflow."""
    return isinstance(step.action, Script) and bool(step.action.files)


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
    binary = [one.path for one in workflow.code if one.base64 is not None]
    size = sum(len(one.text.encode()) for one in workflow.code)
    if binary:
        why = f"{', '.join(binary)}: files of the project travel as text"
    elif size > MOST_BYTES:
        why = f"the files of the project take {size:,} bytes, and {MOST_BYTES:,} travel as text"
    else:
        return
    advice = "Put the code into the image (code=image)"
    yield Diagnostic("CLR304", f"{engine}: {why}. {advice}", source=workflow.source)


def _keys(workflow: Workflow) -> Iterator[tuple[str, CodeFile]]:
    """Yield the files, each with the key of its annotation: its path, as far as a key can be it."""
    known: set[str] = set()
    for number, one in enumerate(workflow.code):
        name = re.sub(r"[^A-Za-z0-9._-]", ".", one.path)[-_LONGEST_NAME:].strip("._-")
        if name in known or not name:
            name = f"{name[-_LONGEST_NAME + 5 :]}-{number}".strip("._-")
        known.add(name)
        yield f"code/{name}", one
