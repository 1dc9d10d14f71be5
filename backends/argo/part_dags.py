"""Divided scopes as DAG templates: one for the scope, one for each part of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from couler.backends.argo.branches import BRANCH_FAILED, NOT_WELL, is_one_of, letter
from couler.backends.argo.child_runs import RunPart, run_name
from couler.backends.argo.divided_scope import DividedScope
from couler.backends.argo.elsewhere import (
    PartOutputRenderer,
    PartRenderer,
    PartRules,
    ended,
    tasks_in,
)
from couler.backends.argo.files import empty_folder_input
from couler.backends.argo.parts import (
    ENDS_TEMPLATE,
    PART_TEMPLATE,
    VERDICT_TEMPLATE,
    Division,
    PartOf,
)
from couler.backends.argo.pods import Tree
from couler.backends.argo.references import inputs_read
from couler.backends.argo.scope_order import passes_of
from couler.backends.argo.tags import Tagged, member, tag
from couler.backends.argo.template_view import TemplateView
from couler.ir.values import StepRef
from couler.ir.workflow import Step


class ScopeTemplates:
    """The templates of one divided scope."""

    def __init__(self, scope: DividedScope) -> None:
        self._scope = scope
        self._whole = Body(scope, scope.division)

    def renderer(self) -> PartRenderer:
        """Return what writes values for tasks of the scope's own template."""
        return self._whole.renderer()

    def after_all(self) -> str:
        """Return the `depends` of a task that runs when the scope has ended well."""
        return self._scope.ends

    def outputs(self) -> PartOutputRenderer:
        """Return what writes the outputs of the scope."""
        scope = self._scope
        return PartOutputRenderer(scope.view, scope.task_names, scope.location, self._whole)

    def runs(self) -> list[RunPart]:
        """Return the parts that are to have runs of their own, when their templates are made."""
        return [part.as_run() for part in self._whole.parts if part.part.kind == "run"]

    def tasks(self) -> list[Tree]:
        """Return the tasks of the scope's own template."""
        return self._whole.tasks()

    def parts(self, parallelism: int | None) -> list[Tree]:
        """Return the templates of its parts, when the tasks and outputs of the scope are made."""
        self._whole.finish_parts(parallelism)
        return list(self._whole.templates())


