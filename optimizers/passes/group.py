"""The pass `group`: steps that can share a pod and an image run in one."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from couler.errors import EngineOptionError
from couler.ir.graph import Graph
from couler.ir.rewrite import map_scopes
from couler.ir.semantics import Kind
from couler.ir.semantics.outputs import read_in_scope
from couler.ir.walk import HOOKS, Scope, ScopeKey, all_steps, scopes, told_apart
from couler.ir.workflow import Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.estimate import StepTime, begun_steps, critical_path
from couler.optimizers.grouped.choosing import choose
from couler.optimizers.grouped.reporting import Report
from couler.optimizers.grouped.scope_problem import (
    Images,
    ScopeProblem,
    images_of,
    scope_problem,
)
from couler.optimizers.grouped.scope_rewrite import ScopeRewrite, read_from_outside
from couler.optimizers.grouped.sharing import Kinds
from couler.optimizers.grouping.methods import METHODS
from couler.optimizers.grouping.problem import CONNECTION, NODE, Costs, Limits

if t.TYPE_CHECKING:
    from couler.ir.workflow import Step


POD_START_S = 2.0
"""Seconds that the start of a pod is taken to need, of which the cost of a group is that."""


@dataclass(frozen=True)
class Group:
    """Run steps that can share a pod and an image in one, so that set-up and transfer fall.

    A group becomes one step, a script of Python that starts the steps inside as processes: in their
    order, side by side where nothing says otherwise, each with its own work folder, inputs,
    variables, time limit and retries. What they give each other stays in the pod. Steps share a pod
    if their images are equal, or an image is declared that has what both have; if the image has
    Python; and if all that belongs to the pod is equal: placement, volumes, account, labels,
    packages; and their conditions, which are then that of the group.

    Left alone are steps of other kinds than containers and scripts, containers without a command,
    steps of exit handlers, and steps with a foreach, loop, cache, lock, hook, metric, other
    containers or files outside of the workflow.

    With `failures="keep"` every run comes to what it came to, also if steps fail: all steps of a
    group wait for the same steps outside and lead to the last one, and what waits for any of them
    waits for that. With `failures="whole"` groups are larger, and if a step fails, what waits
    for any other one of its group is omitted as well.

    Attributes
    ----------
    method
        How groups are looked for: one of `none`, `random`, `connection`, `node`, `greedy`,
        `contraction`, `tree-dp`, `milp`, `cp-sat`, `planner`; the default is `contraction`, which
        needs nothing to be installed.
    costs
        What counts, of the paper: `connection` (an edge within a group 5, between groups 20, a
        group 50) or `node` (edges 5, a group 1000).
    intra, inter, group
        Numbers in place of those.
    per_lost_s
        What a second counts that is lost as less runs in parallel, by the profiles of the steps;
        without it as much as a group by `POD_START_S`, so that a pod less and the seconds that
        its start takes are worth the same. A step of which no seconds are known is taken to run
        longer than all others, so that it is not made to wait for room. 0 counts nothing.
    per_bytes
        For so many bytes of a step's output (of its profile) an edge counts once; without it each
        edge counts once.
    cpu, memory_bytes, gpus
        What a pod has at most. A step that asks for more is left alone, and what does not fit
        together runs in turn. Without `cpu` and `memory_bytes` a pod asks for what its largest
        step asks for; with one of them the other grows to what as many steps take.
    max_parallel
        How many steps of a group run at the same time at most. Where the workflow or a group around
        has such a bound, it is one. Without it as many as the processors that the pod asks for
        allow, of which a step that asks for none takes one; if no step asks for any, as many as the
        pod has, and at least two.
    max_steps
        Most steps in a group.
    script_bytes
        Most bytes of the script of a group, the runner (28 KiB) and the definitions of its steps;
        engines have limits of their own.
    images
        What images have: texts such as `python:3.12 = python` and `ml:2 = python torch`. An image
        takes the place of another one that is declared too, if it has all that the other has.
    failures
        `keep`: runs in which something fails come to the same, too. `whole`: groups can be larger,
        and if a step fails, what waits for another one of its group is omitted as well.

    Notes
    -----
    Before: any verified workflow without defaults. After: of the steps of a group there is one,
    which others wait for and read in their place. That of `contraction` is near-linear; closed sets
    are O(n (n + m)) in groups of n steps and m edges.

    References
    ----------
    Automated Planning for Optimal Data Pipeline Instantiation, arXiv 2503.12626: operators, images
    with tags, and the heuristics. docs/decisions/0035-group-lowering.md says how a group runs.

    Examples
    --------
    >>> from couler.ir.workflow import Script, Step
    >>> def step(name, *after):
    ...     return Step(name=name, action=Script(image="python:3.12", source=""), depends_on=after)
    >>> flow = Workflow(name="w", steps=(step("load"), step("clean", "load")))
    >>> context = PassContext()
    >>> [one.name for one in Group().run(flow, context).steps], dict(context.derived)
    (['load-to-clean'], {'load-to-clean': ('load', 'clean')})
    """

    name: t.ClassVar[str] = "group"

    method: str | None = None
    costs: t.Literal["connection", "node"] = "connection"
    intra: float | None = None
    inter: float | None = None
    group: float | None = None
    per_lost_s: float | None = None
    per_bytes: int | None = None
    cpu: float | None = None
    memory_bytes: int | None = None
    gpus: int | None = None
    max_parallel: int | None = None
    max_steps: int | None = None
    script_bytes: int = 96 << 10
    images: tuple[str, ...] = ()
    failures: t.Literal["keep", "whole"] = "keep"

    def __post_init__(self) -> None:
        """Refuse what no grouping can be made with."""
        if self.method is not None and self.method not in METHODS:
            raise EngineOptionError(
                f'there is no method "{self.method}"; choose of {", ".join(METHODS)}'
            )
        for name in ("max_parallel", "max_steps", "per_bytes"):
            most = getattr(self, name)
            if most is not None and most < 1:
                raise EngineOptionError(f"{name} is {most}; it is at least 1")
        self._declared()
        self._costs()

    @property
    def keeps_failures(self) -> bool:
        """Whether runs in which something fails come to the same, too."""
        return self.failures == "keep"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with the steps of each group as one."""
        report = Report(context)
        images = images_of(tuple(all_steps(workflow)), self._declared())
        bounded = _bounded(workflow)
        read_later = read_from_outside(workflow)
        rewrites: dict[ScopeKey, ScopeRewrite] = {}

        def change(scope: Scope) -> tuple[Step, ...]:
            inner = {
                step.name: made
                for step in scope.steps
                if (made := rewrites.get((scope.handler, (*scope.path, step.name)))) is not None
            }
            steps = tuple(
                inner[step.name].renamed_outputs(step) if step.name in inner else step
                for step in scope.steps
            )
            if scope.handler is not None:
                own = rewrites.get((None, ()))
                return steps if own is None else tuple(map(own.renamed_in_handler(scope), steps))
            given = self._problem(scope._replace(steps=steps), workflow, images, bounded)
            report.refuse(scope, given)
            if len(given.problem.operators) < 2:
                return steps

            choice = choose(
                given,
                Graph.of(steps),
                frozenset(step for step, _ in read_later.get(scope.key, ())),
                method=self.method,
                most=self.max_steps,
                strict=self.keeps_failures,
            )
            if self.method != "none":
                report.leave_alone(choice, given)
            if not choice.groups:
                return steps
            rewrite_of = partial(
                ScopeRewrite,
                groups=choice.groups,
                kinds=_kinds(scope, steps, workflow),
                read_stdout=read_in_scope(scope, workflow),
                read=read_later.get(scope.key, frozenset()),
                limits=given.problem.limits,
            )
            rewrite = rewrite_of(scope._replace(steps=steps))
            rewrites[scope.key] = rewrite
            report.chose(scope, choice, rewrite, given)
            if context.known_times:
                begun = begun_steps(scope._replace(steps=steps), context.known_times)
                twins = rewrite_of(scope._replace(steps=begun)).made
                context.made_times |= _made_times(scope, twins, context)
            return rewrite.steps

        made = map_scopes(workflow, change)
        own = rewrites.get((None, ()))
        if own is not None and made.outputs:
            made = made.model_copy(update={"outputs": own.renamed_values(made.outputs)})
        paths = (
            critical_path(workflow, times=context.known_times),
            critical_path(made, times={**context.known_times, **context.made_times}),
        )
        report.finish(self.costs, paths, keeps_failures=self.keeps_failures)
        return made

    def problems(self, workflow: Workflow) -> dict[str, ScopeProblem]:
        """Return the grouping problems of a workflow's scopes, by the paths of these.

        What is lost as less runs in parallel is no part of them, but where `per_lost_s` is stated.
        """
        stated = replace(self, per_lost_s=self.per_lost_s or 0.0)
        bounded = _bounded(workflow)
        images = images_of(tuple(all_steps(workflow)), self._declared())
        return {
            "/".join(scope.path): stated._problem(scope, workflow, images, bounded)
            for scope in scopes(workflow)
            if scope.handler is None and not "".join(scope.path[-1:]).endswith(HOOKS)
        }

    def _problem(
        self,
        scope: Scope,
        workflow: Workflow,
        images: Images,
        bounded: Mapping[ScopeKey, int],
    ) -> ScopeProblem:
        apart = frozenset(name for step in scope.steps for name in told_apart(step))
        return scope_problem(
            scope.steps,
            _kinds(scope, scope.steps, workflow),
            apart,
            images,
            costs=self._costs(bounded.get(scope.key)),
            limits=Limits(
                self.cpu,
                self.memory_bytes,
                self.gpus,
                1 if scope.key in bounded else self.max_parallel,
                sized_by_group=True,
            ),
            script_bytes=self.script_bytes,
            strict=self.keeps_failures,
            is_stated=self.per_lost_s is not None,
        )

    def _costs(self, bound: int | None = None) -> Costs:
        """Return the costs of a scope in which so many steps run at the same time at most."""
        base = CONNECTION if self.costs == "connection" else NODE
        own = {name: getattr(self, name) for name in ("intra", "inter", "group")}
        stated = {name: value for name, value in own.items() if value is not None}
        made = replace(base, per_bytes=self.per_bytes, **stated)
        per_lost_s = made.group / POD_START_S if self.per_lost_s is None else self.per_lost_s
        return replace(made, per_lost_s=0.0 if bound == 1 else per_lost_s)

    def _declared(self) -> Mapping[str, frozenset[str]]:
        found: dict[str, frozenset[str]] = {}
        for text in self.images:
            image, equals, tags = text.partition("=")
            if not equals or not image.strip():
                raise EngineOptionError(
                    f'images: "{text}" is none; write an image, "=" and what it has: '
                    '"python:3.12 = python git"'
                )
            if image.strip() in found:
                raise EngineOptionError(f"images: {image.strip()} is declared twice")
            found[image.strip()] = frozenset(tags.split())
        return found


