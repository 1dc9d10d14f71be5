"""Values that are known only when the workflow runs, as a program holds them."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

from couler.dsl._context import ProgramError, UnknownAttributeError, current
from couler.dsl._nodes import UNKNOWN_VALUE, make_literal
from couler.dsl.types import (
    JSON,
    UNKNOWN,
    TypeSpec,
    is_json,
    json_form,
    list_of,
    one_of,
    optional_of,
    spec_of_value,
)
from couler.ir import values as ir
from couler.ir.diagnostics import did_you_mean
from couler.ir.workflow import STDOUT, Output, Script, Suspend

if t.TYPE_CHECKING:
    from couler.dsl.conditions import Condition
    from couler.dsl.scope import Draft, Scope
    from couler.ir.values import Operator

_SCALARS = (str, int, bool)


class Unknown:
    """Something that is known only when the workflow runs: each use of it in a program raises."""

    __slots__ = ()

    def __contains__(self, item: object) -> bool:
        raise ProgramError(
            "CLR112",
            f"whether {self!r} contains something is known only when the workflow runs. Let a "
            "step look, and compare what it returns in couler.when(...)",
        )

    def __bool__(self) -> bool:
        raise ProgramError(
            "CLR113",
            f"the truth of {self!r} is known only when the workflow runs. Compare it and "
            "use couler.when(value == ...) in place of if, not, and, or",
        )

    def __str__(self) -> str:
        return format(self)

    def __format__(self, spec: str) -> str:
        raise ProgramError(
            "CLR114",
            f"{self!r} cannot be put into text while the workflow is built. "
            'Use couler.text("... {}", value); repr() shows what it is',
        )

    def _compute(self, *_: object) -> t.NoReturn:
        raise ProgramError(
            "CLR114",
            f"{self!r} is known only when the workflow runs, so nothing can be computed with it "
            'while it is built. Pass it to a step that does, or use couler.text("... {}", value)',
        )

    def __add__(self, other: object) -> t.Any:
        self._compute()

    __radd__ = __add__
    __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _compute
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = _compute
    __neg__ = __pos__ = __abs__ = __int__ = __float__ = __index__ = __round__ = _compute

    def __copy__(self) -> t.Self:
        return self

    def __deepcopy__(self, memo: object) -> t.Self:
        return self  # a value stands for itself wherever it is held, as in a dataclass

    def __reduce__(self) -> t.NoReturn:
        raise ProgramError(
            "CLR103",
            f"{self!r} is known only when the workflow runs, so it cannot be sent or written by "
            "this program. Pass it to a step",
        )


class Value(Unknown):
    """A value that is known only when the workflow runs.

    Compare it to get a condition, index it to get a part of it, pass it to steps. Its truth is
    not known while the workflow is built, so `if value:` and `value and other` raise.
    """

    __slots__ = ()
    __hash__ = object.__hash__

    @property
    def _home(self) -> Scope | None:
        """The scope whose steps can read it; None if every scope can."""
        raise NotImplementedError

    @property
    def _spec(self) -> TypeSpec:
        raise NotImplementedError

    def _ir(self) -> ir.Value:
        """Return the value as the steps of its home read it."""
        raise NotImplementedError

    def _hint(self) -> str:
        """Return a name for the input or output that carries the value."""
        raise NotImplementedError

    def _like(self, home: Scope | None, value: ir.Value) -> Value:
        return Expression(home, value, self._spec, self._hint())

    def _exported(self, group: Draft, name: str) -> Value:
        return OutputHandle(group, name)

    def _parts(self) -> dict[str, Value] | None:
        """Return the fields of a dataclass or NamedTuple that are outputs of their own."""
        return None

    def or_else(self, default: object) -> t.Any:
        """Return this value, or a default where the step that makes it did not run.

        Parameters
        ----------
        default
            A JSON value or another value of the workflow.
        """
        if isinstance(default, Value):
            home = home_of((self, default))
            value = ir.OrElse(value=home.resolve(self), default=home.resolve(default))
            spec = one_of([self._spec, default._spec]) if self._spec.is_file else self._spec
            return Expression(home, value, spec, self._hint())
        plain = literal(default)
        spec = self._spec
        if default is None and spec.is_file:
            spec = optional_of(spec)
        return Defaulted(self._home, ir.OrElse(value=self._ir(), default=plain), spec, self._hint())

    def __getitem__(self, key: str | int) -> t.Any:
        if type(key) is int and -len(self._spec.parts or ()) <= key < 0:
            key += len(self._spec.parts or ())
        if type(key) is not str and (type(key) is not int or key < 0):
            raise ProgramError(
                "CLR111",
                f"{self!r}[{key!r}]: a part is named by text or an index from 0, not by {key!r}",
            )
        inner = self._ir()
        spec = self._part_spec(key)
        if isinstance(inner, ir.Field):
            value = ir.Field(of=inner.of, path=(*inner.path, key))
        else:
            value = ir.Field(of=inner, path=(key,))
        return Expression(self._home, value, spec, f"{self._hint()}_{key}".replace("-", "_"))

    def _part_spec(self, key: str | int) -> TypeSpec:
        spec = self._spec
        if spec is UNKNOWN:
            return UNKNOWN
        if spec.fields is not None and key in spec.fields:
            return spec.fields[t.cast(str, key)]
        if spec.parts is not None and isinstance(key, int):
            if not -len(spec.parts) <= key < len(spec.parts):
                raise ProgramError("CLR143", f"{self!r} is {spec.label}, which has no [{key}]")
            return spec.parts[key]
        return JSON if spec.item is None else spec.item

    def __getattr__(self, name: str) -> t.Any:
        if name.startswith("_"):
            raise AttributeError(name)
        fields = self._spec.fields
        if self._spec is UNKNOWN or (fields is not None and name in fields):
            return self[name]
        known = ("or_else", *(fields or ()))
        raise UnknownAttributeError(
            "CLR143", f'{self!r} has no part "{name}".{did_you_mean(name, known)}'
        )

    def __dir__(self) -> list[str]:
        return ["or_else", *(self._parts() or self._spec.fields or ())]

    def _items(self) -> list[t.Any] | None:
        """Return what the value is made of, if that is known while the workflow is built."""
        parts = self._spec.parts
        return None if parts is None else [self[index] for index in range(len(parts))]

    def _listed(self) -> list[t.Any] | None:
        """Return the values that this one stands for in a list of arguments; None for itself."""
        return None

    def __iter__(self) -> Iterator[t.Any]:
        items = self._items()
        if items is None:
            raise ProgramError(
                "CLR112",
                f"{self!r} is known only when the workflow runs and cannot be iterated over "
                "while it is built. Use couler.map(function, value), or value[0] for one part",
            )
        return iter(items)

    def __len__(self) -> int:
        items = self._items()
        if items is None:
            raise ProgramError(
                "CLR112",
                f"the length of {self!r} is known only when the workflow runs. Use "
                "couler.map(function, value) to do something for each item",
            )
        return len(items)

    def _compare(self, op: Operator, other: object) -> Condition:
        from couler.dsl.conditions import Comparison

        return Comparison(self, op, other)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]  # a condition, not a bool
        return self._compare("==", other)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]  # a condition, not a bool
        return self._compare("!=", other)

    def __lt__(self, other: object) -> Condition:
        return self._compare("<", other)

    def __le__(self, other: object) -> Condition:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Condition:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Condition:
        return self._compare(">=", other)

    def __invert__(self) -> Condition:
        return ~_as_test(self)

    def __and__(self, other: Condition | Value | bool) -> Condition:
        return _as_test(self) & _as_test(other)

    def __or__(self, other: Condition | Value | bool) -> Condition:
        return _as_test(self) | _as_test(other)


class Expression(Value):
    """A value made of others, or given from outside: a parameter, an item, a part."""

    __slots__ = ("_at", "_name", "_type", "_value")

    def __init__(self, home: Scope | None, value: ir.Value, spec: TypeSpec, hint: str) -> None:
        self._at = home
        self._value = value
        self._type = spec
        self._name = hint

    @property
    def _home(self) -> Scope | None:
        return self._at

    @property
    def _spec(self) -> TypeSpec:
        return self._type

    def _ir(self) -> ir.Value:
        return self._value

    def _hint(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<couler value {self._name}>"


class Defaulted(Expression):
    """A value with a plain default, which outside of its group holds for the group as well."""

    __slots__ = ()
    _value: ir.OrElse | ir.FirstOf

    def _exported(self, group: Draft, name: str) -> Value:
        outside = super()._exported(group, name)
        value = self._value
        if group.foreach is not None:
            return outside
        default = value.options[-1] if isinstance(value, ir.FirstOf) else value.default
        return Defaulted(
            outside._home, ir.OrElse(value=outside._ir(), default=default), self._type, name
        )


class OutputHandle(Value):
    """An output of a step."""

    __slots__ = ("_draft", "_output")

    def __init__(self, draft: Draft, output: str) -> None:
        self._draft = draft
        self._output = output

    @property
    def _home(self) -> Scope | None:
        return self._draft.scope

    @property
    def _spec(self) -> TypeSpec:
        return self._draft.spec(self._output)

    def _ir(self) -> ir.Value:
        return self._draft.ref(self._output)

    def _hint(self) -> str:
        draft = self._draft
        if draft.body is not None:  # a group's outputs are named after those who made them
            return self._output
        return draft.name if self._output == draft.returns.main else f"{draft.name}_{self._output}"

    def __rshift__(self, after: t.Any) -> t.Any:
        if isinstance(after, OutputHandle) and after._draft.scope is self._draft.scope:
            after._draft.wait_for(self._draft)
        else:
            _chain(self, after)
        return after

    def __rrshift__(self, before: t.Any) -> t.Any:
        _chain(before, self)
        return self

    def __lshift__(self, before: t.Any) -> t.Any:
        _chain(before, self)
        return before

    def __rlshift__(self, after: t.Any) -> t.Any:
        _chain(self, after)
        return self

    def __repr__(self) -> str:
        return f"<couler value {self._draft.name}.{self._output}>"


class RecordHandle(OutputHandle):
    """A record that a step returns, as an object of all its fields."""

    __slots__ = ()

    @property
    def _spec(self) -> TypeSpec:
        return JSON if self._draft.foreach is None else list_of(JSON, gathered=True)


class StepHandle(OutputHandle):
    """A step, and the value that it gives.

    `a >> b` makes b wait for a; lists can stand on either side. The fields of a dataclass or
    NamedTuple, and the named outputs of a container, are attributes.
    """

    __slots__ = ()

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._output = draft.returns.main or "result"

    def _ir(self) -> ir.Value:
        draft = self._draft
        if draft.returns.main is not None:
            return draft.ref(self._output)
        # Which output is meant is a question for each reader; that there is none is told once.
        if draft.returns.specs or not draft.is_missed:
            draft.is_missed = True
            message = f'step "{draft.name}" {_why_no_value(draft)}'
            draft.scope.builder.report("CLR115", message, step=draft.name)
        return UNKNOWN_VALUE

    @property
    def _spec(self) -> TypeSpec:
        draft = self._draft
        if draft.returns.main is not None:
            return draft.spec(self._output)
        return UNKNOWN

    def __getattr__(self, name: str) -> t.Any:
        if name.startswith("_"):
            raise AttributeError(name)
        draft = self._draft
        if name in draft.returns.specs:
            return OutputHandle(draft, name)
        spec = self._spec
        if draft.returns.main is not None and (spec.fields is not None or spec is UNKNOWN):
            return Value.__getattr__(self, name)
        raise unknown_output(draft, name)

    def _parts(self) -> dict[str, Value] | None:
        if not self._draft.returns.is_record:
            return None
        return {name: OutputHandle(self._draft, name) for name in self._draft.returns.specs}

    def _whole(self) -> OutputHandle | None:
        """Return all that a record has, as an object; None if this is none, or has files."""
        draft, specs = self._draft, self._draft.returns.specs
        call = draft.action.call if isinstance(draft.action, Script) else None
        if call is None or not draft.returns.is_record or STDOUT in specs:
            return None
        if any(spec.is_file for spec in specs.values()):
            return None
        output = Output(name=STDOUT, type="json", path=f"outputs/{STDOUT}")
        if output not in draft.outputs:
            draft.outputs = (*draft.outputs, output)
            script = t.cast("Script", draft.action)
            call = call.model_copy(update={"whole": True})
            draft.action = script.model_copy(update={"call": call})
        return RecordHandle(draft, STDOUT)

    def _items(self) -> list[t.Any] | None:
        parts = self._parts()
        return super()._items() if parts is None else list(parts.values())

    @property
    def step_name(self) -> str:
        """Name of the step in its workflow."""
        return self._draft.name

    def __repr__(self) -> str:
        return f"<couler step {self._draft.name}>"


class ProcessOutput(OutputHandle):
    """One of the list of outputs of a container, script or job."""

    __slots__ = ()

    @property
    def value(self) -> t.Any:
        """The output itself."""
        return self

    @property
    def path(self) -> str:
        """Where the process writes it."""
        for output in self._draft.outputs:
            if output.name == self._output and output.path is not None:
                return output.path
        raise AttributeError("path")  # as for any other name that it has not


class ProcessHandle(StepHandle):
    """A container, script or job: its value, and the list of its outputs.

    `len`, iteration, indexes, slices and `+` with a list see the declared outputs, or the standard
    output if there are none.
    """

    __slots__ = ()

    def _items(self) -> list[t.Any]:
        returns = self._draft.returns
        declared = [output.name for output in returns.outputs]
        names = declared or ([returns.main] if returns.main else [])
        return [ProcessOutput(self._draft, name) for name in names]

    def _listed(self) -> list[t.Any] | None:
        return self._items() if self._draft.returns.is_list else None

    def __getitem__(self, key: str | int | slice) -> t.Any:
        if isinstance(key, str) and key in self._draft.returns.specs:
            return OutputHandle(self._draft, key)
        if isinstance(key, int | slice) and not isinstance(key, bool):
            items = self._items()
            if isinstance(key, int) and not -len(items) <= key < len(items):
                raise ProgramError(
                    "CLR143", f'step "{self._draft.name}" has {len(items)} outputs, and no [{key}]'
                )
            return items[key]
        return super().__getitem__(t.cast("str | int", key))

    def __add__(self, other: object) -> t.Any:
        if not isinstance(other, list | ProcessHandle):
            self._compute()
        return [*self._items(), *other]

    def __radd__(self, other: object) -> t.Any:
        if not isinstance(other, list):
            self._compute()
        return [*other, *self._items()]


def home_of(values: t.Iterable[object]) -> Scope:
    """Return where a value made of several is computed: where they all are, or here."""
    scope = current().scope
    if scope is None:
        raise ProgramError("CLR119", "values of a workflow are used where no workflow is open")
    homes = {one._home for one in values if isinstance(one, Value) and one._home is not None}
    return homes.pop() if len(homes) == 1 else scope


def resolve_in(scope: Scope, value: object) -> ir.Value:
    """Return any argument as the steps of a scope read it."""
    return scope.resolve(value) if isinstance(value, Value) else literal(value)


def as_value(value: object) -> ir.Value:
    """Return any argument as the steps of the current scope read it."""
    if isinstance(value, Value):
        scope = current().scope
        return value._ir() if scope is None else scope.resolve(value)
    return literal(value)


def literal(value: object) -> ir.Literal:
    """Return a Python value as a value of the IR; report one that has no JSON form."""
    if type(value) in _SCALARS:
        return make_literal(value)
    plain = json_form(value)
    if is_json(plain):
        return make_literal(plain)
    scope = current().scope
    from couler.dsl.checks import advice, shown

    message = f"{shown(value)} has no JSON form, so it cannot reach a step; {advice(value)}"
    if scope is None:
        raise ProgramError("CLR103", message)
    scope.builder.report("CLR103", message)
    return ir.Literal(value=None)


def spec_of_argument(value: object) -> TypeSpec:
    """Return the type of a value of the workflow or of the program."""
    return value._spec if isinstance(value, Value) else spec_of_value(value)


def unknown_output(draft: Draft, name: str) -> UnknownAttributeError:
    """Return the error for an output that a step has not."""
    known = tuple(draft.returns.specs)
    has = f"; it has {', '.join(known)}" if known else ""
    hint = did_you_mean(name, ("or_else", "step_name", *known))
    return UnknownAttributeError(
        "CLR143", f'step "{draft.name}" has no output "{name}"{has}.{hint}'
    )


def _why_no_value(draft: Draft) -> str:
    if isinstance(draft.action, Suspend):
        return "waits, and gives no value to read"
    if draft.body is not None:
        return "is a group, which has no value of its own; read one of a step inside"
    if draft.returns.specs:
        names = ", ".join(draft.returns.specs)
        return f"has no single value to read; read one of its outputs: {names}"
    return "returns nothing that could be read; declare what it returns"


def _as_test(value: object) -> Condition:
    from couler.dsl.conditions import as_test

    return as_test(value)


def _chain(before: object, after: object) -> None:
    from couler.dsl.edges import chain

    chain(before, after)
