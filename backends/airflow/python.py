"""Python source as a tree that lays itself out: what a call needs to be read, line by line."""

from __future__ import annotations

import ast
import typing as t
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

_BOTH = "'\""
"""At the end of a text these let `repr` write all texts in one kind of quotes."""

_HANGUL = range(0x1160, 0x1200)
"""Vowels and finals, which join the letter before."""


def quoted(text: str) -> str:
    r"""Return a text as Python source, in double quotes where that takes no more escapes."""
    body = repr(text + _BOTH)[1 : -len(_BOTH) - 2].replace("\\'", "'")
    quote = '"' if text.count('"') <= text.count("'") else "'"
    return f"{quote}{body.replace(quote, chr(92) + quote)}{quote}"


def width(text: str) -> int:
    """Return the columns that a text takes: none for marks on other letters, two for wide ones."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(letter: str) -> int:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2
    if unicodedata.category(letter) in ("Mn", "Me", "Cf") or ord(letter) in _HANGUL:
        return 0
    return 1


def text_block(text: str) -> str | None:
    r"""A text of several lines as a block of them, or None where it would not be the same."""
    if "\n" not in text or not all(one.isprintable() or one in "\n\t" for one in text):
        return None
    quotes = "'''" if '"""' in text else '"""'
    is_raw = "\\" in text
    if quotes in text or text[-1] in ("\\", quotes[0]) or (is_raw and text[0] == quotes[0]):
        return None
    return f"r{quotes}{text}{quotes}" if is_raw else f"{quotes}\\\n{text}{quotes}"


WIDTH = 100
INDENT = "    "


@dataclass(frozen=True)
class Code:
    """An expression as it stands: a name, a text, an expression made elsewhere."""

    text: str

    def flat(self) -> str:
        """Return it on one line."""
        return self.text


@dataclass(frozen=True)
class Call:
    """A call with arguments by place and by name; what is unpacked has an empty name."""

    function: str
    arguments: tuple[Expression, ...] = ()
    keywords: tuple[tuple[str, Expression], ...] = ()

    def flat(self) -> str:
        """Return it on one line."""
        parts = [one.flat() for one in self.arguments]
        parts += [f"{_keyword(name)}{one.flat()}" for name, one in self.keywords]
        return f"{self.function}({', '.join(parts)})"


@dataclass(frozen=True)
class Chain:
    """A call of a method of what a call gives: `of(...).method(...)`."""

    of: Call
    method: Call

    def flat(self) -> str:
        """Return it on one line."""
        return f"{self.of.flat()}.{self.method.flat()}"


@dataclass(frozen=True)
class Listing:
    """A list display of Python."""

    items: tuple[Expression, ...]

    def flat(self) -> str:
        """Return it on one line."""
        return f"[{', '.join(one.flat() for one in self.items)}]"


@dataclass(frozen=True)
class Table:
    """A dict display of Python."""

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


@dataclass(frozen=True)
class Negation:
    """What `not` is said of."""

    of: Expression

    def flat(self) -> str:
        """Return it on one line."""
        return f"not {_operand(self.of)}"


@dataclass(frozen=True)
class Junction:
    """Two or more expressions with `and`, or with `or`, between them."""

    word: str
    items: tuple[Expression, ...]

    def flat(self) -> str:
        """Return it on one line."""
        return f" {self.word} ".join(map(_operand, self.items))


@dataclass(frozen=True)
class Choice:
    """One of two expressions: `then if test else otherwise`."""

    then: Expression
    test: Code
    otherwise: Expression
    in_brackets: bool = False

    def flat(self) -> str:
        """Return it on one line."""
        flat = f"{self.then.flat()} if {self.test.text} else {self.otherwise.flat()}"
        return f"({flat})" if self.in_brackets else flat


@dataclass(frozen=True)
class Comprehension:
    """A list of what an expression gives for each `one` of others: `[item for one in over]`."""

    item: Expression
    over: Code

    def flat(self) -> str:
        """Return it on one line."""
        return f"[{self.item.flat()} for one in {self.over.text}]"


Expression: t.TypeAlias = (
    Code | Call | Chain | Choice | Comprehension | Listing | Table | Unpacked | Negation | Junction
)


def _keyword(name: str) -> str:
    return f"{name}=" if name else ""


def call(function: str, *arguments: object, **keywords: object) -> Call:
    """Return a call; keywords that are None are left out."""
    given = tuple((name, value_of(one)) for name, one in keywords.items() if one is not None)
    return Call(function, tuple(map(value_of, arguments)), given)


def value_of(value: object) -> Expression:
    """Return the expression for a JSON value, or for one that has expressions in it."""
    match value:
        case str():
            return Code(quoted(value))
        case Code() | Call() | Chain() | Listing() | Table() | Unpacked():
            return value
        case Choice() | Comprehension() | Negation() | Junction():
            return value
        case None | bool() | int() | float():
            return Code(repr(value).replace("e+", "e"))
        case Mapping():
            return Table(tuple((value_of(key), value_of(one)) for key, one in value.items()))
        case list() | tuple():
            return Listing(tuple(map(value_of, value)))
    raise TypeError(f"{type(value).__name__} has no expression")


def laid_out(expression: Expression, *, indent: int = 0, before: int = 0, after: int = 0) -> str:
    """Return an expression laid out; lines after the first are indented."""
    flat = expression.flat()
    if len(INDENT) * indent + before + width(flat) + after <= WIDTH:
        return flat
    return _in_lines(expression, flat, indent, before)


def _in_lines(expression: Expression, flat: str, indent: int, before: int) -> str:
    inner, close = INDENT * (indent + 1), INDENT * indent

    def entry(head: str, one: Expression) -> str:
        return f"{inner}{head}{laid_out(one, indent=indent + 1, before=width(head), after=1)},\n"

    match expression:
        case Code() if flat.startswith("*"):  # a name that is unpacked, which is no expression
            return flat
        case Code():
            read = _read(flat)
            return flat if isinstance(read, Code) else _in_lines(read, flat, indent, before)
        case Call(arguments=(), keywords=()) | Listing(items=()) | Table(entries=()):
            return flat
        case Comprehension():
            item = laid_out(expression.item, indent=indent + 1)
            return f"[\n{inner}{item}\n{inner}for one in {expression.over.text}\n{close}]"
        case Choice(in_brackets=True):
            inside = laid_out(replace(expression, in_brackets=False), indent=indent + 1)
            return f"(\n{inner}{inside}\n{close})"
        case Choice():
            head = laid_out(expression.then, indent=indent, before=before)
            tail = laid_out(expression.otherwise, indent=indent, before=len("else "), after=1)
            test = laid_out(expression.test, indent=indent, before=len("if "))
            return f"{head}\n{close}if {test}\n{close}else {tail}"
        case Call():
            body = "".join(entry("", one) for one in expression.arguments)
            body += "".join(entry(_keyword(name), one) for name, one in expression.keywords)
            return f"{expression.function}(\n{body}{close})"
        case Chain():
            first = _in_lines(expression.of, expression.of.flat(), indent, before)
            last = 2 if "\n" in first else before + width(first) + 1
            return f"{first}.{laid_out(expression.method, indent=indent, before=last)}"
        case Listing():
            return f"[\n{''.join(entry('', one) for one in expression.items)}{close}]"
        case Table():
            body = "".join(entry(f"{key.flat()}: ", one) for key, one in expression.entries)
            return "{\n" + body + close + "}"
        case Unpacked():
            return "**" + _in_lines(expression.of, expression.of.flat(), indent, before + 2)
        case Negation(of=Junction() as of):
            return f"not (\n{_joined(of, indent + 1)}{close})"
        case Negation():
            return "not " + _in_lines(expression.of, expression.of.flat(), indent, before + 4)
        case Junction():
            return f"(\n{_joined(expression, indent + 1)}{close})"
    t.assert_never(expression)


def _joined(junction: Junction, indent: int) -> str:
    """Return the lines of a junction in parentheses: one, or one an operand."""
    whole = f"{INDENT * indent}{junction.flat()}\n"
    if width(whole) - 1 <= WIDTH:
        return whole
    lines = ""
    for position, one in enumerate(junction.items):
        head = "" if position == 0 else f"{junction.word} "
        flat = _operand(one)
        if len(INDENT) * indent + len(head) + width(flat) > WIDTH:
            flat = _in_lines(one, flat, indent, len(head))
        lines += f"{INDENT * indent}{head}{flat}\n"
    return lines


def _operand(expression: Expression) -> str:
    flat = expression.flat()
    return f"({flat})" if isinstance(expression, Junction) else flat


def _read(code: str) -> Expression:
    """Return the tree of an expression, as far as it can be laid out."""
    return _tree(ast.parse(code, mode="eval").body, code)


def _tree(node: ast.expr, code: str) -> Expression:
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute()) if all(one.arg for one in node.keywords):
            return Call(
                ast.unparse(node.func),
                tuple(_tree(one, code) for one in node.args),
                tuple((one.arg or "", _tree(one.value, code)) for one in node.keywords),
            )
        case ast.List():
            return Listing(tuple(_tree(one, code) for one in node.elts))
        case ast.Dict() if all(node.keys):
            pairs = zip(node.keys, node.values, strict=True)
            return Table(tuple((_tree(key, code), _tree(one, code)) for key, one in pairs if key))
        case ast.UnaryOp(op=ast.Not()):
            return Negation(_tree(node.operand, code))
        case ast.BoolOp():
            word = "and" if isinstance(node.op, ast.And) else "or"
            return Junction(word, tuple(_tree(one, code) for one in node.values))
        case ast.IfExp():
            test = Code(ast.get_source_segment(code, node.test) or code)
            then, otherwise = _tree(node.body, code), _tree(node.orelse, code)
            return Choice(then, test, otherwise, in_brackets=True)
    return Code(ast.get_source_segment(code, node) or code)


def statement(target: str, expression: Expression, *, indent: int = 0) -> str:
    """Return an assignment, or for an empty target the expression alone."""
    head = f"{target} = " if target else ""
    start = INDENT * indent
    body = laid_out(expression, indent=indent, before=width(head))
    if head and width(start + head + body.partition("\n")[0]) > WIDTH:
        inner = f"{start}{INDENT}{laid_out(expression, indent=indent + 1)}"
        if all(width(line) <= WIDTH for line in inner.split("\n")):
            body = f"(\n{inner}\n{start})"
    return start + head + body


def returned(code: str, *, indent: int = 1) -> str:
    """Return the statement that returns an expression."""
    expression = _read(code)
    body = laid_out(expression, indent=indent, before=len("return "))
    if "\n" in body and isinstance(expression, Junction) and len(expression.items) == 2:
        # The formatter would take the parentheses away, and break within an operand instead.
        body = body.replace("(", f"(  # {_TWO[expression.word]}", 1)
    return f"{INDENT * indent}return {body}"


_TWO = {"and": "both hold", "or": "one of them holds"}


def edge(before: Sequence[str], name: str, *, indent: int = 0) -> str:
    """Return the statement that puts tasks before another."""
    start = INDENT * indent
    given = before[0] if len(before) == 1 else f"[{', '.join(before)}]"
    if len(start) + width(f"{given} >> {name}") <= WIDTH:
        return f"{start}{given} >> {name}"
    if len(before) == 1:
        inner = INDENT * (indent + 1)
        return f"{start}(\n{inner}{given}\n{inner}>> {name}\n{start})"
    listed = laid_out(Listing(tuple(map(Code, before))), indent=indent, after=WIDTH)
    return f"{start}{listed} >> {name}"


def block(made: Call, name: str, *, indent: int = 0) -> str:
    """Return the head of a block: `with made as name:`, or without a name."""
    tail = f" as {name}:" if name else ":"
    head = laid_out(made, indent=indent, before=len("with "), after=width(tail))
    return f"{INDENT * indent}with {head}{tail}"


def imports(names: Mapping[str, Iterable[str]]) -> str:
    """Return import statements in the order of isort: modules by name, the names in each sorted."""
    lines = [f"import {module}" for module, taken in sorted(names.items()) if not tuple(taken)]
    for module, taken in sorted(names.items()):
        given = sorted(taken, key=_import_order)
        own = [name for name in given if " as " not in name]
        lines += [_from(module, own)] if own else []
        lines += [_from(module, [name]) for name in given if " as " in name]
    return "\n".join(lines)


def _import_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest."""
    own = name.partition(" as ")[0]
    if own.isupper() and len(own) > 1:
        return 0, name
    return 1 if name[0].isupper() else 2, name


def _from(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line
    listed = "".join(f"{INDENT}{name},\n" for name in names)
    return f"from {module} import (\n{listed})"
