"""Steps that can still change."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

from couler.dsl.types import TypeSpec, list_of
from couler.ir.conditions import Condition
from couler.ir.policies import AnyOf, Dependency, Foreach, Loop, SourceRef
from couler.ir.values import StepRef
from couler.ir.workflow import Action, Container, Group, Input, Output, Step

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
    is_record: bool = False
    """The outputs are the fields of a dataclass or NamedTuple."""
    on_read: dict[str, Output] = {}  # noqa: RUF012  # never changed
    """Outputs that are declared only if something reads them."""


class Draft:
    """A step that can still change; `build` makes the step of the IR."""

    __slots__ = (
        "action",
        "after",
        "body",
        "depends",
        "edges",
        "foreach",
        "inputs",
        "length",
        "loop",
        "name",
        "options",
        "outputs",
        "pass_from",
        "returns",
        "scope",
        "source",
        "when",
    )

    def __init__(self, scope: Scope, action: Action | None, returns: Returns) -> None:
        self.scope = scope
        self.action = action
        self.body: Scope | None = None
        self.returns = returns
        self.name = ""
        self.inputs: list[Input] | tuple[Input, ...] = ()
        self.outputs = returns.outputs
        self.options: dict[str, t.Any] | None = None
        self.when: Condition | None = None
        self.foreach: Foreach | None = None
        self.length: int | None = None
        self.loop: Loop | None = None
        self.after: tuple[Draft, ...] = ()
        self.edges: list[Edge] | None = None
        self.depends: list[str | Dependency | AnyOf] | None = None
        self.pass_from: tuple[str, ...] = ()
        self.source: SourceRef | None = None

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
                    self.inputs = (*self.inputs, given)
                elif isinstance(self.action, Container):
                    args = (*self.action.args, ref)
                    self.action = self.action.model_copy(update={"args": args})

    def add_edge(self, *options: tuple[Draft, Outcome]) -> None:
        """Wait for one of several steps to end in a certain way."""
        if self.edges is None:
            self.edges = []
        if options not in self.edges:
            self.edges.append(options)

    def ref(self, output: str) -> StepRef:
        """Return the reference to an output, for steps of the same scope."""
        lazy = self.returns.on_read.get(output) if self.returns.on_read else None
        if lazy is not None and lazy not in self.outputs:
            self.outputs = (*self.outputs, lazy)
        return StepRef(step=self.name, output=output)

    def spec(self, output: str) -> TypeSpec:
        """Return the type of an output, as readers see it."""
        spec = self.returns.specs[output]
        return spec if self.foreach is None else list_of(spec, gathered=True)

    def can_be_skipped(self) -> bool:
        """Return whether the step may end without having run, although none failed."""
        if self.when is not None:
            return True
        return any(on == "failure" for edge in self.edges or () for _, on in edge)

    def build(self, ordered: bool) -> Step:
        """Return the step of the IR."""
        fields: dict[str, t.Any] = {} if self.options is None else dict(self.options)
        depends_on = self._depends_on(ordered)
        if depends_on:
            fields["depends_on"] = depends_on
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
        action = self.action if self.body is None else Group(steps=self.body.build())
        if action is None:
            raise AssertionError(f"the step {self.name} has no action")
        return Step(name=self.name, action=action, source=self.source, **fields)

    def _depends_on(self, ordered: bool) -> tuple[str | Dependency | AnyOf, ...]:
        found: dict[str | Dependency | AnyOf, None] = {}
        if ordered and self.after:
            found.update(dict.fromkeys(before.name for before in self.after))
        for edge in self.edges or ():
            options = tuple(
                before.name if on == "success" else Dependency(step=before.name, on=on)
                for before, on in edge
            )
            found[options[0] if len(options) == 1 else AnyOf(options=options)] = None
        found.update(dict.fromkeys(self.depends or ()))
        return tuple(found)
