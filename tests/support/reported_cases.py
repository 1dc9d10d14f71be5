"""Prints the table of a folder of programs that went wrong: expected, before and now.

`python -m tests.support.reported_cases FOLDER [-e ENGINE] [-p POINT]... [NAME]...` runs them on
this machine, under Argo's controller, or under Airflow. FOLDER has expected.toml, which states for
each program the right outcome (`expected`) and the one when it was reported (`today`).
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.images import Images
from tests.support import airflow_runs, argo_oracle, io_image

Case: t.TypeAlias = dict[str, t.Any]
Look: t.TypeAlias = Callable[[Path, Case], str]

COULER = f"{sysconfig.get_path('scripts')}/couler"

COMMANDS = {
    "argo/07_": "$P $F; $C run $F",
    "argo/11_": "$C run $F:spaces; $C run $F:spaces2",
    "argo/14d_": "$C validate $F -e local; $C validate $F -e argo; $C validate $F -e airflow",
    "argo/16b_": "$C run $F; for x in hello 12 null; do $C run $F -p x=$x; done",
    "argo/22_": "$C run - < $F; $C validate - < $F",
    "ctl": "$C compile $F -e argo",
    "sec": "$C compile $F -e argo",
    "typo": "$C validate $F -e argo",
    "m27": "$C compile $F -e argo",
    "m31": "$C validate $F -e argo; $C compile $F -e argo | grep -A9 resource:",
    "f03": "$P $F; $C run $F",
    "f04_chdir/flow": "cd $D; $C run flow.py",
    "f04b": "cd $D/..; $C run f04b_chdir_refused/here.py",
    "f06b": "$C run $F; $P $F",
    "f07c": "$C validate $F -e argo; $C validate $F -e airflow",
    "f08_": """
        cp -r $D/. .; sed -i "s#data.txt#$PWD/data.txt#" flow.py
        export PYTHONPATH=$PWD/lib
        MODE=a $C run flow.py
        sed -i 's/\\* *2/* 3/' lib/helper_mod.py; echo other > data.txt
        MODE=b $C run flow.py; $C retry latest --file flow.py""",
    "f08b": """
        cd $D/../projA; PYTHONPATH=$PWD $C run flow.py
        cd ../projB; PYTHONPATH=$PWD $C run flow.py""",
    "f12": "$P $F; $C validate $F; $C run $F",
    ".sh": "C=$C SO=$(find / -name 'libfaketime.so.1' 2>/dev/null | head -1) bash $F",
}
"""What is run of programs for which `couler run` does not say all, by a part of their names."""


def commands_of(name: str) -> str:
    """Return what is run of a program: the entry with the longest part of its name."""
    parts = [part for part in COMMANDS if part in name]
    return COMMANDS[max(parts, key=len)] if parts else "$C run $F"


@contextlib.contextmanager
def here() -> Iterator[Look]:
    """Give what runs a case on this machine and returns what is printed."""

    def look(file: Path, case: Case) -> str:
        with tempfile.TemporaryDirectory() as folder:
            environ = {
                **os.environ,
                "COULER_HOME": f"{folder}/home",
                "C": COULER,
                "P": sys.executable,
                "F": str(file),
                "D": str(file.parent),
            }
            done = subprocess.run(
                ["bash", "-c", f"({commands_of(case['file'])}) 2>&1; echo exit $?"],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                errors="backslashreplace",
                timeout=300,
                check=False,
            )
        boring = re.compile(r"(?m)^(run  |started  |logs and files: |  log: ).*\n")
        return boring.sub("", done.stdout)

    yield look


def compiled(file: Path, *options: str) -> str:
    """Return the file of an engine for a program; raise with what is wrong with it."""
    command = [COULER, "compile", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(done.stderr)
    return done.stdout


@contextlib.contextmanager
def argo() -> Iterator[Look]:
    """Give what runs a case under Argo's controller and returns how it ended."""

    def look(file: Path, case: Case) -> str:
        run = session.run(compiled(file, "-e", "argo"), timeout_s=120)
        lines = [f"{run.phase} {run.message}"]
        for node in run.nodes:
            given = node.outputs if node.type in ("DAG", "Steps") else ""
            lines.append(f"{node.display_name}: {node.phase} {node.message} {given}")
        return "\n".join([*lines, *(pod.stdout for pod in run.pods)])

    with (
        tempfile.TemporaryDirectory() as folder,
        argo_oracle.session(Path(folder), python=sys.executable) as session,
    ):
        yield look


@contextlib.contextmanager
def airflow() -> Iterator[Look]:
    """Give what runs a case under Airflow and returns how it ended."""

    def look(file: Path, case: Case) -> str:
        text = compiled(file, "-e", "airflow", "--option", "files_claim=files")
        [name] = re.findall(r'dag_id="([^"]+)"', text)[:1]
        with tempfile.TemporaryDirectory() as folder:
            images = Images({io_image.NAME: io_image.io_image(Path(folder) / "image")})
            with FakeCluster(Path(folder) / "cluster", images=images) as cluster:
                run = worker.run(text, name, cluster=cluster, limit_s=300)
        return f"{run.state} {run.states} {run.xcoms}"

    with tempfile.TemporaryDirectory() as folder, airflow_runs.Worker(Path(folder)) as worker:
        yield look


ENGINES = {"local": here, "argo": argo, "airflow": airflow}


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
@click.option("-e", "--engine", type=click.Choice(list(ENGINES)), default="local")
@click.option("-p", "--point", "points", type=int, multiple=True)
def main(folder: Path, names: tuple[str, ...], engine: str, points: tuple[int, ...]) -> None:
    """Print the cases of FOLDER whose names have a part of NAMES, and how they end now."""
    cases = tomllib.loads((folder / "expected.toml").read_text(encoding="utf-8"))["case"]
    with ENGINES[engine]() as look:
        for case in cases:
            if points and case["point"] not in points:
                continue
            if names and not any(name in case["file"] for name in names):
                continue
            if engine not in case["engines"] and engine != "local":
                continue
            try:
                now = look((folder / case["file"]).resolve(), case)
            except Exception as error:  # noqa: BLE001  # it is a row like any other
                now = f"{type(error).__name__}: {error}"
            click.echo(f"## {case['file']} (point {case['point']}, {case['kind']})")
            click.echo(f"expected: {case['expected']}\nbefore: {case['today']}")
            click.echo("now: " + "\n     ".join(now.strip().splitlines()[:25]) + "\n")


if __name__ == "__main__":
    main()
