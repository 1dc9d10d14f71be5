"""Objects of Kubernetes and of Argo: their fields and values, checked against their schemas."""

from __future__ import annotations

import functools
import json
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from couler.ir.diagnostics import did_you_mean
from couler.ir.verify.names import Add

_PROBE_CHECKS = ("exec", "grpc", "httpGet", "tcpSocket")
_NEEDED = ("entrypoint", "name", "template")
"""Fields that null removes from no object, besides those that it requires."""
_VALUES: Mapping[str, tuple[str, type | tuple[type, ...]]] = {
    "text": ("a text", str),
    "int": ("a whole number", int),
    "number": ("a number", (int, float)),
    "bool": ("true or false", bool),
    "int or text": ("a whole number or a text", (int, str)),
    "scalar": ("a number or a text", (int, float, str)),
}


@functools.cache
def _objects() -> Mapping[str, t.Any]:
    """Return what each object has; `tests/support/kubernetes_fields.py` writes and explains it."""
    file = Path(__file__).parents[1] / "kubernetes_fields.json"
    return t.cast(Mapping[str, t.Any], json.loads(file.read_text(encoding="utf-8")))


def fields_of(kind: str) -> Mapping[str, t.Any]:
    """Return the types of the fields of an object, such as `Probe` or `PodSpec`."""
    return t.cast(Mapping[str, t.Any], _objects()[kind]["fields"])


class _How(t.NamedTuple):
    """How an object is checked."""

    add: Add
    new: Add | None = None
    """Takes the fields of a patch that resemble none; None for an object that is no patch."""
    removes: bool = False
    """Whether null in a patch removes objects and lists, too, not only single values."""


def check_object(given: object, kind: t.Any, what: str, add: Add) -> None:
    """Check an object, unless it is empty."""
    if given:
        _check(given, kind, what, _How(add))


def check_override(given: object, kind: t.Any, what: str, add: Add, warn: Add) -> None:
    """Check what is merged into an object: it may lack fields, but not in entries of lists."""
    _check(given, kind, what, _How(add, warn))


def _check(given: object, kind: t.Any, what: str, how: _How, *, is_entry: bool = False) -> None:
    is_value = kind == "any" or (kind in _VALUES if isinstance(kind, str) else "of" in kind)
    if given is None and not is_entry and (how.removes or (how.new and is_value)):
        return
    match kind:
        case [inner]:
            if _is(given, (list, tuple), what, "a list", how.add):
                for index, one in enumerate(t.cast(Sequence[object], given)):
                    _check(one, inner, f"{what}[{index}]", how, is_entry=True)
        case {"*": inner}:
            if _is(given, Mapping, what, "an object", how.add):
                for name, one in t.cast(Mapping[str, object], given).items():
                    _check(one, inner, f"{what}.{name}", how)
        case {"of": of}:
            is_tag = how.new and isinstance(given, str) and "{{" in given  # Argo reads it first
            _check_value(given, of, {} if is_tag else kind, what, how.add)
        case "any":
            pass
        case str() if kind in _VALUES:
            _check_value(given, kind, {}, what, how.add)
        case _:
            if _is(given, Mapping, what, "an object", how.add):
                _check_fields(t.cast(Mapping[str, object], given), kind, what, how, is_entry)


def _check_fields(
    given: Mapping[str, object], kind: str, what: str, how: _How, is_entry: bool
) -> None:
    fields, required = fields_of(kind), _objects()[kind].get("required", ())
    misspelt = ""
    for name, value in given.items():
        if value is None and name in (*required, *_NEEDED):
            _refuse(value, f"{what}.{name}", "given", how.add)
        elif name in fields:
            _check(value, fields[name], f"{what}.{name}", how)
        elif not (how.new and str(name).startswith("$")):
            hint = did_you_mean(str(name), fields)
            misspelt += hint
            report = how.add if hint or how.new is None else how.new
            report("CLR441", f'{what}: there is no field "{name}".{hint}')
    is_whole = how.new is None or (is_entry and "$patch" not in given)
    for name in required if is_whole else ():
        if name not in given and f'"{name}"' not in misspelt:
            how.add("CLR444", f'{what} has no "{name}". Add it.')


def _is(given: object, types: type | tuple[type, ...], what: str, wanted: str, add: Add) -> bool:
    """Return whether a value is of a type; report one that is not."""
    fits = isinstance(given, types)
    if not fits:
        _refuse(given, what, wanted, add)
    return fits


def _check_value(given: object, of: str, rules: Mapping[str, t.Any], what: str, add: Add) -> None:
    words, types = _VALUES[of]
    low, high, enum = rules.get("min"), rules.get("max"), rules.get("enum")
    fits = isinstance(given, types) and isinstance(given, bool) == (of == "bool")
    if fits and isinstance(given, int | float):
        fits = (low is None or low <= given) and (high is None or given <= high)
    if fits and (enum is None or given in enum):
        return
    hint = did_you_mean(given, enum) if isinstance(given, str) and enum else ""
    bounds = f" of at least {low}" if high is None else f" from {low} to {high}"
    wanted = words.replace("number", f"number{bounds}") if low is not None else words
    _refuse(given, what, f"one of {', '.join(filter(None, enum))}" if enum else wanted, add, hint)


def _refuse(given: object, what: str, wanted: str, add: Add, hint: str = "") -> None:
    add("CLR444", f"{what} is {given!r:.60}, but must be {wanted}.{hint}")


def check_patch(given: Mapping[str, t.Any], what: str, add: Callable[..., None]) -> None:
    """Check a patch of the specification of a pod."""
    _check(
        given, "PodSpec", what, _How(add, functools.partial(add, severity="warning"), removes=True)
    )


def check_probe(given: Mapping[str, t.Any], what: str, add: Add) -> None:
    """Check that a probe has known fields, and looks at one thing."""
    if not given:
        return
    check_object(given, "Probe", what, add)
    _check_one_of(given, _PROBE_CHECKS, what, add)
    if what != "readiness_probe" and given.get("successThreshold", 1) != 1:
        add("CLR440", f"{what}.successThreshold must be 1; only readiness_probe takes more.")


def check_lifecycle(given: Mapping[str, t.Any], add: Add) -> None:
    """Check that what is done at the start and the end of a container is one thing each."""
    if not given:
        return
    check_object(given, "Lifecycle", "lifecycle", add)
    for name in ("postStart", "preStop"):
        handler = given.get(name)
        if isinstance(handler, Mapping):
            _check_one_of(handler, fields_of("LifecycleHandler"), f"lifecycle.{name}", add)


def _check_one_of(given: Mapping[str, t.Any], known: Iterable[str], what: str, add: Add) -> None:
    if len(given.keys() & set(known)) != 1:
        add("CLR440", f"{what} must have exactly one of {', '.join(known)}.")
