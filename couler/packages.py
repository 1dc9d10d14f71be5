"""Modules and packages of this machine that scripts import, and those that their images lack."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from couler.ir.diagnostics import Diagnostic
from couler.ir.imports import imports_of
from couler.ir.semantics.wire import dump_json
from couler.ir.workflow import Script, Step

_LIBRARY = Path(os.__file__).parent
_OF_COULER = (
    " Of couler, steps need File and Directory at most: write `from couler import File` at the top "
    "of the program, not in the function; they are shipped with it."
)


def default_image() -> str:
    """Return the image of typed steps that name none: the Python that runs this program."""
    return f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"


def install_command(packages: Iterable[str]) -> str:
    """Return the command of a shell that installs packages, and says nothing if that succeeds."""
    command = "python -m pip install -q --disable-pip-version-check --root-user-action=ignore"
    return f"{command} {shlex.join(packages)}"


def check_imports(engine: str, step: Step, script: Script, path: str) -> Iterator[Diagnostic]:
    """Yield a warning of a script whose modules the default image does not have."""
    is_clear = script.image == default_image() and "sys.path" not in script.source
    imported = imports_of(script.source) if is_clear and script.is_python else ()
    needed = {name.partition(".")[0] for name, is_needed in imported if is_needed}
    lacking = needed - sys.stdlib_module_names - {""}
    missing = _not_brought(lacking, script.packages) if lacking else {}
    if missing and all(one.name != "PYTHONPATH" for one in step.env):
        own = {"couler", *(name.partition(".")[0] for name in own_modules(script.source))}
        added = [package for name, package in missing.items() if name not in own]
        install = f"Write packages={dump_json([*script.packages, *added])}, or name"
        yield Diagnostic(
            "CLR303",
            f'{engine}: step "{path}" imports {", ".join(missing)}, which the image '
            f"{script.image} does not have. {install if added else 'Name'} an image that does."
            f"{_OF_COULER * ('couler' in missing)}",
            step=path,
            source=step.source,
            severity="warning",
        )


def _not_brought(modules: set[str], packages: tuple[str, ...]) -> dict[str, str]:
    """Return the packages of modules that others do not bring; none if that is not known here."""
    requires, known = _installed()
    brought: set[str] = set()
    waiting = [*packages]
    for requirement in waiting:  # which grows
        name = _distribution(requirement)
        needed = requires.get(name) if name not in brought else None
        waiting += [one for one in needed or () if "[" in requirement or "extra ==" not in one]
        brought.add(name)
    found = {one: known.get(one, [one]) for one in sorted(modules)}
    is_known = requires.keys() >= set(map(_distribution, packages))
    return {
        one: of[0]
        for one, of in found.items()
        if is_known and brought.isdisjoint(map(_distribution, of))
    }


@functools.cache
def _installed() -> tuple[dict[str, list[str] | None], Mapping[str, list[str]]]:
    """Return what the distributions here require, and which of them have a module."""
    requires = {_distribution(one.name or ""): one.requires for one in metadata.distributions()}
    return requires, metadata.packages_distributions()


def _distribution(requirement: str) -> str:
    """Return the name of the distribution that is required, as pip compares it."""
    name = re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def own_modules(source: str) -> dict[str, Path]:
    """Return the files of modules that are not installed: what a source imports, and these import.

    They are the project's own, by their full names, also where it is installed as editable. Of a
    module in a zip file that is the file.
    """
    found: dict[str, Path] = {}
    views = _step_folders(), sys.path
    waiting = [*_resolved(source, "")]
    for name in waiting:  # which grows
        around = name.rpartition(".")[0]
        if name in found or name.partition(".")[0] in ("", "couler"):
            continue
        files = (_file(name, view) for view in views)
        file = next((one for one in files if one and not is_installed(one)), None)
        if file:
            found[name] = file
            inside = name if file.stem == "__init__" else around
            waiting += [*_resolved(file.read_bytes(), inside), around]
    return found


def missing_modules(source: str, own: Collection[str]) -> list[str]:
    """Return what a source needs of the project's own modules and no step finds, as named there."""
    needed = {name for name, is_needed in imports_of(source) if is_needed}
    packages = {name for name in needed if name.startswith(".") and name.strip(".")}
    relative = packages - {name for name in packages if name.rpartition(".")[0] in packages}
    folders = _step_folders() if own else []
    return sorted(relative.union(one for one in needed & {*own} if _is_other(one, folders)))


def _is_other(name: str, folders: Sequence[str]) -> bool:
    """Return whether a step does not find the module that a plain call finds."""
    there, here = _file(name, folders), _file(name, sys.path)
    return not there or (here is not None and there.read_bytes() != here.read_bytes())


def _file(name: str, folders: Sequence[str]) -> Path | None:
    """Return the file of a module, if it has one."""
    spec = _find(name, folders)
    file = Path(getattr(spec.loader, "archive", spec.origin or "") if spec else "")
    return file if file.is_file() else None


def _resolved(source: str | bytes, package: str) -> Iterator[str]:
    """Yield the full names of what a source of a package imports."""
    for name, _ in imports_of(source):
        with contextlib.suppress(ImportError):  # beyond the outermost package
            yield importlib.util.resolve_name(name, package)


def _find(name: str, folders: Sequence[str]) -> ModuleSpec | None:
    """Return where a module is, as an import in a new process finds it; nothing is imported."""
    package, _, last = name.rpartition(".")
    finders = [one.find_spec for one in sys.meta_path if hasattr(one, "find_spec")]
    if package:
        around = _find(package, folders)
        folders = [*(getattr(around, "submodule_search_locations", None) or ())]
        spec = PathFinder.find_spec(last, folders)  # by its name it asks for a package imported
        if spec:
            return spec
    return next(filter(None, (find(name, folders) for find in finders)), None)


def is_installed(file: Path) -> bool:
    """Return whether a file is of the standard library or of an installed package."""
    is_library = file.is_relative_to(_LIBRARY)  # which is around site-packages
    return is_library or not {"site-packages", "dist-packages"}.isdisjoint(file.parts)


def _step_folders() -> list[str]:
    """Return where a process of this machine finds modules that are not the standard library's."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    installed = [one for one in sys.path if is_installed(Path(one))]
    linked = (one for folder in installed for one in _linked(folder))
    return [*filter(os.path.isabs, given), *installed, *linked]


@functools.cache
def _linked(folder: str) -> list[str]:
    """Return the folders that the files of a `site-packages` link to."""
    return [
        os.path.join(folder, line.strip())
        for file in Path(folder).glob("*.pth")
        for line in file.read_text(errors="replace").splitlines()
    ]
