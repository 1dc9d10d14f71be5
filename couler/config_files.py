"""Files of settings: read through pydantic models; an error has the line of each problem."""

from __future__ import annotations

import functools
import json
import re
import tomllib
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from couler.errors import ConfigurationError
from couler.ir.diagnostics import did_you_mean

if t.TYPE_CHECKING:
    import yaml
    from pydantic.fields import FieldInfo

M = t.TypeVar("M", bound=BaseModel)
Location: t.TypeAlias = tuple[int | str, ...]
Problem: t.TypeAlias = tuple[Location, str]

_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_WHOLE = re.compile(r"^[-+]?[0-9]+$")
_NUMBER = re.compile(
    r"^[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$|^[-+]?\.(?:inf|Inf|INF)$"
    r"|^\.(?:nan|NaN|NAN)$"
)
_MOST_ALIASED = 100_000
"""The most values of a file whose aliases give it more than it has characters."""

_WANTED = {
    "bool_type": "it must be true or false",
    "dict_type": "it must be a table",
    "float_type": "it must be a number",
    "int_from_float": "it must be a whole number",
    "int_type": "it must be a whole number",
    "list_type": "it must be a list",
    "model_type": "it must be a table",
    "string_too_short": "it must not be empty",
    "string_type": "it must be a text",
}
"""What a value must be, by pydantic's name of the error."""


