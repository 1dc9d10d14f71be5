"""Runs whose engine, steps or disk fail, and what must hold of them nevertheless.

A `FaultRun` is one run in sessions, each an engine process of its own. After each session it reads
the database as the dead engine left it, and compares with the ledger of `fault_workflow`:

- what was recorded as succeeded does not run again;
- what was recorded as succeeded did run, and is in the result;
- no step is under way twice at the same time;
- the outputs are those of a run that nothing disturbed;
- no process of the run is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import typing as t
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from couler.ir.serialize import write_json
from couler.ir.workflow import Workflow
from tests.support import fault_engine
from tests.support.fault_engine import JOBS, KILL_AT
from tests.support.fault_workflow import LEDGER, LOCKS, REPEATED, path_of

_PATIENCE_S = 600.0
"""How long a session may take, on a machine that does other things too."""

_END_S = 120.0
"""How long processes may take to be gone from the table of the system."""

_PROC = Path("/proc")


class Line(t.NamedTuple):
    """A line of the ledger."""

    word: str
    path: str
    pid: int


@dataclass(frozen=True)
class Ended:
    """How a session ended."""

    exit_code: int
    stderr: str
    result: Mapping[str, t.Any] | None
    seconds: float
    """From its beginning, when everything is loaded."""


Fault: t.TypeAlias = Callable[["Watched"], None]
"""What happens to a session that has begun."""


@dataclass(frozen=True)
class Watched:
    """A session under way."""

    run: FaultRun
    engine: subprocess.Popen[str]
    begun: float
    """By the clock of `time.monotonic`."""

    def is_alive(self) -> bool:
        """Return whether the engine still works."""
        return self.engine.poll() is None

    def wait_until(self, is_so: Callable[[], bool]) -> bool:
        """Look often until something is so; return whether it was before the engine ended."""
        while not is_so():
            if not self.is_alive():
                return False
            time.sleep(0.0005)
        return True


@dataclass
class FaultRun:
    """One run of a workflow, in sessions.

    Parameters
    ----------
    workflow
        What to run.
    folder
        For all that belongs to it; new.
    home
        Where the engine keeps its things; None for a folder in `folder`.
    jobs
        How many processes at the same time.
    """

    workflow: Workflow
    folder: Path
    home: Path = Path()
    jobs: int = 4
    broken: list[str] = field(default_factory=list)
    """What did not hold, in words."""
    sessions: int = 0
    killed_steps: int = 0
    _known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.home = self.home if self.home.parts else self.folder / "home"
        self.ledger = self.folder / "ledger"
        self.locks = self.folder / "locks"
        self.locks.mkdir(parents=True)
        self.ledger.touch()
        self._file = self.folder / "workflow.json"
        self._file.write_text(write_json(self.workflow), encoding="utf-8")

    # sessions -------------------------------------------------------------------------------------

    def session(
        self, fault: Fault | None = None, *, environ: Mapping[str, str] | None = None
    ) -> Ended:
        """Begin the run or take it up again, and wait for the end of the engine."""
        before, seen = self.recorded(), len(self.lines())
        run_id = self.run_id()
        with tempfile.TemporaryFile("w+") as errors:
            engine = subprocess.Popen(
                [
                    sys.executable,
                    fault_engine.__file__,
                    self.home,
                    self._file,
                    *([run_id] if run_id else []),
                ],
                env=self._environ(environ or {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
            ended = self._watch(engine, fault)
            errors.seek(0)
            ended = Ended(ended.exit_code, errors.read(), ended.result, ended.seconds)
        self.sessions += 1
        self._check_session(before, seen, ended)
        return ended

    def _environ(self, more: Mapping[str, str]) -> dict[str, str]:
        return {
            **{name: text for name, text in os.environ.items() if not name.startswith("COULER")},
            LEDGER: str(self.ledger),
            LOCKS: str(self.locks),
            JOBS: str(self.jobs),
            **more,
        }

    def _watch(self, engine: subprocess.Popen[str], fault: Fault | None) -> Ended:
        assert engine.stdout is not None
        try:
            engine.stdout.readline()
            begun = time.monotonic()
            if fault is not None:
                fault(Watched(self, engine, begun))
            printed, _ = engine.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.broken.append("the engine does not end")
            printed = ""
        finally:
            if engine.poll() is None:
                engine.kill()
            engine.wait()
            engine.stdout.close()
        result = json.loads(printed) if printed.strip() else None
        return Ended(engine.returncode, "", result, time.monotonic() - begun)

    # what is known of it --------------------------------------------------------------------------

    def run_id(self) -> str | None:
        """Return the id of the run, None if it is not recorded yet."""
        rows = self.query("SELECT id FROM runs")
        return str(rows[0][0]) if rows else None

    def recorded(self) -> set[str]:
        """Return the paths of the steps with a process that are recorded as succeeded."""
        rows = self.query(
            "SELECT path FROM steps WHERE status IN ('succeeded', 'cached') AND key IS NOT NULL"
        )
        return {str(path) for (path,) in rows}

    def query(self, text: str) -> list[tuple[t.Any, ...]]:
        """Ask a copy of the database, so that it stays as the engine left it."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ("couler.db", "couler.db-wal"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copy(self.home / name, folder)
            if not Path(folder, "couler.db").exists():
                return []
            with contextlib.closing(sqlite3.connect(Path(folder, "couler.db"))) as connection:
                try:
                    [(verdict,)] = connection.execute("PRAGMA integrity_check").fetchall()
                    if verdict != "ok":
                        self.broken.append(f"the database is damaged: {verdict}")
                    return connection.execute(text).fetchall()
                except sqlite3.OperationalError as error:
                    if "no such table" not in str(error):
                        raise
                    return []

    def lines(self) -> list[Line]:
        """Return the ledger."""
        lines = []
        for line in self.ledger.read_text(encoding="utf-8").splitlines():
            word, path, pid = line.split(" ")
            lines.append(Line(word, path_of(path), int(pid)))
        return lines

    def under_way(self) -> list[Line]:
        """Return the steps that have started and not ended."""
        last: dict[int, Line] = {}
        for line in self.lines():
            last[line.pid] = line
        return [line for line in last.values() if line.word == "start"]

    # what must hold -------------------------------------------------------------------------------

    def _check_session(self, before: set[str], seen: int, ended: Ended) -> None:
        lines = self.lines()
        new = lines[seen:]
        after = self.recorded()
        again_failed = f"{REPEATED}/"
        may_repeat = any(line.word == "fail" and line.path.startswith(again_failed) for line in new)
        for line in new:
            # Handlers run again where something ran after them.
            if line.path.startswith("exit:") or (may_repeat and line.path.startswith(again_failed)):
                continue
            if line.word == "start" and line.path in before:
                self.broken.append(f"{line.path} had succeeded and ran again")
        done = {line.path for line in lines if line.word == "end"}
        self.broken += [f"{path} is recorded and never ran" for path in sorted(after - done)]
        kept = {path for path in before - after if not path.startswith(("exit:", again_failed))}
        self.broken += [f"what is recorded of {path} is lost" for path in sorted(kept)]
        self.broken += [f"{line.path} was under way twice" for line in new if line.word == "double"]
        if "Traceback" in ended.stderr:
            self.broken.append(f"a traceback: {ended.stderr[:1500]}")
        if ended.exit_code == 0:
            states = {step["path"]: step["status"] for step in (ended.result or {})["steps"]}
            self.broken += [
                f"{path} is recorded and not in the result" for path in after - states.keys()
            ]
            self.check_processes()

    def check_processes(self) -> None:
        """Note which processes of the run are left; the engine must have ended."""
        until = time.monotonic() + _END_S
        left = list(self.processes())
        # The end of a process that was killed takes the system a moment.
        while left and time.monotonic() < until:
            time.sleep(0.01)
            left = list(self.processes())
        self.broken += [f"a process is left: {told}" for told in left]

    def processes(self) -> Iterator[str]:
        """Yield the processes of the run: by the ledger in their environment, or their session."""
        mark = f"{LEDGER}={self.ledger}".encode()
        led = {line.pid for line in self.lines()}
        for folder in _PROC.iterdir():
            if not folder.name.isdecimal():
                continue
            try:
                stat = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
                environ = (folder / "environ").read_bytes().split(b"\0")
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if stat[0] != "Z" and (mark in environ or int(stat[3]) in led):
                yield f"{folder.name} {command.strip()[:60]!r}"

    def clean_up(self) -> None:
        """End what should have ended, and remove the folder."""
        for told in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(told.split()[0]), signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def contents(value: object) -> object:
    """Return outputs with what files hold in the place of their paths."""
    if isinstance(value, Mapping):
        return {name: contents(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [contents(inner) for inner in value]
    path = Path(value) if isinstance(value, str) and value.startswith("/") else None
    if path is None:
        return value
    if path.is_dir():
        return {
            str(file.relative_to(path)): file.read_text(encoding="utf-8")
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
    return path.read_text(encoding="utf-8")


# faults -------------------------------------------------------------------------------------------


def kill_after(seconds: float) -> Fault:
    """Kill the engine some seconds after its begin."""
    return signal_after(seconds, signal.SIGKILL)


def signal_after(seconds: float, number: signal.Signals, *, again_s: float | None = None) -> Fault:
    """Send the engine a signal some seconds after its begin, and a second one later."""

    def fault(watched: Watched) -> None:
        until = watched.begun + seconds
        if not watched.wait_until(lambda: time.monotonic() >= until):
            return
        watched.engine.send_signal(number)
        if again_s is not None:
            time.sleep(again_s)
            if watched.is_alive():
                watched.engine.send_signal(number)

    return fault


def kill_at_start(number: int) -> Fault:
    """Kill the engine right after some process has begun, counted in its session."""

    def fault(watched: Watched) -> None:
        starts = watched.run.ledger.read_bytes().count(b"start ") + number
        if watched.wait_until(lambda: watched.run.ledger.read_bytes().count(b"start ") >= starts):
            watched.engine.kill()

    return fault


def kill_in_commit(seconds: float) -> Fault:
    """Kill the engine at its first write to the database some seconds after its begin."""

    def fault(watched: Watched) -> None:
        log = watched.run.home / "couler.db-wal"

        def state() -> tuple[int, int]:
            try:
                facts = log.stat()
            except FileNotFoundError:
                return 0, 0
            return facts.st_size, facts.st_mtime_ns

        until = watched.begun + seconds
        if not watched.wait_until(lambda: time.monotonic() >= until):
            return
        before = state()
        while watched.is_alive() and state() == before:
            pass  # a commit takes less than any sleep
        watched.engine.kill()

    return fault


def kill_steps(chance: random.Random, count: int, seconds: float) -> Fault:
    """Kill processes of steps, spread over some seconds."""

    def fault(watched: Watched) -> None:
        run = watched.run
        for moment in sorted(chance.uniform(0, seconds) for _ in range(count)):
            until = watched.begun + moment
            if not watched.wait_until(lambda until=until: time.monotonic() >= until):  # type: ignore[misc]
                return
            if not watched.wait_until(lambda: bool(run.under_way())):
                return
            victim = chance.choice(run.under_way())
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim.pid, signal.SIGKILL)
                run.killed_steps += 1
                with run.ledger.open("a", encoding="utf-8") as ledger:
                    ledger.write(f"fail {victim.path} {victim.pid}\n")

    return fault


POINTS = ("spawn", "write", "before", "after")
"""Where the engine can kill itself: see `fault_engine`."""


def kill_point(point: str, number: int) -> dict[str, str]:
    """Return the environment in which the engine kills itself at a point."""
    return {KILL_AT: f"{point}:{number}"}
