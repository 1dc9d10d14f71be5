"""The closed unions of values and conditions, and holes for values in manifests."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pydantic import Field as ModelField

from couler.errors import WireError
from couler.ir.base import Json, Node, Variant
from couler.ir.traversal import At, Held, Traversal


class Literal(Variant):
    """A JSON value known when the workflow is built."""

    kind: t.Literal["literal"] = "literal"
    value: Json


class ParamRef(Variant):
    """A parameter of the enclosing scope: of the workflow, or an input of the enclosing group."""

    kind: t.Literal["param"] = "param"
    name: str


class StepRef(Variant):
    """An output of a step in the same scope.

    Scopes are closed, so a reference never reaches into a group or out of it: a group takes
    values in through its inputs and gives values out through its outputs. If the step has a
    `foreach`, the value is the list of the items' outputs, in item order.
    """

    kind: t.Literal["step"] = "step"
    step: str
    output: str = "result"


class ItemRef(Variant):
    """The current item of the step's own `foreach`, by the name that the foreach gives it."""

    kind: t.Literal["item"] = "item"
    name: str = "item"


class RoundRef(Variant):
    """An output of the previous round of the step's own `loop`.

    In the loop's condition it is the round that has just ended. In the first round the value
    is `initial`.
    """

    kind: t.Literal["round"] = "round"
    output: str = "result"
    initial: Value | None = None


class RunRef(Variant):
    """A fact of the run: its id, its logical date (ISO 8601) or, in exit handlers, its status."""

    kind: t.Literal["run"] = "run"
    field: t.Literal["id", "logical_date", "status"]


class OwnRef(Variant):
    """A fact of what the value belongs to: a step in its own metrics and hooks, or the run.

    In the metrics and hooks of a workflow it is one of the run, in the condition on which an HTTP
    request succeeds one of the response. `name` is that of an output, a header or an input.
    """

    kind: t.Literal["own"] = "own"
    fact: t.Literal["status", "duration_s", "exit_code", "output", "status_code", "header", "input"]
    name: str | None = None


class Field(Variant):
    """A part of a JSON value, by keys and indexes."""

    kind: t.Literal["field"] = "field"
    of: Value
    path: tuple[str | int, ...]


class OrElse(Variant):
    """A value, or a default where the step that makes it was skipped or gave none."""

    kind: t.Literal["or_else"] = "or_else"
    value: Value
    default: Value


class FirstOf(Variant):
    """The first of several values whose step ran: the merge of `when` and `otherwise`."""

    kind: t.Literal["first_of"] = "first_of"
    options: tuple[Value, ...]


class Range(Variant):
    """A list of whole numbers in a row, which is not written out.

    It has `count` numbers from `start` on, none if `count` is below 1; or those from `start` to
    `end`, both of them included, downwards if `end` is before `start`.
    """

    kind: t.Literal["range"] = "range"
    start: Value = Literal.model_construct(value=0)
    count: Value | None = None
    end: Value | None = None
    format: str | None = None
    """Makes texts of the numbers: any text with one `%d` in it, or `%03d`, filled up with zeros."""


class Template(Variant):
    """Text with values in it; each value is written as it travels on the wire."""

    kind: t.Literal["template"] = "template"
    parts: tuple[str | Value, ...]


Value = t.Annotated[
    Literal
    | ParamRef
    | StepRef
    | ItemRef
    | RoundRef
    | RunRef
    | OwnRef
    | Field
    | OrElse
    | FirstOf
    | Range
    | Template,
    ModelField(discriminator="kind"),
]

Operator: t.TypeAlias = t.Literal["==", "!=", "<", "<=", ">", ">="]


class Compare(Variant):
    """Two values compared."""

    kind: t.Literal["compare"] = "compare"
    left: t.Annotated[Value, At("")]
    op: Operator
    right: t.Annotated[Value, At("")]


class And(Variant):
    """True if every part is true; true if there are none."""

    kind: t.Literal["and"] = "and"
    items: t.Annotated[tuple[Condition, ...], At("")]


class Or(Variant):
    """True if some part is true; false if there are none."""

    kind: t.Literal["or"] = "or"
    items: t.Annotated[tuple[Condition, ...], At("")]


class Not(Variant):
    """True if its part is false."""

    kind: t.Literal["not"] = "not"
    item: t.Annotated[Condition, At("")]


Condition = t.Annotated[Compare | And | Or | Not, ModelField(discriminator="kind")]

Text: t.TypeAlias = str | Value
"""Text that reaches a process: a plain string, or a value written as on the wire."""


VALUE_KINDS = t.get_args(t.get_args(Value)[0])

VALUES: Traversal[Value] = Traversal(*VALUE_KINDS, enters=("typed", "local"))
"""Finds the values that something reads."""

TEXTS: Traversal[Text] = Traversal(*VALUE_KINDS, texts=True, enters=("typed", "local"))
"""Finds the values and the plain texts in fields that take either."""


