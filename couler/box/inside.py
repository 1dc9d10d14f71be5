"""The processes that a program is built and judged in: ``python -I -S -c ... < SPEC``."""

from __future__ import annotations

import ast
import builtins
import gc
import importlib
import json
import os
import pkgutil
import sys
import sysconfig
import typing as t
from pathlib import Path

from couler.box import walls
from couler.box.answer import ForgedError, read_answer
from couler.box.ending import IS_LONG, OUT_OF_MEMORY, UP
from couler.box.shipped import shipped_functions
from couler.dsl._context import ProgramError
from couler.dsl.checks import installed_engines
from couler.ir.diagnostics import Diagnostic
from couler.ir.serialize import to_tree
from couler.ir.verify import verify
from couler.ir.workflow import Workflow
from couler.stages.programs import LoadError, load_program

_ALSO = ("couler.argo", "couler.stages.programs")
_PACKAGES = ("couler.core", "couler.dsl", "couler.operations", "couler.steps")
_LATER = (
    *("colorsys", "difflib", "json", "linecache", "traceback", "unicodedata", "yaml", "zoneinfo"),
)
"""Modules that are loaded when something is wrong, or late: by jobs that are given as YAML."""


def main() -> t.NoReturn:
    """Read what to build, go behind the walls, and build it."""
    spec = json.load(sys.stdin)
    status = spec["status"]
    libc = walls.system_calls()
    try:
        walls.end_with_parent(libc)
        _import_everything()
        shown, hidden = _needed_files()
        gc.freeze()  # what is loaded stays, and need not be looked at or copied by the children
        gc.enable()
        walls.gain_nothing(libc)
        given, result = os.pipe()
        judging = _fork_judge(libc, given, result, spec)
        walls.enter_namespaces(libc)
        walls.end_with_parent(libc)  # once more: new credentials undo it
        child = os.fork()
    except (walls.WallError, OSError) as error:
        os.write(status, f"{error}\n".encode())
        os._exit(1)
    if child == 0:
        _inside(libc, spec, (given, result), shown, hidden)
    for end in (given, result, spec["result"]):
        os.close(end)
    _, ended, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    code = os.waitstatus_to_exitcode(ended)
    judged = os.waitstatus_to_exitcode(os.waitpid(judging, 0)[1])
    end_of_all = {"code": code, "cpu_s": seconds, "judge": judged}
    os.write(status, f"{json.dumps(end_of_all)}\n".encode())
    os._exit(0)


def _fork_judge(libc: t.Any, given: int, result: int, spec: dict[str, t.Any]) -> int:
    """Start the process that verifies, before this one has seen anything of the program."""
    child = os.fork()
    if child == 0:
        walls.end_with_parent(libc)
        os.close(result)
        os.close(spec["status"])
        judge(given, spec["result"], spec)
    return child


def _inside(
    libc: t.Any,
    spec: dict[str, t.Any],
    pipe: tuple[int, int],
    shown: list[str],
    hidden: list[str],
) -> t.NoReturn:
    """Go behind the walls, and build."""
    given, result = pipe
    status = spec["status"]
    for end in (given, spec["result"]):  # they are the judge's
        os.close(end)
    try:
        walls.end_with_parent(libc)
        walls.show_only(libc, shown, hidden, f"{spec['name']}\n{spec['source']}")
        walls.give_up_powers(libc)
        walls.limit_resources(spec["limits"])
        walls.check_files(shown)
        walls.filter_calls(libc)
        walls.check_calls(libc)
        os.write(status, UP)
    except (walls.WallError, OSError) as error:
        os.write(status, f"{error}\n".encode())
        os._exit(1)
    os.close(status)
    code = 0
    if spec["source"]:
        try:
            _answer(result, spec["name"])
        except MemoryError:
            code = OUT_OF_MEMORY
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _import_everything() -> None:
    """Load what building needs, while there are files."""
    for package in _PACKAGES:
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            if ".programs" not in module.name and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in (*_ALSO, *_LATER):
        importlib.import_module(name)
    Workflow.model_rebuild()  # which loads plugins of pydantic
    installed_engines()  # it reads what is installed, and remembers it


