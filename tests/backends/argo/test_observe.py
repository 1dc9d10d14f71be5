"""What is told of runs, from statuses that Argo's own controller has made."""

from __future__ import annotations

import base64
import gzip
import json
import typing as t

import pytest

from couler.backends.argo.observe import Observer
from couler.backends.argo.status_nodes import read_nodes
from couler.backends.remote import ENDS, Observation, Observed
from couler.errors import EngineError
from couler.ir.defaults import resolve_defaults
from couler.ir.semantics.places import failure_text
from couler.ir.workflow import Workflow
from tests.support import argo_moments

ENDED = {
    "check": "failed",
    "check[0]": "succeeded",
    "check[1]": "failed",
    "check[2]": "succeeded",
    "after": "omitted",
    "count": "succeeded",
    "count@0": "succeeded",
    "count@1": "succeeded",
    "count@2": "succeeded",
    "nested": "succeeded",
    "nested/in": "succeeded",
    "never": "skipped",
}


def observe(name: str, workflow: Workflow = argo_moments.WORKFLOW) -> Observation:
    return Observer(resolve_defaults(workflow)).observe(argo_moments.read(name))


def step(found: Observation, path: str) -> Observed:
    [seen] = [seen for seen in found.steps if str(seen.path) == path]
    return seen


def states(found: Observation) -> dict[str, str]:
    return {str(seen.path): seen.status for seen in found.steps}


def test_a_run_that_failed() -> None:
    found = observe("failed")
    assert states(found) == {
        **ENDED,
        "ask": "succeeded",
        "told": "succeeded",
        "hold": "succeeded",
        "exit:tell": "succeeded",
        "exit:tell/say": "succeeded",
        "exit:cheer": "skipped",
    }
    assert (found.status, found.message, found.outputs) == ("failed", None, {})
    assert found.finished is not None
    ends = {str(seen.path): seen for seen in found.steps}
    assert failure_text(argo_moments.WORKFLOW, ends) == "failed: check[1]"


def test_attempts_and_exit_codes() -> None:
    item = step(observe("failed"), "check[1]")
    told = "main: Error (exit code 1)"
    assert (item.exit_code, item.message) == (1, told)
    seen = [(one.number, one.status, one.exit_code, one.message) for one in item.attempts]
    assert seen == [(1, "failed", 1, told), (2, "failed", 1, told)]
    assert all(one.started and one.finished for one in item.attempts)
    assert {one.node for one in item.attempts} == {"this-machine"}
    assert step(observe("failed"), "check").attempts == ()
    assert step(observe("failed"), "check[0]").exit_code == 0


def test_a_step_between_two_attempts() -> None:
    [seen] = observe("retrying", argo_moments.FLAKY).steps
    assert (str(seen.path), seen.status, len(seen.attempts)) == ("flaky", "retrying", 1)
    assert seen.attempts[0].finished is not None


UNSCHEDULABLE = "Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."


def waiting(message: str | None, *, is_first: bool) -> Observation:
    """A step of several attempts while the pod of the first or of the second waits."""
    run = argo_moments.read("retrying")
    nodes = run["status"]["nodes"]
    [retry] = [one for one in nodes.values() if one["type"] == "Retry"]
    [first] = [nodes[one] for one in retry["children"]]
    pod = first if is_first else {**first, "id": "second", "name": "flaky-6.flaky(1)"}
    nodes[pod["id"]] = pod
    retry["children"] = list(dict.fromkeys([first["id"], pod["id"]]))
    retry.pop("message")
    pod |= {"phase": "Pending", "message": message}
    pod.pop("finishedAt")
    return Observer(resolve_defaults(argo_moments.FLAKY)).observe(run)


@pytest.mark.parametrize("is_first", [True, False])
def test_the_reason_why_a_pod_waits_is_that_of_its_step_and_of_the_run(is_first: bool) -> None:
    found = waiting(UNSCHEDULABLE, is_first=is_first)
    [seen] = found.steps
    assert (seen.status, seen.message) == ("waiting" if is_first else "retrying", UNSCHEDULABLE)
    assert found.status == "running"
    assert found.message == (f'step "flaky" waits: {UNSCHEDULABLE}' if is_first else None)


