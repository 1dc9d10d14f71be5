"""What a YAML file says, with the line on which it says so, and all that is wrong with it."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from couler.errors import ConfigurationError
from couler.ir.diagnostics import did_you_mean
from couler.ir.wording import counted
from couler.ir.yaml_loading import safe_loader

if t.TYPE_CHECKING:
    import yaml

T = t.TypeVar("T")

_TAG = "tag:yaml.org,2002:"
_KINDS = {
    "str": "a text",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
    "timestamp": "a time",
    "map": "a table of keys and values",
    "seq": "a list",
}


def compose(text: str, file: str) -> yaml.Node | None:
    """Return the tree of a document; None if it is empty."""
    import yaml

    try:
        found: yaml.Node | None = yaml.compose(text, Loader=safe_loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}" if mark is not None else file
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        raise ConfigurationError(f"{place}: no YAML: {problem}") from error
    except RecursionError as error:
        raise ConfigurationError(f"{file}: its lists and tables are nested too deep") from error
    return found


def line_of(node: yaml.Node) -> int:
    """Return the number of the line on which something begins, counted from 1."""
    return int(node.start_mark.line) + 1


class Problems:
    """Collects all that is wrong with a file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: list[tuple[int, str]] = []
        self._places: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, node: yaml.Node, text: str) -> None:
        """Note what is wrong at a place."""
        place = ", ".join(self._places)
        self._found.append((line_of(node), f"{place}: {text}" if place else text))

    @contextmanager
    def inside(self, place: str) -> Iterator[None]:
        """Say where what is noted within stands."""
        self._places.append(place)
        try:
            yield
        finally:
            self._places.pop()

    def refuse(self) -> None:
        """Raise one error if anything is wrong."""
        lines = [f"{self.file}:{line}: {text}" for line, text in sorted(self._found, key=_line)]
        if len(lines) == 1:
            raise ConfigurationError(lines[0])
        if lines:
            head = f"{self.file}: {counted(len(lines), 'problem')}"
            raise ConfigurationError("\n".join((head, *(f"  {line}" for line in lines))))

    # values --------------------------------------------------------------------------------------

    def table(
        self, node: yaml.Node, known: Collection[str] | None, required: Collection[str] = ()
    ) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Return the keys of a table, with where each stands and its value."""
        if not self._is(node, "map", "a table of keys and values"):
            return {}
        found: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value:
            name = key.value if isinstance(key.value, str) else ""
            if not name or _kind(key) in ("null", "map", "seq"):
                self.add(key, "a key must be a text")
            elif name in found:
                first = line_of(found[name][0])
                self.add(key, f'the key "{name}" stands here a second time, first in line {first}')
            elif known is not None and name not in known:
                hint = did_you_mean(name, known) or f" There are: {', '.join(known)}"
                self.add(key, f'there is no key "{name}".{hint}')
            else:
                found[name] = key, value
        for name in required:
            if name not in found:
                self.add(node, f"{name} is missing")
        return found

    def row(self, node: yaml.Node, name: str) -> list[yaml.Node]:
        """Return the items of a list."""
        with self.inside(name):
            return list(node.value) if self._is(node, "seq", "a list") else []

    def scalar(
        self, node: yaml.Node, name: str, read: Callable[[str], T], *, is_text: bool
    ) -> T | None:
        """Return a value as `read` makes it of its text; None if it is wrong."""
        kind = _kind(node)
        try:
            if kind in ("map", "seq"):
                raise ValueError(f"must be a single value, not {_KINDS[kind]}")
            if kind == "null":
                raise ValueError("has no value: give one, or leave the key out")
            if kind not in _KINDS:
                raise ValueError(f"has the tag {node.tag}, which means nothing here")
            if is_text and kind != "str":
                raise ValueError(
                    f"must be a text, but YAML takes {node.value} for {_KINDS[kind]}: write "
                    f'"{node.value}"'
                )
            return read(node.value)
        except ValueError as error:
            self.add(node, f"{name} {error}")
            return None

    def _is(self, node: yaml.Node, kind: str, words: str) -> bool:
        found = _kind(node)
        if found == kind:
            return True
        told = f'"{node.value}"' if found == "str" else _KINDS.get(found, f"of the tag {node.tag}")
        subject = "" if self._places else "the file "
        self.add(node, f"{subject}must be {words}, not {told}")
        return False


def is_quoted(node: yaml.Node) -> bool:
    """Return whether a value stands in quotes, or in a block of its own."""
    return bool(getattr(node, "style", None))  # None or empty for a plain one


def _kind(node: yaml.Node) -> str:
    return node.tag.removeprefix(_TAG)


def _line(found: tuple[int, str]) -> int:
    return found[0]