class Body(TemplateView):
    """The steps that one template of a divided scope holds."""

    def __init__(self, scope: DividedScope, division: Division) -> None:
        super().__init__(scope, division.loose)
        self._division = division
        self.parts = [Part(scope, part, self) for part in division.parts]
        self._part_of = {step.name: part for part in self.parts for step in part.part.inside.steps}
        self._well: str | None = None
        """A task that tells whether the leaves ended well."""
        leaves = set(scope.branches.leaves)
        self._leaves = [step.name for step in division.steps if step.name in leaves]

    # tasks -----------------------------------------------------------------------------------

    def _step_tasks(self) -> list[Tree]:
        scope = self._scope
        rules = PartRules(scope.view.steps, scope.task_names, self)
        renderer = self.renderer()
        tasks = [
            scope.make_task(step, scope.task_names[step.name], rules, renderer)
            for step in self._here.values()
        ]
        tasks += [part.call() for part in self.parts]
        return [*self._gates.tasks, *tasks, *self._look_at_leaves()]

    def _look_at_leaves(self) -> Iterator[Tree]:
        """Yield a task that is omitted if a leaf did not end well, and skipped else."""
        scope = self._scope
        leaves = [
            scope.task_names[name]
            for name in self._leaves
            if name in self._here and scope.branches.is_plain(name)
        ]
        if len(leaves) > 1 and not scope.tells_kinds:
            self._well = scope.take_gate()
            order = " && ".join(leaves)
            yield {
                "name": self._well,
                "template": ENDS_TEMPLATE,
                "depends": order,
                "when": "false",
            }

    def tasks(self) -> list[Tree]:
        """Return all tasks; the last one fails if the scope does."""
        # Argo does not find what hangs below parts that are errors alone, and would wait for ever.
        begins = {"name": self._scope.take_gate(), "template": ENDS_TEMPLATE, "when": "false"}
        tasks = self._step_tasks()
        verdict = {
            "name": self._scope.ends,
            "template": VERDICT_TEMPLATE,
            "depends": self._all_ended([begins, *tasks]),
            "arguments": {
                "parameters": [{"name": "end", "value": tag(" + ".join(self.failed_branches()))}]
            },
        }
        return [begins, *tasks, verdict]

    def _all_ended(self, tasks: Iterable[Tree]) -> str:
        """A `depends` for the end of all tasks; parts may open again behind others."""
        order = {str(task["name"]): tasks_in(task.get("depends", "")) for task in tasks}
        followed = {before for waits in order.values() for before in waits}
        parts = {part.task for part in self.parts}
        return ended(name for name in order if name not in followed or name in parts)

    def starts_after(self, steps: Iterable[Step]) -> str:
        """Return the `depends` of a part with some steps."""
        own = {step.name for step in steps}
        before = dict.fromkeys(
            one for name in own for one in self._scope.before[name] if one not in own
        )
        order = sorted(before, key=self._scope.position.__getitem__)
        parts = [task for name in order if (task := self.part_of(name)) is not None]
        loose = [self._scope.task_names[name] for name in order if name in self._here]
        return " && ".join(filter(None, [*dict.fromkeys(parts), ended(loose)]))

    def failed_branches(self) -> list[str]:
        """Return expressions for texts with the letters of the failed branches of the scope."""
        branches = self._scope.branches
        here = [name for name in self._leaves if name in self._here]
        codes = [self.code(name) for name in here if not branches.is_plain(name)]
        found: list[str] = []
        if self._well is not None:
            found.append(f"({letter(f'tasks.{self._well}.status')} == 'm' ? 'm' : '')")
        elif statuses := [self._status(name) for name in here if branches.is_plain(name)]:
            failed = is_one_of(NOT_WELL, letter("#"))
            letters = f"map(filter([{', '.join(statuses)}], {failed}), {letter('#')})"
            found.append(f"join({letters}, '')")
        if codes:
            failed = is_one_of(BRANCH_FAILED, "#")
            found.append(f"join(filter([{', '.join(codes)}], {failed}), '')")
        found += [part.failed() for part in self.parts if part.has_leaves]
        return found

    def finish_parts(self, parallelism: int | None) -> None:
        """Make the templates of the parts."""
        nodes = {step.name: self.part_of(step.name) or step.name for step in self._division.steps}
        before: dict[str, list[str]] = {node: [] for node in nodes.values()}
        for name, node in nodes.items():
            waits = (nodes.get(one) for one in self._scope.before[name])
            before[node] += [one for one in waits if one is not None and one != node]
        passes = passes_of(before)
        place = {node: index for index, node in enumerate(sorted(before, key=passes.__getitem__))}
        for part in sorted(self.parts, key=lambda part: -place[part.task]):
            part.finish(parallelism)

    def templates(self) -> Iterator[Tree]:
        """Yield the templates of the parts, outer before inner."""
        for part in self.parts:
            yield part.template
            yield from part.templates()


