"""Many faults, one after another, and the figures of what held."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.fault_runs import (
    POINTS,
    Ended,
    Fault,
    FaultRun,
    Watched,
    contents,
    kill_after,
    kill_at_start,
    kill_in_commit,
    kill_point,
    kill_steps,
    signal_after,
)
from tests.support.fault_workflow import fault_workflow

MOST_SESSIONS = 60
"""Of one run; each but a few ends some step."""

DISK_BYTES = 6 * 1024 * 1024
"""Of the small disk: what a run needs, and not much more."""


class NoSmallDiskError(Exception):
    """This machine does not let a small disk be mounted."""


@dataclass
class Figures:
    """What a campaign has counted."""

    faults: Counter[str] = field(default_factory=Counter)
    """How many of each kind took effect."""
    runs: int = 0
    sessions: int = 0
    steps: int = 0
    """How often a process of a step began."""
    broken: list[str] = field(default_factory=list)
    """What did not hold, in words."""
    seconds: float = 0.0


@dataclass
class Campaign:
    """Runs that are disturbed, in a folder of their own.

    Parameters
    ----------
    folder
        Where runs lie while they are under way.
    seed
        Of all chance.
    """

    folder: Path
    seed: int = 1
    expected: object = None
    """The outputs of a run that nothing disturbs."""
    run_s: float = 0.0
    """What that run takes."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self._count = 0
        with self.new_run() as run:
            ended = run.session()
            self.expected, self.run_s = _outputs(ended), ended.seconds
            if ended.exit_code or run.broken:
                raise AssertionError(f"a run without faults: {ended.stderr} {run.broken}")

    @contextlib.contextmanager
    def new_run(self, home: Path = Path()) -> Iterator[FaultRun]:
        """Give a run that has not begun, and clean up after it."""
        self._count += 1
        run = FaultRun(fault_workflow(), self.folder / f"run-{self._count}", home)
        try:
            yield run
        finally:
            run.clean_up()

    def finish(self, run: FaultRun, figures: Figures) -> None:
        """Take a run up until it succeeds, and add to the figures."""
        for _ in range(MOST_SESSIONS):
            ended = run.session()
            if ended.exit_code == 0:
                break
            if ended.exit_code != 1:  # a step that was killed fails the run, nothing else does
                run.broken.append(f"exit code {ended.exit_code}: {ended.stderr}")
        self.close(run, ended, figures)

    def close(self, run: FaultRun, ended: Ended, figures: Figures) -> None:
        """Compare the end of a run and add to the figures."""
        if _outputs(ended) != self.expected:
            run.broken.append(f"the outputs differ: {_outputs(ended)} {ended.stderr}")
        figures.runs += 1
        figures.sessions += run.sessions
        figures.steps += sum(line.word == "start" for line in run.lines())
        figures.broken += run.broken

    # ----------------------------------------------------------------------------------------------

    def kill_engine(self, kills: int) -> Figures:
        """Kill the engine at moments of every kind, half of them uniform over a run."""
        figures, begun = Figures(), time.monotonic()
        while figures.faults.total() < kills:
            with self.new_run() as run:
                while figures.faults.total() < kills:
                    kind, fault, environ = self._choose_kill()
                    ended = run.session(fault, environ=environ)
                    if ended.exit_code != -signal.SIGKILL:
                        break
                    figures.faults[kind] += 1
                if ended.exit_code == 0:
                    self.close(run, ended, figures)
                else:
                    self.finish(run, figures)
        figures.seconds = time.monotonic() - begun
        return figures

    def _choose_kill(self) -> tuple[str, Fault | None, Mapping[str, str]]:
        chance = self.chance
        kind = chance.choice(("any moment",) * 5 + ("start", "commit", *POINTS))
        if kind == "any moment":
            return kind, kill_after(chance.uniform(0, self.run_s)), {}
        if kind == "start":
            return "just after a start", kill_at_start(chance.randint(1, 60)), {}
        if kind == "commit":
            return "while the disk writes", kill_in_commit(chance.uniform(0, self.run_s)), {}
        most = 60 if kind == "spawn" else 100
        return _POINTS[kind], None, kill_point(kind, chance.randint(1, most))

    def kill_steps(self, kills: int, *, most: int = 6) -> Figures:
        """Kill processes of steps, some in each session."""
        figures, begun = Figures(), time.monotonic()
        while figures.faults["a step"] < kills:
            with self.new_run() as run:
                for _ in range(3):
                    count = min(most, kills - figures.faults["a step"] - run.killed_steps)
                    ended = run.session(kill_steps(self.chance, count, self.run_s * 0.8))
                    if ended.exit_code == 0:
                        break
                    if ended.exit_code != 1:
                        run.broken.append(f"exit code {ended.exit_code}: {ended.stderr}")
                figures.faults["a step"] += run.killed_steps
                if ended.exit_code == 0:
                    self.close(run, ended, figures)
                else:
                    self.finish(run, figures)
        figures.seconds = time.monotonic() - begun
        return figures

    def send_signals(self, count: int) -> Figures:
        """Ask the engine to end, once or twice, and look for what it leaves at once."""
        figures, begun = Figures(), time.monotonic()
        kinds = [(n, again) for n in (signal.SIGINT, signal.SIGTERM) for again in (False, True)]
        for index in range(count):
            number, again = kinds[index % len(kinds)]
            with self.new_run() as run:
                seconds = self.chance.uniform(0.05, 0.9) * self.run_s
                again_s = self.chance.uniform(0, 0.2) if again else None
                ended = run.session(signal_after(seconds, number, again_s=again_s))
                # One that comes before the engine listens ends it as it ends any program, and so
                # does a second one that comes after.
                if ended.exit_code not in (0, 130, -number):
                    run.broken.append(f"{number.name}: exit code {ended.exit_code} {ended.stderr}")
                run.check_processes()
                figures.faults[f"{number.name} {'twice' if again else 'once'}"] += 1
                self.finish(run, figures)
        figures.seconds = time.monotonic() - begun
        return figures

    def fill_disk(self, count: int) -> Figures:
        """Fill the disk of the home in the middle of a run, and make room afterwards.

        Raises
        ------
        NoSmallDiskError
            There is none here.
        """
        figures, begun = Figures(), time.monotonic()
        for index in range(count):
            with (
                small_disk(self.folder / f"disk-{index}") as disk,
                self.new_run(disk / "home") as run,
            ):
                filler = _Filler(disk / "filler", self.chance.choice((0, 4096, 20_000)))
                moment = self.chance.uniform(0.0, 0.8) * self.run_s
                ended = run.session(filler.fill_after(moment))
                figures.faults[_how_it_ended(ended)] += 1
                _check_stop(run, ended)
                run.check_processes()
                _check_stop(run, run.session())  # it cannot go on, and says so
                filler.remove()
                self.finish(run, figures)
        figures.seconds = time.monotonic() - begun
        return figures


