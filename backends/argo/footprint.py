"""Size of a compiled workflow, and Argo's limits on objects and on parts with runs of their own."""

from __future__ import annotations

import json
import typing as t
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from couler.backends.argo.lower import steps_read_at_exit
from couler.backends.argo.parts import PART_TEMPLATE, has_runs
from couler.backends.argo.pods import Tree
from couler.ir.diagnostics import Diagnostic
from couler.ir.sizes import Cost, Costs, Footprint, Limits, Over, Where
from couler.ir.walk import Scope, predecessors, scopes
from couler.ir.workflow import Output, Step, Workflow

if t.TYPE_CHECKING:
    from couler.backends.argo.manifest import Manifest


def footprint(workflow: Workflow, manifest: Manifest, limits: Limits) -> Footprint:
    """Return what a workflow takes."""
    from couler.backends.argo.leaves import overrides_of

    if {"templates", "entrypoint"} & overrides_of(workflow, "spec").keys():
        limits = Limits()  # what runs is the program's own override, which parts would not change
    return Footprint(
        limits,
        size_bytes=lambda: len(manifest.json.encode()) + status_bytes(manifest.spec),
        definitions=lambda: len(_templates(manifest)),
        costs=lambda: _costs(workflow, manifest),
        overs=lambda: tuple(exceeded_limits(manifest, limits)),
        stays=lambda: stays_in_first_run(workflow),
    )


def _templates(manifest: Manifest) -> list[Tree]:
    found: list[Tree] = manifest.spec.get("templates", [])
    return found


def _costs(workflow: Workflow, manifest: Manifest) -> Costs:
    """What each step takes: its task, the nodes of it, and the templates that it leads to."""
    templates = {template["name"]: template for template in _templates(manifest)}
    sizes = {name: _size(template) + 1 for name, template in templates.items()}
    nodes = NodeCounts(templates.values())
    entrypoint = templates[manifest.spec["entrypoint"]]
    tasks = entrypoint["dag"]["tasks"]
    reach = _Reach(templates)
    steps: dict[str, Cost] = {}
    for step, task in zip(workflow.steps, tasks, strict=True):
        definitions = reach.of(task)
        size = _size(task) + 1 + STATUS_BYTES * nodes.of_task(task)
        steps[step.name] = Cost(size, definitions)
    used = {name for cost in steps.values() for name in cost.definitions}
    in_steps = sum(cost.size_bytes for cost in steps.values())
    whole = len(manifest.json.encode()) + status_bytes(manifest.spec)
    inside = sum(sizes[name] for name in used)
    return Costs(steps, {name: sizes[name] for name in used}, whole - in_steps - inside)


class _Reach:
    """Finds the templates that tasks lead to, each once."""

    def __init__(self, templates: Mapping[str, Tree]) -> None:
        self._templates = templates
        self._known: dict[str, tuple[str, ...]] = {}

    def of(self, tree: Tree) -> tuple[str, ...]:
        """Return the templates that a task or template leads to, in the order of their names."""
        found: set[str] = set()
        waiting = [name for name in _names(tree) if name in self._templates]
        if len(waiting) == 1 and waiting[0] in self._known:
            return self._known[waiting[0]]
        first = tuple(waiting)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                inner = self._templates[name]
                waiting += [one for one in _names(inner) if one in self._templates]
        known = tuple(sorted(found))
        if len(first) == 1:
            self._known[first[0]] = known
        return known


def _names(tree: Tree) -> Iterator[str]:
    """Yield the names of the templates that a task, or a template of tasks, calls."""
    if "template" in tree:
        yield tree["template"]
    for hook in tree.get("hooks", {}).values():
        yield from _names(hook)
    tasks = [*tree.get("dag", {}).get("tasks", ())]
    tasks += [task for group in tree.get("steps", ()) for task in group]
    for task in tasks:
        yield from _names(task)


def _size(tree: Tree) -> int:
    return len(json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode())


def exceeded_limits(manifest: Manifest, limits: Limits) -> Iterator[Over]:
    """Yield what is over the limits in the objects of a manifest and in the templates of parts."""
    from couler.backends.argo.workflow_api import PART_LABEL

    *parts, main = zip((*manifest.definitions, manifest.tree), manifest.texts, strict=True)
    for tree, text in (main, *parts):
        is_main = tree is manifest.tree
        where: Where = "main" if is_main else "run"
        spec: Tree = manifest.spec if is_main else tree["spec"]
        templates: list[Tree] = spec.get("templates", [])
        name = "" if is_main else tree["metadata"]["labels"][PART_LABEL]
        between = _between_runs(templates) if is_main and manifest.definitions else 0
        size = len(text.encode()) + status_bytes(spec)
        if limits.run_bytes is not None and size > limits.run_bytes:
            yield Over(where, name, "bytes", size, limits.run_bytes, between)
        if limits.run_definitions is not None and len(templates) > limits.run_definitions:
            yield Over(where, name, "definitions", len(templates), limits.run_definitions)
        if limits.scope_steps is not None:
            yield from _in_templates(spec, templates, name, limits.scope_steps)


