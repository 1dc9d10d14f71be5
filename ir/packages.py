"""The packages of a script: those that its image lacks, and how they are installed there."""

from __future__ import annotations

import functools
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata

from couler.ir.diagnostics import Diagnostic
from couler.ir.imports import imports_of, own_modules
from couler.ir.values import dump_json
from couler.ir.workflow import Script, Step


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
        own = {name.partition(".")[0] for name in own_modules(script.source)}
        added = [package for name, package in missing.items() if name not in own]
        install = f"Write packages={dump_json([*script.packages, *added])}, or name"
        yield Diagnostic(
            "CLR303",
            f'{engine}: step "{path}" imports {", ".join(missing)}, which the image '
            f"{script.image} does not have. {install if added else 'Name'} an image that does.",
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
