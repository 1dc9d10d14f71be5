"""Locks on this machine: several at once, semaphores, locks of whole workflows."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.backends.local.locks import Hold, Locks, hold_of
from couler.errors import ConfigurationError, UnsupportedFeatureError
from couler.ir.policies import DatabaseSemaphore, Lock, Mutex, Semaphore
from couler.ir.serialize import write_json
from couler.ir.storage import ConfigKey
from couler.ir.workflow import Workflow
from couler.locations.secrets import Entries
from couler.state.results import RunResult
from tests.corpus.build import flow, sh

GPUS = Semaphore(limit=ConfigKey(config_map="limits", key="gpus"))


def run(workflow: Workflow, home: Path, **environ: str) -> RunResult:
    options = RunOptions(home=home, jobs=4)
    path = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    return LocalBackend().run(workflow, options=options, environ={**path, **environ})


def test_all_of_several_are_taken_or_none(tmp_path: Path) -> None:
    here, there = Locks(tmp_path), Locks(tmp_path)
    a, b = Hold("a"), Hold("b")
    assert there.take(b)
    assert here.take_all((a, b)) == b
    assert there.take(a)
    there.close()
    assert here.take_all((a, b)) is None


@pytest.mark.parametrize("places", [1, 2])
def test_a_semaphore_bounds_the_steps_of_all_runs(tmp_path: Path, places: int) -> None:
    """Each step counts those that run beside it; two runs of four steps meet."""
    count = f"""
        me=$(mktemp {tmp_path}/beside.XXXXXX); ls {tmp_path}/beside.* | wc -l >> {tmp_path}/counts
        sleep 0.1; rm "$me"
    """
    steps = [sh(f"s{number}", count, result=None, locks=[GPUS]) for number in range(4)]
    workflow = flow("w", *steps)
    results: list[RunResult] = []

    def work() -> None:
        results.append(run(workflow, tmp_path / "home", COULER_CONFIG_limits_gpus=str(places)))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.status for result in results] == ["succeeded", "succeeded"]
    counts = [int(line) for line in (tmp_path / "counts").read_text().split()]
    assert len(counts) == 8
    assert max(counts) == places


@pytest.mark.parametrize("size", ["", "0", "-1", "two", "1.5"])
def test_a_size_that_is_none_is_told_before_the_start(tmp_path: Path, size: str) -> None:
    workflow = flow("w", sh("a", "true", locks=[GPUS]))
    with pytest.raises(ConfigurationError, match='"gpus" of the config map "limits" is the size'):
        run(workflow, tmp_path, COULER_CONFIG_limits_gpus=size)


def test_a_semaphore_of_a_database_is_refused(tmp_path: Path) -> None:
    workflow = flow("w", sh("a", "true", locks=[DatabaseSemaphore(key="gpus")]))
    with pytest.raises(UnsupportedFeatureError, match="Give the size by a config map"):
        run(workflow, tmp_path)


@pytest.mark.parametrize(
    ("of_run", "of_step", "size"),
    [
        ([GPUS], [GPUS], 1),
        ([], [GPUS, GPUS], 1),
        ([GPUS], [GPUS, GPUS], 2),
        ([Mutex(name="m")], [Mutex(name="m")], 1),
        ([Mutex(name="m"), Mutex(name="m")], [], 1),
    ],
)
def test_a_lock_that_is_never_free_is_told_before_the_start(
    of_run: list[Lock], of_step: list[Lock], size: int, tmp_path: Path
) -> None:
    workflow = flow("w", sh("a", f"touch {tmp_path}/begun", locks=of_step), locks=of_run)
    with pytest.raises(ConfigurationError, match=f"would wait for ever: .* which has {size}"):
        run(workflow, tmp_path / "home", COULER_CONFIG_limits_gpus=str(size))
    assert not (tmp_path / "begun").exists()


def test_a_mutex_of_a_database_is_another_than_one_of_the_same_name(tmp_path: Path) -> None:
    both = [Mutex(name="m"), Mutex(name="m", database=True)]
    workflow = flow("w", sh("a", "true", locks=both), sh("b", "true", mutex="m"), locks=both[1:])
    with pytest.raises(ConfigurationError, match='step "a" would wait for ever'):
        run(workflow, tmp_path)
    workflow = flow("w", sh("a", "true", locks=both), sh("b", "true", mutex="m"))
    assert run(workflow, tmp_path).status == "succeeded"
    workflow = flow("w", sh("a", "true", mutex="m"), locks=both[1:])
    assert run(workflow, tmp_path).status == "succeeded"


@pytest.mark.parametrize(
    ("lock", "hold"),
    [
        (Mutex(name="m"), Hold("m")),
        (Mutex(name="m", database=True), Hold("m", kind="database mutex")),
        (Mutex(name="m", namespace="n"), Hold("n/m")),
        (GPUS, Hold("limits/gpus", 3, "semaphore")),
    ],
)
def test_what_a_lock_is_here(lock: Lock, hold: Hold) -> None:
    assert hold_of(lock, Entries({"COULER_CONFIG_limits_gpus": " 3\n"})) == hold


def test_a_lock_outlives_a_killed_engine_with_the_step_that_it_is_for(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    holding = flow(
        "first",
        sh(
            "hold", f"echo begun >> {seen}; sleep 2; echo ended >> {seen}", locks=(Mutex(name="m"),)
        ),
    )
    file = tmp_path / "first.json"
    file.write_text(write_json(holding))
    engine = subprocess.Popen(
        [sys.executable, "-m", "couler.cli", "run", str(file), "--home", str(tmp_path / "home")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not seen.exists():
        assert engine.poll() is None
        time.sleep(0.02)
    engine.kill()
    engine.wait()
    assert seen.read_text() == "begun\n"  # the step lives on
    after = flow("second", sh("look", f"cat {seen}", locks=(Mutex(name="m"),)))
    ended = LocalBackend().run(after, options=RunOptions(home=tmp_path / "home"))
    assert ended.steps["look"].outputs["result"] == "begun\nended"
