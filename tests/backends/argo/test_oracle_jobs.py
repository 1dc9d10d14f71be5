"""Jobs under Argo itself: its controller fills the manifest in, its executor creates the object."""

from __future__ import annotations

from pathlib import Path

import pytest

import couler
from tests.fakes.kubernetes.store import Json
from tests.support import argo_oracle
from tests.support.argo_oracle import Resource

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.usefixtures("oracle")]

JOBS = Resource("batch", "v1", "jobs")
HEAD = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "train-"}}

HOSTILE = (
    'a "b" \'c\'\nx $(Y) $$ $(ARGO_CONTAINER_NAME) \ufeff\u2028 é 😀 \\ \\" \t\x01\x1b[31m: - # '
    "{ }} {% <&> [x] & * ! | > %\n---\nkind: Pod\n  end "
)
CONTROLS = "\x7f\x80\x85\x9f"


@couler.step
def hostile(more: str) -> str:
    return (
        'a "b" \'c\'\nx $(Y) $$ $(ARGO_CONTAINER_NAME) \ufeff\u2028 é 😀 \\ \\" '
        "\t\x01\x1b[31m: - # "
        "{ }} {% <&> [x] & * ! | > %\n---\nkind: Pod\n  end "
    ) + more


@couler.step
def nest(text: str) -> dict[str, list[str]]:
    return {"k": [text, ""], text: [], "{" + "{": ["{" + "{x}}"]}


def ended(sent: Json) -> Json:
    return {"succeeded": 1, "phase": "Complete", "seen": sent["spec"]["text"]}


def run(workflow: couler.Workflow, folder: Path) -> tuple[argo_oracle.OracleRun, Json]:
    text = workflow.compile("argo").to_text()
    manifest = folder / "workflow.yaml"
    manifest.write_text(text)
    [verdict] = argo_oracle.lint([manifest])
    assert verdict.errors == ()
    with argo_oracle.session(folder / "run", resources={JOBS: ended}) as argo:
        done = argo.run(text)
        assert done.phase == "Succeeded", [(one.display_name, one.message) for one in done.nodes]
        [created] = argo.objects(JOBS)
    return done, created


@pytest.mark.parametrize("own", [True, False])
def test_any_text_reaches_the_resource_unchanged(own: bool, tmp_path: Path) -> None:
    # Argo itself cannot write these characters where the run owns the resource.
    more = "" if own else CONTROLS
    with couler.Workflow("w", n=3, rate=1e-7, flag=True, kind="x", tags=["a", "$(B)"]) as wf:
        text = hostile(more)
        couler.run_job(
            {
                **HEAD,
                "spec": {
                    "text": text,
                    "nested": nest(text),
                    "part": nest(text)["k"],
                    "n": wf.params.n,
                    "rate": wf.params.rate,
                    "flag": wf.params.flag,
                    "kind": wf.params.kind,
                    "tags": wf.params.tags,
                    "args": ["$(HOST) $$", couler.text("--rate={}", wf.params.rate)],
                    "static": HOSTILE + more,
                },
            },
            "status.succeeded > 0",
            set_owner_reference=own,
            outputs={"phase": "{.status.phase}"},
            step_name="train",
        )
    done, created = run(wf, tmp_path)
    expected = HOSTILE + more
    assert created["spec"] == {
        "text": expected,
        "nested": {"k": [expected, ""], expected: [], "{" + "{": ["{" + "{x}}"]},
        "part": [expected, ""],
        "n": 3,
        "rate": 1e-7,
        "flag": True,
        "kind": "x",
        "tags": ["a", "$(B)"],
        "args": ["$(HOST) $$", "--rate=1e-07"],
        "static": expected,
    }
    assert ("ownerReferences" in created["metadata"]) is own
    assert done.node("train").outputs == {"phase": "Complete"}


def test_a_job_whose_failure_condition_holds_fails(tmp_path: Path) -> None:
    with couler.Workflow("w") as wf:
        couler.run_job(
            {**HEAD, "spec": {}}, "status.succeeded > 0", "status.failed > 0", step_name="a"
        )
    statuses = {JOBS: lambda sent: {"failed": 1}}
    done = argo_oracle.run(wf.compile("argo").to_text(), work_dir=tmp_path, resources=statuses)
    assert done.phase == "Failed"
    assert "failure condition" in done.node("a").message


@pytest.mark.parametrize("own", [True, False])
def test_a_large_manifest_reaches_the_resource_unchanged(own: bool, tmp_path: Path) -> None:
    """Argo hands it on past the kubelet, so nothing in it may be protected from that."""
    text = "$$ $(HOST) " + "x" * 150_000
    with couler.Workflow("w", dollars="$$ $(HOST)") as wf:
        couler.run_job(
            {**HEAD, "spec": {"text": text, "value": wf.params.dollars}},
            "status.succeeded > 0",
            set_owner_reference=own,
            step_name="train",
        )
    _, created = run(wf, tmp_path)
    assert created["spec"] == {"text": text, "value": "$$ $(HOST)"}
