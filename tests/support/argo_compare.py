"""One workflow under Argo's own controller and on this machine."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Collection, Mapping
from pathlib import Path

from couler.backends.argo import ArgoBackend
from couler.backends.base import RunOptions, Target
from couler.backends.local import LocalBackend
from couler.errors import UnsupportedFeatureError
from couler.ir.defaults import resolve_defaults
from couler.ir.values import is_file
from couler.ir.verify import verify
from couler.ir.walk import StepPath, steps_by_path, without_places
from couler.ir.workflow import Workflow
from couler.stages.checks import check_engine
from tests.support.argo_oracle import Session
from tests.support.argo_outcome import Outcome

_BACKEND = ArgoBackend()
_NONE = "nothing"


def is_taken(workflow: Workflow) -> bool:
    """Whether a workflow is valid and Argo's backend takes it."""
    resolved = resolve_defaults(workflow)
    if any(one.severity == "error" for one in verify(resolved)):
        return False
    try:
        return not check_engine(resolved, _BACKEND, Target())
    except UnsupportedFeatureError:
        return False


def assert_same_outcome(
    workflow: Workflow,
    argo: Session,
    folder: Path,
    *,
    unbegun: Collection[str] = (),
) -> Outcome:
    """Return the outcome under Argo, which has the statuses and outputs that this machine gives.

    Of what Argo keeps no node, as it evaluates it before, the paths are `unbegun`.
    """
    workflow = resolve_defaults(workflow)
    assert check_engine(workflow, _BACKEND, Target()) == ()
    here = LocalBackend().run(workflow, options=RunOptions(home=folder / "home", jobs=4))
    text = _BACKEND.compile(workflow, Target()).to_text()
    there = Outcome(workflow, argo.run(text))
    states = {path: step.status for path, step in here.steps.items() if path not in unbegun}
    different = _differences(there.states, states)
    assert not different, (different, there.messages)
    assert there.status == here.status
    # Of a file from a shared pod, Argo has the key of the artifact and a local run the path.
    files = {
        (path, output.name)
        for path, step in steps_by_path(workflow)
        for output in step.outputs
        if is_file(output.type)
    }
    for path, step in here.steps.items():
        found = {
            name: one
            for name, one in there.outputs.get(path, {}).items()  # what something reads
            if (str(without_places(StepPath.parse(path))), name) not in files
        }
        wanted = {name: one for name, one in _as_json(step.outputs).items() if name in found}
        different = _differences(found, wanted)
        assert not different, (path, different)
    different = _differences(there.run_outputs, _as_json(here.outputs))
    assert not different, different
    return there


def _differences(
    there: Mapping[str, object], here: Mapping[str, object]
) -> dict[str, tuple[object, object]]:
    """Return by name what is under Argo and what is here, where that differs."""
    names = {**there, **here}
    pairs = {name: (there.get(name, _NONE), here.get(name, _NONE)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _as_json(values: object) -> t.Any:
    return json.loads(json.dumps(values))
