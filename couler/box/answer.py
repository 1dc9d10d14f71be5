"""What comes out of the box: data that a stranger may have written, and is read as such."""

from __future__ import annotations

import json
import typing as t

from couler.errors import SerializationError
from couler.hidden import clean
from couler.ir.codes import CODES
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef
from couler.ir.serialize import from_tree
from couler.ir.workflow import Workflow

_MOST_TEXT = 2_000
_MOST_DIAGNOSTICS = 200
_MOST_LINE = 10_000_000


class ForgedError(Exception):
    """A result is none that building gives; the text says what is wrong with it."""


class Answer(t.NamedTuple):
    """A result that has the form of one, and is not verified yet."""

    workflow: Workflow | None
    diagnostics: tuple[Diagnostic, ...]
    failed: Diagnostic | None
    """Why the program ended before its workflow was built; also among the diagnostics."""
    verified: tuple[Diagnostic, ...]
    """What verifying found, where another process has done it."""
    is_outside: bool
    """It asked for a file, a module or a call of the system, and was refused."""


def read_answer(result: bytes, name: str, file: str) -> Answer:
    """Read what the process of a build wrote."""
    try:
        tree = json.loads(result, parse_constant=_no_constant)
        if not isinstance(tree, dict) or not isinstance(tree.get("diagnostics"), list):
            raise ForgedError("it has another form")
        diagnostics, verified = (
            tuple(_diagnostic(one, name, file) for one in listed[:_MOST_DIAGNOSTICS])
            for listed in (tree["diagnostics"], tree.get("verified") or ())
        )
        failed = tree.get("failed")
        workflow = tree.get("workflow")
        return Answer(
            None if workflow is None else from_tree(_placed(workflow, name, file), file=file),
            diagnostics,
            None if failed is None else _diagnostic(failed, name, file),
            verified,
            tree.get("outside") is True,
        )
    except SerializationError as error:
        raise ForgedError(clean(str(error))[:_MOST_TEXT]) from error
    except (ValueError, RecursionError) as error:
        raise ForgedError("it is no JSON that can be read") from error


def _no_constant(name: str) -> t.NoReturn:
    raise ForgedError(f"{name} is no JSON")


def _placed(tree: t.Any, name: str, file: str) -> t.Any:
    """Return a tree in which places name the file as the user knows it."""
    if isinstance(tree, list):
        return [_placed(one, name, file) for one in tree]
    if not isinstance(tree, dict):
        return tree
    if tree.keys() == {"file", "line"} and tree["file"] == name:
        return {**tree, "file": file}
    return {key: _placed(value, name, file) for key, value in tree.items()}


def _diagnostic(tree: object, name: str, file: str) -> Diagnostic:
    if not isinstance(tree, dict):
        raise ForgedError("a diagnostic has another form")
    code, message, severity = (tree.get(key) for key in ("code", "message", "severity"))
    if not all(isinstance(one, str) for one in (code, message, severity)):
        raise ForgedError("a diagnostic has another form")
    if code not in CODES or severity not in ("error", "warning"):
        raise ForgedError("a diagnostic is of no known kind")
    step, line = tree.get("step"), tree.get("line")
    shown = step if isinstance(step, str) else None
    place = None
    if isinstance(line, int) and 0 < line < _MOST_LINE:
        written = tree.get("file")
        where = file if written == name or not isinstance(written, str) else clean(written)
        place = SourceRef(file=where[:_MOST_TEXT], line=line)
    return Diagnostic(
        t.cast(str, code),
        clean(t.cast(str, message))[:_MOST_TEXT],
        step=None if shown is None else clean(shown)[:_MOST_TEXT],
        source=place,
        severity=t.cast(t.Any, severity),
    )