class Table(BaseModel):
    """A table of a file: immutable, exact about types, without other keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True
    )


@dataclass(frozen=True, slots=True)
class Document:
    """A file of settings, or a part of one, with the lines of its keys."""

    file: str
    tree: t.Any
    find_line: Callable[[Location], int | None]
    start: Location = ()

    def at(self, *keys: str) -> Document:
        """Return a part of the document; its tree is None where the file does not have it."""
        tree = self.tree
        for key in keys:
            tree = tree.get(key) if isinstance(tree, Mapping) else None
        return replace(self, tree=tree, start=(*self.start, *keys))

    def line(self, location: Location = ()) -> int:
        """Return the line of a key, or of the nearest table around it."""
        return self.find_line((*self.start, *location)) or 1

    def texts(self) -> list[str]:
        """Return a list of texts; an empty one where the document has none."""
        from pydantic import RootModel  # which no command else needs

        return [] if self.tree is None else self.read(RootModel[list[str]], self.start).root

    def read(self, model: type[M], within: Location = ()) -> M:
        """Return what the document states; messages name its keys after those it is within."""
        try:
            return model.model_validate(self.tree)
        except ValidationError as error:
            whole = place_of(self.start) or "the file"
            raise self.error(problems_of(model, error, within, whole)) from error

    def error(self, problems: Iterable[Problem]) -> ConfigurationError:
        """Return the error that reports problems in the order of their lines."""
        from couler.ir.wording import counted

        found = sorted((self.line(location), text) for location, text in problems)
        lines = [f"{self.file}:{line}: {text}" for line, text in dict.fromkeys(found)]
        if len(lines) == 1:
            return ConfigurationError(lines[0])
        head = f"{self.file}: {counted(len(lines), 'problem')}"
        return ConfigurationError("\n".join((head, *(f"  {line}" for line in lines))))


def read_text(file: Path) -> str:
    """Return the text of a file, without a byte order mark."""
    try:
        return file.read_text("utf-8").removeprefix("\ufeff")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"{file}: {why}") from error


def read_toml(text: str, file: str) -> Document:
    """Return the document that a text of TOML is."""
    try:
        tree = tomllib.loads(text)
    except (RecursionError, ValueError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise ConfigurationError(f"{file}: {why}") from error
    return Document(file, tree, functools.partial(_toml_line, text))


def _toml_line(text: str, location: Location) -> int | None:
    """Return the line of the first statement that has most of a location."""
    longest, best = 0, None
    for number, tree in _toml_statements(text):
        depth = 0
        while depth < len(location) and isinstance(tree, dict) and location[depth] in tree:
            tree = tree[location[depth]]
            depth += 1
        if longest < depth:
            longest, best = depth, number
    return best


@functools.lru_cache(maxsize=1)
def _toml_statements(text: str) -> list[tuple[int, t.Any]]:
    """Return each statement as a document of its own with its header, and its first line."""
    found: list[tuple[int, t.Any]] = []
    header = statement = ""
    first = 1
    for number, line in enumerate(text.split("\n"), start=1):
        statement += f"{line}\n"
        is_header = statement.lstrip().startswith("[")
        try:
            found.append((first, tomllib.loads(statement if is_header else header + statement)))
        except tomllib.TOMLDecodeError:  # it continues on the next line
            continue
        header = statement if is_header else header
        statement, first = "", number + 1
    return found


def read_yaml(text: str, file: str, *, exact_keys: bool = False) -> Document:
    """Return the document that a text of YAML or JSON is; keys of other kinds are read as texts."""
    import yaml

    lines: dict[Location, int] = {}
    loader = _loader()(text)
    loader.exact_keys = exact_keys
    try:
        node = loader.get_single_node()
        tree = (
            None if node is None else _built(loader, node, (), lines, max(len(text), _MOST_ALIASED))
        )
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = file if mark is None else f"{file}:{mark.line + 1}"
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        what = "" if type(error) is yaml.MarkedYAMLError else "no YAML: "  # of `_built`
        raise ConfigurationError(f"{place}: {what}{problem}") from error
    finally:
        loader.dispose()

    def find_line(location: Location) -> int | None:
        return next((lines[found] for found in _prefixes(location) if found in lines), None)

    return Document(file, tree, find_line)


def _prefixes(location: Location) -> Iterator[Location]:
    return (location[:length] for length in range(len(location), -1, -1))


@functools.cache
def _loader() -> t.Any:
    """Return the class that reads YAML, with the numbers of YAML 1.2."""
    from couler.ir.yaml_loading import safe_loader

    class Loader(safe_loader()):  # type: ignore[misc]  # either
        pass

    Loader.yaml_implicit_resolvers = {
        start: [one for one in resolvers if one[0] not in (_INT, _FLOAT)]
        for start, resolvers in Loader.yaml_implicit_resolvers.items()
    }
    Loader.add_implicit_resolver(_INT, _WHOLE, list("-+0123456789"))
    Loader.add_implicit_resolver(_FLOAT, _NUMBER, list("-+.0123456789"))
    Loader.add_constructor(_INT, lambda loader, node: int(loader.construct_scalar(node)))
    return Loader


def _built(
    loader: t.Any, node: yaml.Node, location: Location, lines: dict[Location, int], most: int
) -> t.Any:
    """Return the value of a node, and note its line and those of its keys."""
    import yaml

    lines.setdefault(location, node.start_mark.line + 1)
    if len(lines) > most:
        raise _yaml_error("its aliases stand for too many values", node)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(loader, node)
    kind = "seq" if isinstance(node, yaml.SequenceNode) else "map"
    if node.tag != f"tag:yaml.org,2002:{kind}":
        tag = node.tag.replace("tag:yaml.org,2002:", "!!")
        raise _yaml_error(f"the tag {tag} means nothing here", node)
    if kind == "seq":
        return [
            _built(loader, one, (*location, index), lines, most)
            for index, one in enumerate(node.value)
        ]
    table: dict[str, t.Any] = {}
    for key, value in node.value:
        if (
            not isinstance(key, yaml.ScalarNode)
            or key.tag == "tag:yaml.org,2002:null"
            or (loader.exact_keys and key.tag != "tag:yaml.org,2002:str")
        ):
            raise _yaml_error("a key must be a text. Quote it", key)
        inner = (*location, key.value)
        if key.value in table:
            first = lines[inner]
            raise _yaml_error(
                f'the key "{key.value:.60}" is there twice, first in line {first}', key
            )
        lines[inner] = key.start_mark.line + 1
        table[key.value] = _built(loader, value, inner, lines, most)
    return table


def _scalar(loader: t.Any, node: yaml.ScalarNode) -> t.Any:
    try:
        return loader.construct_object(node, deep=True)
    except (ArithmeticError, AttributeError, LookupError, ValueError) as error:
        # PyYAML's constructors expect that the text is of the type that its tag says.
        kind = node.tag.rpartition(":")[2]
        text = f'"{node.value:.60}" is no {kind} of YAML. Write a text in quotes'
        raise _yaml_error(text, node) from error


def _yaml_error(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    import yaml

    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def shown(value: object) -> str:
    """Return a value in the words of a file, for messages."""
    if value is None or isinstance(value, bool | str | dict | list | tuple):
        value = json.dumps(value, ensure_ascii=False, skipkeys=True, default=str)
    return f"{value!s:.60}"


def problems_of(
    model: type[BaseModel], error: ValidationError, within: Location = (), whole: str = "the file"
) -> Iterator[Problem]:
    """Yield what a model refuses, in words, each with where it is."""
    for one in error.errors(include_url=False):
        location = tuple(part for part in one["loc"] if part != "[key]")
        place, given = place_of((*within, *location)), one.get("input")
        fields = _fields_at(model, location[:-1])
        match one["type"]:
            case "extra_forbidden":
                hint = (
                    did_you_mean(str(location[-1]), fields) or f" There are: {', '.join(fields)}."
                )
                text = f'there is no key "{place}".{hint}'
            case "missing":
                hint = did_you_mean(str(location[-1]), set(given) - set(fields))
                examples = getattr(fields.get(str(location[-1])), "examples", None) or ()
                added = "".join(f". Add {one}" for one in examples)
                hint = hint.replace(" Did you mean", ". Is it what you call")
                text = f"{place} is missing{added}{hint}"
            case "too_short":
                text = f"{place} is empty"
            case "value_error":
                text = str(one["ctx"]["error"]) if "ctx" in one else one["msg"]
                text = f"{place}: {text}" if place else text
            case kind:
                wanted = _WANTED.get(kind) or f"{one['msg'][:1].lower()}{one['msg'][1:]}"
                text = f"{place or whole} is {shown(given)}; {wanted}"
                if kind == "string_type" and not isinstance(given, dict | list | None):
                    text += ". Write it in quotes"
                elif kind == "literal_error" and isinstance(given, str):
                    text += "." + did_you_mean(given, re.findall(r"'([^']*)'", one["msg"]))
        yield location, text


def place_of(location: Location) -> str:
    """Return a location as a path, such as `nodes[0].gpus.count`."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return place.removeprefix(".")


def _fields_at(model: type[BaseModel], parents: Location) -> dict[str, FieldInfo]:
    """Return the fields of the table at a location by key, as far as types tell it."""
    kind: t.Any = model
    skip = False
    for part in parents:
        if skip:  # the key or number of one of several
            skip = False
            continue
        field = _fields_of(kind).get(str(part))
        kind = None if field is None else _model_in(field.annotation)
        if kind is None:
            return {}
        assert field is not None, "it has an annotation"
        skip = t.get_origin(field.annotation) in (dict, list, tuple)
    return _fields_of(kind)


def _fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_in(annotation: t.Any) -> t.Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((made for one in t.get_args(annotation) if (made := _model_in(one))), None)
