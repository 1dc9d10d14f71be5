"""Arguments of a program, checked where they enter the language."""

from __future__ import annotations

import datetime
import functools
import math
import os
import re
import types
import typing as t
from collections.abc import Callable, Iterable, Mapping

from pydantic import ValidationError

from couler.dsl._context import ProgramError
from couler.dsl.handles import Value
from couler.ir.base import Node
from couler.ir.diagnostics import did_you_mean

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder

T = t.TypeVar("T")


class OptionError(ValueError):
    """An option's value is wrong; the message says what to write."""


def first_problem(error: ValidationError) -> str:
    """Return what pydantic found first, in one line."""
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    text = problem["msg"].removeprefix("Value error, ")
    if problem["type"] not in ("missing", "value_error"):
        text = f"{text}, not {shown(problem['input'])}"
    return f"{place}: {text}" if place else text


def attempt(
    builder: Builder, what: str, make: Callable[[], T], step: str | None = None
) -> T | None:
    """Return what a function makes; report a value that it refuses, and return None."""
    try:
        return make()
    except ValidationError as error:
        text = first_problem(error)
    except ProgramError as error:
        text = error.diagnostic.message
    except (ValueError, TypeError, AttributeError) as error:
        text = str(error)
    where = "" if step is None else f'step "{step}": '
    builder.report("CLR105", f"{where}{what}: {text}", step=step)
    return None


def attempt_each(
    builder: Builder,
    read: Mapping[str, Callable[[t.Any], object]],
    given: Mapping[str, object],
    step: str,
) -> dict[str, t.Any]:
    """Return what is read of the options that are given; report those that are refused."""
    made = {
        name: attempt(builder, name, functools.partial(convert, given[name]), step)
        for name, convert in read.items()
        if name in given
    }
    return {name: value for name, value in made.items() if value is not None}


def fitting(
    builder: Builder, node: type[Node], fields: Mapping[str, object], **required: object
) -> dict[str, t.Any]:
    """Return the fields that a node of the IR can be given; report the others."""
    kept: dict[str, t.Any] = {}
    for name, value in fields.items():
        if value is None:
            continue
        given = dict(value) if isinstance(value, Mapping) else value
        try:
            checked = node.model_validate({**required, name: given})
        except ValidationError as error:
            builder.report("CLR105", first_problem(error))
        else:
            kept[name] = getattr(checked, name)
    return kept


def expect(given: object, kind: t.Any, wanted: str) -> None:
    """Refuse what is not of a type."""
    if not isinstance(given, kind):
        raise OptionError(f"{shown(given)} is no {wanted}")


def several(given: object, kind: t.Any, wanted: str) -> t.Sequence[t.Any]:
    """Return a list of things of a type, of which one may stand alone."""
    found = given if isinstance(given, list | tuple) else (given,)
    for one in found:
        expect(one, kind, wanted)
    return found


def texts_by_name(given: object) -> dict[str, str]:
    """Return a dict of texts; numbers are written as text."""
    expect(given, Mapping, 'dict of names and texts, such as {"team": "ml"}')
    found = {}
    for name, text in t.cast("Mapping[object, object]", given).items():
        if isinstance(text, Value):
            raise OptionError(f"{name}: {text!r} is known only when the workflow runs")
        if isinstance(text, bool):
            raise OptionError(f'{name}: {text} is no text; write "{str(text).lower()}"')
        expect(text, str | int | float, "text")
        found[str(name)] = str(text)
    return found


def checked_mapping(
    builder: Builder, what: str, value: object, step: str | None = None
) -> Mapping[str, t.Any]:
    """Return a dict, empty for None; report anything else."""
    if isinstance(value, Mapping):
        return value
    if value is not None:
        attempt(builder, what, lambda: expect(value, Mapping, "dict of names and values"), step)
    return {}


@functools.cache
def installed_engines() -> tuple[str, ...]:
    """Return the names of the engines that are installed; they are looked for once."""
    from couler.plugins import find_plugins  # only now: it reads what is installed

    return tuple(find_plugins("couler.backends"))


def warn_of_engines(builder: Builder, given: object) -> None:
    """Warn of settings for engines that are not installed; another machine may have them."""
    for name in given if isinstance(given, Mapping) else ():
        if name not in installed_engines():
            builder.report(
                "CLR106",
                f'engine: no engine "{name}" is installed, so nothing reads what it is told.'
                f"{did_you_mean(str(name), installed_engines())}",
                severity="warning",
            )


