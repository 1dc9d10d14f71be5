"""How much smaller a manifest for Argo is because steps share templates.

    python benchmarks/template_sharing.py [--json OUT]

Each workflow is compiled twice: as always, and with the option `share_templates=false`, which
gives every step that runs something a template of its own. Bytes are those of the manifest as
compact JSON, which is what Kubernetes stores and what its limits count. The programs are the
examples, the listings of the Couler paper (tests/programs), and four shapes of workflows that are
made here; nothing is timed, so the table is the same everywhere. docs/argo.md shows it.
"""

from __future__ import annotations

import argparse
import json
import sys
import typing as t
from collections.abc import Iterator
from pathlib import Path

import couler
from couler import stages
from couler.backends.base import Target
from couler.ir.walk import all_steps
from couler.ir.workflow import Group
from couler.stages.programs import load_program

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = tuple(path / f"{path.name}.py" for path in sorted(ROOT.glob("examples/*/")))
LISTINGS = tuple(sorted(ROOT.glob("tests/programs/listing_*.py")))

PROFILE = "argo-minimal-crd"
"""Without limits on counts: without sharing, some workflows have too many templates."""


class Row(t.NamedTuple):
    """A workflow and its two manifests: with a template for each step, and with shared ones."""

    workflow: str
    steps: int
    templates: tuple[int, int]
    bytes: tuple[int, int]


def show(name: str, *words: object) -> t.Any:
    """Make a container that prints."""
    return couler.run_container("busybox:1.37", ["echo"], args=list(words), step_name=name)


@couler.step
def score(model: str, rate: float, fold: int) -> float:
    """Return a number that depends on all three."""
    return len(model) * rate + fold


@couler.step
def best(scores: list) -> float:  # type: ignore[type-arg]  # of any numbers
    """Return the largest."""
    return max(scores)


def fan_out() -> couler.Workflow:
    """150 calls in a loop of the program, and one that waits for all."""
    with couler.Workflow("fan-out") as wf:
        parts = [show(f"part-{number}", "part", number) for number in range(150)]
        parts >> show("all", "done")  # type: ignore[operator]  # a list on the left of a handle
    return wf


def layers() -> couler.Workflow:
    """20 layers of 10 steps; each waits for two of the layer before."""
    with couler.Workflow("layers") as wf:
        before: list[t.Any] = []
        for layer in range(20):
            made = [show(f"step-{layer}-{place}", layer, place) for place in range(10)]
            for place, step in enumerate(made):
                for other in before[place : place + 2]:
                    other >> step
            before = made
    return wf


def search() -> couler.Workflow:
    """A grid of 60 calls of one typed step."""
    with couler.Workflow("search") as wf:
        models, rates, folds = ("linear", "tree", "boost"), (0.1, 0.2, 0.5, 1.0), range(5)
        scores = [score(m, r, f) for m in models for r in rates for f in folds]
        wf.output("best", best(scores))
    return wf


def stages_of_data() -> couler.Workflow:
    """12 tables, each through four different containers."""
    with couler.Workflow("tables") as wf:
        for table in range(12):
            steps = [
                couler.run_container(
                    f"registry/{name}:1", [name], [f"t{table}"], step_name=f"{name}-{table}"
                )
                for name in ("extract", "clean", "join", "load")
            ]
            couler.chain(*steps)
    return wf


def workflows() -> Iterator[t.Any]:
    """Yield all workflows."""
    for path in (*EXAMPLES, *LISTINGS):
        yield load_program(str(path)).workflow
    for make in (fan_out, layers, search, stages_of_data):
        yield make()


def measure(workflow: t.Any) -> Row:
    """Compile a workflow with and without sharing."""
    ir = stages.plan(workflow, engine="argo", target=Target(profile=PROFILE)).workflow
    counts: dict[bool, tuple[int, int]] = {}
    for shares in (False, True):
        target = Target(profile=PROFILE, options={"share_templates": shares})
        text = stages.compile(workflow, "argo", target=target, format="json").to_text()
        tree = json.loads(text)["spec"]
        templates = tree.get("workflowSpec", tree)["templates"]
        counts[shares] = len(templates), len(text.encode())
    steps = sum(not isinstance(step.action, Group) for step in all_steps(ir))
    templates, sizes = zip(*counts.values(), strict=True)
    return Row(ir.name, steps, templates, sizes)


_COLUMNS = (
    "workflow",
    "steps",
    "templates, one a step",
    "shared",
    "bytes, one a step",
    "shared",
    "saved",
)


def table(rows: list[Row]) -> str:
    """Return the rows as a table of Markdown."""
    lines = [
        f"| {' | '.join(_COLUMNS)} |",
        f"| --- |{' ---: |' * (len(_COLUMNS) - 1)}",
    ]
    for row in rows:
        (templates_own, templates), (bytes_own, size) = row.templates, row.bytes
        cells = (row.workflow, row.steps, templates_own, templates, bytes_own, size)
        shown = [str(cell) if isinstance(cell, str) else f"{cell:,}" for cell in cells]
        lines.append(f"| {' | '.join(shown)} | {1 - size / bytes_own:.0%} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures there as well")
    given = parser.parse_args(arguments)
    rows = [measure(workflow) for workflow in workflows()]
    if given.json is not None:
        given.json.write_text(json.dumps([row._asdict() for row in rows], indent=2) + "\n")
    print(table(rows), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
