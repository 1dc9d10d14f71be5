"""How large emitted files are, and how much of them is not the user's, beside Hera's manifests.

    python benchmarks/emitted_sizes.py

Three programs: that of README, a sweep (workloads/sweep.py) and the example of model selection. Of
the first two there are versions for Hera (workloads/hera_programs.py), whose scripts check nothing.

The columns: lines, and bytes; lines that are in none of the program's files, in all and, as the
median, in the template of a step on Argo; the longest of these, and the longest expression of Argo.
All lines count, blank ones too.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

from couler import stages
from couler.backends.base import Target
from couler.stages.programs import load_program

ROOT = Path(__file__).resolve().parents[1]
_README = re.compile(r"<!-- file: choose\.py[^\n]*-->\n```python\n(.*?)```", re.DOTALL)
TARGETS = {"argo": Target(), "airflow": Target(options={"files_claim": "files"})}


class Size(t.NamedTuple):
    """What is counted of a file."""

    lines: int
    bytes: int
    own: int
    step: int
    longest: int
    expression: int


def programs(folder: Path) -> dict[str, Path]:
    """Return the programs by name; that of README is written to a folder."""
    found = _README.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None, "README has its program behind a comment that names its file"
    (folder / "choose.py").write_text(found[1], encoding="utf-8")
    return {
        "choose": folder / "choose.py",
        "sweep": ROOT / "benchmarks/workloads/sweep.py",
        "model_selection": ROOT / "examples/model_selection/model_selection.py",
    }


def measure(text: str, program: Path) -> Size:
    """Return the size of an emitted file."""
    files = [program, *program.parent.glob("report.py")]
    known = {line.strip() for one in files for line in one.read_text("utf-8").splitlines()}
    lines = text.splitlines()
    own = [line for line in lines if line.strip() not in known]
    _, *templates = re.split(r"\n(?=  - name: )", text)
    scripts = [one.splitlines() for one in templates if "\n    script:" in one]
    steps = [sum(line.strip() not in known for line in one) for one in scripts]
    expressions = re.findall(r"\{\{=.*\}\}|expression: .*", text)
    longest = [len(line) for line in own if "{{=" not in line and "expression:" not in line]
    return Size(
        len(lines),
        len(text.encode()),
        len(own),
        int(statistics.median(steps or [0])),
        max(longest, default=0),
        max(map(len, expressions), default=0),
    )


def emitted(folder: Path) -> Iterator[tuple[str, str, Size]]:
    """Yield for each program and engine the size of what is emitted."""
    for name, file in programs(folder).items():
        for engine, target in TARGETS.items():
            text = stages.compile(load_program(str(file)), engine, target=target).to_text()
            yield name, engine, measure(text, file)


def main() -> int:
    """Print the table."""
    from workloads import hera_programs

    hera: dict[str, Callable[[], str]] = {
        "choose": hera_programs.choose,
        "sweep": hera_programs.sweep,
    }
    print("| program | engine | lines | bytes | own lines | of a step | longest | expression |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        rows = [*emitted(Path(folder))]
        known = programs(Path(folder))
        rows += [(name, "hera", measure(make(), known[name])) for name, make in hera.items()]
    for name, engine, size in rows:
        print(f"| {name} | {engine} | {' | '.join(f'{one:,}' for one in size)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
