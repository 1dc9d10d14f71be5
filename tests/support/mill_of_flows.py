"""Small random workflows of steps that succeed, fail or are skipped, the same for a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from couler.ir.policies import AnyOf, Dependency, Retry
from couler.ir.values import Condition, OrElse, Value, ValueType
from couler.ir.workflow import ExitHandler, Input, Output, Step, Workflow
from tests.corpus.build import (
    any_of,
    both,
    compare,
    either,
    first_of,
    flow,
    given,
    group,
    item,
    last,
    negate,
    on_completion,
    on_failure,
    or_else,
    out,
    param,
    part,
    ref,
    rng,
    run,
    sh,
    text,
    value,
    while_,
)

_LITERALS: dict[ValueType, tuple[object, ...]] = {
    "str": ("x", "y", "2"),
    "int": (1, 2, 3),
    "list": ([], [1], [1, 2], ["x", "y"]),
    "json": (1, "x", [2], {"k": 2}),
}
_LISTS: tuple[list[object], ...] = ([1, 2], ["x", "y"], [1, 2, 3], [2], [])
_SAYS: dict[ValueType, tuple[str, ...]] = {
    "int": ("echo 1", "echo 2", "echo 3"),
    "list": ("echo '[1,2]'", "echo '[]'", "echo '[2,3,1]'", 'echo \'["x","y"]\''),
    "json": ("echo '{\"k\":2}'", "echo '\"x\"'", "echo 2"),
}
_SIGNS = ("==", "!=", "<", ">=")


@dataclass(frozen=True)
class _Given:
    """A value that can be read: what it is, its type, and whether it is surely there."""

    value: Value
    type: ValueType
    is_safe: bool = True


@dataclass
class _Plan:
    """What is known of a step before it is written."""

    name: str
    depends_on: list[str | Dependency | AnyOf] = field(default_factory=list)
    when: Condition | None = None
    has_when: bool = False
    is_unsafe: bool = False


@dataclass(frozen=True)
class _Around:
    """What is around a scope."""

    depth: int = 0
    is_mapped: bool = False
    """Whether it is inside of a foreach over an output."""
    params: tuple[_Given, ...] = ()


class Mill:
    """Makes workflows of a seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._dice = random.Random(seed)

    def workflow(self) -> Workflow:
        """Return a workflow."""
        steps, there = self._scope(_Around(), self._dice.randint(2, 5))
        handlers = [
            self._handler(name, there) for name in ("h", "i")[: self._dice.choice((0, 0, 1, 2))]
        ]
        outputs = [
            self._output(f"o{number}", there) for number in range(self._dice.choice((0, 1, 2)))
        ]
        return flow(f"mill-{self._seed}", *steps, exit_handlers=handlers, outputs=outputs)

    def _chance(self, share: float) -> bool:
        return self._dice.random() < share

    # scopes ---------------------------------------------------------------------------------------

    def _scope(self, around: _Around, count: int) -> tuple[list[Step], list[_Given]]:
        plans = self._plans(count)
        steps: list[Step] = []
        there: list[_Given] = []
        for plan in plans:
            step = self._step(plan, around, [*around.params, *there])
            steps.append(step)
            for output in step.outputs:
                kind: ValueType = "list" if step.foreach is not None else output.type
                is_safe = not plan.is_unsafe
                there.append(_Given(ref(step.name, output.name), kind, is_safe))
        if self._chance(0.3):
            steps.append(self._reader(steps, there))
        return steps, there

    def _plans(self, count: int) -> list[_Plan]:
        plans = [_Plan("abcdefgh"[number]) for number in range(count)]
        for number, plan in enumerate(plans):
            plan.has_when = plan.is_unsafe = self._chance(0.2)
            for _ in range(self._dice.choice((0, 0, 1, 1, 2)) if number else 0):
                self._depend(plan, plans[:number])
        return plans

    def _depend(self, plan: _Plan, before: list[_Plan]) -> None:
        other, second = self._dice.choice(before), self._dice.choice(before)
        named = {one for entry in plan.depends_on for one in _named(entry)}
        if other.name in named or (way := self._dice.random()) < 0:
            return
        if way < 0.5:
            plan.depends_on.append(other.name)
        elif way < 0.7:
            plan.depends_on.append(on_failure(other.name))
            plan.is_unsafe = other.is_unsafe = True
        elif way < 0.88 or other is second or second.name in named:
            plan.depends_on.append(on_completion(other.name))
            other.is_unsafe = True
        else:
            first = self._dice.choice((other.name, on_failure(other.name)))
            plan.depends_on.append(any_of(first, on_failure(second.name)))
            plan.is_unsafe = other.is_unsafe = second.is_unsafe = True

    def _reader(self, steps: list[Step], there: list[_Given]) -> Step:
        """Return a step that tells all that can be read in the scope."""
        for number, one in enumerate(there):
            there[number] = replace(one, is_safe=False)
        values = [or_else(one.value, "none") for one in there]
        before = [on_completion(one.name) for one in steps]
        return sh("z", _echo("z", len(values)), *values, depends_on=before)

    # steps ----------------------------------------------------------------------------------------

    def _step(self, plan: _Plan, around: _Around, there: list[_Given]) -> Step:
        fields: dict[str, object] = {"depends_on": plan.depends_on}
        if plan.has_when:
            fields["when"] = self._condition(there)
        if self._chance(0.3 if around.depth == 0 else 0.2) and around.depth < 2:
            return self._group(plan, around, there, fields)
        foreach = self._foreach(around, there) if self._chance(0.2) else None
        own = there
        if foreach is not None:
            fields["foreach"] = foreach
            own = [*there, _Given(item(), "json"), _Given(item(), "json")]
        if self._chance(0.12):
            return self._counter(plan, own, fields, is_item=foreach is not None)
        arguments = [self._safe(own) for _ in range(self._dice.choice((0, 1, 1, 2)))]
        if foreach is not None:
            arguments.insert(0, item())
        return self._process(plan.name, arguments, fields)

    def _process(self, name: str, arguments: list[Value], fields: dict[str, object]) -> Step:
        kind: ValueType = self._dice.choice(("str", "str", "str", "int", "list", "json"))
        says = _echo(name, len(arguments))
        if kind != "str":
            says = self._dice.choice(_SAYS[kind])
        if self._chance(0.22):
            fields["retry"] = Retry(limit=1) if self._chance(0.1) else None
            says = f"{says}; exit 1"
            if arguments and self._chance(0.6):
                says = f'test "$1" != {self._dice.choice("12x")} || exit 1; {says.split(";")[0]}'
        way = self._dice.random()
        if way < 0.15:
            return sh(name, says, *arguments, result=None, **fields)
        if way < 0.3:
            default = self._dice.choice(_LITERALS[kind])
            declared = [out("result", kind, default=default)]
            return sh(name, says, *arguments, result=None, outputs=declared, **fields)
        return sh(name, says, *arguments, result=kind, **fields)

    def _counter(
        self, plan: _Plan, there: list[_Given], fields: dict[str, object], *, is_item: bool
    ) -> Step:
        """Return a step with rounds that count."""
        says = self._dice.choice(
            ("echo $(($1 + 1))",) * 4 + ("echo $(($1 + 1)); test $1 -lt 1", "echo no")
        )
        arguments: list[Value] = [last(initial=self._dice.choice((0, 0, 1)))]
        if is_item:
            arguments.append(item())
            says = self._dice.choice((says, f'test "$2" != 2 || exit 1; {says}'))
        arguments += [self._safe(there)] if self._chance(0.3) else []
        kind: ValueType = "str" if says == "echo no" else "int"
        return sh(
            plan.name, says, *arguments, result=kind, loop=self._loop("result", kind), **fields
        )

    def _loop(self, output: str, kind: ValueType = "int") -> object:
        most = self._dice.choice((2, 3))
        held: Value = last(output)
        if kind == "str" and self._chance(0.3):
            held = part(held, "k")
        return while_(compare(held, "<", self._dice.choice((1, 2, 2, 3, 9))), most)

    def _group(
        self, plan: _Plan, around: _Around, there: list[_Given], fields: dict[str, object]
    ) -> Step:
        inputs: list[Input] = []
        params: list[_Given] = []

        def take(name: str, source: Value, kind: ValueType) -> None:
            inputs.append(given(name, source, kind))
            params.append(_Given(param(name), kind))

        for number in range(self._dice.choice((0, 1, 2))):
            one = self._readable(there)
            take(f"p{number}", one.value, one.type)
        foreach = self._foreach(around, there) if self._chance(0.4) else None
        if foreach is not None:
            fields["foreach"] = foreach
            take("n", item(), "json")
        is_loop = self._chance(0.2)
        if is_loop:
            take("w", last("o0", initial=0), "int")
            fields["loop"] = self._loop("o0")
        is_mapped = around.is_mapped or not isinstance(foreach, list | None)
        inside = _Around(around.depth + 1, is_mapped, tuple(params))
        steps, inner = self._scope(inside, self._dice.choice((1, 2, 2, 3)))
        outputs: list[Output] = []
        if is_loop:
            steps.append(sh("w", "echo $(($1 + 1))", param("w"), result="int"))
            outputs.append(out("o0", "int", source=ref("w")))
        count = range(len(outputs), self._dice.choice((1, 1, 2)))
        outputs += [self._output(f"o{number}", inner) for number in count]
        return group(plan.name, *steps, inputs=inputs, outputs=outputs, **fields)

    def _foreach(self, around: _Around, there: list[_Given]) -> object:
        lists = [one for one in there if one.type == "list"]
        if lists and not around.is_mapped and self._chance(0.7):
            return self._defaulted(self._dice.choice(lists), [1, 2]).value
        if not around.is_mapped and self._chance(0.1):
            counts = [one for one in there if one.type == "int"]
            return rng(count=self._safe(counts))
        return self._dice.choice(_LISTS)

    # values ---------------------------------------------------------------------------------------

    def _readable(self, there: list[_Given]) -> _Given:
        """Return a value that can be read: of a step, of the group around, or a literal."""
        kind: ValueType = self._dice.choice(("str", "int", "list"))
        literal = self._dice.choice(_LITERALS[kind])
        if not there or self._chance(0.1):
            return _Given(value(literal), kind)
        found = self._dice.choice(there)
        if found.type != "int" and self._chance(0.08):
            key = 0 if found.type == "list" else "k"
            found = replace(found, value=part(found.value, key), type="json")
        elif self._chance(0.06):
            found = replace(found, value=text("<", found.value, ">"), type="str")
        if self._chance(0.1):
            second = self._dice.choice(there)
            found = replace(found, value=first_of(found.value, second.value, literal))
            return replace(found, is_safe=True)
        return self._defaulted(found, self._dice.choice(_LITERALS[found.type]))

    def _defaulted(self, found: _Given, default: object) -> _Given:
        if found.is_safe and (not self._chance(0.2) or isinstance(found.value, OrElse)):
            return found
        return replace(found, value=or_else(found.value, default), is_safe=True)

    def _safe(self, there: list[_Given]) -> Value:
        return self._readable(there).value

    def _output(self, name: str, there: list[_Given]) -> Output:
        found = self._readable(there)
        default = self._dice.choice(_LITERALS[found.type]) if self._chance(0.3) else None
        return out(name, found.type, source=found.value, default=default)

    def _condition(self, there: list[_Given]) -> Condition:
        way = self._dice.random()
        if way < 0.3 or not there:
            return compare("a", "==", self._dice.choice(("a", "b")))
        if way < 0.45:
            pair = (self._comparison(there), self._comparison(there))
            return self._dice.choice((both, either))(*pair)
        found = self._comparison(there)
        return negate(found) if way < 0.55 else found

    def _comparison(self, there: list[_Given]) -> Condition:
        found = self._readable(there)
        sign = self._dice.choice(_SIGNS if found.type == "int" else _SIGNS[:2])
        return compare(found.value, sign, self._dice.choice(_LITERALS[found.type]))

    # the end of a run -----------------------------------------------------------------------------

    def _handler(self, name: str, there: list[_Given]) -> ExitHandler:
        unsafe = [replace(one, is_safe=False) for one in there]
        first = sh("x", _echo("x", 2), run("status"), self._safe(unsafe))
        says = self._dice.choice(("true", "exit 1", _echo("y", 1)))
        after = self._dice.choice((["x"], [on_failure("x")], []))
        second = sh("y", says, self._safe(unsafe), depends_on=after)
        on = self._dice.choice(("success", "failure", "any"))
        return ExitHandler(name=name, on=on, steps=(first, second)[: self._dice.choice((1, 2))])


def _echo(name: str, count: int) -> str:
    return f'echo "{name}({" ".join(f"${number}" for number in range(1, count + 1))})"'


def _named(entry: str | Dependency | AnyOf) -> list[str]:
    options = entry.options if isinstance(entry, AnyOf) else (entry,)
    return [one if isinstance(one, str) else one.step for one in options]
