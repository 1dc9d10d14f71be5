"""After a run its steps are asked for by the names of the program, whatever passes made of them."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.ir.serialize import write_json
from couler.ir.workflow import Step, Suspend
from couler.submitters import SubmittedRun
from tests.cli.conftest import Engine, Outcome
from tests.corpus.build import flow, sh
from tests.support.argo_cluster import EmulatedCluster, emulated_cluster

Call: t.TypeAlias = Callable[..., Outcome]
Write: t.TypeAlias = Callable[[str, str], str]

PASSES = ("--pass", "merge-common-steps", "--pass", "roll-loops")

SALES = """
import couler


def load(name):
    return couler.run_container(
        "busybox", ["sh", "-c", "echo rows"], step_name=name, cache=True
    )


with couler.Workflow("sales") as wf:
    first, second = load("load"), load("load-again")
    both = couler.run_container("busybox", ["echo"], args=[first, second], step_name="both")
    for table in ("orders", "customers", "items"):
        both >> couler.run_container(
            "busybox",
            ["sh", "-c", 'echo copy "$0"; [ "$0" != customers ] || [ -e mended ]'],
            args=[table],
            working_dir=WHERE,
            step_name=f"copy-{table}",
        )
"""


@pytest.fixture
def sales(write: Write, folder: Path) -> str:
    return write("sales.py", SALES.replace("WHERE", repr(str(folder))))


def last_run(couler: Call) -> str:
    [run] = couler("list", "-n", "1", "--format", "json").json["runs"]
    name: str = run["run"]
    return name


def named(told: Outcome) -> dict[str, tuple[list[str], str | None]]:
    return {one["path"]: (one["steps"], one["status"]) for one in told.json["source_map"]}


FAILED = {
    "load-again": (["load"], "succeeded"),
    "copy-orders": (["copy[0]"], "succeeded"),
    "copy-customers": (["copy[1]"], "failed"),
    "copy-items": (["copy[2]"], "succeeded"),
}


# on this machine -----------------------------------------------------------------------------


def test_a_run_tells_of_the_steps_of_the_program(couler: Call, sales: str, folder: Path) -> None:
    told = couler("run", sales, *PASSES, "--format", "json", "--events", "events")
    assert told.code == 1
    assert named(told) == FAILED
    lines = [" ".join(line.split()) for line in told.err.splitlines()]
    assert "started load = load-again" in lines
    assert "started both" in lines
    assert 'step "copy[1] = copy-customers" failed: it ended with exit code 1' in lines
    events = [json.loads(line) for line in (folder / "events").read_text().splitlines()]
    sources = {one["path"]: one["source_steps"] for one in events if "path" in one}
    assert sources == {
        "load": ["load-again"],
        "both": [],
        "copy": [],
        "copy[0]": ["copy-orders"],
        "copy[1]": ["copy-customers"],
        "copy[2]": ["copy-items"],
    }


def test_status_tells_of_them(couler: Call, sales: str) -> None:
    couler("run", sales, *PASSES)
    run = last_run(couler)
    rows = [line.split()[:4] for line in couler("status", run).out.splitlines()]
    assert ["load", "=", "load-again", "succeeded"] in rows
    assert ["copy[1]", "=", "copy-customers", "failed"] in rows
    assert named(couler("status", run, "--format", "json")) == FAILED


def test_a_retry_begins_at_a_step_of_the_program(couler: Call, sales: str, folder: Path) -> None:
    couler("run", sales, *PASSES)
    run = last_run(couler)
    planned = couler("retry", run, "--from", "copy-items", "--plan", "--format", "json").json
    verdicts = {one["path"]: (one["verdict"], one["source_steps"]) for one in planned["steps"]}
    assert verdicts == {
        "load": ("reused", ["load-again"]),
        "both": ("reused", []),
        "copy[0]": ("reused", ["copy-orders"]),
        "copy[1]": ("runs", ["copy-customers"]),
        "copy[2]": ("runs", ["copy-items"]),
    }
    assert "copy[2] = copy-items" in couler("retry", run, "--plan").out
    (folder / "mended").touch()
    told = couler("retry", run, "--from", "load-again", "--format", "json")
    assert told.code == 0
    assert {one["path"]: one["reused"] for one in told.json["steps"]}["load"] is False
    assert named(told)["copy-customers"] == (["copy[1]"], "succeeded")
    assert named(couler("status", run, "--format", "json")) == named(told)
    told = couler("retry", run, "--from", "copy-itms")
    assert (told.code, "Did you mean" in told.err) == (2, True)


def test_a_retry_with_another_workflow_has_its_names(
    couler: Call, sales: str, folder: Path
) -> None:
    couler("run", sales, *PASSES)
    run = last_run(couler)
    (folder / "mended").touch()
    told = couler("retry", run, "--file", sales, "--from", "copy-items", "--format", "json")
    assert (told.code, told.json["source_map"]) == (0, [])
    assert "copy-customers" in couler("status", run).out
    assert " = " not in couler("status", run).out
    told = couler("retry", run, "--file", sales, *PASSES, "--from", "load-again")
    assert told.code == 0
    assert named(couler("status", run, "--format", "json"))["load-again"] == (
        ["load"],
        "succeeded",
    )


@pytest.mark.usefixtures("samples")
def test_a_step_that_a_pass_left_out_is_told_with_the_reason(couler: Call, write: Write) -> None:
    file = write("flow.json", write_json(flow("w", sh("a", "echo hi"), sh("b", "echo b"))))
    told = couler("run", file, "--pass", "leave-out-last", "--format", "json")
    why = "the pass leave-out-last left it out: Nobody looks at it."
    expected = [{"path": "b", "steps": [], "status": "skipped", "reason": why}]
    assert told.json["source_map"] == expected
    run = told.json["run"]
    status = couler("status", run)
    assert [line.split(maxsplit=2) for line in status.out.splitlines() if "skipped" in line] == [
        ["b", "skipped", why]
    ]
    assert couler("status", run, "--format", "json").json["source_map"] == expected
    logs = couler("logs", run, "b")
    assert (logs.code, logs.out, logs.err) == (0, "", f'step "b" has no log: {why}\n')
    retry = couler("retry", run, "--from", "b")
    assert (retry.code, f'the step "b" is not in the run: {why}' in retry.err) == (2, True)


# elsewhere -----------------------------------------------------------------------------------

TRIED = {"status": "succeeded", "attempts": [{"status": "succeeded"}]}


def test_a_run_elsewhere_is_asked_in_the_same_words(
    couler: Call, sales: str, engine: Engine
) -> None:
    load, both = {"path": "load", **TRIED}, {"path": "both", **TRIED}
    bad = {"path": "copy[1]", "status": "failed", "attempts": [{"status": "failed"}]}
    good = [{"path": f"copy[{n}]", **TRIED} for n in (0, 2)]
    whole = {"path": "copy", "status": "failed"}
    engine.play(
        {"status": "failed", "steps": [load, both, *good, bad, whole]},
        again=({"status": "succeeded", "steps": [load, both, *good, {**bad, **TRIED}]},),
    )
    engine.log("copy[2]", "copied\n")
    watched = couler("submit", sales, *PASSES, "--target", "away", "--name", "mine", "--watch")
    assert watched.code == 1
    assert 'step "copy[1] = copy-customers" failed' in watched.err
    assert named(couler("status", "mine", "--format", "json")) == FAILED
    assert "load = load-again" in couler("status", "mine").out
    assert couler("logs", "mine", "copy-items").out == "copied\n"
    planned = couler("retry", "mine", "--from", "copy-items", "--plan")
    assert [line.split()[0] for line in planned.out.splitlines()][-2:] == ["runs", "runs"]
    told = couler("retry", "mine", "--from", "copy-items", "--watch", "--format", "json")
    assert told.code == 0
    [restart] = engine.calls("restart")
    assert restart["again"] == ["copy[1]", "copy[2]"]
    assert named(told)["copy-customers"] == (["copy[1]"], "succeeded")

    run = SubmittedRun("mine")
    assert run.logs("copy-items") == "copied"
    result = run.wait()
    assert result.steps["load-again"] == result.steps["load"]
    assert result.steps["copy-customers"].status == "succeeded"
    assert "copy-customers" not in list(result.steps)
    with pytest.raises(KeyError):
        result.steps["copy-nothing"]


@pytest.mark.usefixtures("samples")
def test_a_step_that_waits_goes_on_by_its_name(couler: Call, write: Write, engine: Engine) -> None:
    ask = Step(name="ask", action=Suspend(message="Go on?"))
    file = write("flow.json", write_json(flow("w", ask, sh("other", "true"))))
    engine.play({"steps": [{"path": "my-ask", "status": "suspended"}]})
    begun = couler("submit", file, "--target", "away", "--name", "mine", "--pass", "rename-steps")
    assert begun.code == 0, begun.err
    told = couler("resume", "mine", "other")
    assert (told.code, "my-other" in told.err) == (4, True)
    told = couler("resume", "mine", "asks")
    assert (told.code, 'Did you mean "ask"?' in told.err) == (2, True)
    told = couler("resume", "mine", "ask")
    assert (told.code, told.err) == (0, "mine: my-ask goes on\n")
    [call] = engine.calls("resume")
    assert call["path"] == "my-ask"


COPIES = """
import couler