def _in_templates(
    spec: Tree, templates: Iterable[Tree], run: str, most_tasks: int
) -> Iterator[Over]:
    """Yield what the templates of parts, and those that hold parts, have too much of."""
    from couler.backends.argo.child_runs import BODY, run_name

    root = next((_called(one) for one in templates if one["name"] == BODY), "") if run else ""
    for template in templates:
        name: str = template["name"]
        where: Where
        tasks = len(template.get("dag", {}).get("tasks", ()))
        values = len(template.get("inputs", {}).get("parameters", ()))
        if name.startswith(PART_TEMPLATE):
            part, where = name.removeprefix(PART_TEMPLATE), "group"
            if "resource" in template or name == root:
                part, where = run_name(part), "run"
            if tasks > most_tasks:
                yield Over(where, part, "steps", tasks, most_tasks)
            if values > MAX_PARAMETERS:
                yield Over(where, part, "values", values, MAX_PARAMETERS)
        elif tasks > most_tasks and name in (spec["entrypoint"], spec.get("onExit")):
            yield Over("main", "", "steps", tasks, most_tasks)


def _called(body: Tree) -> str:
    called: str = body["steps"][0][0]["template"]
    return called


def _between_runs(templates: Iterable[Tree]) -> int:
    """Return the bytes of what starts, ends and connects the runs of parts."""
    from couler.backends.argo.child_runs import STOP

    starts = {one["name"]: one for one in templates if "resource" in one}
    starts = {name: one for name, one in starts.items() if name.startswith(PART_TEMPLATE)}
    found = sum(_size(one) for one in starts.values())
    for template in templates:
        for task in template.get("dag", {}).get("tasks", ()):
            if task["template"] in starts or task["template"] == STOP:
                found += _size(task)
    return found


_MORE = frozenset({"withItems", "withSequence", "withParam", "hooks"})
"""What gives a task more nodes than its own and those in its template."""


class NodeCounts:
    """Counts nodes, as far as the templates tell."""

    def __init__(self, templates: Iterable[Tree]) -> None:
        self._templates = {template["name"]: template for template in templates}
        self._known: dict[str, int] = {}

    @classmethod
    def of_run(cls, spec: Tree) -> int:
        """Return the nodes of a run, with those of what it runs at its end."""
        counts = cls(spec.get("templates", ()))
        roots = [spec.get("entrypoint"), spec.get("onExit")]
        roots += [hook.get("template") for hook in spec.get("hooks", {}).values()]
        return sum(1 + counts.of_template(root) for root in roots if root)

    def widest(self) -> tuple[str, int, int] | None:
        """Return a task of the most nodes of all that have items: its name, items and nodes."""
        found = [
            (task["name"], items, self.of_task(task))
            for template in self._templates.values()
            for task in template.get("dag", {}).get("tasks", ())
            if (items := items_of(task)) is not None
        ]
        return max(found, key=lambda one: one[2], default=None)

    def of_task(self, task: Tree) -> int:
        """Return the nodes of a task, with those that its template and hooks make."""
        each = 1 + self.of_template(task.get("template", ""))
        items = items_of(task)
        nodes = each if items is None else 1 + items * each
        for hook in task.get("hooks", {}).values():
            nodes += 1 + self.of_template(hook.get("template", ""))
        return nodes

    def of_template(self, name: str) -> int:
        """Return the nodes that a template makes each time, its own apart."""
        if name not in self._templates:  # of another object
            return 0
        if name not in self._known:
            self._known[name] = 0  # a template that calls itself does so for the next round
            template = self._templates[name]
            tasks = [*template.get("dag", {}).get("tasks", ())]
            tasks += [task for group in template.get("steps", ()) for task in group]
            # There can be thousands of tasks without items, of a few templates.
            plain = Counter([task.get("template", "") for task in tasks if _MORE.isdisjoint(task)])
            nodes = sum(count * (1 + self.of_template(one)) for one, count in plain.items())
            nodes += sum(self.of_task(task) for task in tasks if not _MORE.isdisjoint(task))
            self._known[name] = nodes + ("retryStrategy" in template)
        return self._known[name]


def items_of(task: Tree) -> int | None:
    """Return how many items a task has, one where that is known only in the run; None for none."""
    if "withItems" in task:
        return len(task["withItems"])
    if "withSequence" in task:
        return _length(task["withSequence"])
    return 1 if "withParam" in task else None


def _length(sequence: Tree) -> int:
    try:
        if "count" in sequence:
            return int(sequence["count"])
        return abs(int(sequence["end"]) - int(sequence.get("start", 0))) + 1
    except (KeyError, TypeError, ValueError):  # an expression, or what Argo refuses
        return 1


def status_bytes(spec: Tree) -> int:
    """Return about how many bytes the controller adds for the nodes of a run."""
    return STATUS_BYTES * NodeCounts.of_run(spec)


MAX_TEMPLATES = 200
MAX_TASKS = 200
MAX_PARAMETERS = 500
MAX_BYTES = 1024 * 1024
"""Largest object that Argo's controller stores, as JSON (`MAX_WORKFLOW_SIZE`)."""

STATUS_BYTES = 81
"""What the controller adds to the object for one node, compressed."""

