"""What is known before the run as Python: items of a foreach, and their formats."""

from __future__ import annotations

from couler.backends.airflow.python import Code, Comprehension, Expression, quoted, value_of
from couler.ir.policies import Foreach
from couler.ir.ranges import known_items, read_format
from couler.ir.values import Range, thawed


def item_rows(foreach: Foreach) -> Expression:
    """Return the items of a foreach over lists that are known beforehand."""
    given = list(foreach.over.items())
    name, only = given[0]
    if len(given) == 1 and isinstance(only, Range):
        numbers = known_items(only.model_copy(update={"format": None}))
        item = "one" if only.format is None else f"f{quoted(form_of(only.format, 'one'))}"
        return Comprehension(value_of({name: Code(item)}), Code(repr(numbers)))
    names = [name for name, _ in given]
    rows = zip(*(known_items(items) or () for _, items in given), strict=True)
    return value_of([dict(zip(names, map(thawed, row), strict=True)) for row in rows])


def form_of(text: str, name: str) -> str:
    """Return the format of a range as `str.format` reads it."""
    form = read_format(text)
    assert form is not None, "verification has read the format"
    width = f"{'0' if form.zeros else ''}{form.width or ''}"
    return f"{form.before}{{{name}:{width}d}}{form.behind}"