with couler.Workflow("copies") as wf:
    for table in ("orders", "customers", "items"):
        couler.run_container("busybox", ["echo", "copy"], args=[table], step_name=f"copy-{table}")
"""

COPIED = {
    "copy-orders": (["copy[0]"], "succeeded"),
    "copy-customers": (["copy[1]"], "failed"),
    "copy-items": (["copy[2]"], "running"),
}


@pytest.fixture
def copies(write: Write) -> str:
    return write("copies.py", COPIES)


@pytest.fixture
def cluster(folder: Path) -> Iterator[EmulatedCluster]:
    with emulated_cluster(folder) as found:
        (folder / "pyproject.toml").write_text(
            '[tool.couler.targets.prod]\nengine = "argo"\nkubeconfig = "kubeconfig"\n'
        )
        yield found


def test_argo(couler: Call, copies: str, cluster: EmulatedCluster) -> None:
    begun = couler("submit", copies, "--target", "prod", "--name", "mine", "--pass", "roll-loops")
    assert begun.code == 0, begun.err
    nodes = [node("mine", "DAG", "Running", inside="")]
    nodes.append(node("mine.copy", "TaskGroup", "Running"))
    for number, (table, phase) in enumerate(
        (("orders", "Succeeded"), ("customers", "Failed"), ("items", "Running"))
    ):
        nodes.append(node(f"mine.copy({number}:{table})", "Pod", phase))
    cluster.set_status(
        "mine",
        {
            "phase": "Running",
            "startedAt": TIME,
            "nodes": {one["id"]: one for one in nodes},
        },
    )
    told = couler("status", "mine", "--format", "json")
    assert (told.code, named(told)) == (0, COPIED)
    assert "copy[1] = copy-customers" in couler("status", "mine").out


TIME = "2026-03-01T12:00:00Z"


def node(name: str, kind: str, phase: str, *, inside: str = "mine") -> dict[str, t.Any]:
    """Return a node as Argo's controller tells of it."""
    return {
        "id": name,
        "name": name,
        "type": kind,
        "phase": phase,
        "boundaryID": inside,
        "templateName": "copy",
        "startedAt": TIME,
        "finishedAt": None if phase == "Running" else TIME,
    }
