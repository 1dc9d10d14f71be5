"""Programs made of the code of modules."""

from __future__ import annotations

import ast
import inspect
import io
import sys
import textwrap
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import couler
from couler.box.text_checks import RefusedTextError, parse
from couler.generation.modules import Decomposition, ModuleCode
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef

PROGRAM_FILE = "workflow.py"
"""What a program is called while it has no file."""

SAME_NAME = "CLR640"

_ARGUMENTS = frozenset(inspect.signature(couler.Workflow).parameters)

_WIDTH = 88
_LONGEST_HEADING = 100


@dataclass(frozen=True)
class Program:
    """A program, and whose each of its lines is."""

    text: str
    owners: tuple[str | None, ...]
    problems: tuple[Diagnostic, ...] = ()

    def owner_of(self, line: int) -> str | None:
        """Return the module that a line, from 1 on, is of."""
        return self.owners[line - 1] if 0 < line <= len(self.owners) else None


def assemble(description: str, plan: Decomposition, parts: Mapping[str, ModuleCode]) -> Program:
    """Return the program of some modules."""
    writer = _Writer()
    writer.add(_docstring(description))
    imports, definitions, problems = _definitions(plan, parts)
    for some in imports:
        writer.add("\n".join(some), gap=1)
    for name, text in definitions:
        writer.add(text, owner=name, gap=2)
    writer.add(_heading(plan), gap=2 if definitions else 1)
    for module in plan.modules:
        code = parts.get(module.name)
        if code is not None:
            writer.add(f"    # {module.name}")
            writer.add(_indented(code.wiring.strip("\n") or "..."), owner=module.name)
    if not parts:
        writer.add("    ...")
    return Program(writer.text, tuple(writer.owners), tuple(problems))


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.owners: list[str | None] = []

    def add(self, text: str, *, owner: str | None = None, gap: int = 0) -> None:
        lines = [*[""] * (gap if self.lines else 0), *text.split("\n")]
        self.lines += lines
        self.owners += [owner] * len(lines)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def _docstring(description: str) -> str:
    shown = "".join(one for one in " ".join(description.split()) if one.isprintable())
    text = shown.replace("\\", "/").replace('"""', "'''").rstrip('"')
    text = text if text.endswith((".", "!", "?")) else f"{text}."
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False)
    if len(lines) == 1 and len(text) + 6 <= _WIDTH:
        return f'"""{text}"""'
    return "\n".join(['"""' + lines[0], *lines[1:], '"""'])


def _heading(plan: Decomposition) -> str:
    settings = [_quoted(plan.workflow_name)]
    if plan.schedule:
        settings.append(f"schedule={_quoted(plan.schedule)}")
    settings += [plan.settings] if plan.settings else []
    own = [one for one in plan.parameters if one.name in _ARGUMENTS]
    settings += [f"{one.name}={_written(one.value)}" for one in plan.parameters if one not in own]
    if own:  # names that the workflow has for something else
        given = ", ".join(f"{_quoted(one.name)}: {_written(one.value)}" for one in own)
        settings.append(f"params={{{given}}}")
    line = f"with couler.Workflow({', '.join(settings)}) as wf:"
    if len(line) <= _LONGEST_HEADING:
        return line
    return "\n".join(["with couler.Workflow(", *(f"    {one}," for one in settings), ") as wf:"])


def _written(value: object) -> str:
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    return f'"{text}"' if repr(text) == f"'{text}'" and '"' not in text else repr(text)


def _definitions(
    plan: Decomposition, parts: Mapping[str, ModuleCode]
) -> tuple[list[list[str]], list[tuple[str, str]], list[Diagnostic]]:
    """Return groups of imports, definitions by module, and what is defined by two modules."""
    imports: dict[str, None] = {"import couler": None}
    definitions: list[tuple[str, str]] = []
    problems: list[Diagnostic] = []
    first: dict[str, str] = {}
    for module in plan.modules:
        code = parts.get(module.name)
        if code is None:
            continue
        found, rest = _hoisted(code.definitions)
        imports.update(dict.fromkeys(found))
        if rest:
            definitions.append((module.name, rest))
        for name in _defined(rest):
            other = first.setdefault(name, module.name)
            if other != module.name:
                problems.append(_defined_twice(name, other, module.name))
    return _grouped(imports), definitions, problems


def _grouped(imports: Iterable[str]) -> list[list[str]]:
    """Return imports as people sort them: the future, the standard library, then all others."""
    groups: list[list[str]] = [[], [], []]
    for one in sorted(imports, key=lambda one: (one.startswith("from"), one)):
        module = one.split()[1].partition(".")[0]
        is_future, is_standard = module == "__future__", module in sys.stdlib_module_names
        groups[0 if is_future else 1 if is_standard else 2].append(one)
    return [some for some in groups if some]


def _defined_twice(name: str, first: str, second: str) -> Diagnostic:
    return Diagnostic(
        SAME_NAME,
        f'the modules "{first}" and "{second}" both define "{name}": use the one that is there, '
        "or take another name",
        step=second,
        source=SourceRef(file=PROGRAM_FILE, line=1),
    )


def _hoisted(text: str) -> tuple[list[str], str]:
    """Return imports at the top level of some code, and the code without them."""
    imports: list[ast.stmt] = []
    others: list[ast.stmt] = []
    for node in _statements(text):
        (imports if isinstance(node, ast.Import | ast.ImportFrom) else others).append(node)
    if not imports:
        return [], text.strip("\n")
    found = list(map(ast.unparse, imports))
    taken = {number for node in imports for number in _lines_of(node)}
    if any(number in taken for node in others for number in _lines_of(node)):
        return found, "\n".join(map(ast.unparse, others))  # several statements on one line
    lines = text.split("\n")
    rest = ("" if number in taken else line for number, line in enumerate(lines, 1))
    return found, "\n".join(rest).strip("\n")


def _statements(text: str) -> Sequence[ast.stmt]:
    """Return the statements of some code; none of code that the gate refuses, and tells where."""
    try:
        return parse(text).body
    except RefusedTextError:
        return ()


def _lines_of(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _defined(text: str) -> Iterator[str]:
    """Yield the names that some code defines at its top level."""
    for node in _statements(text):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def _indented(text: str) -> str:
    text = textwrap.dedent(text)
    within = _lines_within_texts(text)
    lines = text.split("\n")
    return "\n".join(
        line if number in within or not line.strip() else f"    {line}"
        for number, line in enumerate(lines, 1)
    )


def _lines_within_texts(text: str) -> set[int]:
    """Return the numbers of lines that begin within a text that goes over several lines."""
    within: set[int] = set()
    begun: list[int] = []  # f-strings that are open
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = tokenize.tok_name[token.type]
            if name == "STRING":
                within.update(range(token.start[0] + 1, token.end[0] + 1))
            elif name == "FSTRING_START":
                begun.append(token.start[0])
            elif name == "FSTRING_END":
                within.update(range(begun.pop() + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        return within  # it does not parse, and the gate tells where
    return within
