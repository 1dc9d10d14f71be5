"""Packages that scripts import, and those that their images lack."""

from __future__ import annotations

import functools
import re
import shlex
import sys
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata

from couler.ir.diagnostics import Diagnostic
from couler.ir.imports import imports_of
from couler.ir.semantics.wire import dump_json
from couler.ir.walk import steps_by_path
from couler.ir.workflow import AUTO_IMAGE, CodeFile, Script, Step, Workflow

_CHANGED_PATH = re.compile(r"sys\.path(\.|\s*[+=]|\[[^\n]*\]\s*=)")
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


def check_imports(engine: str, workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield a warning of each script whose modules the default image does not have."""
    for path, step in steps_by_path(workflow):
        if isinstance(step.action, Script) and step.action.image == AUTO_IMAGE:
            yield Diagnostic(
                "CLR305",
                f'{engine}: the image of step "{path}" is {AUTO_IMAGE}, but the target '
                "does not say what the images of couler image are called. Say image=NAME",
                step=path,
                source=step.source,
                of_target=True,
            )
        elif isinstance(step.action, Script):
            yield from _check_imports(engine, step, step.action, path, workflow.code)


def _check_imports(
    engine: str, step: Step, script: Script, path: str, code: Iterable[CodeFile]
) -> Iterator[Diagnostic]:
    is_clear = script.image == default_image() and not _CHANGED_PATH.search(script.source)
    known = {one.path: one.text for one in code if one.path in script.files}
    texts = [script.source, *known.values()] if is_clear and script.is_python else []
    imported = [one for text in texts for one in imports_of(text)]
    needed = {name.partition(".")[0] for name, is_needed in imported if is_needed}
    own = {path.partition("/")[0].removesuffix(".py") for path in known}
    lacking = needed - sys.stdlib_module_names - {"", *own}
    missing = _not_brought(lacking, script.packages) if lacking else {}
    if missing and all(one.name != "PYTHONPATH" for one in step.env):
        added = [package for name, package in missing.items() if name != "couler"]
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
    brought = required_by(packages)
    found = {one: known.get(one, [one]) for one in sorted(modules)}
    is_known = requires.keys() >= set(map(distribution_name, packages))
    return {
        one: of[0]
        for one, of in found.items()
        if is_known and brought.isdisjoint(map(distribution_name, of))
    }


def locked_versions(tree: Mapping[str, t.Any]) -> dict[str, str]:
    """Return the versions of a uv.lock, poetry.lock or pylock.toml, but for local projects."""
    local = {"editable", "virtual", "directory"}
    return {
        distribution_name(one["name"]): one["version"]
        for one in tree.get("package", tree.get("packages", ()))
        if one.get("version") and local.isdisjoint(one.get("source", {}))
    }


def required_by(packages: Iterable[str]) -> set[str]:
    """Return the names of packages and of all that they need, as far as that is known here."""
    requires, _ = _installed()
    brought: set[str] = set()
    waiting = [*packages]
    for requirement in waiting:  # which grows
        name = distribution_name(requirement)
        needed = requires.get(name) if name not in brought else None
        waiting += [one for one in needed or () if "[" in requirement or "extra ==" not in one]
        brought.add(name)
    return brought


@functools.cache
def _installed() -> tuple[dict[str, list[str] | None], Mapping[str, list[str]]]:
    """Return what the distributions here require, and which of them have a module."""
    requires = {distribution_name(one.name or ""): one.requires for one in metadata.distributions()}
    return requires, metadata.packages_distributions()


def distribution_name(requirement: str) -> str:
    """Return the name of the distribution that is required, as pip compares it."""
    name = re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()
