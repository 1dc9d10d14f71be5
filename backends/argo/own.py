"""Facts of a step, a run or a response, in expressions that Argo evaluates beside the graph."""

from __future__ import annotations

from collections.abc import Callable

from couler.backends.argo.conditions import Conditions
from couler.backends.argo.tags import Tagged, member, quote, tag, variable, wire_text
from couler.ir.semantics import kind_of
from couler.ir.values import Condition, Field, Literal, OwnRef, Value, ValueType
from couler.ir.workflow import STDOUT, Step

_ENDED = "({0} == 'Succeeded' ? 'succeeded' : 'failed')"
_STATE = (
    "({0} == 'Succeeded' ? 'succeeded' : {0} in ['Failed', 'Error'] ? 'failed' : "
    "{0} == 'Running' ? 'running' : 'pending')"
)


class Own:
    """Writes facts and literals, for `Conditions` and for metrics."""

    def __init__(
        self,
        name: Callable[[OwnRef], str],
        part: Callable[[str, tuple[str | int, ...]], str],
        *,
        to_json: str = "toJson",
        step: Step | None = None,
    ) -> None:
        self._name = name
        self._step = step
        self._part = part
        self._to_json = to_json

    def type_of(self, value: Value) -> ValueType:
        """Return the type as which a value travels."""
        if isinstance(value, OwnRef) and value.fact == "status_code":
            return "float"  # it is small, and no text whose digits could be compared
        return kind_of(value, self._step, {}, {}).wire

    def expression(self, value: Value) -> str:
        """Return an expression for the text by which a value travels."""
        match value:
            case Literal():
                return quote(wire_text(value.value))
            case OwnRef():
                return self._name(value)
            case Field():
                return f"{self._to_json}({self._part(self._root(value), _path(value))})"
        raise AssertionError("verification refuses other values here")

    def is_canonical(self, value: Value) -> bool:
        """Return whether a value travels as JSON of its type, written as Couler does."""
        return isinstance(value, OwnRef) and value.fact not in ("output", "input")

    def is_checked(self, value: Value) -> bool:
        """Return whether a value is known to be of its declared type: Couler made or read it."""
        return isinstance(value, Literal) or self.is_canonical(value)

    def _root(self, value: Value) -> str:
        return self._root(value.of) if isinstance(value, Field) else self.expression(value)

    def tag(self, value: Value) -> Tagged:
        """Return a tag for a fact: a plain one if a variable holds it."""
        if isinstance(value, OwnRef) and value.fact == "output" and value.name != STDOUT:
            return variable(f"outputs.parameters.{value.name}")
        if isinstance(value, Field):
            return tag(f"string({self._part(self._root(value), _path(value))})")
        expression = self.expression(value)
        is_variable = isinstance(value, OwnRef) and not expression.startswith("(")
        return variable(expression) if is_variable else tag(expression)


def _path(value: Value) -> tuple[str | int, ...]:
    return (*_path(value.of), *value.path) if isinstance(value, Field) else ()


def facts_of_template() -> Own:
    """Return the facts of a step, as the metrics of its template read them."""
    return Own(_of_template, _json_path)


def facts_of_run() -> Own:
    """Return the facts of the run, as the metrics of the workflow read them."""
    return Own(_of_run, _json_path)


def state_condition(condition: Condition, status: str) -> Tagged:
    """Return the expression of a hook, from the variable that holds the status."""
    values = Own(lambda _: _STATE.format(status), _json_path)
    return Tagged(Conditions(values).expression(condition))


def response_condition(condition: Condition, step: Step, literal: Callable[[str], str]) -> Tagged:
    """Return the expression that says whether a response is a success."""

    def name(fact: OwnRef) -> str:
        return literal(fact.name or "") if fact.fact == "input" else _of_response(fact)

    values = Own(name, _member_of_json, to_json="toJSON", step=step)
    return Tagged(Conditions(values).expression(condition))


def _of_template(value: OwnRef) -> str:
    match value.fact:
        case "status":
            return _ENDED.format("status")
        case "duration_s":
            return "duration"
        case "exit_code":
            return "exitCode"
        case "output":
            if value.name == STDOUT:
                return "outputs.result"
            return member("outputs.parameters", value.name or "")
    raise AssertionError(f"a step has no {value.fact}")


def _of_run(value: OwnRef) -> str:
    match value.fact:
        case "status":
            return _ENDED.format("workflow.status")
        case "duration_s":
            return "workflow.duration"
    raise AssertionError(f"a run has no {value.fact}")


def _of_response(value: OwnRef) -> str:
    match value.fact:
        case "status_code":
            return "response.statusCode"
        case "output":
            return "response.body"
        case "header":
            name = "-".join(word.capitalize() for word in (value.name or "").split("-"))
            values = f"response.headers[{quote(name)}]"
            return f"(len({values}) > 0 ? {values}[0] : '')"
    raise AssertionError(f"a response has no {value.fact}")


def _json_path(text: str, path: tuple[str | int, ...]) -> str:
    places = "".join(f"[{key}]" if isinstance(key, int) else f"[{quote(key)}]" for key in path)
    return f"jsonpath({text}, {quote('$' + places)})"


def _member_of_json(text: str, path: tuple[str | int, ...]) -> str:
    places = "".join(f"[{key}]" if isinstance(key, int) else f"[{quote(key)}]" for key in path)
    return f"fromJSON({text}){places}"
