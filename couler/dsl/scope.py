"""A closed set of steps as a program builds it: program order, and values in and out of it."""

from __future__ import annotations

import contextlib
import re
import typing as t
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from couler.dsl._nodes import UNKNOWN_VALUE, make_plain_input, make_ref, make_step
from couler.dsl.types import TypeSpec, list_of
from couler.ir import values as ir
from couler.ir.base import FrozenDict
from couler.ir.policies import AnyOf, Dependency, Foreach, Loop, SourceRef
from couler.ir.values import And, Condition, StepRef
from couler.ir.workflow import Action, Container, Group, Input, Job, Output, Step

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder
    from couler.dsl.dag import Nodes
    from couler.dsl.handles import Value


class ProgramOrder:
    """The positions of one scope; every step waits for the steps of the position before it.

    `concurrent`, and all `when` calls on one output, share a position: each branch of it is a
    sequence of positions of its own, and the next position waits for the last of every branch.
    """

    __slots__ = ("before", "current", "key")

    def __init__(self, before: tuple[Draft, ...] = ()) -> None:
        self.before = before
        self.current: list[Draft] = []
        self.key: object = None

    def place(self, draft: Draft) -> None:
        """Give a step the next position."""
        self.advance(None)
        draft.after = self.before
        self.current.append(draft)

    def advance(self, key: object) -> None:
        """Go to the next position, or stay if this one has the same key."""
        if key is not None and key == self.key:
            return
        if self.current:
            self.before = tuple(self.current)
            self.current = []
        self.key = key

    @contextlib.contextmanager
    def branch(self, key: object) -> Iterator[ProgramOrder]:
        """Give a sequence of positions that is one branch of the position with this key."""
        self.advance(key)
        inner = ProgramOrder(self.before)
        yield inner
        self.current.extend(inner.current)


_NO_IDENTIFIER = re.compile(r"\W+")


