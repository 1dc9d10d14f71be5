"""What a step costs on this machine, beside other ways to run it, in one run.

Each step runs `true`, two at a time: all steps parallel, and chains of ten. Couler keeps all its
defaults: state safe on the disk before each start, outputs in logs, attempts recorded.

    python benchmarks/local_overhead.py [--quick] [--no-peers]

- xargs starts processes and does nothing else: what no engine can save.
- make keeps no record; it is there to compare with.
- Snakemake and Prefect are installed into `build/peers`, once, if that is possible here.

Figures are CPU seconds, user and system, of all processes that a tool starts, its own start and
its servers included, as the system counts them for a fresh process that waits for them all.
Each is the least of several runs, the tools taking turns; a run of ten steps before lets each
make what it makes only once, such as its database. Clock times are printed beside, but say as much
about the disk as about the tool. Peak memory is that of the tool's largest process; 23 MB is that
of the interpreter which measures, and tells of a tool only that it has less.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from workloads.limits import verdict

JOBS = 2
LENGTH = 10
"""Steps in a chain."""

STEPS = 1_000
MANY = 10_000
RUNS = 3
SHAPES = ("parallel", "chains")

STEP_LIMIT_MS = 2.0
"""CPU of a step beyond that of xargs."""

MEMORY_LIMIT_MB = 150.0
GROWTH_LIMIT = 1.5

TRUE = shutil.which("true") or "/bin/true"
BUILD = Path(__file__).resolve().parent.parent / "build"

PEERS = {
    "snakemake": ("snakemake>=9,<10",),
    # Prefect 3 does not start with every later version of FastAPI.
    "prefect": ("prefect>=3,<4", "fastapi<0.140"),
}

_PATIENCE_S = 1800
_LEFTOVERS_S = 15
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <sys/prctl.h>


class NotHereError(Exception):
    """A tool cannot be installed, or does not run, on this machine."""


@dataclass(frozen=True)
class Used:
    """What a command has used; `peak_mb` is the most that one of its processes had."""

    cpu_s: float
    wall_s: float
    peak_mb: float


@dataclass(frozen=True)
class Tool:
    """A way to run the steps; `prepare` writes what `words` read into the current folder."""

    name: str
    version: str
    words: Sequence[str]
    prepare: Callable[[Path, int, str], None]
    stdin: str = os.devnull
    ends_with: str = ""
    """What it says when all is well; `{steps}` is their number."""


def parent(index: int, shape: str) -> int | None:
    """Return the step that a step waits for.

    Examples
    --------
    >>> [parent(index, "chains") for index in (0, 1, 9, 10)]
    [None, 0, 8, None]
    >>> parent(1, "parallel") is None
    True
    """
    return index - 1 if shape == "chains" and index % LENGTH else None


# What the tools read.


def write_words(folder: Path, steps: int, _shape: str) -> None:
    """Write a word for each step, of which xargs makes a process."""
    (folder / "words").write_text("".join(f"{index}\n" for index in range(steps)))


def write_makefile(folder: Path, steps: int, shape: str) -> None:
    """Write a rule for each step."""
    rules = [f"all: {' '.join(f's{index}' for index in range(steps))}\n"]
    for index in range(steps):
        before = parent(index, shape)
        rules.append(f"s{index}: {'' if before is None else f's{before}'}\n\t@{TRUE}\n")
    (folder / "Makefile").write_text("".join(rules))


def write_couler(folder: Path, steps: int, shape: str) -> None:
    """Write a program in Couler."""
    (folder / "steps.py").write_text(f"""\
import couler

with couler.Workflow("steps") as workflow:
    made = []
    for index in range({steps}):
        step = couler.run_container(
            image="alpine:3.20", command=["{TRUE}"], step_name=f"step-{{index}}"
        )
        if {shape == "chains"} and index % {LENGTH}:
            made[-1] >> step
        made.append(step)
""")


def write_snakefile(folder: Path, steps: int, shape: str) -> None:
    """Write a Snakefile: a rule with wildcards, and a function that finds what is before."""
    (folder / "Snakefile").write_text(f"""\
def before(wildcards):
    index = int(wildcards.index)
    return [f"out/{{index - 1}}"] if {shape == "chains"} and index % {LENGTH} else []

rule all:
    input: expand("out/{{index}}", index=range({steps}))

rule step:
    input: before
    output: touch("out/{{index}}")
    shell: "{TRUE}"
""")


def write_prefect(folder: Path, steps: int, shape: str) -> None:
    """Write a flow: a task that runs a process."""
    # One step of each chain after another: a task that waits for another keeps its thread.
    (folder / "flow.py").write_text(f"""\
import subprocess

from prefect import flow, task
from prefect.task_runners import ThreadPoolTaskRunner

@task
def run(index):
    subprocess.run(["{TRUE}"], check=True)

@flow(task_runner=ThreadPoolTaskRunner(max_workers={JOBS}))
def steps():
    made = {{}}
    for index in sorted(range({steps}), key=lambda index: index % {LENGTH}):
        chained = {shape == "chains"} and index % {LENGTH}
        made[index] = run.submit(index, wait_for=[made[index - 1]] if chained else None)
    for future in made.values():
        future.result()
    print("{{}} done".format(len(made)))

