"""Engines that are killed while they admit and evict, and what must hold of the cache nevertheless.

Two engines at a time run a workflow in one home, under a budget that a third of its files fills.
One of them is killed. After each kill:

- every file in the store is what its digest says;
- every file of every entry is in the store;
- the entries take no more than the budget;
- the other run succeeds, and gives what its parameters make of it: no other file was served;
- the database is whole.

In the end the killed runs are taken up, and what nobody needs any more is gone from the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import typing as t
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa

from couler.errors import ArtifactError
from couler.ir.policies import Cache
from couler.ir.serialize import write_json
from couler.ir.values import ParamRef
from couler.ir.workflow import Parameter, Workflow
from couler.state import Database, open_database
from couler.state.cache import stats_of_cache
from couler.state.garbage import collect_garbage
from couler.state.home import Home
from couler.state.runs import find_run, list_runs
from couler.state.tables import cache_decisions, cache_entries, cache_objects
from couler.store import ObjectStore
from tests.corpus.build import flow, given, out, ref, sh
from tests.support import cache_fault_engine
from tests.support.cache_fault_engine import KILL_AT, POINTS

_PATIENCE_S = 600.0
_SIZES = {"rows": 60_000, "table": 40_000, "model": 25_000, "plot": 10_000}
_VALUES = 4
"""How many values each parameter may have."""

BUDGET = 180_000
"""Of bytes: 4 values of each size take 540,000."""

_RUN_S = 1.2
"""About how long a run takes, for kills at a random moment."""


def workflow() -> Workflow:
    """Return cached steps, two of which make the same of equal values, their sum, its reader."""
    steps = []
    for name, size in _SIZES.items():
        script = f'yes "$1" | head -c {size} > f'
        made = sh(name, script, ParamRef(name=name), result=None, outputs=[out("f", "file", "f")])
        steps.append(made.model_copy(update={"cache": Cache()}))
    twin = sh("twin", 'yes "$1" | head -c 60000 > f; : twin', ParamRef(name="rows"), result=None)
    files = (out("f", "file", "f"),)
    steps.append(twin.model_copy(update={"cache": Cache(), "outputs": files}))
    names = [step.name for step in steps]
    inputs = [given(name, ref(name, "f"), "file") for name in names]
    paths = " ".join(f"$COULER_INPUT_{name}" for name in names)
    summed = f"cat {paths} | sha256sum | cut -d ' ' -f 1"
    # Kept when what it reads is not: then that is passed.
    add = sh("add", summed, inputs=inputs).model_copy(update={"cache": Cache()})
    read = sh("read", 'echo "$1"', ref("add", "result"))
    parameters = tuple(Parameter(name=name) for name in _SIZES)
    digest = out("digest", source=ref("read", "result"))
    return flow("faults", *steps, add, read, outputs=[digest]).model_copy(
        update={"parameters": parameters}
    )


def expected(parameters: t.Mapping[str, str]) -> str:
    """Return what a run with these parameters must tell."""
    digest = hashlib.sha256()
    for name, size in (*_SIZES.items(), ("rows", _SIZES["rows"])):
        line = f"{parameters[name]}\n".encode()
        digest.update((line * (size // len(line) + 1))[:size])
    return digest.hexdigest()


@dataclass
class CacheCampaign:
    """Many runs in one home, some of them killed.

    Parameters
    ----------
    folder
        For all that belongs to it; new.
    seed
        Of the moments and the parameters.
    """

    folder: Path
    seed: int
    broken: list[str] = field(default_factory=list)
    """What did not hold, in words."""
    kills: Counter[str] = field(default_factory=Counter)
    """How many there were, by where."""
    ended: Counter[str] = field(default_factory=Counter)
    """What became of the engines."""

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._home = Home(self.folder / "home")
        self._file = self.folder / "workflow.json"
        self._file.write_text(write_json(workflow()), encoding="utf-8")
        self._store = ObjectStore(self._home.store_url)

    def kill(self, kills: int) -> None:
        """Run until so many engines were killed, or something does not hold."""
        for point, number in moments(self.seed):
            if self.kills.total() >= kills or self.broken:
                return
            self.round(point, number)

    def round(self, point: str | None = None, number: int = 1) -> None:
        """Run two engines, kill one at a point, or at a random moment, and look at what is left."""
        victim = self._start({KILL_AT: f"{point}:{number}"} if point else {})
        witness = self._start({})
        if point is None:
            time.sleep(self._chance.uniform(0.0, _RUN_S))
            victim.process.send_signal(signal.SIGKILL)
        for engine in (victim, witness):
            self._end(engine, point or "at any moment")
        self.check()

    def finish(self) -> None:
        """Take up what was killed, and compare the disk with what is needed then."""
        with open_database(self._home.database_url) as database:
            left = [run.id for run in list_runs(database) if run.status != "succeeded"]
        for run in left:
            self._end(self._start({}, run), "")
        self.check()
        with open_database(self._home.database_url) as database:
            # What was stored and not recorded when its engine was killed, nobody knows of.
            collect_garbage(database, self._store, grace=timedelta(0))
            needed = _objects_of_entries(database)
        there = {item.digest: item.size for item in self._store.objects()}
        self.broken += [f"{digest} is needed by nobody" for digest in there.keys() - needed]
        if sum(there.values()) > BUDGET:
            self.broken.append(f"the store takes {sum(there.values())} bytes")

    def check(self) -> None:
        """Note what does not hold while nobody works."""
        there = set()
        for item in self._store.objects():
            there.add(item.digest)
            try:
                self._store.verify(f"{item.digest}/x")
            except ArtifactError as error:
                self.broken.append(f"the store: {error}")
        with open_database(self._home.database_url) as database:
            with database.read() as connection:
                verdict = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
            lost = _objects_of_entries(database) - there
            used = stats_of_cache(database).size_bytes
        self.broken += [f"{digest} of an entry is not there" for digest in lost]
        if used > BUDGET:
            self.broken.append(f"the entries take {used} bytes")
        if verdict != "ok":
            self.broken.append(f"the database is damaged: {verdict}")

    def decisions(self) -> dict[str, int]:
        """Return how often the cache did what."""
        told = cache_decisions.c.decision
        with open_database(self._home.database_url) as database, database.read() as connection:
            rows = connection.execute(sa.select(told, sa.func.count()).group_by(told))
            return {kind: count for kind, count in rows}  # noqa: C416  # rows, which dict() is not typed for

    def _start(self, environ: dict[str, str], run: str | None = None) -> _Engine:
        parameters = {name: str(self._chance.randrange(_VALUES)) for name in _SIZES}
        process = subprocess.Popen(
            [
                *(sys.executable, cache_fault_engine.__file__, self._home.root, str(BUDGET)),
                *(self._file, json.dumps(parameters), *([run] if run else [])),
            ],
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        return _Engine(process, parameters, run)

    def _end(self, engine: _Engine, where: str) -> None:
        """Wait for the end of an engine and look at what it gives."""
        try:
            printed, errors = engine.process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            engine.process.kill()
            engine.process.communicate()
            self.broken.append("an engine does not end")
            return
        code = engine.process.returncode
        self.ended["killed" if code == -signal.SIGKILL else f"exit {code}"] += 1
        if code == -signal.SIGKILL:
            self.kills[where] += 1
            return
        if code:
            self.broken.append(f"an engine ended with {code}: {errors[-1500:]} {printed[-1500:]}")
            return
        result = json.loads(printed)
        parameters = self._parameters_of(engine.run) if engine.run else engine.parameters
        if result["outputs"]["digest"] != expected(parameters):
            self.broken.append(f"a run with {parameters} was served another file")

    def _parameters_of(self, run: str) -> dict[str, str]:
        with open_database(self._home.database_url) as database:
            record = find_run(database, run)
        return {name: record.parameters[name]["text"] for name in _SIZES}


class _Engine(t.NamedTuple):
    process: subprocess.Popen[str]
    parameters: dict[str, str]
    run: str | None


def _objects_of_entries(database: Database) -> set[str]:
    with database.read() as connection:
        joined = sa.select(cache_objects.c.digest).join_from(cache_entries, cache_objects)
        return set(connection.execute(joined).scalars())


def moments(seed: int) -> t.Iterator[tuple[str | None, int]]:
    """Yield where to kill, without end: each point in turn, and now and then at any moment."""
    chance = random.Random(seed)
    while True:
        for point in POINTS:
            yield point, chance.randint(1, 3)
        for _ in range(len(POINTS) // 3):
            yield None, 0
