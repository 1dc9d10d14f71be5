"""What is looked at before a program is taken apart: its size, its characters, its depth."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from couler.hidden import HIDDEN
from couler.ir.wording import counted

MOST_CHARACTERS = 200_000
MOST_NODES = 50_000
MOST_DEPTH = 100
MOST_DIGITS = 18
MOST_REPEATED = 10_000

UNREADABLE = "CLR601"
TOO_LARGE = "CLR602"

_COOKIE = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)


class RefusedTextError(Exception):
    """A program is refused before it is read; carries code, line and message."""

    def __init__(self, code: str, line: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.line = line


def parse(source: str) -> ast.Module:
    """Return a program as a tree of bounded size."""
    _check_text(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are the author's, and nobody's here
            tree = ast.parse(source)
    except SyntaxError as error:
        message = f"the program is no Python: {error.msg}"
        raise RefusedTextError(UNREADABLE, error.lineno or 1, message) from error
    except ValueError as error:
        raise RefusedTextError(UNREADABLE, 1, f"the program is no Python: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise RefusedTextError(TOO_LARGE, 1, _DEEP) from error
    _check_size(tree)
    return tree


_DEEP = (
    f"the program is nested too deep (more than {MOST_DEPTH} levels). Give parts of it names, or "
    "write lists in place of long chains of operators"
)


def _check_text(source: str) -> None:
    if len(source) > MOST_CHARACTERS:
        raise RefusedTextError(
            TOO_LARGE,
            1,
            f"the program has {len(source):,} characters, and at most {MOST_CHARACTERS:,} are "
            "read. Let steps fetch large texts where they run",
        )
    for number, line in enumerate(source.split("\n"), 1):
        found = HIDDEN.search(line.removesuffix("\r"))
        if found is not None:
            name = f"U+{ord(found[0]):04X}"
            raise RefusedTextError(
                UNREADABLE,
                number,
                f"the program holds {name}, which no reader sees or a terminal obeys. Write it as "
                "an escape",
            )
        cookie = _COOKIE.match(line) if number <= 2 else None
        if cookie is not None and cookie[1].lower() not in ("utf-8", "utf8"):
            message = f"the program says that it is written in {cookie[1]}; only UTF-8 is read"
            raise RefusedTextError(UNREADABLE, number, message)


def _check_size(tree: ast.Module) -> None:
    nodes = 0
    for depth, level in enumerate(_levels(tree)):
        nodes += len(level)
        if depth > MOST_DEPTH:
            line = next((one.lineno for one in level if hasattr(one, "lineno")), 1)
            raise RefusedTextError(TOO_LARGE, line, _DEEP)
        if nodes > MOST_NODES:
            raise RefusedTextError(
                TOO_LARGE,
                1,
                f"the program has more than {counted(MOST_NODES, 'part')}. Write loops in place of "
                "long lists",
            )


def _levels(tree: ast.AST) -> Iterator[list[ast.AST]]:
    level = [tree]
    while level:
        yield level
        level = [child for node in level for child in ast.iter_child_nodes(node)]
