"""What large workflows become for Argo: objects, their sizes, and the time it takes.

    python benchmarks/argo_sizes.py [--data DIR] [--json OUT] [--seed N] [--quick]

Layered DAGs of steps that wait for two of the layer before (`order`) or read two outputs of it
(`data`), one whose edges are drawn at random (`random`), and the largest of the real workflows in a
folder of WfFormat files (`real`, whose files travel by their keys). Each is planned and compiled
for the profile `argo` with the default passes, and, as the floor, in one piece for
`argo-minimal-crd` without passes.

The columns: Workflow and WorkflowTemplate objects; groups and runs; the most templates of an
object, and tasks of a template; bytes of the largest object as compact JSON, with its status as the
check for Argo estimates it; the critical path as planned over that as written, by the estimates of
`couler plan`; CPU seconds of this process, and these over the seconds of the floor.

Limits: 200 templates, 200 tasks, one mebibyte. Exit code 1 says that some workflow is over one of
them, or was not compiled; it is marked in the table. Seconds are of one run.
"""

from __future__ import annotations

import json
import random
import sys
import time
import typing as t
from collections.abc import Iterator, Sequence

from workloads import graphs, wfformat
from workloads.options import Options, parse, parser_of

from couler import stages
from couler.backends.argo.footprint import MAX_BYTES, MAX_TASKS, MAX_TEMPLATES, status_bytes
from couler.backends.base import Target
from couler.errors import InvalidWorkflowError, SerializationError
from couler.ir.policies import Profile
from couler.ir.values import StepRef
from couler.ir.workflow import Container, Step, Workflow
from couler.optimizers.estimate import critical_path
from couler.optimizers.partitioning.model import TaskGraph

WIDTH = 50
"""Steps in a layer."""

SIZES = (201, 1_000, 10_000, 40_000)
QUICK = SIZES[:2]
RANDOM = 2_000
"""Steps of the random workflow; of the smallest size if it is to be quick."""

REAL, REAL_QUICK = 5, 1
"""So many real workflows are compiled, the largest first."""


class Row(t.NamedTuple):
    """What became of one workflow."""

    kind: str
    """`order`, `data`, `random` or `real`."""
    name: str
    steps: int
    objects: int
    groups: int
    templates: int
    """The most of an object."""
    tasks: int
    """The most of a template."""
    bytes: int
    """Those of the largest object."""
    path: float
    """The critical path as planned over that as written."""
    seconds: float
    against_flat: float
    """Seconds by those of one piece without passes."""
    refused: str = ""
    """Why it was not compiled."""

    @property
    def fits(self) -> bool:
        """Whether each object is within the limits."""
        return not self.refused and (
            self.templates <= MAX_TEMPLATES and self.tasks <= MAX_TASKS and self.bytes <= MAX_BYTES
        )


def layers(steps: int, edges: str) -> Workflow:
    """Return a workflow of layers."""
    made = []
    for number in range(steps):
        layer, place = divmod(number, WIDTH)
        above = sorted({place, (place + 1) % WIDTH}) if layer else []
        before = [f"s{(layer - 1) * WIDTH + one}" for one in above]
        args = tuple(StepRef(step=one) for one in before) if edges == "data" else ()
        made.append(
            Step(
                name=f"s{number}",
                action=Container(image="busybox:1.37", command=("echo",), args=args or ("x",)),
                depends_on=() if args else tuple(before),
            )
        )
    return Workflow(name="layers", steps=tuple(made))


def from_graph(name: str, graph: TaskGraph) -> Workflow:
    """Return a workflow whose steps wait as the nodes of a graph do, and take as long."""
    steps = (
        Step(
            name=f"t{node}",
            action=Container(image="busybox:1.37", command=("echo",), args=(graph.names[node],)),
            depends_on=tuple(f"t{one}" for one in befores),
            profile=Profile(seconds=graph.seconds[node]),
        )
        for node, befores in enumerate(graph.predecessors)
    )
    return Workflow(name=name, steps=tuple(steps))