if __name__ == "__main__":
    steps()
""")


# The tools.


def own_tools() -> Iterator[Tool]:
    """Yield what is measured without installing anything."""
    xargs, make = shutil.which("xargs"), shutil.which("make")
    if xargs is None:
        sys.exit("xargs, which all is compared with, is not on this machine")
    yield Tool("xargs", version_of(xargs), (xargs, f"-P{JOBS}", "-n1", TRUE), write_words, "words")
    if make is not None:
        yield Tool("make", version_of(make), (make, "-r", f"-j{JOBS}"), write_makefile)
    yield Tool(
        "couler",
        importlib.metadata.version("couler"),
        (sys.executable, "-m", "couler.cli", "run", "steps.py", "--jobs", str(JOBS)),
        write_couler,
        ends_with="{steps} succeeded",
    )


def peer(name: str) -> Tool:
    """Install a peer, if it is not there yet, and return it.

    Raises
    ------
    NotHereError
        It cannot be installed.
    """
    python = install(name, PEERS[name])
    asked = f"import importlib.metadata as m; print(m.version({name!r}))"
    version = subprocess.run((python, "-c", asked), check=True, capture_output=True, text=True)
    make = {
        "snakemake": partial(
            Tool,
            words=(python, "-m", "snakemake", "--cores", str(JOBS)),
            prepare=write_snakefile,
            ends_with="(100%) done",
        ),
        "prefect": partial(
            Tool, words=(python, "flow.py"), prepare=write_prefect, ends_with="{steps} done"
        ),
    }
    return make[name](name=name, version=version.stdout.strip())


def install(name: str, requirements: Sequence[str]) -> str:
    """Return the interpreter of an environment that has these packages, made if it is new."""
    wanted = "\n".join((platform.python_version(), *requirements))
    folder = BUILD / "peers" / f"{name}-{hashlib.sha256(wanted.encode()).hexdigest()[:8]}"
    python, stamp = folder / "bin" / "python", folder / "complete"
    if not stamp.exists():
        print(f"installing {name} into {folder.relative_to(BUILD.parent)}", flush=True)
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        for words in ((sys.executable, "-m", "venv", folder), (*pip, *requirements)):
            done = subprocess.run(words, check=False, capture_output=True, text=True)
            if done.returncode:
                raise NotHereError(last_line(done.stderr) or f"exit code {done.returncode}")
        stamp.touch()
    return str(python)


def version_of(program: str) -> str:
    """Return the version that a program tells of itself.

    That of other systems than GNU may tell none.
    """
    told = subprocess.run((program, "--version"), check=False, capture_output=True, text=True)
    found = re.search(r"\d+(\.\d+)+", told.stdout)
    return found.group() if found else "?"


def last_line(text: str) -> str:
    """Return the last line that says something.

    Examples
    --------
    >>> last_line("first\\n\\n  last\\n \\n")
    'last'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


# Measuring.


def measured(words: Sequence[str], stdin: str) -> Used:
    """Run a command to the end of all that it started; what it writes goes to the file `said`.

    To be called once in a process, which has had no other children.
    """
    if sys.platform == "linux":  # what a tool leaves behind becomes a child of this process
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    start = time.monotonic()
    with open("said", "wb") as said, open(stdin, "rb") as given:
        process = subprocess.Popen(words, stdin=given, stdout=said, stderr=said)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.monotonic() - start
    end_leftovers()
    if process.returncode:
        raise NotHereError(
            f"exit code {process.returncode}: {last_line(Path('said').read_text(errors='replace'))}"
        )
    whole = resource.getrusage(resource.RUSAGE_CHILDREN)
    unit = 1 if sys.platform == "darwin" else 1024
    return Used(whole.ru_utime + whole.ru_stime, wall_s, used.ru_maxrss * unit / 1e6)


def end_leftovers() -> None:
    """Wait for the children that are left, and end those that do not end by themselves."""
    until = time.monotonic() + _LEFTOVERS_S
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            continue
        if time.monotonic() > until:
            children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
            for child in map(int, children.split()):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.05)