def _kinds(scope: Scope, steps: Sequence[Step], workflow: Workflow) -> Kinds:
    given: dict[str, Kind]
    if scope.owner is not None:
        given = {one.name: Kind(one.type, one.many) for one in scope.owner.inputs}
    else:
        given = {one.name: Kind(one.type) for one in workflow.parameters}
    outer = () if scope.handler is None else workflow.steps
    return Kinds(given, {step.name: step for step in (*outer, *steps)})


def _made_times(scope: Scope, made: Sequence[Step], context: PassContext) -> dict[str, StepTime]:
    """Return how long the steps of groups take, of which profiles say that without their start."""
    found: dict[str, StepTime] = {}
    for step in made:
        path = scope.path_of(step)
        known = [context.known_times.get(one) for one in context.derived[path]]
        starts = [one.start_s for one in known if one is not None]
        if starts and step.profile is not None and step.profile.seconds is not None:
            seconds, start_s = step.profile.seconds, max(starts)
            found[path] = StepTime(start_s + seconds, start_s + seconds, start_s)
    return found


def _bounded(workflow: Workflow) -> dict[ScopeKey, int]:
    """Return how many steps run at the same time at most in scopes in which that is bounded."""
    found: dict[ScopeKey, int] = {}
    for scope in scopes(workflow):
        own = workflow.max_parallel if scope.owner is None else scope.owner.max_parallel
        around = found.get(scope.key_around)
        bounds = [one for one in (own, workflow.max_parallel, around) if one is not None]
        if bounds:
            found[scope.key] = min(bounds)
    return found