def _needed_files() -> tuple[list[str], list[str]]:
    """Return what Python and Couler may read later, and folders of others in between."""
    paths = sysconfig.get_paths()
    standard = {os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib")}
    found = set(standard)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name == "__main__":
            continue
        top = sys.modules.get(name.partition(".")[0])
        own = [*getattr(top, "__path__", ()), *getattr(module, "__path__", ())]
        found.update(map(os.path.realpath, own or [file]))
    hidden = [
        os.path.join(folder, name)
        for folder in sorted(standard)
        for name in ("site-packages", "dist-packages", "test", "idlelib", "ensurepip")
    ]
    return sorted(found), hidden


def _answer(result: int, name: str) -> None:
    """Build the program, and write what came of it."""
    answer: dict[str, t.Any] = {}
    try:
        loaded = load_program(name, read=read_without_bodies)
        answer["workflow"] = to_tree(loaded.workflow)
        found: t.Sequence[Diagnostic] = loaded.diagnostics
    except LoadError as error:
        found = error.diagnostics
        if isinstance(error.__cause__, MemoryError):
            raise MemoryError from error
        answer["outside"] = isinstance(error.__cause__, OSError | ImportError)
        answer["failed"] = error.diagnostic.to_json()
    answer["diagnostics"] = [one.to_json() for one in found]
    write(result, answer)


_CHUNK = 1 << 16


def judge(given: int, told: int, spec: t.Mapping[str, t.Any]) -> t.NoReturn:
    """Read a result up to its end, verify it, and write what was found; then end the process."""
    bounds = {name: spec["limits"][name] for name in ("AS", "CPU", "CORE")}
    walls.limit_resources(bounds)
    result = _read(given, spec["result_bytes"])
    if result is None:
        os.write(told, IS_LONG)
    elif result:
        write(told, _judged(result, spec["name"]))
    os._exit(0)


def _read(given: int, most: int) -> bytes | None:
    """Read all that a build writes; None if that is too much."""
    held = bytearray()
    while chunk := os.read(given, _CHUNK):
        held += chunk
        if len(held) > most:
            return None
    return bytes(held)


def _judged(result: bytes, name: str) -> dict[str, t.Any]:
    try:
        answer = read_answer(result, name, name)
        found = () if answer.workflow is None else tuple(verify(answer.workflow))
    except ForgedError as error:
        return {"forged": str(error)}
    except RecursionError:
        return {"forged": "it is nested too deep"}
    if answer.workflow is None and not answer.diagnostics:
        return {"forged": "there is no workflow, and no reason"}
    return {
        "workflow": None if answer.workflow is None else to_tree(answer.workflow),
        "diagnostics": [one.to_json() for one in answer.diagnostics],
        "verified": [one.to_json() for one in found],
        "failed": None if answer.failed is None else answer.failed.to_json(),
        "outside": answer.is_outside,
    }


def write(end: int, tree: object) -> None:
    """Write a tree as JSON, all of it."""
    text = memoryview(json.dumps(tree).encode())
    while text:
        text = text[os.write(end, text) :]


_NAME = "__couler_body_of_a_step__"


class StepBodyError(ProgramError):
    """The body of a step was reached while its workflow is built."""


def _refuse(name: str) -> t.NoReturn:
    raise StepBodyError(
        "CLR626",
        f'the function "{name}" is run while the workflow is built, but it is shipped: it runs as '
        "a step. Call it inside `with couler.Workflow(...):`, where a call makes a step, and do "
        "not call one step from within another",
    )


def read_without_bodies(path: str) -> ast.Module:
    """Return a program in which the functions that are shipped refuse to run."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
    for function in shipped_functions(tree):
        call = ast.Call(ast.Name(_NAME, ast.Load()), [ast.Constant(function.name)], [])
        # What stands behind it is not reached, but tells Python the variables of the function.
        refusal = ast.Expr(call)
        ast.copy_location(refusal, function.body[0])
        ast.fix_missing_locations(refusal)
        function.body.insert(0, refusal)
    setattr(builtins, _NAME, _refuse)
    return tree
