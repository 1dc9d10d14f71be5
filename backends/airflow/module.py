"""The part of a DAG file before its DAG: imports, carried functions, shared texts, conditions."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import re
import symtable
import typing as t
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    WIDTH,
    Code,
    Expression,
    imports,
    laid_out,
    quoted,
    returned,
    statement,
    text_block,
    value_of,
    width,
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
            settings.append(_text(name, [text]))
        if errors := sorted(used & ERRORS):
            settings.append(" = ".join((*errors, "AirflowFailException")))
        texts = self._texts()
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

    def _texts(self) -> list[str]:
        """Return the texts as assignments, after what they share."""
        shared, parts = share(self._constants)
        names = [self.name(_first_definition(given).upper()) for given in shared]
        lines: list[str] = []
        for name, given in [*reversed([*zip(names, shared, strict=True)]), *parts.items()]:
            codes = [Code(names[one.number]) if isinstance(one, Shared) else one for one in given]
            lines.append(_text(name, codes or [""]))
        return lines

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


def _text(name: str, parts: Sequence[str | Code]) -> str:
    """Return the assignment of a text that is made of parts."""
    codes = [one.text if isinstance(one, Code) else text_block(one) or quoted(one) for one in parts]
    if len(codes) == 1:
        return f"{name} = {codes[0]}" if "\n" in codes[0] else statement(name, Code(codes[0]))
    flat = f"{name} = {' + '.join(codes)}"
    if "\n" not in flat and width(flat) <= WIDTH:
        return flat
    between = f"\n{INDENT}+ "
    return f"{name} = (\n{INDENT}{between.join(codes)}\n)"


def _first_definition(parts: Sequence[Part]) -> str:
    texts = "\n".join(one for one in parts if isinstance(one, str))
    found = re.search(r"^(?:class|def) _*(\w+)", texts, flags=re.MULTILINE)
    return found[1] if found else "shared"


SEPARATOR = "\n\n\n"
"""Stands between the definitions of a script of Python."""

_MORE_LINES = 3
"""What is shared takes these where it stands, and again in each text that has it."""


class Shared(t.NamedTuple):
    """A text that is shared, in the place of what it stands for."""

    number: int


Part: t.TypeAlias = str | Shared


def share(texts: Mapping[str, str]) -> tuple[list[list[Part]], dict[str, list[Part]]]:
    r"""Return the parts of what texts share, and those of each; joined they are the text."""
    blocks: dict[str, list[Part]] = {name: _cut(text) for name, text in texts.items()}
    shared: list[list[Part]] = []
    while run := _best_run([*blocks.values(), *shared]):
        number = Shared(len(shared))
        shared = [*(_replaced(one, run, number) for one in shared), [*run]]
        blocks = {name: _replaced(one, run, number) for name, one in blocks.items()}
    return [_joined(one) for one in shared], {name: _joined(one) for name, one in blocks.items()}


def _cut(text: str) -> list[Part]:
    """Return the definitions of a text, each with what separates it from the next."""
    parts = text.split(SEPARATOR)
    return [*(f"{part}{SEPARATOR}" for part in parts[:-1]), parts[-1]]


def _best_run(texts: Sequence[Sequence[Part]]) -> tuple[str, ...]:
    """Return the run of definitions in two or more texts that saves most lines."""
    uses = Counter(block for blocks in texts for block in set(blocks))
    counts: Counter[tuple[str, ...]] = Counter()
    for blocks in texts:
        counts.update([*dict.fromkeys(_runs(blocks, uses))])
    best: tuple[str, ...] = ()
    saved = 0
    for run, count in counts.items():
        less = sum(block.count("\n") for block in run) * (count - 1) - _MORE_LINES * (count + 1)
        if count > 1 and less > saved:
            best, saved = run, less
    return best


def _runs(blocks: Sequence[Part], uses: Mapping[Part, int]) -> Iterator[tuple[str, ...]]:
    """Yield the runs of definitions of a text that others have as well."""
    for start in range(len(blocks)):
        run: list[str] = []
        for block in blocks[start:]:
            if isinstance(block, Shared) or uses[block] < 2:
                break
            run.append(block)
            yield tuple(run)


def _replaced(blocks: list[Part], run: Sequence[str], number: Shared) -> list[Part]:
    for start in range(len(blocks) - len(run) + 1):
        if blocks[start : start + len(run)] == [*run]:
            rest = _replaced(blocks[start + len(run) :], run, number)
            return [*blocks[:start], number, *rest]
    return blocks


def _joined(blocks: Sequence[Part]) -> list[Part]:
    """Join texts beside each other."""
    parts: list[Part] = []
    for block in blocks:
        last = parts[-1] if parts else None
        if isinstance(block, str) and isinstance(last, str):
            parts[-1] = last + block
        elif block != "":
            parts.append(block)
    return parts
