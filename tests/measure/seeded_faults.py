"""Faults seeded into the product, and whether the tests catch them.

``draw`` mutates statements at random (seed 11) until the tests have caught as many as wanted, and
writes those to ``seeded_faults.json``. ``check`` seeds each of them again and runs the tests. Both
run only the tests that run the statement, as ``pytest -p tests.measure.contexts`` recorded it under
``build/contexts``, and stop at the first that fails.

A fault is found again by its function and text, not by its line, and in another file if it moved.
"""

from __future__ import annotations

import argparse
import ast
import functools
import itertools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import typing as t
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import SimpleQueue

from coverage.numbits import numbits_to_nums

from tests.measure.size import MEASURED

ROOT = Path.cwd()
FAULTS = Path("tests/measure/seeded_faults.json")
SEED = 11
RUN_TIMEOUT_S = 300
TEST_TIMEOUT_S = 60
# Of a statement that hundreds of tests run, those that run the least besides are tried.
MOST_TESTS_WHEN_DRAWN = 150
UNSEEDED = ("couler/generation/snippets/", "couler/steps/programs/")  # data, and run elsewhere

_COMPARISONS: t.Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: t.Final[Mapping[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One mutation: in a function (or module), the nth node of this text becomes another."""

    path: str
    scope: str
    before: str
    after: str
    nth: int


@dataclass(frozen=True, slots=True)
class Site:
    """Where a fault is seeded in a file of the tree."""

    path: Path
    line: int
    start: tuple[int, int]
    end: tuple[int, int]
    in_function: bool


class Coverage:
    """Which tests run which lines, by the databases of all workers."""

    def __init__(self, folder: Path) -> None:
        self._databases = [
            sqlite3.connect(path, check_same_thread=False)
            for path in sorted(folder.iterdir())
            if not path.name.endswith("-journal")
        ]
        self._ran: Counter[str] = Counter()
        for database in self._databases:
            rows = "SELECT context, sum(length(numbits)) FROM line_bits JOIN context"
            rows += " ON context.id = context_id GROUP BY context_id"
            self._ran.update(dict(database.execute(rows)))

    def tests(self, site: Site) -> list[str]:
        """Return the tests that run a line, those that run least first.

        What a module runs when it is imported belongs to no test: any that runs its functions.
        """
        found = set()
        query = "SELECT context, numbits FROM line_bits JOIN context ON context.id = context_id"
        query += " JOIN file ON file.id = file_id WHERE path = ?"
        for database in self._databases:
            for context, bits in database.execute(query, (str((ROOT / site.path).resolve()),)):
                if context and (not site.in_function or site.line in numbits_to_nums(bits)):
                    found.add(context)
        return sorted(found, key=lambda test: (self._ran[test], test))


def faults_of(path: Path) -> Iterator[tuple[Fault, Site]]:
    """Yield all mutations of a file, and where each belongs, statement by statement."""
    for scope, statements in _scopes(ast.parse((ROOT / path).read_bytes())).items():
        seen: Counter[str] = Counter()
        for node in itertools.chain.from_iterable(map(_own_nodes, statements)):
            before = ast.unparse(node)
            site = _site(path, scope, node)
            for after in _mutations(node):
                yield Fault(path.as_posix(), scope, before, after, seen[before]), site
            seen[before] += 1


@functools.cache
def _places() -> dict[Fault, list[Site]]:
    """Return where each fault belongs today, whatever its file is."""
    found: defaultdict[Fault, list[Site]] = defaultdict(list)
    for path in _files():
        for fault, site in faults_of(path):
            found[replace(fault, path="")].append(site)
    return found


def locate(fault: Fault) -> Site | None:
    """Find where a fault belongs today: in its file, else in the one file that has its function."""
    sites = _places().get(replace(fault, path=""), [])
    own = [site for site in sites if site.path == Path(fault.path)]
    sites = own or sites
    return sites[0] if len(sites) == 1 else None


def _site(path: Path, scope: str, node: ast.expr | ast.stmt) -> Site:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return Site(path, node.lineno, start, end, scope != "")


def _files() -> list[Path]:
    listed = _git("ls-files", "-z", *MEASURED)
    paths = [Path(name) for name in listed.split("\0") if name.endswith(".py")]
    return [path for path in paths if not path.as_posix().startswith(UNSEEDED)]


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def _scopes(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    """Return the statements of each function by its qualified name; others are those of ""."""
    found: defaultdict[str, list[ast.stmt]] = defaultdict(list)

    def visit(node: ast.AST, names: tuple[str, ...], scope: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner, inner_scope = names, scope
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = (*names, child.name)
                if not isinstance(child, ast.ClassDef):
                    inner_scope = ".".join(inner)
            elif isinstance(child, ast.stmt):
                found[scope].append(child)
            visit(child, inner, inner_scope)

    visit(tree, (), "")
    return found


def _own_nodes(statement: ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    """Yield a statement, unless it holds others, and its expressions outside of held statements."""
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass | ast.Global | ast.Nonlocal):
        return
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return
    if not any(isinstance(child, ast.stmt) for child in ast.walk(statement) if child != statement):
        yield statement
    parts = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr)]
    if isinstance(statement, ast.AnnAssign):
        parts = [statement.value] if statement.value is not None else []
    while parts:
        part = parts.pop(0)
        yield part
        if not isinstance(part, ast.JoinedStr):
            parts += [child for child in ast.iter_child_nodes(part) if isinstance(child, ast.expr)]


def _mutations(node: ast.expr | ast.stmt) -> Iterator[str]:
    """Yield what a node can become."""
    match node:
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Delete() | ast.AugAssign():
            yield "pass"
        case ast.Continue():
            yield "break"
        case ast.Break():
            yield "continue"
        case ast.Compare(ops=[operator], comparators=[right]):
            yield ast.unparse(ast.Compare(node.left, [_COMPARISONS[type(operator)]()], [right]))
        case ast.BoolOp():
            other = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
            yield f"({ast.unparse(ast.BoolOp(other, node.values))})"
        case ast.UnaryOp(op=ast.Not()):
            yield f"({ast.unparse(node.operand)})"
        case ast.IfExp():
            yield ast.unparse(ast.IfExp(node.test, node.orelse, node.body)).join("()")
        case ast.BinOp() if type(node.op) in _OPERATORS:
            changed = ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
            yield f"({ast.unparse(changed)})"
        case ast.Constant(value=bool() as value):
            yield repr(not value)
        case ast.Constant(value=int() as value):
            yield repr(value + 1)
        case ast.Constant(value=str() as value) if " " not in value:  # a sentence is no behaviour
            yield repr(value + "x")


class Checkout:
    """A copy of the tree in which one fault at a time is seeded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._python = folder / ".venv" / "bin" / "python"
        shutil.rmtree(folder, ignore_errors=True)  # it may have another commit
        subprocess.run(["git", "worktree", "prune"], check=True)
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", str(folder), "HEAD"], check=True
        )
        subprocess.run(["cp", "-al", str(ROOT / ".venv"), str(folder / ".venv")], check=True)
        install = "-m pip install --quiet --no-deps --no-build-isolation --editable ."
        subprocess.run([self._python, *install.split()], cwd=folder, check=True)

    def is_caught(self, fault: Fault, site: Site, tests: Sequence[str]) -> bool:
        """Return whether a test fails or hangs with a fault, and passes without it."""
        path = self._folder / site.path
        original = path.read_bytes()
        path.write_bytes(_seeded(original, fault, site))
        try:
            is_caught = self._fails(tests)
        finally:
            path.write_bytes(original)
        return is_caught and not self._fails(self._last_failed(tests))

    def _last_failed(self, tests: Sequence[str]) -> Sequence[str]:
        """Return the test that failed, or the first one of a file that was not imported."""
        found = self._folder / ".pytest_cache" / "v" / "cache" / "lastfailed"
        failed = json.loads(found.read_bytes()) if found.is_file() else {}
        return [one for one in tests if failed.keys() & {one, one.partition("::")[0]}][:1] or tests

    def _fails(self, tests: Sequence[str]) -> bool:
        chosen = self._folder / "build" / "chosen-tests.txt"
        chosen.parent.mkdir(exist_ok=True)
        chosen.write_text("".join(f"{test}\n" for test in tests), encoding="utf-8")
        command = [str(self._python), "-m", "pytest", "-x", "-q", "-n0", "-m", ""]
        command += [f"--timeout={TEST_TIMEOUT_S}", "--cache-clear", f"@{chosen}"]
        try:
            done = subprocess.run(
                command,
                cwd=self._folder,
                capture_output=True,
                timeout=RUN_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def _seeded(source: bytes, fault: Fault, site: Site) -> bytes:
    lines = source.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    begin = starts[site.start[0] - 1] + site.start[1]
    end = starts[site.end[0] - 1] + site.end[1]
    return source[:begin] + fault.after.encode() + source[end:]


def _try_all(
    faults: Sequence[Fault], coverage: Coverage, *, jobs: int, most_tests: int | None
) -> Iterator[tuple[Fault, str]]:
    """Yield each fault with what became of it: caught, survived, untested or gone; in order."""
    free: SimpleQueue[Checkout] = SimpleQueue()
    for number in range(jobs):
        free.put(Checkout(ROOT / "build" / f"seeded-{number}"))

    def attempt(fault: Fault) -> str:
        site = locate(fault)
        if site is None:
            return "gone"
        tests = coverage.tests(site)[:most_tests]
        if not tests:
            return "untested"
        checkout = free.get()
        try:
            return "caught" if checkout.is_caught(fault, site, tests) else "survived"
        finally:
            free.put(checkout)

    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(faults, pool.map(attempt, faults), strict=True)


def draw(coverage: Coverage, *, wanted: int, jobs: int) -> None:
    """Draw faults until the list has as many as wanted that the tests have caught.

    Those of the list whose code is gone are replaced.
    """
    chance = random.Random(SEED)
    by_statement: defaultdict[tuple[str, str, int], list[Fault]] = defaultdict(list)
    for path in _files():
        if path.parts[0] != "benchmarks":
            for fault, site in faults_of(path):
                by_statement[fault.path, fault.scope, site.line].append(fault)
    statements = sorted(by_statement)
    chance.shuffle(statements)
    drawn = (chance.choice(by_statement[statement]) for statement in statements)
    caught = [fault for fault in _listed() if locate(fault) is not None]
    ends: Counter[str] = Counter()
    while len(caught) < wanted:
        batch = list(itertools.islice(drawn, wanted - len(caught)))
        for fault, end in _try_all(batch, coverage, jobs=jobs, most_tests=MOST_TESTS_WHEN_DRAWN):
            ends[end] += 1
            _print(fault, end)
            if end == "caught" and fault not in caught:
                caught.append(fault)
    FAULTS.write_text(
        json.dumps([asdict(fault) for fault in caught], indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
    sys.stdout.write(f"{dict(ends)}\n")


def _listed() -> list[Fault]:
    return [Fault(**entry) for entry in json.loads(FAULTS.read_text(encoding="utf-8"))]


def check(coverage: Coverage, *, jobs: int) -> int:
    """Seed all faults of the list; the exit code is 1 unless each is caught."""
    ends: Counter[str] = Counter()
    for fault, end in _try_all(_listed(), coverage, jobs=jobs, most_tests=None):
        ends[end] += 1
        if end != "caught":
            _print(fault, end)
    sys.stdout.write(f"{dict(ends)}\n")
    return int(ends.total() > ends["caught"])


def _print(fault: Fault, end: str) -> None:
    change = f"{fault.before[:60]!r} -> {fault.after[:60]!r}"
    sys.stdout.write(f"{end:9} {fault.path}:{fault.scope} {change}\n")
    sys.stdout.flush()


def main() -> int:
    """Draw the list, or check that all of its faults are caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("draw", "check"))
    parser.add_argument("--wanted", type=int, default=100, help="faults to draw")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--contexts", type=Path, default=Path("build/contexts"))
    options = parser.parse_args()
    if changed := _git("status", "--porcelain", "--", *MEASURED):
        sys.exit(f"commit this first, faults are seeded into a checkout of HEAD:\n{changed}")
    coverage = Coverage(options.contexts)
    if options.verb == "draw":
        draw(coverage, wanted=options.wanted, jobs=options.jobs)
        return 0
    return check(coverage, jobs=options.jobs)


if __name__ == "__main__":
    sys.exit(main())
