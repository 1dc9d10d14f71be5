"""The processes that a program is built and judged in: ``python -I -S -c ... < SPEC``."""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import sys
import sysconfig
import typing as t

from couler.box import walls
from couler.box.ending import OUT_OF_MEMORY, UP
from couler.box.judge import judge, write
from couler.box.strip import read_without_bodies
from couler.dsl.checks import installed_engines
from couler.ir.diagnostics import Diagnostic
from couler.ir.serialize import to_tree
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
