"""Steps with a cache in real DAG runs: what later runs take, and what is made anew."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.backends.local.reuse import StepKeys
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Cache, Retry
from couler.ir.semantics.values import RunFacts, Single, View
from couler.ir.workflow import Output
from couler.stages.checks import check_engine
from tests.corpus.build import flow, given, item, out, param, parameter, ref, sh
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_runs import AirflowRun, Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1200), pytest.mark.sampled(2)]

BACKEND = AirflowBackend()
TARGET = Target(options={"files_claim": "files", "files_path": "flows"})
CACHE = Cache(max_age_s=3600)
NEW = "cat /proc/sys/kernel/random/uuid"

WORKFLOW = flow(
    "kept",
    sh(
        "say",
        f'{NEW}; echo \'{{"a": "$$\\"}}"}}\' > "$COULER_WORK/j"; echo "$1" >&2',
        param("word"),
        outputs=[out("j", "json", "j")],
        cache=CACHE,
    ),
    sh("each", f'echo "$1 of $2"; {NEW}', item(), param("word"), foreach=["x", "y"], cache=CACHE),
    sh(
        "make",
        f'cd "$COULER_WORK"; {NEW} > f; mkdir -p d/e; cp f d/e/g',
        result=None,
        outputs=[
            out("f", "file", "f"),
            out("d", "directory", "d"),
            Output(name="no", type="file", path="no", optional=True),
        ],
        cache=Cache(name="shared"),
    ),
    sh(
        "read",
        f'cat "$COULER_INPUT_f" "$COULER_INPUT_d/e/g"; {NEW}',
        inputs=[given("f", ref("make", "f"), "file"), given("d", ref("make", "d"), "directory")],
        cache=CACHE,
    ),
    sh("brief", NEW, cache=CACHE),
    sh(
        "again",
        '[ -e "$1" ] || { touch "$1"; exit 3; }; echo well',
        param("mark"),
        retry=Retry(limit=1),
        cache=CACHE,
    ),
    sh("last", 'echo "$1"', ref("each"), depends_on=["say", "make", "brief", "again"]),
    parameters=[parameter("word", "$$a"), parameter("mark", "")],
)


def hits(run: AirflowRun) -> set[str]:
    """The tasks whose wrapper took an entry: what they hand on and their logs agree on it."""
    assert run.state == "success", run.log
    told = {task for task, log in run.logs.items() if "couler: cached: " in log}
    assert told == {task for task, value in run.xcoms.items() if ".cached" in value}
    return {task if index < 0 else f"{task}[{index}]" for task, index in told}


def make_older(entry: Path, seconds: int) -> None:
    """Have an entry state that it was written longer ago, under a digest that holds for it."""
    _, written, rest = entry.read_text().split("\n", 2)
    stated = f"{int(written) - seconds}\n{rest}"
    entry.write_text(f"{hashlib.sha256(stated.encode()).hexdigest()}\n{stated}")


def values(run: AirflowRun) -> Mapping[object, object]:
    """What the tasks have handed on, whether from an entry or not."""
    return {
        task: {name: text for name, text in value.items() if name != ".cached"}
        for task, value in run.xcoms.items()
        if isinstance(value, dict)
    }


def test_later_runs_take_what_is_as_it_was(
    airflow: Worker, cluster: FakeCluster, tmp_path: Path
) -> None:
    workflow = resolve_defaults(WORKFLOW)
    assert check_engine(workflow, BACKEND, TARGET) == ()
    text = BACKEND.compile(workflow, TARGET).to_text()
    mark = str(tmp_path / "shared/mark")
    places = cluster.claim("files") / "flows"

    def run(**conf: str) -> AirflowRun:
        given = {"mark": mark, **conf}
        ended = airflow.run(text, "kept", cluster=cluster, conf=given)
        make_older(places / "cache/kept" / key_of("brief"), 3601)
        return ended

    def key_of(name: str) -> str:
        [step] = [step for step in workflow.steps if step.name == name]
        view = View(RunFacts("", "", None), parameters={"word": Single("$$a", "str")})
        return StepKeys((), in_images=True).of(step, view)

    first = run()
    assert hits(first) == set()
    assert first.tries["again", -1] == 2
    assert first.xcoms["make", -1]["f"] == f"flows/kept/{first.run_id}/make/f/1"
    assert (places / "cache/kept" / key_of("say")).is_file()
    assert len([*(places / "cache/shared").iterdir()]) == 1

    whole = {"say", "each[0]", "each[1]", "make", "read", "again"}
    second = run()
    assert hits(second) == whole
    of_entries = {name: one for name, one in values(first).items() if name != ("brief", -1)}
    assert {name: values(second)[name] for name in of_entries} == of_entries
    assert "is older than 3600 s" in second.logs["brief", -1]
    assert second.xcoms["say", -1][".cached"] == key_of("say")

    (places.parent / first.xcoms["make", -1]["f"]).write_text("altered\n")
    other = run(word="b")
    assert hits(other) == {"again"}
    assert "it has no entry yet" in other.logs["say", -1]
    assert "is gone, or is another" in other.logs["make", -1]
    assert "altered" not in other.xcoms["read", -1]["result"]

    last = run()
    assert hits(last) == whole
    assert last.xcoms["say", -1] == second.xcoms["say", -1]
    assert values(last)["make", -1] == values(other)["make", -1]