MAX_DEPTH = 100
"""Deepest nesting of templates that the controller follows."""

# Estimates with which parts are made; what they come to is then measured (`footprint`).
LIMITS: Mapping[str, Limits] = {
    "argo": Limits(
        scope_steps=MAX_TASKS,
        run_bytes=MAX_BYTES,
        run_definitions=MAX_TEMPLATES,
        takes_runs=True,
        steps_in_scope=3,  # the first task, what looks at leaves and what fails the scope
        steps_in_part=2,  # what looks at leaves, and the end
        steps_per_wait=1,
        # A template and its task, what ends it, and the nodes of these.
        bytes_per_part=1000,
        # A gate with its node and a value that it lets through, and by half what gives them out: on
        # steps with names of ten characters.
        bytes_per_wait=240,
        bytes_per_end=100,  # the letter of a step's end, where it is made and looked at
        # What a child's definition has around its part: its entry, and some eighty arguments and
        # outputs.
        bytes_per_run=16 * 1024,
        definitions_per_run=2,  # its entry, and the body of that
        definitions_of_parts=3,  # of the tasks that run nothing (`part_helpers`)
        values_per_part=MAX_PARAMETERS,  # and how others ended besides
        parts_are_barriers=True,  # a part is a task, and a task waits for whole tasks
        bounded_parts_in_turn=True,  # the tasks of a part count as one (`dags`)
    ),
    # It counts nothing, and may store larger objects than a default installation.
    "argo-minimal-crd": Limits(parts_are_barriers=True, bounded_parts_in_turn=True),
}
"""What one run takes, by the name of the profile."""


_READ_AT_EXIT = "exit handlers read outputs of them"
_REMOVED = "files of them are removed when the run has ended"
_NEEDED = "such steps need them as daemons"


def stays_in_first_run(workflow: Workflow) -> dict[str, str]:
    """Return the steps of the workflow's own scope that can have no run but the first, and why."""
    files = workflow.files
    if files is not None and files.removal is not None and files.removal.on == "completion":
        return dict.fromkeys((step.name for step in workflow.steps), _REMOVED)
    own = {step.name: step for step in workflow.steps}
    found = {name: _READ_AT_EXIT for name in steps_read_at_exit(workflow) if name in own}
    for scope in scopes(workflow):
        for step in scope.steps if scope.handler is None else ():
            if any(_is_removed_early(output) for output in step.outputs):
                name = _outermost(scope, step)
                if name in own:
                    found.setdefault(name, _REMOVED)
    for name in tuple(found):
        for before in predecessors(own[name]):
            if before in own and own[before].daemon:
                found.setdefault(before, _NEEDED)
    return found


def _outermost(scope: Scope, step: Step) -> str:
    """Return the step of the workflow's own scope that a step is in, or whose hook it is."""
    return scope.path[0].partition(".")[0] if scope.path else step.name


def _is_removed_early(output: Output) -> bool:
    return output.removal is not None and output.removal.on == "completion"


def check_runs(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield what would mean something else in a run of its own, in time linear in the steps."""
    if not has_runs(workflow):
        return
    run_of = {step.name: None if step.part is None else step.part.run for step in workflow.steps}
    files = workflow.files
    if files is not None and files.removal is not None and files.removal.on == "completion":
        yield Diagnostic(
            "CLR324",
            "argo: the files of the run are removed when it has ended, and Argo would remove those "
            "of a part with a run of its own when that has ended, before others read them. Remove "
            "them on deletion, or plan without runs of parts.",
            source=workflow.source,
        )
    for name in steps_read_at_exit(workflow):
        if run_of.get(name) is not None:
            [step] = [one for one in workflow.steps if one.name == name]
            what = "an exit handler reads outputs of it, which Argo hands on within one run only"
            yield _refused(step, name, what)
    for scope in scopes(workflow):
        if scope.handler is not None:
            continue
        for step in scope.steps:
            if run_of.get(_outermost(scope, step)) is not None:
                yield from _check_files(step, scope.path_of(step))
    yield from _check_daemons(workflow, run_of)


def _check_files(step: Step, path: str) -> Iterator[Diagnostic]:
    for output in step.outputs:
        if _is_removed_early(output):
            what = f'its file "{output.name}" is removed when that run has ended, not the whole'
            yield _refused(step, path, what)


def _check_daemons(workflow: Workflow, run_of: dict[str, str | None]) -> Iterator[Diagnostic]:
    daemons = {step.name: step for step in workflow.steps if step.daemon}
    if not daemons:
        return
    for step in workflow.steps:
        for name in predecessors(step):
            run = run_of.get(name)
            if name in daemons and run is not None and run != run_of[step.name]:
                what = f'it is a daemon, and ends with that run, before "{step.name}" needs it'
                yield _refused(daemons.pop(name), name, what)


def _refused(step: Step, path: str, what: str) -> Diagnostic:
    return Diagnostic(
        "CLR324",
        f'argo: step "{path}" is in a part with a run of its own, but {what}. Take the step out of '
        "that part, or plan without runs of parts.",
        step=path,
        source=step.source,
    )
