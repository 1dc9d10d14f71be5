"""Python source as a tree that lays itself out: what a call needs to be read, line by line.

The layout is that of ruff's formatter, so that a file that is made here is formatted as it stands:
what fits on one line is on one line, and what does not has one entry a line and a comma after the
last. Texts are written by `repr`, so nothing that a user wrote becomes code.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

WIDTH = 100
INDENT = "    "


@dataclass(frozen=True)
class Code:
    """An expression as it stands: a name, a number, an expression made elsewhere."""

    text: str

    def flat(self) -> str:
        """Return it on one line."""
        return self.text


@dataclass(frozen=True)
class Call:
    """A call with arguments by place and by name."""

    function: str
    arguments: tuple[Expression, ...] = ()
    keywords: tuple[tuple[str, Expression], ...] = ()

    def flat(self) -> str:
        """Return it on one line."""
        parts = [one.flat() for one in self.arguments]
        parts += [f"{name}={one.flat()}" for name, one in self.keywords]
        return f"{self.function}({', '.join(parts)})"


@dataclass(frozen=True)
class Chain:
    """A call of a method of what an expression gives: `of.method(...)`."""

    of: Expression
    method: Call

    def flat(self) -> str:
        """Return it on one line."""
        return f"{self.of.flat()}.{self.method.flat()}"


@dataclass(frozen=True)
class Listing:
    """A list."""

    items: tuple[Expression, ...]

    def flat(self) -> str:
        """Return it on one line."""
        return f"[{', '.join(one.flat() for one in self.items)}]"


@dataclass(frozen=True)
class Table:
    """A dict."""

    entries: tuple[tuple[Expression, Expression], ...]

    def flat(self) -> str:
        """Return it on one line."""
        return "{" + ", ".join(f"{key.flat()}: {one.flat()}" for key, one in self.entries) + "}"


@dataclass(frozen=True)
class Unpacked:
    """A mapping whose entries are keywords of a call: `**fields`."""

    of: Expression

    def flat(self) -> str:
        """Return it on one line."""
        return f"**{self.of.flat()}"


Expression: t.TypeAlias = Code | Call | Chain | Listing | Table | Unpacked


def call(function: str, *arguments: object, **keywords: object) -> Call:
    """Return a call; keywords that are None are left out.

    Examples
    --------
    >>> call("Param", 0.1, type="number", title=None).flat()
    'Param(0.1, type="number")'
    """
    given = tuple((name, value_of(one)) for name, one in keywords.items() if one is not None)
    return Call(function, tuple(map(value_of, arguments)), given)


def value_of(value: object) -> Expression:
    """Return the expression for a JSON value, or for one that has expressions in it.

    Raises
    ------
    TypeError
        The value is of another type.
    """
    match value:
        case Code() | Call() | Chain() | Listing() | Table() | Unpacked():
            return value
        case str():
            return Code(quoted(value))
        case None | bool() | int() | float():
            return Code(repr(value))
        case Mapping():
            return Table(tuple((value_of(key), value_of(one)) for key, one in value.items()))
        case list() | tuple():
            return Listing(tuple(map(value_of, value)))
    raise TypeError(f"{type(value).__name__} has no expression")


def quoted(text: str) -> str:
    r"""Return a text as Python source, in double quotes where that takes no more escapes.

    Examples
    --------
    >>> print(quoted("it's"), quoted('say "hi"'), quoted("a\n"), quoted("\u2028"))
    "it's" 'say "hi"' "a\n" "\u2028"
    """
    source = repr(text)
    if source[0] == '"' or '"' in text:
        return source
    return f'"{source[1:-1]}"'


def laid_out(expression: Expression, *, indent: int = 0, before: int = 0, after: int = 0) -> str:
    """Return an expression laid out; lines after the first are indented.

    Parameters
    ----------
    expression
        What to lay out.
    indent
        Levels of indentation of the line that it begins on.
    before, after
        Characters that stand on that line before it, its indentation left out, and after it.
    """
    flat = expression.flat()
    if len(INDENT) * indent + before + len(flat) + after <= WIDTH:
        return flat
    inner = INDENT * (indent + 1)

    def entry(head: str, one: Expression) -> str:
        body = laid_out(one, indent=indent + 1, before=len(head), after=1)
        return f"{inner}{head}{body},\n"

    close = INDENT * indent
    match expression:
        case Code():
            return flat
        case Call() if not (expression.arguments or expression.keywords):
            return flat
        case Chain():
            tail = f".{expression.method.flat()}"
            return laid_out(expression.of, indent=indent, before=before, after=WIDTH) + tail
        case Unpacked():
            return "**" + laid_out(expression.of, indent=indent, before=before + 2, after=after)
        case Call():
            body = "".join(entry("", one) for one in expression.arguments)
            body += "".join(entry(f"{name}=", one) for name, one in expression.keywords)
            return f"{expression.function}(\n{body}{close})"
        case Listing():
            body = "".join(entry("", one) for one in expression.items)
            return f"[\n{body}{close}]"
        case Table():
            body = "".join(entry(f"{key.flat()}: ", one) for key, one in expression.entries)
            return "{\n" + body + close + "}"
    t.assert_never(expression)


def statement(target: str, expression: Expression, *, indent: int = 0) -> str:
    """Return an assignment, or for an empty target the expression alone."""
    head = f"{target} = " if target else ""
    return INDENT * indent + head + laid_out(expression, indent=indent, before=len(head))


def text_block(text: str) -> str | None:
    r"""Return a text of several lines as a block of them, or None where it would not be the same.

    Examples
    --------
    >>> print(text_block("import sys\nprint(1)\n"))
    \"\"\"\
    import sys
    print(1)
    \"\"\"
    """
    if "\n" not in text or not all(one.isprintable() or one == "\n" for one in text):
        return None
    for quotes in ('"""', "'''"):
        if quotes not in text and not text.endswith(quotes[0]):
            body = text.replace("\\", "\\\\")
            return f"{quotes}\\\n{body}{quotes}"
    return None


def imports(names: Mapping[str, Iterable[str]]) -> str:
    """Return import statements in the order of isort: modules by name, the names in each sorted.

    Parameters
    ----------
    names
        For each module the names that are taken from it; none for `import module`.
    """
    plain = [f"import {module}" for module, taken in names.items() if not tuple(taken)]
    taken = [
        _from(module, sorted(given, key=_import_order))
        for module, given in names.items()
        if tuple(given)
    ]
    return "\n".join([*sorted(plain), *sorted(taken)])


def _import_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest."""
    if name.isupper() and len(name) > 1:
        return 0, name
    return 1 if name[0].isupper() else 2, name


def _from(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    listed = "".join(f"{INDENT}{name},\n" for name in names)
    return f"from {module} import (\n{listed})"