def checked_text(builder: Builder, what: str, value: object, step: str) -> str:
    """Return a text; report anything else."""
    if isinstance(value, str):
        return value
    builder.report("CLR105", f'step "{step}": {what}: {shown(value)} is no text', step=str(step))
    return "unknown"


def checked_texts(builder: Builder, what: str, value: object, step: str) -> tuple[str, ...]:
    """Return texts, of which one may stand alone; report anything else."""
    given = () if value is None else value
    return attempt(builder, what, lambda: tuple(several(given, str, "text")), step) or ()


def check_packages(builder: Builder, packages: tuple[str, ...], step: str) -> None:
    """Report several packages in one text."""
    for text in packages:
        names = text.replace(",", " ").split()
        if len(names) > 1 and all(re.fullmatch(r"[A-Za-z][-\w.]*", name) for name in names):
            builder.report(
                "CLR105",
                f'step "{step}": packages: "{text}" is no package; write {names}',
                step=step,
            )


def positive(value: object) -> int:
    """Return a number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionError(f"{shown(value)} is no whole number above 0")
    return value


def checked_count(builder: Builder, what: str, value: object) -> int | None:
    """Return a number of at least 1, or None; report anything else."""
    return None if value is None else attempt(builder, what, lambda: positive(value))


def name_step(builder: Builder, default: str, *given: object) -> str:
    """Return the first name that is given; report one that is no text."""
    for name in given:
        if isinstance(name, str):
            if name:
                return name
        elif isinstance(name, Value):
            builder.report(
                "CLR105",
                f'step "{default}": {name!r} is known only when the workflow runs, but the name of '
                "a step must be a text that is known when the workflow is built",
                step=default,
            )
        elif name is not None:
            builder.report(
                "CLR105",
                f'step "{default}": its name is {shown(name)}, but the name of a step is a text',
                step=default,
            )
    return default


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_LONGEST = 60


def shown(value: object) -> str:
    """Return how a message shows a value: in one short line that is the same in every run."""
    text = repr(value)
    if isinstance(value, set | frozenset) and value:  # in one order
        text = "{" + ", ".join(sorted(map(repr, value))) + "}"
    text = " ".join(_ADDRESS.sub("", text).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def advice(value: object) -> str:
    """Return what to write in place of a value that cannot travel to a step."""
    from couler.dsl.locations import LocatedFile

    if isinstance(value, Value):
        return "pass it as an argument of its own"
    if isinstance(value, LocatedFile):
        return f"declare the argument as {'Directory' if value.is_folder else 'File'}"
    for kind, text in _ADVICE:
        if isinstance(value, kind):
            return text
    if isinstance(value, float) and not math.isfinite(value):
        return "JSON has no such number; write None or a text"
    if isinstance(value, Mapping):
        return _advice_inside(value.keys(), value.values())
    if isinstance(value, list | tuple):
        return _advice_inside((), value)
    if callable(value):
        name = getattr(value, "__name__", "function")
        return "call it" if name.startswith("<") else f"call it: {name}(...)"
    if type(value).__module__ in ("decimal", "fractions", "uuid"):
        return "write str(value)"
    for attribute, text in _BY_ATTRIBUTE.items():
        if hasattr(value, attribute):
            return text
    return "write list(value)" if isinstance(value, Iterable) else "write it to a File"


def _advice_inside(keys: Iterable[object], values: Iterable[object]) -> str:
    """Return what to do about the first part of a collection that cannot travel."""
    from couler.dsl.types import is_json

    for key in keys:
        if not isinstance(key, str):
            return f"keys are text, not {shown(key)}"
    for one in values:
        if not is_json(one):
            return f"it holds {shown(one)}: {advice(one)}"
    return "write it to a File"


_ADVICE: tuple[tuple[t.Any, str], ...] = (
    (os.PathLike, "write str(value)"),
    ((datetime.date, datetime.time), "write value.isoformat()"),
    (datetime.timedelta, "write value.total_seconds()"),
    (complex, "write str(value)"),
    ((set, frozenset), "write sorted(value)"),
    ((bytes, bytearray, memoryview), "decode it, or write it to a File"),
    (types.ModuleType, "import it at the top of the file"),
    (range, "write list(value)"),
)
"""By the type of a value, the most special first."""

_BY_ATTRIBUTE = {
    "to_csv": "write it to a file, and hand that over as a File",  # a table of pandas
    "tolist": "write value.tolist(), or a File if it is large",  # a number or array of NumPy
    "model_dump": "write value.model_dump()",  # a model of pydantic
}
"""By an attribute, for types of packages that need not be installed."""
