"""A workflow whose runs can be held at moments of which the statuses are recorded."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from couler.backends.argo.workflow_api import CANCELLED_LABEL
from couler.ir.policies import Backoff, Part, Retry
from couler.ir.workflow import ExitHandler, Step, Suspend, Workflow
from tests.corpus.build import (
    compare,
    flow,
    group,
    item,
    last,
    out,
    param,
    parameter,
    ref,
    run,
    sh,
    while_,
)

FOLDER = Path(__file__).parents[1] / "backends" / "argo" / "recorded"

WORKFLOW: Workflow = flow(
    "moments",
    sh(
        "check",
        'test "$1" != bad && echo "$1"',
        item(),
        foreach=["one", "bad", "two"],
        retry=Retry(limit=1),
    ),
    sh("after", 'echo "$1"', ref("check")),
    sh(
        "count",
        "echo $(($1 + 1))",
        last(initial=0),
        result="int",
        loop=while_(compare(last(), "<", 3)),
    ),
    group("nested", sh("in", "echo inside"), outputs=[out("text", source=ref("in"))]),
    sh("never", "true", when=compare(ref("nested", "text"), "==", "outside")),
    Step(name="ask", action=Suspend(), outputs=(out("rate", "float"),)),
    sh("told", 'echo "rate $1"', ref("ask", "rate")),
    sh(
        "hold",
        'echo begun; until test -e "$1/go"; do sleep 0.1; done; echo ended; echo "$2"',
        param("shared"),
        ref("count"),
    ),
    parameters=[parameter("shared")],
    exit_handlers=[
        ExitHandler(name="tell", on="any", steps=(sh("say", 'echo "$1"', run("status")),)),
        ExitHandler(name="cheer", on="success", steps=(sh("say", "true"),)),
    ],
)

FLAKY: Workflow = flow(
    "flaky",
    sh(
        "flaky",
        "echo try; exit 3",
        retry=Retry(limit=2, backoff=Backoff(seconds=600)),
    ),
)


_FIRST, _SECOND, _LAST = (Part(group=name) for name in ("1", "2", "3"))

PARTS: Workflow = flow(
    "parts",
    sh("good", "echo 1", part=_FIRST),
    sh("bad", "exit 1", part=_FIRST),
    sh("after", "true", depends_on=["bad"], part=_SECOND),
    group(
        "inside",
        sh("a", "echo 2", part=_FIRST),
        sh("b", 'echo "$1"', ref("a"), part=_SECOND),
        outputs=[out("text", source=ref("b"))],
        depends_on=["good"],
        part=_SECOND,
    ),
    sh("last", 'echo "$1"', ref("inside", "text"), part=_LAST),
)


def kept(workflow: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return what of a Workflow tells how its run stands."""
    labels = workflow["metadata"]["labels"]
    kept_labels = {name: labels[name] for name in (CANCELLED_LABEL,) if name in labels}
    metadata = {"name": workflow["metadata"]["name"], "labels": kept_labels}
    status = dict(workflow["status"])
    for field in ("storedWorkflowTemplateSpec", "resourcesDuration", "taskResultsCompletionStatus"):
        status.pop(field, None)
    spec = {name: workflow["spec"][name] for name in ("shutdown",) if name in workflow["spec"]}
    return {"metadata": metadata, "spec": spec, "status": status}


def write(name: str, workflow: t.Mapping[str, t.Any]) -> None:
    """Record a moment."""
    text = json.dumps(kept(workflow), indent=1, sort_keys=True, ensure_ascii=False)
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def read(name: str) -> t.Any:
    """Return a recorded moment."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