@pytest.mark.parametrize("message", [None, "ContainerCreating", "PodInitializing"])
def test_a_pod_that_starts_waits_for_nothing(message: str | None) -> None:
    assert waiting(message, is_first=True).message is None
    halfway = argo_moments.read("halfway")
    [hold] = [one for one in halfway["status"]["nodes"].values() if one["name"].endswith(".hold")]
    hold |= {"phase": "Pending", "message": message}
    found = Observer(resolve_defaults(argo_moments.WORKFLOW)).observe(halfway)
    assert (found.message, step(found, "hold").message) == (None, None)


def test_outputs_are_texts_with_their_types() -> None:
    found = observe("failed")
    assert step(found, "check").outputs == {
        "result": [{"text": "one", "type": "str"}, None, {"text": "two", "type": "str"}]
    }
    assert step(found, "check[1]").outputs == {}
    assert step(found, "count@1").outputs == {"result": {"text": "2", "type": "int"}}
    assert step(found, "count").outputs == {"result": {"text": "3", "type": "int"}}
    assert step(found, "nested").outputs == {"text": {"text": "inside", "type": "str"}}
    assert step(found, "ask").outputs == {"rate": {"text": "0.5", "type": "float"}}


def test_a_run_that_was_cancelled() -> None:
    found = observe("cancelled")
    assert (found.status, found.message) == ("cancelled", "the run was cancelled")
    for path in ("hold", "ask"):
        seen = step(found, path)
        assert (seen.status, seen.message) == ("cancelled", "the run was cancelled")
        assert [one.status for one in seen.attempts] == ["cancelled"]
    assert (step(found, "told").status, step(found, "exit:tell/say").status) == (
        "omitted",
        "succeeded",
    )


def test_why_a_pod_waits_is_said_of_the_run() -> None:
    halfway = argo_moments.read("halfway")
    nodes = halfway["status"]["nodes"].values()
    [never] = [one for one in nodes if one["name"].endswith(".never")]
    never |= {"phase": "Pending", "message": "Unschedulable: 0/3 nodes are available"}
    found = Observer(resolve_defaults(argo_moments.WORKFLOW)).observe(halfway)
    assert found.message == 'step "never" waits: Unschedulable: 0/3 nodes are available'


def test_what_argo_had_no_time_for_has_ended_with_the_run() -> None:
    halfway = argo_moments.read("halfway")
    halfway["status"] |= {"phase": "Failed", "finishedAt": "2026-01-31T08:00:00Z"}
    nodes = halfway["status"]["nodes"].values()
    [never] = [one for one in nodes if one["name"].endswith(".never")]
    never["phase"] = "Pending"
    found = Observer(resolve_defaults(argo_moments.WORKFLOW)).observe(halfway)
    assert {seen.status for seen in found.steps} <= ENDS
    hold = step(found, "hold")
    assert (hold.status, hold.message) == ("failed", "the run ended before it did")
    assert (hold.finished, hold.attempts[0].status) == (found.finished, "error")
    assert step(found, "never").status == "omitted"


# nodes --------------------------------------------------------------------------------------------


def _packed(nodes: object, *, cut: int | None = None) -> str:
    return base64.b64encode(gzip.compress(json.dumps(nodes).encode())[:cut]).decode()


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (
            {"offloadNodeStatusVersion": "fnv:1"},
            r"x are kept in a database of Argo's \(nodeStatusOffLoad\).*the address of an Argo Ser",
        ),
        ({"compressedNodes": "KLUv/QRY"}, r"x are packed in a way that cannot be read.*at gzip"),
        ({"compressedNodes": "no base64!"}, "cannot be read"),
        ({"compressedNodes": _packed({}, cut=-9)}, "they are cut off"),
    ],
)
def test_nodes_that_cannot_be_read_are_told_of(status: t.Any, told: str) -> None:
    with pytest.raises(EngineError, match=told):
        read_nodes({"metadata": {"name": "x"}, "status": status})