AS_TEXT: Traversal[Text] = Traversal(*VALUE_KINDS, texts=True)
"""Finds what the step itself reads as text, whatever its type is."""


REFERENCES: Traversal[StepRef] = Traversal(StepRef, enters=("typed", "local"))
"""Finds what is read of other steps, inside of other values as well."""

ROUNDS: Traversal[RoundRef] = Traversal(RoundRef, enters=("typed",))
"""Finds what is read of the previous round, inside of other values as well."""


def children(node: Node) -> tuple[Value, ...]:
    """Return the values directly inside a value, or those that a condition or a step reads."""
    return tuple([inner for _, inner in VALUES.visit(node)])


def map_children(node: Held, change: Callable[[Value], Value]) -> Held:
    """Return a value, condition or step with the values directly inside it replaced."""
    return VALUES.map(node, lambda _, inner: change(inner))


def walk(value: Text | None) -> Iterator[Value]:
    """Yield a value and every value inside it, outermost first; nothing for plain text."""
    if value is None or isinstance(value, str):
        return
    yield value
    for _, inner in VALUES.visit(value):
        yield from walk(inner)


Path: t.TypeAlias = tuple[str | int, ...]
"""Keys and indexes from the root of a manifest."""


JsonType: t.TypeAlias = t.Literal["str", "int", "float", "bool", "list", "dict", "json"]


class ManifestValue(Node):
    """A value that is put into the manifest of a job before the job is created."""

    path: t.Annotated[Path, ModelField(min_length=1)]
    """Where the manifest has the `null` that the value stands for."""
    value: t.Annotated[Value, At("", "typed")]
    type: JsonType = "str"
    """What the resource takes there: `str` for text, whatever the value is; else JSON."""


def place_text(path: Path) -> str:
    """Return a path as people write it."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif key.isidentifier():
            text += f".{key}" if text else key
        else:
            text += f'["{key}"]'
    return text


def is_hole(manifest: Mapping[str, t.Any], path: Path) -> bool:
    """Return whether a manifest has a place for a value: `null` at the end of the path."""
    tree: t.Any = manifest
    for key in path:
        if isinstance(key, int):
            if not isinstance(tree, list | tuple) or not 0 <= key < len(tree):
                return False
        elif not isinstance(tree, Mapping) or key not in tree:
            return False
        tree = tree[key]
    return tree is None


def filled(
    manifest: Mapping[str, t.Any], values: Iterable[tuple[Path, object]]
) -> dict[str, t.Any]:
    """Return a manifest as plain dicts and lists, with values at their places."""
    tree: dict[str, t.Any] = thawed(manifest)
    for path, value in values:
        inner: t.Any = tree
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    return tree


def split(
    tree: object, is_value: Callable[[object], bool]
) -> tuple[t.Any, list[tuple[Path, t.Any]]]:
    """Take the values out of a tree: return it with `null` in their places, and the values."""
    found: list[tuple[Path, t.Any]] = []

    def take(part: object, path: Path) -> object:
        if is_value(part):
            found.append((path, part))
            return None
        if isinstance(part, Mapping):
            return {key: take(one, (*path, key)) for key, one in part.items()}
        if isinstance(part, Sequence) and not isinstance(part, str | bytes):
            return [take(one, (*path, index)) for index, one in enumerate(part)]
        return part

    return take(tree, ()), found


def thawed(tree: t.Any) -> t.Any:
    """Return a frozen JSON value as plain dicts and lists."""
    if isinstance(tree, Mapping):
        return {key: thawed(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [thawed(value) for value in tree]
    return tree


ValueType: t.TypeAlias = t.Literal[
    "str", "int", "float", "bool", "list", "dict", "json", "file", "directory"
]
"""Declared type of an input, output or parameter; `json` is any JSON value."""

MAX_WORD_BYTES = 131_071
"""Longest argument or environment variable that Linux gives to a process, in bytes of UTF-8."""

MAX_LIST_BYTES = 96 * 1024
"""Largest list gathered from the items of a foreach, in bytes of UTF-8."""

MAX_ITEMS = 1000
"""Most items of a foreach over a list that is only known when the workflow runs."""


def is_file(value_type: ValueType) -> bool:
    """Return whether values of this type are files or directories."""
    return value_type in ("file", "directory")


def is_same(one: object, other: object) -> bool:
    """Return whether two values are the same: True is not 1, but 1.0 is, and lists are tuples."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


_LITERALS: tuple[tuple[type | tuple[type, ...], ValueType], ...] = (
    (str, "str"),
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    ((tuple, list), "list"),
    (dict, "dict"),
)


def literal_type(value: object) -> ValueType:
    """Return the type as which a literal travels: that of its JSON, `json` for null."""
    return next((name for kind, name in _LITERALS if isinstance(value, kind)), "json")


def check_size(text: str, limit: int, what: str) -> None:
    """Refuse a text that is too large to travel."""
    size = len(text.encode())
    if size > limit:
        raise WireError(
            f"{what} is {size:,} bytes; at most {limit:,} travel between steps. "
            "Return a File for larger data"
        )