def environment(home: Path) -> dict[str, str]:
    """Return this one's without what would change a tool, and with homes of their own for all."""
    ours = ("COULER_", "PREFECT_", "SNAKEMAKE_", "MAKE", "MFLAGS", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {
        "COULER_HOME": str(home / "couler"),
        "PREFECT_HOME": str(home / "prefect"),
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "XDG_CACHE_HOME": str(home / "cache"),
    }


def run(tool: Tool, steps: int, shape: str, environ: Mapping[str, str]) -> Used:
    """Run the steps once by a tool, measured by a fresh process.

    Raises
    ------
    NotHereError
        It failed, or did not run all of them.
    """
    with tempfile.TemporaryDirectory(prefix=f"{tool.name}-", dir=BUILD) as name:
        folder = Path(name)
        tool.prepare(folder, steps, shape)
        command = (sys.executable, __file__, "--measure", tool.stdin, *tool.words)
        try:
            done = subprocess.run(
                command,
                check=False,
                capture_output=True,
                text=True,
                cwd=folder,
                env=environ,
                timeout=_PATIENCE_S,
            )
        except subprocess.TimeoutExpired as error:
            raise NotHereError(f"no end after {_PATIENCE_S} s") from error
        if done.returncode:
            raise NotHereError(last_line(done.stderr))
        wanted = tool.ends_with.format(steps=steps)
        if wanted not in (folder / "said").read_text(errors="replace"):
            raise NotHereError(f'it did not say "{wanted}"')
        return Used(**json.loads(done.stdout))


def least(runs: Sequence[Used]) -> Used:
    """Return the least of each figure.

    Examples
    --------
    >>> least([Used(1.0, 4.0, 30.0), Used(2.0, 3.0, 31.0)])
    Used(cpu_s=1.0, wall_s=3.0, peak_mb=30.0)
    """
    return Used(
        min(used.cpu_s for used in runs),
        min(used.wall_s for used in runs),
        min(used.peak_mb for used in runs),
    )


# Reporting.


def show(tool: Tool, steps: int, shape: str, used: Used, times: int) -> None:
    """Print a row of the table."""
    per_step = used.cpu_s / steps * 1e3
    named = f"{tool.name} {tool.version}"
    print(
        f"{named:<19} {shape:<9} {steps:<7,} {used.cpu_s:<8.2f} {per_step:<12.3f} "
        f"{used.wall_s:<8.2f} {used.peak_mb:<8.0f} {times}",
        flush=True,
    )


def in_turns(
    tools: Sequence[Tool], times: int, environ: Mapping[str, str]
) -> dict[tuple[str, str], Used]:
    """Measure tools by turns, print their rows, and return the least of their figures."""
    found: dict[tuple[str, str], list[Used]] = {}
    for _ in range(times):
        for tool in tools:
            for shape in SHAPES[:1] if tool.name == "xargs" else SHAPES:
                found.setdefault((tool.name, shape), []).append(run(tool, STEPS, shape, environ))
    named = {tool.name: tool for tool in tools}
    for (name, shape), runs in found.items():
        show(named[name], STEPS, shape, least(runs), times)
    return {key: least(runs) for key, runs in found.items()}


def report(*, quick: bool, peers: bool, home: Path) -> bool:
    """Print all figures; return whether every limit is kept."""
    environ = environment(home)
    many, times = (MANY // 4, 1) if quick else (MANY, RUNS)
    tools = list(own_tools())
    others: list[Tool] = []
    missing: dict[str, str] = {}
    for name in PEERS if peers else ():
        try:
            others.append(peer(name))
        except NotHereError as error:
            missing[name] = f"not installed: {error}"
    for tool in tools:
        run(tool, LENGTH, "chains", environ)

    print(f"{JOBS} at a time; {platform.machine()}, {os.cpu_count()} processors\n")
    print("tool                shape     steps   CPU s    ms CPU/step  clock s  peak MB  best of")
    best = in_turns(tools, times, environ)
    couler = next(tool for tool in tools if tool.name == "couler")
    large = run(couler, many, "parallel", environ)
    show(couler, many, "parallel", large, 1)
    for tool in others:
        try:
            run(tool, LENGTH, "chains", environ)
            best |= in_turns([tool], 1, environ)
        except NotHereError as error:
            missing[tool.name] = f"{tool.version} does not run: {error}"
    for name, why in missing.items():
        print(f"{name} {why}")

    print()
    floor = best["xargs", "parallel"].cpu_s
    kept = []
    for shape in SHAPES:
        own = best["couler", shape].cpu_s
        beyond = (own - floor) / STEPS * 1e3
        kept.append(verdict(f"{shape}: CPU a step above xargs", beyond, STEP_LIMIT_MS, " ms"))
        for name in PEERS:
            if (name, shape) in best:
                ratio = own / best[name, shape].cpu_s
                kept.append(verdict(f"{shape}: CPU, couler / {name}", ratio, 1.0))
    growth = large.cpu_s / many / (best["couler", "parallel"].cpu_s / STEPS)
    kept.append(verdict(f"CPU a step at {many:,} / at {STEPS:,}", growth, GROWTH_LIMIT))
    kept.append(verdict(f"peak memory at {many:,}", large.peak_mb, MEMORY_LIMIT_MB, " MB"))
    return all(kept)


def main() -> None:
    """Run the benchmark, or one measurement of it."""
    if sys.argv[1:2] == ["--measure"]:
        stdin, *words = sys.argv[2:]
        try:
            print(json.dumps(vars(measured(words, stdin))))
        except NotHereError as error:
            sys.exit(str(error))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="one run of each, a smaller large size, no peers"
    )
    parser.add_argument(
        "--peers",
        action=argparse.BooleanOptionalAction,
        help="measure Snakemake and Prefect as well; by default where it is not quick",
    )
    options = parser.parse_args()
    peers = not options.quick if options.peers is None else options.peers
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="homes-", dir=BUILD) as name:
        kept = report(quick=options.quick, peers=peers, home=Path(name))
    if not kept:
        sys.exit("some limit is not kept; run again on an idle machine before believing it")


if __name__ == "__main__":
    main()
