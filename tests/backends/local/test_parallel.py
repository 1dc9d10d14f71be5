"""Steps side by side: within a run, between runs, with results of earlier runs."""

from __future__ import annotations

import threading
from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.policies import Cache, Gpu, Resources
from couler.ir.workflow import Step, Suspend, Workflow
from couler.state.database import open_database
from couler.state.home import Home
from couler.state.results import Event, RunResult
from couler.state.runs import cache_decisions_of
from couler.state.signals import send_signal
from tests.corpus.build import flow, given, group, out, ref, sh

LOCAL = LocalBackend()


def run(workflow: Workflow, home: Path, *, jobs: int = 2, **options: object) -> RunResult:
    return LOCAL.run(workflow, options=RunOptions(home=home, jobs=jobs, **options))  # type: ignore[arg-type]  # a shorthand


def meet(name: str, other: str, folder: Path, **fields: object) -> Step:
    """Return a step that succeeds only while another runs."""
    wait = f"for n in $(seq 500); do test -e {folder}/{other} && exit 0; sleep 0.02; done; exit 1"
    return sh(name, f"touch {folder}/{name}; {wait}", result=None, **fields)  # type: ignore[arg-type]  # a shorthand


def alone(name: str, folder: Path, **fields: object) -> Step:
    """Return a step that fails if another one of these runs."""
    script = f"mkdir {folder}/busy || exit 1; sleep 0.05; rmdir {folder}/busy"
    return sh(name, script, result=None, **fields)  # type: ignore[arg-type]  # a shorthand


def test_two_steps_run_at_the_same_time(tmp_path: Path) -> None:
    workflow = flow("w", meet("a", "b", tmp_path), meet("b", "a", tmp_path))
    assert run(workflow, tmp_path / "home").status == "succeeded"


def test_one_job_is_one_at_a_time(tmp_path: Path) -> None:
    steps = [alone(f"s{number}", tmp_path) for number in range(4)]
    assert run(flow("w", *steps), tmp_path / "home", jobs=1).status == "succeeded"


def test_bounds_of_the_workflow_and_of_groups_hold(tmp_path: Path) -> None:
    one, two = (group(name, alone("a", tmp_path), alone("b", tmp_path)) for name in ("one", "two"))
    workflow = flow("w", one, two, max_parallel=1)
    assert run(workflow, tmp_path / "home", jobs=4).status == "succeeded"
    inner = group("g", alone("a", tmp_path), alone("b", tmp_path), max_parallel=1)
    assert run(flow("w", inner), tmp_path / "home", jobs=4).status == "succeeded"


def test_process_is_told_its_gpus(tmp_path: Path) -> None:
    step = sh("a", 'echo "$CUDA_VISIBLE_DEVICES"', resources=Resources(gpu=Gpu(count=2)))
    result = run(flow("w", step), tmp_path, gpus=2)
    assert result.steps["a"].outputs == {"result": "0,1"}


def test_lock_holds_between_runs(tmp_path: Path) -> None:
    workflow = flow("w", *(alone(f"s{number}", tmp_path, mutex="m") for number in range(3)))
    results: list[RunResult] = []

    def work() -> None:
        results.append(run(workflow, tmp_path / "home"))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.status for result in results] == ["succeeded", "succeeded"]


def test_results_of_an_earlier_run_are_taken_from_the_cache(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    make = sh(
        "make",
        f"echo made >> {ledger}; echo $1 > f; echo $1",
        "x",
        outputs=[out("f", "file", "f")],
        cache=Cache(),
    )
    read = sh("read", "cat $COULER_INPUT_f", inputs=[given("f", ref("make", "f"), "file")])
    workflow = flow("w", make, read)
    home = tmp_path / "home"
    first, second = run(workflow, home), run(workflow, home)
    assert [first.steps["make"].status, second.steps["make"].status] == ["succeeded", "cached"]
    assert second.steps["make"].outputs == first.steps["make"].outputs
    assert second.steps["read"].outputs == {"result": "x"}
    assert run(workflow, home, use_cache=False).steps["make"].status == "succeeded"
    assert ledger.read_text(encoding="utf-8").split() == ["made", "made"]
    with open_database(Home(home).database_url) as database:
        told = [
            decision.decision
            for result in (first, second)
            for decision in cache_decisions_of(database, result.run_id)
        ]
    assert told == ["miss", "stored", "hit"]


def test_altered_file_in_the_store_is_a_miss_and_no_error(tmp_path: Path) -> None:
    make = sh("make", "echo x > f", result=None, outputs=[out("f", "file", "f")], cache=Cache())
    first = run(flow("w", make), tmp_path)
    kept = Path(first.steps["make"].outputs["f"])
    kept.chmod(0o600)
    kept.write_text("y\n", encoding="utf-8")
    second = run(flow("w", make), tmp_path)
    assert (second.status, second.steps["make"].status) == ("succeeded", "succeeded")
    assert Path(second.steps["make"].outputs["f"]).read_text(encoding="utf-8") == "x\n"


def test_step_that_waits_for_a_person_goes_on_when_it_is_resumed(tmp_path: Path) -> None:
    workflow = flow(
        "w", Step(name="ask", action=Suspend()), sh("after", "echo 1", depends_on=["ask"])
    )
    waiting = threading.Event()
    results: list[RunResult] = []

    def hear(event: Event) -> None:
        if event.kind == "suspended":
            waiting.set()

    def work() -> None:
        options = RunOptions(home=tmp_path)
        results.append(LOCAL.run(workflow, options=options, on_event=hear))

    thread = threading.Thread(target=work)
    thread.start()
    assert waiting.wait(20)
    with open_database(Home(tmp_path).database_url) as database:
        [folder] = Home(tmp_path).runs.iterdir()
        send_signal(database, folder.name, "ask", "resume")
    thread.join(20)
    assert [result.status for result in results] == ["succeeded"]