def workflows(options: Options) -> Iterator[tuple[str, Workflow]]:
    """Yield the kind of each workflow, and the workflow."""
    sizes = QUICK if options.quick else SIZES
    for edges in ("order", "data"):
        for steps in sizes:
            yield edges, layers(steps, edges)
    steps = QUICK[0] if options.quick else RANDOM
    yield "random", from_graph("random", graphs.layered(steps, random.Random(options.seed), WIDTH))
    if options.data.is_dir():
        real = list(wfformat.instances(options.data))
        real.sort(key=lambda one: (-len(one[1].names), one[0]))
        for name, graph in real[: REAL_QUICK if options.quick else REAL]:
            yield "real", from_graph(name, graph)


def compiled(
    workflow: Workflow, target: Target, passes: Sequence[str] | None
) -> tuple[str, float, stages.Plan]:
    """Return the JSON of a workflow for Argo, the CPU seconds that it took, and the plan."""
    start = time.process_time()
    plan = stages.plan(workflow, engine="argo", target=target, passes=passes)
    text = stages.compile(plan, "argo", format="json").to_text()
    return text, time.process_time() - start, plan


def measure(kind: str, workflow: Workflow) -> Row:
    """Compile one workflow both ways."""
    count = len(workflow.steps)
    _, flat, _ = compiled(workflow, Target(profile="argo-minimal-crd"), ())
    try:
        text, seconds, plan = compiled(workflow, Target(), None)
    except InvalidWorkflowError as error:
        return Row(kind, workflow.name, count, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, str(error))
    tree = json.loads(text)
    objects = tree["items"] if tree["kind"] == "List" else [tree]
    templates = [one["spec"]["templates"] for one in objects]
    sizes = [
        len(json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode())
        + status_bytes(one["spec"])
        for one in objects
    ]
    every = [one for own in templates for one in own]
    return Row(
        kind,
        workflow.name,
        count,
        len(objects),
        sum(one["name"].startswith("couler-part-") and "dag" in one for one in every),
        max(map(len, templates)),
        max(len(one.get("dag", {}).get("tasks", ())) for one in every),
        max(sizes),
        _path_ratio(workflow, plan.workflow),
        seconds,
        seconds / flat,
    )


def _path_ratio(before: Workflow, after: Workflow) -> float:
    """Return by what the critical path is longer; all steps alike where none says what it takes."""
    if critical_path(before).value is None:
        alike = Profile(seconds=1.0)
        before, after = (
            one.model_copy(
                update={
                    "steps": tuple(step.model_copy(update={"profile": alike}) for step in one.steps)
                }
            )
            for one in (before, after)
        )
    planned = critical_path(after, parts_are_barriers=True).value or 0.0
    return planned / (critical_path(before).value or 1.0)


HEADING = (
    f"{'kind':<7}{'steps':>7}{'objects':>9}{'parts':>7}{'templates':>11}{'tasks':>7}{'bytes':>11}"
    f"{'path':>7}{'CPU s':>7}{'/ flat':>8}"
)


def line(row: Row) -> str:
    """Return the line of the table for one workflow."""
    if row.refused:
        return f"{row.kind:<7}{row.steps:>7,}  OVER: {row.refused}"
    return (
        f"{row.kind:<7}{row.steps:>7,}{row.objects:>9,}{row.groups:>7,}{row.templates:>11,}"
        f"{row.tasks:>7,}{row.bytes:>11,}{row.path:>7.3f}{row.seconds:>7.1f}{row.against_flat:>8.2f}"
        f"{f'  {row.name}' * (row.kind == 'real')}{'' if row.fits else '  OVER'}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table; exit code 1 if a limit is not kept."""
    options = parse(parser_of(__doc__), arguments)
    print(HEADING)
    rows: list[Row] = []
    try:
        for kind, workflow in workflows(options):
            rows.append(measure(kind, workflow))
            print(line(rows[-1]), flush=True)
    except SerializationError as error:
        sys.exit(str(error))
    if not options.data.is_dir():
        print(f"no real workflows in {options.data}: left out")
    options.write(rows=[row._asdict() for row in rows])
    over = sum(not row.fits for row in rows)
    if over:
        sys.exit(f"{over} of {len(rows)} workflows are over a limit")


if __name__ == "__main__":
    main()