class Scope:
    """The steps of a workflow, of a group or of an exit handler.

    Parameters
    ----------
    builder
        The workflow that the scope is part of.
    parent
        The scope around it; None for a workflow's own.
    owner
        The group whose steps these are; None for a workflow's own scope and exit handlers'.
    """

    def __init__(
        self, builder: Builder, parent: Scope | None = None, owner: Draft | None = None
    ) -> None:
        self.builder = builder
        self.parent = parent
        self.owner = owner
        self.drafts: list[Draft] = []
        self.when: Condition | None = None
        self.order = ProgramOrder()
        self.is_graph = False
        """Its steps wait for what `dag` and `set_dependencies` say, not in program order."""
        self.nodes: Nodes | None = None
        self.is_pinned = False
        """Something outside refers to the group, so it must stay one."""
        self._recorders: list[list[Draft]] = []
        self._captured: dict[tuple[Scope | None, ir.Value], str] = {}
        self._exported: dict[ir.Value, str] = {}
        # The steps of an exit handler refer to those of the workflow by name: one register.
        shares = parent is not None and owner is None
        self._names: dict[str, Draft] = parent._names if parent and shares else {}
        self._counters: dict[str, int] = parent._counters if parent and shares else {}

    def add(self, draft: Draft, base: str) -> Draft:
        """Take a step in under a name that is free; return it, or the step of `dag` it repeats."""
        if self.nodes is not None:
            known = self.nodes.find(draft, base)
            if known is not None:
                for recorder in self._recorders:
                    recorder.append(known)
                return known
        name = base if base not in self._names else self.free_name(base)
        self._names[name] = draft
        draft.name = name
        if not self.drafts:
            self.builder.record()
        self.drafts.append(draft)
        if self.when is not None:
            draft.when = self.when
        if self.builder.ordered:
            self.order.place(draft)
        if self._recorders:
            for recorder in self._recorders:
                recorder.append(draft)
        return draft

    def free_name(self, base: str) -> str:
        """Return a name that no step has: the given one, or that with a number."""
        if base not in self._names:
            return base
        count = self._counters.get(base, 1) + 1
        while f"{base}-{count}" in self._names:
            count += 1
        self._counters[base] = count
        return f"{base}-{count}"

    def find(self, name: str) -> Draft | None:
        """Return the step of this name."""
        return self._names.get(name)

    def names(self) -> tuple[str, ...]:
        """Return the names of the steps, in program order."""
        return tuple(draft.name for draft in self.drafts)

    @contextlib.contextmanager
    def names_kept(self) -> Iterator[None]:
        """Take back the names that a block gives to steps, if it raises."""
        names, counters = dict(self._names), dict(self._counters)
        try:
            yield
        except BaseException:  # cleared and filled: inner scopes share them
            self._names.clear()
            self._names.update(names)
            self._counters.clear()
            self._counters.update(counters)
            raise

    @contextlib.contextmanager
    def recording(self) -> Iterator[list[Draft]]:
        """Give the list of the steps that are made, or met again, in a block."""
        made: list[Draft] = []
        self._recorders.append(made)
        try:
            yield made
        finally:
            self._recorders.remove(made)

    @contextlib.contextmanager
    def under(self, condition: Condition, key: object) -> Iterator[None]:
        """Put a condition on the steps made in a block; `key` names their position."""
        outer_when, outer_order = self.when, self.order
        self.when = both(outer_when, condition)
        try:
            with outer_order.branch(key) as self.order:
                yield
        finally:
            self.when, self.order = outer_when, outer_order

    @contextlib.contextmanager
    def branch(self, key: object) -> Iterator[None]:
        """Make the steps of a block one branch of a position."""
        outer = self.order
        try:
            with outer.branch(key) as self.order:
                yield
        finally:
            self.order = outer

    def resolve(self, value: Value) -> ir.Value:
        """Return a value as the steps of this scope can read it."""
        return self.bring(value)._ir()

    def bring(self, value: Value) -> Value:
        """Return a value of any scope of the workflow as one of this scope."""
        home = value._home
        return value if home is self or home is None else self._bring(value, home)

    def _bring(self, value: Value, home: Scope) -> Value:
        around = list(self.outwards())
        while home not in around:
            if home.parent is None or home.owner is None:
                self.builder.report(
                    "CLR118",
                    f"{value!r} belongs to another workflow or to an exit handler; a step reads "
                    "values of its own workflow only",
                )
                return value._like(self, UNKNOWN_VALUE)
            value = home._export(value)
            home = home.parent
        for scope in reversed(around[: around.index(home)]):
            value = scope._capture(value)
        return value

    def outwards(self) -> Iterator[Scope]:
        """Yield this scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def _capture(self, value: Value) -> Value:
        """Return a value of the scope around this one as an input of this group."""
        if self.owner is None:  # an exit handler reads the workflow's steps by their names
            return value
        key = (value._home, value._ir())
        name = self._captured.get(key)
        if name is None:
            name = self.add_input(value._hint(), value._ir(), value._spec)
            self._captured[key] = name
        return value._like(self, ir.ParamRef(name=name))

    def add_input(self, hint: str, value: ir.Value, spec: TypeSpec) -> str:
        """Give the group an input, and return its name."""
        assert self.owner is not None
        taken = {given.name for given in self.owner.inputs}
        name = free_among(taken, _NO_IDENTIFIER.sub("_", hint))
        self.owner.inputs = (*self.owner.inputs, make_input(name, value, spec))
        return name

    def _export(self, value: Value) -> Value:
        """Return a value of this group as the scope around it can read it."""
        assert self.owner is not None
        self.is_pinned = True
        name = self.export_name(value)
        return value._exported(self.owner, name)

    def export_name(self, value: Value) -> str:
        """Return the name of the group's output that gives a value of this scope out."""
        assert self.owner is not None
        inner = value._ir()
        name = self._exported.get(inner)
        if name is None:
            returns = self.owner.returns
            name = free_among(set(returns.specs), _NO_IDENTIFIER.sub("_", value._hint()))
            self._exported[inner] = name
            returns.specs[name] = value._spec
            output = Output(name=name, type=value._spec.wire, value=inner)
            self.owner.outputs = (*self.owner.outputs, output)
        return name

    def build(self) -> tuple[Step, ...]:
        """Return the steps of the IR."""
        ordered = self.builder.ordered and not self.is_graph
        for draft in self.drafts:
            if draft.pass_from:  # only now, as a name may be that of a later step
                draft.take_outputs([self.find(name) for name in draft.pass_from])
        return tuple([draft.build(ordered) for draft in self.drafts])


def new_group(scope: Scope) -> tuple[Draft, Scope]:
    """Return a group that is not yet in a scope, and the scope of its steps."""
    draft = Draft(scope, None, Returns(specs={}), scope.builder.here())
    inner = Scope(scope.builder, scope, draft)
    draft.body = inner
    return draft, inner


def make_input(name: str, value: ir.Value, spec: TypeSpec) -> Input:
    """Return the input by which a value of a type comes in."""
    if spec.item is not None and spec.item.is_file:
        return Input(name=name, value=value, type=spec.item.wire, many=True)
    return make_plain_input(name, value, spec.wire)


def make_process_input(name: str, value: Value, spec: TypeSpec) -> Input:
    """Return the input of a process by which a value comes in; a file has its own name there."""
    made = make_input(name, value._ir(), spec)
    given = value._spec
    if not given.is_file:
        return made
    path = None if given.file_name is None else f"inputs/{name}/{given.file_name}"
    return made.model_copy(update={"path": path, "optional": given.optional})


def both(first: Condition | None, second: Condition) -> Condition:
    """Return the condition that holds where both do."""
    if first is None:
        return second
    parts = [part.items if isinstance(part, And) else (part,) for part in (first, second)]
    return And.model_construct(items=tuple(dict.fromkeys((*parts[0], *parts[1]))))


def free_among(taken: Collection[str], base: str) -> str:
    """Return a name that is not taken: the given one, or that with a number."""
    if base not in taken:
        return base
    count = 2
    while f"{base}_{count}" in taken:
        count += 1
    return f"{base}_{count}"


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
        self.source = source
        self.give(returns)

    def give(self, returns: Returns) -> None:
        """Say what the step gives out."""
        self.returns = returns
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
