"""The part of a DAG file before its DAG: imports, carried functions, shared texts, conditions."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re
import symtable
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from types import FunctionType

from couler.backends.airflow import (
    cluster,
    filing,
    runtime,
    runtime_places,
    worker,
)
from couler.backends.airflow.python import (
    INDENT,
    Call,
    Code,
    Expression,
    call,
    imports,
    laid_out,
    quoted,
    returned,
    statement,
    text_block,
    value_of,
)
from couler.backends.airflow.versions import NEWEST, Version, place
from couler.ir import ranges
from couler.ir.semantics import comparisons, wire

_SOURCES = (
    wire,
    comparisons,
    ranges,
    runtime,
    runtime_places,
    filing,
    worker,
    cluster,
)
FUNCTIONS: dict[str, FunctionType] = {
    name: one
    for source in _SOURCES
    for name, one in vars(source).items()
    if isinstance(one, FunctionType)
    and one.__module__ in (source.__name__, "couler.ir.yaml_writer")
}
"""The functions that a file can carry, in the order in which they are written."""

WRAPPERS = {
    "PROCESS": "process.sh",
    "BESIDE": "beside.sh",
    "FILES": "files.sh",
    "CACHE": "cache.sh",
}
"""The texts that functions of a file name, and where they stand."""
ERRORS = frozenset(("ConditionError", "EvaluationError", "WireError"))
"""The errors of `couler.errors` that functions raise: a task that raises one is not retried."""
CONSTANTS = ("HELPER_IMAGE", "FILES_CLAIM", "IO_IMAGE")
"""Settings of the target that a file names."""


class Definitions(t.NamedTuple):
    """What a file defines before its DAG."""

    settings: list[str]
    """The target's, and the texts that functions name."""
    carried: list[str]
    """Functions that are the same in all files."""
    texts: list[str]
    """Texts and tables of this workflow."""
    functions: list[str]
    """Conditions and outputs of this workflow."""


class Module:
    """The names of a DAG file, and what each of them stands for."""

    def __init__(self, version: Version = NEWEST) -> None:
        self._version = version
        self._imports: dict[str, set[str]] = {}
        self._taken: dict[tuple[str, str], str] = {}
        self._functions: set[str] = set()
        self._referred: set[str] = set()
        self._constants: dict[str, str] = {}
        self._conditions: dict[str, tuple[str, str]] = {}
        self._outputs: dict[str, tuple[str, Expression]] = {}
        self._tables: dict[str, object] = {}
        self._names: set[str] = {*_TAKEN, *FUNCTIONS}
        self.macros: dict[str, None] = {}
        """The functions that templates call."""

    def take(self, module: str, name: str = "") -> str:
        """Import a name from a module, or the module itself; return what the file calls it."""
        module = place(module, name, self._version)
        if (module, name) not in self._taken:
            own = (name or module).split()[-1]
            given = own if own in _OWN else self.name(own)
            self._taken[module, name] = given
            written = name if given == own else f"{name} as {given}"
            self._imports.setdefault(module, set()).update({written} - {""})
        return self._taken[module, name]

    def use(self, code: str) -> str:
        """Carry the functions that an expression calls, and what they use in turn."""
        self._carry(_names(code))
        return code

    def _carry(self, names: Iterable[str]) -> None:
        for name in names:
            if name in FUNCTIONS and name not in self._functions:
                self._functions.add(name)
                self._take_for(FUNCTIONS[name])
            elif name == "json":
                self.take(name)

    def use_in_templates(self, code: str) -> str:
        """Carry the functions that an expression in a template calls; return it as Jinja has it."""
        used, named = [*FUNCTIONS, *self._tables, *self._conditions], _names(code)
        self.macros.update((name, None) for name in used if name in named)
        return in_jinja(self.use(code))

    def constant(self, wanted: str, text: str) -> str:
        """Return the name of a text that stands in lines of its own; equal texts share one."""
        for name, known in self._constants.items():
            if known == text:
                return name
        name = self.name(wanted.upper())
        self._constants[name] = text
        return name

    def refer(self, name: str) -> str:
        """Have one of `CONSTANTS` written."""
        self._referred.add(name)
        return name

    def table(self, wanted: str, rows: object) -> str:
        """Return the name of a list that stands before the DAG."""
        name = self.name(wanted.upper())
        self._tables[name] = rows
        return name

    def end_with(self, leaves: list[str]) -> None:
        """Have the tasks written with which all steps end, as LEAVES."""
        self._tables["LEAVES"] = leaves

    def shared_table(self, wanted: str, rows: object) -> str:
        """Return the name of a list or a mapping before the DAG; equal ones share one."""
        known = (name for name, one in self._tables.items() if one == rows)
        return next(known, None) or self.table(wanted, rows)

    def condition(self, wanted: str, code: str, takes: str = "ti: Any, params: Any") -> str:
        """Return the name of a function that tells whether a condition holds on what it takes."""
        name = self.name(wanted)
        self._conditions[name] = takes, self.use(code)
        return name

    def skip_unless(self, condition: str) -> Call:
        """Return what skips a task, before it starts, if a condition is false."""
        return call(
            self.take("functools", "partial"), Code(self.use("skip_unless")), Code(condition)
        )

    def outputs(self, wanted: str, codes: Mapping[str, str], checks: str = "") -> str:
        """Return the name of a function that gives the outputs of a group, after a check."""
        name = self.name(wanted)
        for code in (*codes.values(), checks):
            self.use(code)
        self._outputs[name] = (checks, value_of({key: Code(code) for key, code in codes.items()}))
        return name

    def name(self, wanted: str, short: str = "") -> str:
        """Return a name of Python, near to the wanted one, that nothing else in the file has."""
        base = _as_name(short or wanted)
        if short and base in self._names:
            base = _as_name(wanted)
        name, count = base, 1
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names.add(name)
        return name

    @property
    def import_lines(self) -> str:
        """The imports, those of the standard library first."""
        own = {name: taken for name, taken in self._imports.items() if name in _STANDARD}
        others = {name: taken for name, taken in self._imports.items() if name not in _STANDARD}
        return "\n\n".join(imports(one) for one in (own, others) if one)

    def definitions(self, **constants: str | None) -> Definitions:
        """Return what the file defines before its DAG, as it is written."""
        used = {name for one in self._functions for name in _globals(FUNCTIONS[one])}
        used |= self._referred
        known = {**constants, **{name: _wrapper(file) for name, file in WRAPPERS.items()}}
        settings: list[str] = []
        for name, text in known.items():
            if name not in used:
                continue
            assert text is not None, f"what needs {name} is refused without it"
            settings.append(_text(name, text))
        if errors := sorted(used & ERRORS):
            settings.append(" = ".join((*errors, "AirflowFailException")))
        texts = [_text(name, text) for name, text in self._constants.items()]
        texts += [statement(name, value_of(rows)) for name, rows in self._tables.items()]
        carried = [
            _source(one).rstrip() for name, one in FUNCTIONS.items() if name in self._functions
        ]
        conditions = [
            f"def {name}({takes}) -> bool:\n{returned(code)}"
            for name, (takes, code) in self._conditions.items()
        ]
        outputs = [_outputs(name, *one) for name, one in self._outputs.items()]
        if conditions or carried or outputs:
            self.take("typing", "Any")
        return Definitions(settings, carried, texts, [*conditions, *outputs])

    def _take_for(self, function: FunctionType) -> None:
        source = _source(function)
        named = _globals(function)
        for module, names in _modules():
            for name in names or (module,):
                if name.split()[-1] in named:
                    self.take(module, name if names else "")
        for name in WRAPPERS:
            if f"{{{{ {name} }}}}" in source:  # as Airflow stores templates, once a task
                self.macros[self.refer(name)] = None
        if not ERRORS.isdisjoint(named):
            self.take("airflow.sdk.exceptions", "AirflowFailException")
        self._carry(named)