class Part(Body):
    """A part of a scope, with the template that holds its steps."""

    def __init__(self, scope: DividedScope, part: PartOf, around: Body) -> None:
        super().__init__(scope, part.inside)
        self.part = part
        self.task = part.task
        self.outputs = f"{member('tasks', part.task)}.outputs.parameters"
        self.template: Tree = {}
        self._outer = around
        self._call: Tree = {}
        self._taken_in: dict[str, str] = {}
        self._passed: list[str] = []
        self._ends: dict[str, int] = {}
        self._values: dict[tuple[str, str], str] = {}
        self._tells_failures = False
        self._tasks: list[Tree] = []

    @property
    def has_leaves(self) -> bool:
        """Whether nothing waits for some of its steps."""
        return bool(self._leaves)

    def as_run(self) -> RunPart:
        """Return what is moved to make this part a run of its own, which fails if it does."""
        template: str = self.template["name"]
        run = run_name(template.removeprefix(PART_TEMPLATE))
        return RunPart(template, run, (VERDICT_TEMPLATE, "end", "f") if self.has_leaves else None)

    # what goes in ----------------------------------------------------------------------------

    def _take_in(self, expression: str, wanted: str) -> str:
        name = self._taken_in.get(expression)
        if name is None:
            number = len(self._taken_in) + 1
            if f"{wanted}{number}" in self._scope.inputs:
                number += 1000  # more than a template takes
            name = self._taken_in[expression] = f"{wanted}{number}"
        return f"inputs.parameters.{name}"

    def _end_around(self, name: str) -> tuple[str, int]:
        text, place = self._outer.end(name)
        return self._take_in(text, "s"), place

    def _value_around(self, reference: StepRef) -> str:
        return self._take_in(self._outer.value(reference), "v")

    # what comes out --------------------------------------------------------------------------

    def place_of(self, name: str) -> int:
        """Return the place of a step's letter in the output `s`."""
        return self._ends.setdefault(name, len(self._ends))

    def output_of(self, reference: StepRef) -> str:
        """Return the output that an output of a step inside is given out by."""
        key = reference.step, reference.output
        return self._values.setdefault(key, f"c{len(self._values) + 1}")

    def failed(self) -> str:
        """Return an expression for a text with the letters of the branches that fail in it."""
        self._tells_failures = True
        outputs = member("tasks", self.task, "outputs")
        return f"({outputs}?.parameters?.f ?? 'r')"

    # tasks -----------------------------------------------------------------------------------

    def call(self) -> Tree:
        """Return the task that runs it, still without arguments."""
        self._tasks = self._step_tasks()
        self._call = {"name": self.task, "template": self._scope.take_template(self.part.template)}
        order = self._outer.starts_after(self.part.inside.steps)
        if order:
            self._call["depends"] = order
        return self._call

    def finish(self, parallelism: int | None) -> None:
        """Make its template and the arguments of its task, when all is asked of it."""
        outputs = self._outputs()
        self.finish_parts(parallelism)
        if self._scope.inputs:
            used = inputs_read(self._tasks)
            self._passed = [name for name in self._scope.inputs if name in used]
        arguments = [
            {"name": name, "value": tag(member("inputs.parameters", name))} for name in self._passed
        ]
        # Not by plain tags: these break on characters that Go and JSON escape in different ways.
        arguments += [{"name": name, "value": tag(text)} for text, name in self._taken_in.items()]
        template = self.template
        template["name"] = self._call["template"]
        taken_in: Tree = {}
        if arguments:
            self._call["arguments"] = {"parameters": arguments}
            taken_in["parameters"] = [{"name": given["name"]} for given in arguments]
        taken_in |= empty_folder_input(self._tasks)
        if taken_in:
            template["inputs"] = taken_in
        if outputs:
            given = [
                {"name": name, "valueFrom": {"expression": Tagged(text)}} for name, text in outputs
            ]
            template["outputs"] = {"parameters": given}
        if parallelism is not None:
            template["parallelism"] = parallelism
        ends = {
            "name": self._scope.ends,
            "template": ENDS_TEMPLATE,
            "depends": self._all_ended(self._tasks),
        }
        template["dag"] = {"failFast": False, "tasks": [*self._tasks, ends]}

    def _outputs(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        if self._ends:
            found.append(("s", self._with_names(self._letters)))
        if self._tells_failures:
            found.append(("f", self._with_names(lambda: " + ".join(self.failed_branches()))))
        for (step, output), name in self._values.items():
            found.append((name, self.value(StepRef(step=step, output=output))))
        return found

    def _letters(self) -> str:
        """An expression for a text with the letters of the ends that are asked for."""
        found: list[str] = []
        plain = self._scope.branches.is_plain
        for is_short, names in itertools.groupby(
            self._ends, lambda name: name in self._here and plain(name)
        ):
            one, *others = names
            if is_short and others:
                tasks = [member("tasks", self._scope.task_names[name]) for name in (one, *others)]
                found.append(f"join(map([{', '.join(tasks)}], {letter('#.status')}), '')")
            else:
                found += map(self.code, (one, *others))
        return " + ".join(found)
