"""Ranges of whole numbers, which are not written out."""

from __future__ import annotations

import typing as t

from couler.dsl._context import ProgramError
from couler.dsl.handles import Expression, Value, home_of
from couler.dsl.types import INT, STR, list_of
from couler.ir import values


def sequence(
    start: object = 0,
    end: object = None,
    *,
    count: object = None,
    format: str | None = None,
) -> t.Any:
    """Return a list of whole numbers in a row, whose ends may be known only in the run.

    Parameters
    ----------
    start
        The first number.
    end
        The last number, included; numbers go down to one that is below the first.
    count
        In place of the last number: how many there are.
    format
        Makes texts of the numbers: a text with one `%d` in it, or `%03d` for three digits.

    Returns
    -------
    list
        A handle to the list, which `map` takes like any other; of at most 1,000 numbers where its
        ends are known only in the run.

    Raises
    ------
    ProgramError
        There are both an end and a count, or neither.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("parts", last=3) as wf:
    ...     couler.map(
    ...         lambda name: couler.run_container("busybox", ["echo", name], name="part"),
    ...         couler.sequence(1, wf.params.last, format="part-%02d"))
    <couler step part>
    """
    if (end is None) == (count is None):
        has = "neither an end nor a count" if end is None else "an end and a count"
        raise ProgramError("CLR187", f"couler.sequence has {has}. Give one of them")
    ends = {"start": start, "end": end, "count": count}
    given = {name: one for name, one in ends.items() if one is not None}
    home = home_of(given.values())

    def read(name: str) -> values.Value | None:
        one = given.get(name)
        if one is None or isinstance(one, Value):
            return None if one is None else home.resolve(one)
        return values.Literal(value=_number(name, one))

    made = values.Range(
        start=read("start") or values.Literal(value=0),
        count=read("count"),
        end=read("end"),
        format=format,
    )
    return Expression(home, made, list_of(INT if format is None else STR), "sequence")


def from_range(given: range) -> values.Range:
    """Return a range of Python whose step is 1."""
    count = values.Literal(value=max(given.stop - given.start, 0))  # more than `len` can tell
    if given.start == 0:
        return values.Range(count=count)
    return values.Range(start=values.Literal(value=given.start), count=count)


def _number(name: str, given: object) -> int:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    raise ProgramError("CLR187", f"couler.sequence: {name} is {given!r:.60}, and no whole number")
