"""What policies save across runs, over many ways in which the work of `caching_real.py` can go.

One course of parameters is a matter of luck. Here the workflow of `caching_real.py` runs once, for
the seconds and bytes of each step; its ten runs are then played through for many courses, with
these in place of the work. What is kept is decided as it is in a real run: by the same judge, in a
database, with what earlier runs have told. Steps run one after the other, each takes as long and
makes as much whatever its parameters are, and a step runs if it is new, or if it is not kept and
something that runs reads it.

    python benchmarks/caching_courses.py [--courses N] [--runs N] [--rows N] [--seed S] [--json OUT]

The columns: seconds of steps over those where nothing is kept, the mean, and the middle half of
courses; in how many courses less than with `lru`, and in how many more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import tempfile
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import caching_real

from couler.backends.base import RunOptions
from couler.budget.courses import course_of
from couler.budget.judging import Budget, Judge
from couler.caching.later_runs import Course
from couler.caching.registry import policy_names
from couler.ir.graph import Graph
from couler.ir.values import ParamRef, children
from couler.ir.walk import references
from couler.ir.workflow import Step, Workflow
from couler.stages import run
from couler.state import RunRecord, attempts_of, create_run, open_database
from couler.state.admission import count_hit, count_pass, settle_offer
from couler.state.cache import list_entries, look_up
from couler.state.database import Database
from couler.state.entries import Entry, Offer
from couler.state.home import Home
from couler.state.remembered import Remembered, recall

UNLIMITED = "unlimited"
COURSES = 40
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Study:
    """A workflow of plain steps, and what they take."""

    name: str
    steps: Sequence[Step]
    """In an order in which they can run."""
    course: Course
    seconds: Mapping[str, float]
    size_bytes: Mapping[str, int]
    """Of the steps with a cache."""

    @classmethod
    def measure(cls, rows: int) -> t.Self:
        """Run the workflow of real steps once."""
        program = caching_real.workflow(rows)
        with tempfile.TemporaryDirectory(prefix="couler-caching-courses-") as folder:
            result = run(program, options=RunOptions(home=Path(folder), jobs=1))
            if result.status != "succeeded":
                raise SystemExit(f"{result.run_id} {result.status}: {result.message}")
            with open_database(Home(Path(folder)).database_url) as database:
                seconds = {
                    attempt.path: (attempt.finished - attempt.started).total_seconds()
                    for attempt in attempts_of(database, result.run_id)
                    if attempt.finished is not None
                }
                sizes = {entry.place: entry.size_bytes for entry in list_entries(database)}
        return cls.of(program.to_ir(), seconds, sizes)

    @classmethod
    def of(
        cls, workflow: Workflow, seconds: Mapping[str, float], size_bytes: Mapping[str, int]
    ) -> t.Self:
        """Return the study of a workflow of which this is known."""
        by_name = {step.name: step for step in workflow.steps}
        order = [by_name[name] for level in Graph.of(workflow.steps).levels for name in level]
        course = course_of(workflow, workflow.name)
        return cls(workflow.name, order, course, seconds, size_bytes)

    def keys(self, parameters: Mapping[str, t.Any]) -> dict[str, str]:
        """Return what each step runs on, as one text."""
        keys: dict[str, str] = {}
        for step in self.steps:
            given = [
                parameters[value.name] for value in children(step) if isinstance(value, ParamRef)
            ]
            made = [keys[reference.step] for reference in references(step)]
            text = json.dumps([step.name, given, made])
            keys[step.name] = hashlib.sha256(text.encode()).hexdigest()
        return keys

    def running(self, known: Mapping[str, Entry | Remembered | None]) -> set[str]:
        """Return the names of the steps that run, by what is known of each."""
        runs: set[str] = set()
        for step in reversed(self.steps):
            reads = {one.name for one in self.steps if step.name in map(_step_of, references(one))}
            found = known[step.name]
            is_passed = isinstance(found, Remembered) and reads and not reads & runs
            if not (isinstance(found, Entry) or is_passed):
                runs.add(step.name)
        return runs


def _step_of(reference: t.Any) -> str:
    return str(reference.step)


def play(
    study: Study, database: Database, courses: Sequence[Mapping[str, t.Any]], judge: Judge
) -> float:
    """Return the seconds of all steps that run; the database is new."""
    spent_s = 0.0
    for number, parameters in enumerate(courses):
        run_id = f"{study.name}-{number}"
        create_run(database, _record(run_id, study.name), '{"ir_version": 1}')
        keys = study.keys(parameters)
        known = {
            name: look_up(database, key) or recall(database, key) for name, key in keys.items()
        }
        runs = study.running(known)
        for step in study.steps:
            name, at = step.name, NOON + timedelta(seconds=spent_s)
            if name in runs:
                spent_s += study.seconds[name]
                if step.cache is not None:
                    offer = _offer(study, name, keys[name], run_id, at)
                    settle_offer(database, offer, judge.settle)
                continue
            # Something may have gone or come since the run began.
            entry = look_up(database, keys[name])
            if entry is not None:
                count_hit(database, entry, at, partial(judge.credit_of, entry=entry))
            elif (gone := recall(database, keys[name])) is not None:
                count_pass(database, gone)
    return spent_s


def _record(run_id: str, workflow: str) -> RunRecord:
    return RunRecord(
        id=run_id,
        workflow=workflow,
        workflow_digest="a" * 64,
        engine="local",
        created=NOON,
        status="running",
    )


def _offer(study: Study, name: str, key: str, run_id: str, at: datetime) -> Offer:
    return Offer(
        key=key,
        workflow=study.name,
        step=name,
        size_bytes=study.size_bytes[name],
        cost_s=study.seconds[name],
        run_id=run_id,
        path=name,
        place=name,
        outputs={"result": key},
        digests=(key,),
        made=at,
    )


def play_anew(
    study: Study, courses: Sequence[Mapping[str, t.Any]], policy: str, budget_bytes: int
) -> float:
    """Return the seconds of all steps under a policy, in a database of their own."""
    judge = Judge(course=study.course)
    if policy != UNLIMITED:
        judge = Judge(Budget.choose(policy, budget_bytes), study.course)
    with (
        tempfile.TemporaryDirectory(prefix="couler-caching-courses-") as folder,
        open_database(f"sqlite:///{folder}/couler.db") as database,
    ):
        return play(study, database, courses, judge)


@dataclass(frozen=True)
class Row:
    """What a policy made of all courses."""

    policy: str
    ratios: Sequence[float]
    """Of each course, to the seconds where nothing is kept."""
    less: int
    more: int
    """In how many courses than with the first policy."""


def compare(
    study: Study, runs: int, seeds: Sequence[int], policies: Sequence[str], budget_bytes: int
) -> list[Row]:
    """Play all courses under each policy; the first is what others are compared with."""
    rows: list[Row] = []
    whole_s = runs * sum(study.seconds[step.name] for step in study.steps)
    for policy in policies:
        ratios = [
            play_anew(study, caching_real.courses(runs, seed), policy, budget_bytes) / whole_s
            for seed in seeds
        ]
        first = rows[0].ratios if rows else ratios
        both = list(zip(ratios, first, strict=True))
        less = sum(one < other - 1e-9 for one, other in both)
        more = sum(one > other + 1e-9 for one, other in both)
        rows.append(Row(policy, ratios, less, more))
        low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        middle = f"{low:.3f} to {high:.3f}"
        print(f"{policy:14} {statistics.mean(ratios):6.3f}  {middle} {less:5} {more:5}", flush=True)
    return rows


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--courses", type=int, default=COURSES, help="default %(default)s")
    parser.add_argument("--runs", type=int, default=10, help="of a course; default %(default)s")
    parser.add_argument("--rows", type=int, default=100_000, help="of the table; as caching_real")
    parser.add_argument("--seed", type=int, default=1, help="of the first course")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all ratios there")
    options = parser.parse_args()
    os.environ.update(dict.fromkeys(caching_real.ONE_THREAD, "1"))
    study = Study.measure(options.rows)
    budget_bytes = sum(study.size_bytes.values()) // caching_real.SHARE
    seeds = range(options.seed, options.seed + options.courses)
    print(f"{options.courses} courses of {options.runs} runs; cache {budget_bytes / 1e6:.1f} MB\n")
    print("policy           mean  middle half     less  more")
    others = [name for name in policy_names() if name not in ("none", "lru")]
    rows = compare(study, options.runs, seeds, ["lru", *others, UNLIMITED], budget_bytes)
    if options.json is not None:
        document = {
            "schema_version": SCHEMA_VERSION,
            "seeds": list(seeds),
            "budget_bytes": budget_bytes,
            "seconds": study.seconds,
            "size_bytes": study.size_bytes,
            "policies": [asdict(row) for row in rows],
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
