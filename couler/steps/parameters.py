"""What a step of the zoo takes: its parameters, their JSON Schema, and checks of arguments."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import re
import types
import typing as t
from collections.abc import Callable, Iterator, Mapping

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from couler.dsl.checks import first_problem
from couler.dsl.handles import Value
from couler.dsl.types import TypeSpec, UnsupportedTypeError, fits, is_json, spec_of
from couler.ir.diagnostics import did_you_mean


class _Static:
    """The mark of a parameter that must be known while the workflow is built."""

    def __repr__(self) -> str:
        return "STATIC"


STATIC = _Static()
"""Stands in `t.Annotated[int, STATIC]`: no value of the workflow can be given."""


class Problem(t.NamedTuple):
    """An argument that is wrong."""

    code: str
    message: str


class Parameter:
    """A parameter of a step of the zoo."""

    def __init__(self, name: str, hint: t.Any, default: object, description: str) -> None:
        self.name = name
        self.hint = hint
        self.default = default
        self.description = description
        self.required = default is inspect.Parameter.empty
        self.is_static = t.get_origin(hint) is t.Annotated and STATIC in t.get_args(hint)[1:]

    @functools.cached_property
    def adapter(self) -> TypeAdapter[t.Any]:
        """What checks a value, and knows the schema."""
        for config in (_CONFIG, None):  # a dataclass or model brings its own settings
            with contextlib.suppress(PydanticUserError):
                return TypeAdapter(self.hint, config=config)
        return TypeAdapter(t.Any)  # a type that pydantic cannot check

    @functools.cached_property
    def spec(self) -> TypeSpec | None:
        """The type as values of the workflow have it; None if none has."""
        hint = self.hint
        if type(None) in t.get_args(hint):
            others = tuple(one for one in t.get_args(hint) if one is not type(None))
            hint = others[0] if len(others) == 1 else t.Union[others]  # noqa: UP007  # of a tuple
        try:
            return spec_of(hint)
        except UnsupportedTypeError:
            return None

    @property
    def label(self) -> str:
        """The type as a program writes it."""
        hint = t.get_args(self.hint)[0] if self.is_static else self.hint
        is_union = t.get_origin(hint) in (t.Union, types.UnionType)
        told = " | ".join(map(inspect.formatannotation, t.get_args(hint) if is_union else [hint]))
        return re.sub(r"\b[A-Za-z_][\w.]*\.(?=\w)", "", told).replace("NoneType", "None")

    def schema(self) -> dict[str, t.Any]:
        """Return its JSON Schema."""
        found = self.adapter.json_schema(schema_generator=_Schemas)
        found.pop("title", None)
        if self.description:
            found["description"] = self.description
        default = list(self.default) if isinstance(self.default, tuple) else self.default
        if not self.required and is_json(default):
            found["default"] = default
        return found

    def problem(self, value: object) -> Problem | None:
        """Return what is wrong with an argument, or None."""
        if isinstance(value, Value):
            return self._problem_of_value(value)
        if value is None and self.default is None:
            return None
        try:
            self.adapter.validate_python(value, strict=True)
        except ValidationError as error:
            return Problem(
                "CLR107",
                f'the argument "{self.name}" must be {self.label}, not {value!r:.60}, which is '
                f"{type(value).__name__}" + _detail(error),
            )
        return None

    def _problem_of_value(self, value: Value) -> Problem | None:
        if self.is_static:
            return Problem(
                "CLR105",
                f'the argument "{self.name}" shapes the step, so it must be known when the '
                f"workflow is built; {value!r} is known only when it runs",
            )
        if self.spec is not None and not fits(value._spec, self.spec):
            return Problem(
                "CLR107",
                f'the argument "{self.name}" must be {self.label}, not {value!r}, which is '
                f"{value._spec.label}",
            )
        return None


_CONFIG = ConfigDict(arbitrary_types_allowed=True)


class _Schemas(GenerateJsonSchema):
    """Takes any value where a type has no JSON form, such as a function."""

    ignored_warning_kinds: set[t.Any] = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012  # never changed

    def handle_invalid_for_json_schema(
        self, schema: core_schema.CoreSchema, error_info: str
    ) -> JsonSchemaValue:
        return {}


def _detail(error: ValidationError) -> str:
    """Return what is wrong inside of an argument, where it is not the whole."""
    first = error.errors(include_url=False)[0]
    if not first["loc"] or error.error_count() != 1:
        return ""
    if first["type"] == "extra_forbidden":
        return f' (there is no "{first["loc"][-1]}")'
    return f" ({first_problem(error)})"


class Parameters:
    """All parameters of a step of the zoo."""

    def __init__(self, function: Callable[..., object], prefix: str | None = None) -> None:
        hints = t.get_type_hints(function, include_extras=True)
        told = dict(_descriptions(inspect.getdoc(function) or ""))
        self.prefix = prefix
        self.signature = inspect.signature(function)
        self.named: dict[str, Parameter] = {}
        self._positional = []
        self.others = ""
        """What those are that are taken by `**`."""
        for one in self.signature.parameters.values():
            hint = hints.get(one.name, object)
            if one.kind is one.VAR_KEYWORD and t.get_origin(hint) is t.Unpack:
                [options] = t.get_args(hint)
                told = {**_descriptions_of_options(options), **told}
                for name, own in t.get_type_hints(options, include_extras=True).items():
                    self.named[name] = Parameter(name, own, None, told.get(name, ""))
                self.others = told.get(f"{prefix}*", "")
            elif one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
                self.named[one.name] = Parameter(
                    one.name, hint, one.default, told.get(one.name, "")
                )
            elif one.kind is one.VAR_KEYWORD:
                self.others = told.get(one.name, "")
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
                self._positional.append(one.name)

    def schema(self) -> dict[str, t.Any]:
        """Return the JSON Schema of the arguments, as an object."""
        properties: dict[str, t.Any] = {}
        definitions: dict[str, t.Any] = {}
        for name, parameter in self.named.items():
            schema = parameter.schema()
            definitions.update(schema.pop("$defs", {}))
            properties[name] = schema
        found: dict[str, t.Any] = {
            "type": "object",
            "properties": properties,
            "required": [name for name, one in self.named.items() if one.required],
            "additionalProperties": False,
        }
        if self.prefix is not None:
            described = {"description": self.others} if self.others else {}
            found["patternProperties"] = {f"^{re.escape(self.prefix)}.": described}
        return {**found, "$defs": definitions} if definitions else found

    def bind(
        self, args: tuple[object, ...], named: Mapping[str, object]
    ) -> tuple[dict[str, object], list[Problem]]:
        """Return the arguments that are right, by name, and what is wrong with the others."""
        problems: list[Problem] = []
        names = self._positional
        given = dict(zip(names, args, strict=False))
        if len(args) > len(names):
            problems.append(Problem("CLR102", f"{len(names)} arguments at most, not {len(args)}"))
        missing = [name for name, one in self.named.items() if one.required]
        for name, value in named.items():
            if name in given:
                problems.append(Problem("CLR102", f'the argument "{name}" is given twice'))
            elif name in self.named or self._is_extra(name):
                given[name] = value
            else:
                hint = did_you_mean(name, self.named)
                if not hint and self.prefix is not None:
                    # Such a name is passed on: what was meant for the step would go elsewhere.
                    hint = f' Only names that begin with "{self.prefix}" are passed on.'
                problems.append(Problem("CLR104", f'no argument "{name}".{hint}'))
                meant = difflib.get_close_matches(name, missing, n=1)
                missing = [one for one in missing if one not in meant]
        problems += [
            Problem("CLR101", f'the argument "{name}" is missing')
            for name in missing
            if name not in given
        ]
        right: dict[str, object] = {}
        for name, value in given.items():
            problem = self.named[name].problem(value) if name in self.named else None
            if problem is None:
                right[name] = value
            else:
                problems.append(problem)
        return right, problems

    def _is_extra(self, name: str) -> bool:
        return self.prefix is not None and name.startswith(self.prefix) and name != self.prefix


_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def sections(text: str) -> dict[str, str]:
    r"""Return the sections of a docstring in numpy's style; the part before them is `""`."""
    parts = _SECTION.split(text)
    found = {"": parts[0].strip()}
    found.update(zip(parts[1::2], (part.strip("\n") for part in parts[2::2]), strict=True))
    return found


def _descriptions_of_options(options: type) -> dict[str, str]:
    """Return what the options of a TypedDict mean, those that it inherits included."""
    found: dict[str, str] = {}
    for base in getattr(options, "__orig_bases__", ()):
        found.update(_descriptions_of_options(base))
    return {**found, **dict(_descriptions(inspect.getdoc(options) or "", "Attributes"))}


def _descriptions(text: str, section: str = "Parameters") -> Iterator[tuple[str, str]]:
    names: list[str] = []
    lines: list[str] = []
    for line in [*sections(text).get(section, "").splitlines(), "end"]:
        if line.startswith(" ") or not line.strip():
            lines.append(line.strip())
            continue
        for name in names:
            yield name, " ".join(lines).strip()
        names, lines = [one.strip(" \\").removeprefix("**") for one in line.split(",")], []
