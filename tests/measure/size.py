"""How large the repository is, and the budget that it is held to: ``python -m tests.measure.size``.

Without an option the figures are printed; ``--check`` fails unless they are those of the budget;
``--write`` lowers the budget to them. A figure above its budget needs a decision page: its number
is raised by hand, beside the name of that page.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUDGET = Path(__file__).with_name("budget.toml")
PRODUCT = ("couler", "ir", "optimizers", "backends")
MEASURED = (*PRODUCT, "benchmarks")
SMALL_MODULE_LINES = 150
FULL_FOLDER_FILES = 30
DATA = (".toml", ".json", ".yaml", ".yml", ".txt", ".md", ".sql", ".css", ".svg", ".ini")
TEMPLATES = (".j2", ".jinja")
GOLDEN_DAGS = Path("tests/golden/airflow")


@dataclass
class Code:
    """What is counted in Python modules."""

    statements: int = 0
    imports: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    function_lines: list[int] = field(default_factory=list)

    def add(self, tree: ast.Module) -> None:
        """Count a module; a bare constant, such as a docstring, is no statement."""
        for node in ast.walk(tree):
            if not isinstance(node, ast.stmt):
                continue
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            self.statements += 1
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.imports += 1
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name] += 1
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.function_lines.append((node.end_lineno or node.lineno) - node.lineno + 1)


def figures() -> dict[str, int]:
    """All figures of the repository by their names in the budget."""
    files = [path for path in _tracked() if path.parts[0] in (*MEASURED, "tests")]
    product, tests = Code(), Code()
    trees = {}
    for path in files:
        if path.suffix != ".py" or path.is_relative_to(GOLDEN_DAGS):
            continue
        tree = ast.parse((ROOT / path).read_bytes())
        if path.parts[0] == "tests":
            tests.add(tree)
        else:
            product.add(tree)
            trees[path] = tree
    lines = sorted(product.function_lines)
    folders = Counter(path.parent for path in trees)
    return {
        "statements": product.statements,
        "statements_without_imports": product.statements - product.imports,
        "modules": len(trees),
        "classes": product.classes.total(),
        "class_names_used_twice": sum(n > 1 for n in product.classes.values()),
        "largest_folder_files": max(folders.values()),
        "folders_above_30_files": sum(n > FULL_FOLDER_FILES for n in folders.values()),
        "small_modules_with_one_importer": len(small_modules(trees)),
        "function_lines_median": int(statistics.median(lines)),
        "function_lines_p90": lines[len(lines) * 9 // 10],
        "function_lines_largest": lines[-1],
        "shell_bytes": _bytes(files, (".sh",)),
        "template_bytes": _bytes(files, TEMPLATES),
        "data_bytes": _bytes(files, DATA),
        "test_statements": tests.statements,
        "test_fake_lines": sum(
            (ROOT / path).read_bytes().count(b"\n")
            for path in files
            if path.is_relative_to("tests/fakes") and path.suffix == ".py"
        ),
        "golden_bytes": sum(
            (ROOT / path).stat().st_size for path in files if path.is_relative_to("tests/golden")
        ),
    }


def budget() -> dict[str, int]:
    """The largest allowed value of each figure."""
    numbers: dict[str, int] = tomllib.loads(BUDGET.read_text(encoding="utf-8"))["size"]
    return numbers


def small_modules(trees: Mapping[Path, ast.Module]) -> list[Path]:
    """Modules below 150 lines of code that exactly one other module imports."""
    names = {_module_name(path): path for path in trees}
    importers: defaultdict[Path, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for name in _imported(tree):
            found = names.get(name) or names.get(name.rpartition(".")[0])
            if found is not None and found != path:
                importers[found].add(path)
    return sorted(
        path
        for path, tree in trees.items()
        if path.name != "__init__.py"
        and len(importers[path]) == 1
        and _code_lines(tree) < SMALL_MODULE_LINES
    )


def _tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    paths = [Path(name) for name in listed.split("\0") if name]
    return [path for path in paths if (ROOT / path).is_file() and not (ROOT / path).is_symlink()]


def _code_lines(tree: ast.Module) -> int:
    """Lines that some statement or expression, docstrings apart, stands on."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr | ast.arg | ast.alias):
            lines.update((node.lineno, node.end_lineno or node.lineno))
    return len(lines)


def _module_name(path: Path) -> str:
    parts = path.with_suffix("").parts
    parts = parts if parts[0] in ("couler", "benchmarks") else ("couler", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _bytes(files: Iterable[Path], endings: tuple[str, ...]) -> int:
    """Bytes of the product's and the benchmarks' files with these endings."""
    return sum(
        (ROOT / path).stat().st_size
        for path in files
        if path.parts[0] in MEASURED and path.suffix in endings
    )


def _write(current: Mapping[str, int]) -> None:
    """Lower the budget to the current figures, line by line, so that comments stay."""
    allowed = budget()
    lines = []
    for line in BUDGET.read_text(encoding="utf-8").splitlines():
        name = line.partition("=")[0].strip()
        if name in current and current[name] < allowed[name]:
            line = line.replace(str(allowed[name]), str(current[name]), 1)
        lines.append(line)
    BUDGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Print each figure beside its budget; the exit code of ``--check`` is 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="print only what differs")
    parser.add_argument("--write", action="store_true", help="lower the budget to these figures")
    parser.add_argument("--small-modules", action="store_true", help="list them")
    options = parser.parse_args()
    current = figures()
    if options.write:
        _write(current)
    allowed = budget()
    for name, value in current.items():
        if not options.check or value != allowed[name]:
            sys.stdout.write(f"{name:34} {value:>9,} {allowed[name]:>9,}\n")
    if options.small_modules:
        paths = [path for path in _tracked() if path.suffix == ".py" and path.parts[0] in MEASURED]
        trees = {path: ast.parse((ROOT / path).read_bytes()) for path in paths}
        sys.stdout.writelines(f"{path}\n" for path in small_modules(trees))
    if options.check and any(value > allowed[name] for name, value in current.items()):
        sys.stdout.write(
            "above the budget: make it smaller, or raise the budget by a decision page\n"
        )
        return 1
    if options.check and current != allowed:
        sys.stdout.write("below the budget: run `make budget` and commit what it lowers\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