_POINTS = {
    "spawn": "before its number is known",
    "write": "within a transaction",
    "before": "before a commit",
    "after": "after a commit",
}


def _outputs(ended: Ended) -> object:
    return None if ended.result is None else contents(ended.result["outputs"])


def _check_stop(run: FaultRun, ended: Ended) -> None:
    """Note what an engine without room does other than to end, with a step or with one message."""
    if ended.exit_code not in (0, 1, 4):
        run.broken.append(f"exit code {ended.exit_code}: {ended.stderr[:1500]}")
    if ended.exit_code == 4 and len(ended.stderr.splitlines()) != 1:
        run.broken.append(f"not one clear message: {ended.stderr[:1500]}")


def _how_it_ended(ended: Ended) -> str:
    told = {0: "the run succeeded all the same", 1: "a step failed", 4: "the engine stopped"}
    return told.get(ended.exit_code, f"exit code {ended.exit_code}")


@dataclass
class _Filler:
    """A file that takes what is left of a disk, but for some bytes."""

    path: Path
    leave: int

    def fill_after(self, seconds: float) -> Fault:
        def fault(watched: Watched) -> None:
            until = watched.begun + seconds
            if watched.wait_until(lambda: time.monotonic() >= until):
                self.fill()

        return fault

    def fill(self) -> None:
        with self.path.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            file.truncate(max(0, file.tell() - self.leave))

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


@contextlib.contextmanager
def small_disk(folder: Path, size: int = DISK_BYTES) -> Iterator[Path]:
    """Give a file system in memory that is soon full."""
    folder.mkdir(parents=True)
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    if mount is None or unmount is None or os.geteuid() != 0:
        raise NoSmallDiskError("only root can mount a disk")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={size}", "couler-faults", str(folder)],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise NoSmallDiskError(done.stderr.strip())
    try:
        yield folder
    finally:
        _unmount(unmount, folder)
        folder.rmdir()


def _unmount(unmount: str, folder: Path) -> None:
    for options in ([], [], ["-l"]):
        if subprocess.run([unmount, *options, str(folder)], capture_output=True).returncode == 0:
            return
        time.sleep(0.2)


HEAD = "what fails         faults  runs sessions processes      s  broken"
"""Above the lines of `describe`."""


def describe(what: str, figures: Figures) -> Iterator[str]:
    """Yield the lines of a table for one campaign."""
    yield (
        f"{what:<18} {figures.faults.total():>6} {figures.runs:>5} {figures.sessions:>8} "
        f"{figures.steps:>9} {figures.seconds:>6.0f}  {len(figures.broken)}"
    )
    for kind, count in sorted(figures.faults.items()):
        yield f"  {kind:<30} {count:>6}"