def _modules() -> Iterator[tuple[str, tuple[str, ...]]]:
    return (entry for source in _SOURCES for entry in getattr(source, "MODULES", {}).items())


_IS_THERE = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|\bis not None\b""", re.DOTALL)
"""A text of Python, or the one test that Jinja writes otherwise."""


def in_jinja(code: str) -> str:
    """Return an expression of Python as Jinja writes it."""
    return _IS_THERE.sub(lambda found: found[1] or "is not none", code)


def _names(code: str) -> set[str]:
    """Return the names that an expression refers to: not attributes, nor what stands in texts."""
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


@cache
def _source(function: FunctionType) -> str:
    """Return the text of a function; to find it, its whole module is read."""
    return inspect.getsource(function)


@cache
def _globals(function: FunctionType) -> frozenset[str]:
    """Return the names that a function takes from its file, those of its annotations as well."""
    table = symtable.symtable(_source(function), function.__name__, "exec")
    tables = [table]
    found: set[str] = set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        found.update(one.get_name() for one in table.get_symbols() if one.is_global())
    return frozenset(found)


_STANDARD = frozenset(
    (
        "base64",
        "collections.abc",
        "datetime",
        "functools",
        "hashlib",
        "itertools",
        "json",
        "operator",
        "pathlib",
        "re",
        "shlex",
        "time",
        "typing",
    )
)
_OWN = frozenset(name.split()[-1] for module, names in _modules() for name in names or (module,))
"""What the carried functions import: they call it by these names."""

_TAKEN = frozenset((*_OWN, *dir(builtins), *WRAPPERS, *ERRORS, *CONSTANTS, "LEAVES", "dag"))
_BUILTIN = frozenset(dir(builtins))
_LONGEST = 50
_UNCLEAR = frozenset("lOI")
"""Letters that look like digits, which linters refuse as names."""


def _as_name(wanted: str) -> str:
    name = re.sub(r"\W", "_", wanted, flags=re.ASCII)[:_LONGEST]
    if name in _UNCLEAR or keyword.iskeyword(name) or name in _BUILTIN:
        return f"{name}_"
    return f"_{name}" if name[0].isdigit() else name


def _outputs(name: str, check: str, outputs: Expression) -> str:
    head = f"def {name}(ti: Any, params: Any) -> dict[str, Any]:\n"
    first = f"{INDENT}{check}\n" if check else ""
    given = laid_out(outputs, indent=1, before=len("return "))
    return f"{head}{first}{INDENT}return {given}"


@cache
def _wrapper(file: str) -> str:
    return (resources.files(__package__) / file).read_text()


def _text(name: str, text: str) -> str:
    """Return the assignment of a text."""
    block = text_block(text)
    return f"{name} = {block}" if block else statement(name, Code(quoted(text)))
