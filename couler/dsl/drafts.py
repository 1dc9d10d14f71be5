"""Steps that can still change."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

from couler.dsl._nodes import make_ref, make_step
from couler.dsl.types import TypeSpec, list_of
from couler.ir.base import FrozenDict
from couler.ir.conditions import Condition
from couler.ir.policies import AnyOf, Dependency, Foreach, Loop, SourceRef
from couler.ir.values import StepRef
from couler.ir.workflow import Action, Container, Group, Input, Job, Output, Step

if t.TYPE_CHECKING:
    from couler.dsl.scope import Scope

Outcome: t.TypeAlias = t.Literal["success", "failure", "completion"]
Edge: t.TypeAlias = "tuple[tuple[Draft, Outcome], ...]"
"""Alternatives of which one is enough; mostly there is one."""


class Returns(t.NamedTuple):
    """What a step gives out, and how its handle shows it."""

    outputs: tuple[Output, ...] = ()
    specs: dict[str, TypeSpec] = {}  # noqa: RUF012  # never changed
    main: str | None = None
    """The output that the handle itself stands for."""
    is_list: bool = False
    """The outputs were declared as a list of several: as arguments they are that list."""
    is_record: bool = False
    """The outputs are the fields of a dataclass or NamedTuple."""
    on_read: dict[str, Output] = {}  # noqa: RUF012  # never changed
    """Outputs that are declared only if something reads them."""


class Draft:
    """A step that can still change; `build` makes the step of the IR."""

    # Most steps keep most of these; attributes of the class cost nothing to keep.
    name = ""
    body: Scope | None = None
    """The scope of a group's steps."""
    inputs: Sequence[Input] = ()
    outputs: tuple[Output, ...] = ()
    options: Mapping[str, t.Any] | None = None
    """Further fields of the IR's step; shared by the calls of a typed step."""
    when: Condition | None = None
    foreach: Foreach | None = None
    length: int | None = None
    """Number of items of the foreach, if it is known."""
    loop: Loop | None = None
    after: tuple[Draft, ...] = ()
    """The steps of the position before, in program order."""
    edges: list[Draft | Edge] | tuple[()] = ()
    """What it waits for: the success of a step, or one of several ends."""
    depends: Sequence[str | Dependency | AnyOf] = ()
    """What it waits for, by names."""
    pass_from: tuple[str, ...] = ()
    """Names of steps whose outputs become arguments."""

    is_missed = False
    """A value was read that it does not give, which has been reported."""

    refs: Mapping[str, StepRef] = FrozenDict()
    """References made so far; readers share them."""

    def __init__(
        self, scope: Scope, action: Action | None, returns: Returns, source: SourceRef
    ) -> None:
        self.scope = scope
        self.action = action
        self.returns = returns
        self.source = source
        if returns.outputs:
            self.outputs = returns.outputs

    def ref(self, output: str) -> StepRef:
        """Return the reference to an output, for steps of the same scope."""
        known = self.refs.get(output)
        if known is not None and known.step == self.name:
            return known
        lazy = self.returns.on_read.get(output)
        if lazy is not None and lazy not in self.outputs:
            self.outputs = (*self.outputs, lazy)
        ref = make_ref(self.name, output)
        self.refs = {**self.refs, output: ref}
        return ref

    def spec(self, output: str) -> TypeSpec:
        """Return the type of an output, as readers see it."""
        if self.foreach is None:
            return self.returns.specs[output]
        return list_of(self.returns.specs[output], gathered=True)

    def wait_for(self, edge: Draft | Edge) -> None:
        """Wait for a step to succeed, or for one of several to end in a certain way."""
        if isinstance(self.edges, list):
            self.edges.append(edge)
        else:
            self.edges = [edge]

    def has(self, given: Input) -> bool:
        """Return whether the step takes in the same at the same path already, by any name."""
        return any(one == given.model_copy(update={"name": one.name}) for one in self.inputs)

    def take_outputs(self, befores: Iterable[Draft | None]) -> None:
        """Take in the declared outputs of other steps: values as arguments, files as files."""
        self.pass_from = ()
        for before in befores:
            if before is None or before is self:
                continue
            returns = before.returns
            for output in (*returns.outputs, *returns.on_read.values()):
                ref = before.ref(output.name)
                if output.type in ("file", "directory"):
                    given = Input(name=output.name, value=ref, type=output.type, path=output.path)
                    if not self.has(given):
                        self.inputs = (*self.inputs, given)
                elif isinstance(self.action, Container):
                    args = (*self.action.args, ref)
                    self.action = self.action.model_copy(update={"args": args})

    def build(self, ordered: bool) -> Step:
        """Return the step of the IR."""
        fields: dict[str, t.Any] = {} if self.options is None else dict(self.options)
        fields["name"] = self.name
        fields["action"] = self._action() if self.body is None else Group(steps=self.body.build())
        fields["source"] = self.source
        if self.edges or self.depends or (ordered and self.after):
            fields["depends_on"] = self._depends_on(ordered)
            if ordered and self.after:
                fields["program_order"] = self._program_order()
        if self.inputs:
            fields["inputs"] = tuple(self.inputs)
        if self.outputs:
            fields["outputs"] = self.outputs
        if self.when is not None:
            fields["when"] = self.when
        if self.foreach is not None:
            fields["foreach"] = self.foreach
        if self.loop is not None:
            fields["loop"] = self.loop
        return make_step(fields)

    def _action(self) -> Action | None:
        """Return the action; the local form of a job gives only what the job was asked for."""
        action = self.action
        if not isinstance(action, Job) or action.local is None or not action.local.outputs:
            return action
        declared = {output.name for output in self.outputs}
        given = tuple(
            output
            for output in action.local.outputs
            if output.name in declared or output.name not in self.returns.on_read
        )
        if given == action.local.outputs:
            return action
        form = action.local.model_copy(update={"outputs": given})
        return action.model_copy(update={"local": form})

    def _program_order(self) -> tuple[str, ...]:
        """Return the names of what it waits for that nothing but its position asks for."""
        asked = {edge.name for edge in self.edges if isinstance(edge, Draft)}
        asked.update(entry for entry in self.depends if isinstance(entry, str))
        return tuple(before.name for before in self.after if before.name not in asked)

    def _depends_on(self, ordered: bool) -> tuple[str | Dependency | AnyOf, ...]:
        found: dict[str | Dependency | AnyOf, None] = {}
        if ordered:
            for before in self.after:
                found[before.name] = None
        for edge in self.edges:
            if isinstance(edge, Draft):
                found[edge.name] = None
            else:
                found[_dependency(edge)] = None
        for entry in self.depends:
            found[entry] = None
        return tuple(found)


def _dependency(edge: Edge) -> str | Dependency | AnyOf:
    options = tuple(
        before.name if on == "success" else Dependency(step=before.name, on=on)
        for before, on in edge
    )
    return options[0] if len(options) == 1 else AnyOf(options=options)
