"""Cached steps with files under Argo's own controller: what a second run reads."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.backends.remote import Connection
from couler.caching.policies.simple import LeastRecentlyUsed
from couler.control.cache_sync import sync_entries
from couler.control.restarting import Changes, prepare, restart
from couler.control.submission import Order, submit
from couler.control.watching import Watch, watch
from couler.failures import MAX_RETRIES
from couler.ir.cachekey import repository_mark
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Cache, Part
from couler.ir.workflow import ExitHandler, Step, Workflow
from couler.state.database import open_database
from couler.state.home import Home
from couler.state.runs import find_run, steps_of
from couler.store.run_files import RunFiles
from tests.corpus.build import (
    compare,
    first_of,
    flow,
    given,
    group,
    item,
    last,
    negate,
    on_completion,
    or_else,
    out,
    ref,
    sh,
    while_,
)
from tests.support import argo_oracle

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(4),
]

MEMOIZED = Cache(max_age_s=3600)


def _makes(name: str, word: object, **fields: t.Any) -> Step:
    fields.setdefault("outputs", [out("f", "file", "f")])
    return sh(name, 'echo "$1" > "$COULER_WORK/f"', word, result=None, cache=MEMOIZED, **fields)


def _reads(name: str, value: object, **fields: t.Any) -> Step:
    script = 'echo "read $(cat "$COULER_INPUT_data")"'
    return sh(name, script, inputs=[given("data", value, "file")], **fields)


def _run(argo: argo_oracle.Session, workflow: Workflow, **options: object) -> argo_oracle.OracleRun:
    text = ArgoBackend().compile(resolve_defaults(workflow), Target(options=options)).to_text()
    assert argo.lint(text) == ()
    return argo.run(text)


def _said(argo: argo_oracle.Session, run: argo_oracle.OracleRun, template: str) -> list[str]:
    """What the containers of a template have printed, also in runs of parts."""
    pods = [pod for one in argo.family(run) for pod in one.pods]
    of_template = [pod for pod in pods if (pod.template, pod.container) == (template, "main")]
    return sorted(line for pod in of_template for line in pod.stdout.splitlines())


def _twice(
    argo: argo_oracle.Session, workflow: Workflow, reader: str, *said: str, **options: object
) -> None:
    """Run a workflow twice: the second run must take what is memoized, and read the same."""
    first = _run(argo, workflow, **options)
    assert first.phase == "Succeeded", _messages(first)
    assert _said(argo, first, reader) == sorted(said)
    again = _run(argo, workflow, **options)
    nodes = [node for run in argo.family(again) for node in run.nodes]
    hits = [node for node in nodes if node.memoized is not None]
    assert hits
    assert all(node.memoized for node in hits)
    assert {key.split("/")[0] for node in hits for key in node.artifacts.values()} <= {first.name}
    assert again.phase == "Succeeded", _messages(again)
    assert _said(argo, again, reader) == sorted(said)


def _messages(run: argo_oracle.OracleRun) -> list[tuple[str, str, str]]:
    return [(node.name, node.phase, node.message) for node in run.nodes]


def test_the_file_of_a_step(argo: argo_oracle.Session) -> None:
    make, read = _makes("make", "once"), _reads("read", ref("make", "f"))
    _twice(argo, flow("step", make, read), "read", "read once")


def test_the_files_of_items(argo: argo_oracle.Session) -> None:
    make = _makes("make", item(), foreach=["x", "y"])
    read = _reads("read", item(), foreach=ref("make", "f"))
    _twice(argo, flow("items", make, read), "read", "read x", "read y")


def test_the_file_of_a_group(argo: argo_oracle.Session) -> None:
    nested = group(
        "nested", _makes("make", "inside"), outputs=[out("f", "file", source=ref("make", "f"))]
    )
    read = _reads("read", ref("nested", "f"))
    _twice(argo, flow("nested", nested, read), "read", "read inside")


def test_a_file_that_another_memoized_step_reads(argo: argo_oracle.Session) -> None:
    copies = sh(
        "copy",
        'cp "$COULER_INPUT_data" "$COULER_WORK/f"',
        result=None,
        inputs=[given("data", ref("make", "f"), "file")],
        outputs=[out("f", "file", "f")],
        cache=MEMOIZED,
    )
    workflow = flow("chain", _makes("make", "first"), copies, _reads("read", ref("copy", "f")))
    _twice(argo, workflow, "read", "read first")


def test_the_file_of_a_loop(argo: argo_oracle.Session) -> None:
    make = sh(
        "make",
        'echo "$1" > "$COULER_WORK/f"; echo "$1"x',
        last(initial="r"),
        outputs=[out("f", "file", "f")],
        cache=MEMOIZED,
        loop=while_(compare(last(), "!=", "rxx")),
    )
    _twice(argo, flow("loop", make, _reads("read", ref("make", "f"))), "read", "read rx")


def test_a_file_that_an_exit_handler_reads(argo: argo_oracle.Session) -> None:
    read = _reads("read", or_else(ref("make", "f"), "none"))
    handler = ExitHandler(name="tell", on="success", steps=(read,))
    _twice(argo, flow("exit", _makes("make", "kept"), exit_handlers=[handler]), "read", "read kept")


def test_the_file_of_one_branch_of_two(argo: argo_oracle.Session) -> None:
    toss = sh("toss", "echo heads")
    heads = compare(ref("toss"), "==", "heads")
    workflow = flow(
        "branches",
        toss,
        _makes("left", "left", when=heads),
        _makes("right", "right", when=negate(heads)),
        _reads("read", first_of(ref("left", "f"), ref("right", "f"))),
    )
    _twice(argo, workflow, "read", "read left")


def test_a_file_that_was_not_made_is_absent(argo: argo_oracle.Session) -> None:
    fails = _makes("make", "lost", outputs=[out("f", "file", "elsewhere")])
    optional = given("data", ref("make", "f"), "file").model_copy(update={"optional": True})
    read = sh(
        "read",
        'ls "$COULER_INPUT_data" || echo nothing',
        inputs=[optional],
        depends_on=[on_completion("make")],
    )
    run = _run(argo, flow("lost", fails, read))
    assert _said(argo, run, "read") == ["nothing"]


@pytest.mark.parametrize("kind", ["group", "run"])
def test_files_that_parts_of_a_workflow_hand_over(argo: argo_oracle.Session, kind: str) -> None:
    make, read = _makes("make", kind), _reads("read", ref("make", "f"))
    parts = [
        step.model_copy(update={"part": Part(**{kind: name})})
        for step, name in ((make, "first"), (read, "second"))
    ]
    _twice(argo, flow(f"parts-{kind}", *parts), "read", f"read {kind}")


def test_entries_are_in_the_config_map_that_their_key_tells(argo: argo_oracle.Session) -> None:
    said = sh("say", "echo $1", item(), foreach=list("abcdef"), cache=MEMOIZED)
    fixed = sh("fixed", "echo 1", cache=MEMOIZED)
    tell = sh("tell", 'echo "$1"', ref("fixed"))
    _twice(argo, flow("spread", said, fixed, tell), "tell", "1")
    keys = {}
    for digit in "0123456789abcdef":
        for key, entry in (argo.config_map(f"couler-spread-{digit}") or {}).items():
            assert key[0] == digit
            keys[key] = json.loads(entry)["outputs"]["exitCode"]
    assert len(keys) == 7
    assert set(keys.values()) == {"0"}


@pytest.mark.parametrize("part", [None, "run"])
def test_entries_tell_their_repository(argo: argo_oracle.Session, part: str | None) -> None:
    name = f"told-{part or 'whole'}"
    make = _makes("make", item(), foreach=[name, "y"])
    read = _reads("read", item(), foreach=ref("make", "f"))
    if part is not None:
        make = make.model_copy(update={"part": Part(run="first")})
        read = read.model_copy(update={"part": Part(run="second")})
    url = "s3://artifacts"
    _twice(argo, flow(name, make, read), "read", f"read {name}", "read y", repository=url)
    connection = Connection("argo", Target(), {"kubeconfig": str(argo.kubeconfig)})
    found = ArgoBackend().entries(connection, {}).view().entries
    marks = {one.repository for one in found if one.place.startswith(f"couler-{name}-")}
    assert marks == {repository_mark(url)}


def test_what_a_sync_removes_is_made_again(argo: argo_oracle.Session) -> None:
    make = _makes("make", "evicted")
    workflow = flow("synced", make, _reads("read", ref("make", "f")))
    first = _run(argo, workflow)
    place = next(node for node in first.nodes if node.display_name == "make").artifacts["f"]
    connection = Connection("argo", Target(), {"kubeconfig": str(argo.kubeconfig)})
    later = datetime.now(UTC) + timedelta(hours=1)
    report = sync_entries(
        ArgoBackend().entries(connection, {}),
        RunFiles(str(first.bucket)),
        LeastRecentlyUsed(),
        budget_bytes=0,
        now=later,
    )
    assert place in {one for removal in report.removed for one in removal.entry.locations}
    assert not (first.bucket / place).exists()
    again = _run(argo, workflow)
    assert again.phase == "Succeeded", _messages(again)
    assert [node.memoized for node in again.nodes if node.display_name == "make"] == [False]
    assert _said(argo, again, "read") == ["read evicted"]


def _lose_files(run: argo_oracle.OracleRun, *names: str) -> None:
    """Remove the files of memoized steps, as a rule of a bucket does."""
    for node in run.nodes:
        if node.display_name in names and node.memoized is not None:
            for key in node.artifacts.values():
                (run.bucket / key).unlink()


def _watched(
    argo: argo_oracle.Session, workflow: Workflow, home: Home, tries: int = 5
) -> tuple[dict[str, str], list[str]]:
    """Submit a workflow and watch it; return how its steps and the run ended, and the notes."""
    workflow = resolve_defaults(workflow)
    artifact = ArgoBackend().compile(workflow, Target())
    connection = Connection("argo", Target(), {"kubeconfig": str(argo.kubeconfig)})
    notes: list[str] = []
    how = Watch(tries, on_note=notes.append)
    with open_database(home.database_url) as database:
        run = submit(Order(workflow, artifact, connection, {}), database, home, {})
        ended = watch(run, database, home, {}, how)
        steps = {step.path: step.status for step in steps_of(database, run.id)}
    return {**steps, "": ended.status}, notes


def test_files_that_are_gone_are_made_anew_by_who_watches(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    make, other = _makes("make", "lost"), _makes("other", "still there")
    read, tell = _reads("read", ref("make", "f")), _reads("tell", ref("other", "f"))
    workflow = flow("missed", make, other, read, tell)
    _lose_files(_run(argo, workflow), "make")
    states, notes = _watched(argo, workflow, Home(tmp_path / "home"))
    expected = {"make": "succeeded", "other": "cached", "read": "succeeded", "tell": "succeeded"}
    assert states == {**expected, "": "succeeded"}
    assert notes == ["files of cached steps are gone; again: make"]


def test_files_of_items_that_are_gone_are_made_anew(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    make = _makes("make", item(), foreach=["x", "y"])
    workflow = flow("missed-items", make, _reads("read", item(), foreach=ref("make", "f")))
    _lose_files(_run(argo, workflow), "make")
    states, _ = _watched(argo, workflow, Home(tmp_path / "home"))
    assert set(states.values()) == {"succeeded"}


def test_a_run_that_is_taken_up_makes_what_was_removed_meanwhile(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    make, read = _makes("make", "own"), _reads("read", ref("make", "f"))
    broken = sh("read", "exit 3", inputs=read.inputs)
    workflow = resolve_defaults(flow("taken-up", make, broken))
    connection = Connection("argo", Target(), {"kubeconfig": str(argo.kubeconfig)})
    artifact = ArgoBackend().compile(workflow, Target())
    home = Home(tmp_path / "home")
    with open_database(home.database_url) as database:
        run = submit(Order(workflow, artifact, connection, {}), database, home, {})
        failed = watch(run, database, home, {}, Watch())
        [made, _] = steps_of(database, run.id)
        assert (made.path, made.status) == ("make", "succeeded")
        argo.remove_file(t.cast("t.Any", made.outputs["f"])["text"])
        mended = flow("taken-up", make, read)
        restart(failed, prepare(failed, database, Changes(mended)), database, home, {})
        how = Watch(MAX_RETRIES)
        ended = watch(find_run(database, run.id), database, home, {}, how, is_restart=True)
        states = {step.path: step.status for step in steps_of(database, run.id)}
    assert (ended.status, states) == ("succeeded", {"make": "succeeded", "read": "succeeded"})


def test_files_that_are_gone_fail_who_reads_them_where_nothing_is_tried_again(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    workflow = flow("given-up", _makes("make", "up"), _reads("read", ref("make", "f")))
    _lose_files(_run(argo, workflow), "make")
    states, _ = _watched(argo, workflow, Home(tmp_path / "home"), tries=0)
    assert states == {"make": "cached", "read": "failed", "": "failed"}
