"""Packages that scripts import, and those that their images lack."""

from __future__ import annotations

import ast
import functools
import re
import shlex
import sys
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

from couler.config_files import read_text, read_toml
from couler.errors import ConfigurationError
from couler.ir.diagnostics import Diagnostic
from couler.ir.imports import imports_of
from couler.ir.semantics.wire import dump_json
from couler.ir.walk import steps_by_path
from couler.ir.workflow import AUTO_IMAGE, CodeFile, Script, Step, Workflow
from couler.modules import is_installed

_OF_PROJECT = (
    ' The image must have modules of the project: say image="auto", or name one that has the '
    "project installed."
)
_CHANGED_PATH = re.compile(r"sys\.path(\.|\s*[+=]|\[[^\n]*\]\s*=)")
_OF_COULER = (
    " Of couler, steps need File and Directory at most: write `from couler import File` at the top "
    "of the program, not in the function; they are shipped with it."
)
_LINUX = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "python_full_version": ".".join(map(str, sys.version_info[:3])),
    "python_version": ".".join(map(str, sys.version_info[:2])),
    "sys_platform": "linux",
}
"""What environment markers are compared with: a pod, with the Python that runs this program."""
_COMPARED: Mapping[type[ast.cmpop], Callable[[t.Any, t.Any], bool]] = {
    ast.Eq: fnmatchcase,  # "3.12.*"
    ast.NotEq: lambda left, right: not fnmatchcase(left, right),
    ast.Lt: lambda left, right: left < right,
    ast.LtE: lambda left, right: left <= right,
    ast.Gt: lambda left, right: left > right,
    ast.GtE: lambda left, right: left >= right,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


_SOURCES = {"git": " @ git+", "url": " @ ", "registry": "--extra-index-url "}


def default_image() -> str:
    """Return the image of typed steps that name none: the Python that runs this program."""
    return f"python:{_LINUX['python_version']}-slim"


def install_command(packages: Iterable[str]) -> str:
    """Return the command of a shell that installs packages, and says nothing if that succeeds."""
    return (
        "python -m pip install -q --disable-pip-version-check --root-user-action=ignore "
        f"{shlex.join(packages)}"
    )


def check_imports(engine: str, workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield a warning of each script whose modules the default image does not have."""
    folder = Path(workflow.source.file if workflow.source else "").absolute().parent
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
            yield from _check_imports(engine, step, step.action, path, workflow.code, folder)


def _check_imports(
    engine: str, step: Step, script: Script, path: str, code: Iterable[CodeFile], folder: Path
) -> Iterator[Diagnostic]:
    is_clear = script.image == default_image() and not _CHANGED_PATH.search(script.source)
    known = {one.path: one.text for one in code if one.path in script.files}
    texts = [script.source, *known.values()] if is_clear and script.is_python else []
    imported = [name for text in texts for name, is_needed in imports_of(text) if is_needed]
    needed = {name.partition(".")[0] for name in imported}
    own = {path.partition("/")[0].removesuffix(".py") for path in known}
    lacking = needed - sys.stdlib_module_names - {"", *own}
    missing = _not_brought(lacking, script.packages) if lacking else {}
    if missing and all(one.name != "PYTHONPATH" for one in step.env):
        local = _own({*missing} - {"couler"}, folder)
        added = [package for name, package in missing.items() if name not in {"couler", *local}]
        install = f"Write packages={dump_json([*script.packages, *added])}, or name"
        yield Diagnostic(
            "CLR303",
            f'{engine}: step "{path}" imports {", ".join(missing)}, which the image '
            f"{script.image} does not have. {install if added else 'Name'} an image that does."
            f"{_OF_COULER * ('couler' in missing)}{_OF_PROJECT * bool(local)}",
            step=path,
            source=step.source,
            severity="warning",
        )


def _own(modules: set[str], folder: Path) -> set[str]:
    """Return the modules that are not installed, but that a program in a folder finds."""
    specs = [PathFinder.find_spec(one, [str(folder), *sys.path]) for one in modules]
    return {one.name for one in specs if one and one.origin and not is_installed(Path(one.origin))}


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


def read_lock(file: Path) -> dict[str, str]:
    """Return the versions for Linux of a uv.lock, poetry.lock or pylock.toml."""
    tree = read_toml(read_text(file), str(file)).tree
    try:
        found = [
            (distribution_name(one["name"]), one["version"])
            for one in _locked(tree.get("package", tree.get("packages", ())))
        ]
    except (AttributeError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{file}: it is no lock file: {error!r}") from error
    versions = dict(found)
    for name, version in found:
        if version != versions[name]:
            raise ConfigurationError(
                f"{file}: {name} has two versions for Linux, {version} and {versions[name]}, and "
                "no markers that tell them apart"
            )
    return versions


def lock_sources(file: Path) -> dict[str, str]:
    """Return where packages of a uv.lock are from, as pip is told: ` @ URL` or an option."""
    tree = read_toml(read_text(file), str(file)).tree
    return {
        distribution_name(one["name"]): _SOURCES[kind]
        + re.sub(r"(?:\?(?:[^#]*?(subdirectory=[^&#]+))?[^#]*)?#(\w+)$", r"@\2#\1", url).rstrip("#")
        for one in _locked(tree.get("package", ()))
        for kind, url in one.get("source", {}).items()
        if kind in _SOURCES and "://" in url and "//pypi.org/" not in url
    }


def _locked(listed: Iterable[Mapping[str, t.Any]]) -> Iterator[Mapping[str, t.Any]]:
    """Yield the packages of a lock that are installed on Linux, but for local projects."""
    needs = [
        (need["name"], _holds(need.get("marker", "")))
        for one in listed
        for need in one.get("dependencies", ())
        if isinstance(need, dict)  # as in uv.lock
    ]
    others = {name for name, _ in needs} - {name for name, is_needed in needs if is_needed}
    for one in listed:
        source = one.get("source", {})
        is_local = {*one, *source, source.get("type")} & {"directory", "editable", "virtual"}
        stated = one.get("marker", one.get("markers", one.get("resolution-markers", "")))
        markers = (
            stated.values() if isinstance(stated, dict) else [stated] * isinstance(stated, str)
        )
        is_for_linux = any(map(_holds, markers or stated))
        if one.get("version") and is_for_linux and not is_local and one["name"] not in others:
            yield one


def required_by(packages: Iterable[str]) -> set[str]:
    """Return the names of packages and of all that they need on Linux, as far as known here."""
    requires, _ = _installed()
    waiting = [one for one in packages if applies(one)]
    for requirement in waiting:  # which grows
        extras = requirement.partition("[")[2].partition("]")[0].replace(" ", "").split(",")
        needed = requires.get(distribution_name(requirement)) or ()
        waiting += [one for one in needed if one not in waiting and applies(one, extras)]
    return set(map(distribution_name, waiting))


def applies(requirement: str, extras: Iterable[str] = ("",), **here: str) -> bool:
    """Return whether the environment marker of a requirement holds on Linux, or `here`."""
    marker = requirement.partition(";")[2]
    return any(_holds(marker, extra=extra, **here) for extra in extras)


def _holds(marker: str, **known: str) -> bool:
    """Return whether an environment marker holds; one that cannot be read does."""
    text = marker.strip().replace("~=", ">=").replace("===", "==")
    try:
        return not text or _value(ast.parse(text, mode="eval").body, {**_LINUX, **known})
    except (KeyError, SyntaxError, ValueError):
        return True


def _value(node: ast.expr, known: Mapping[str, str]) -> t.Any:
    """Return what a part of a marker is: a truth, or a text whose numbers compare as such."""
    match node:
        case ast.BoolOp(op, values):
            return (all if isinstance(op, ast.And) else any)(_value(one, known) for one in values)
        case ast.Compare(left, [op], [right]):
            return _COMPARED[type(op)](_value(left, known), _value(right, known))
    text = known.get(node.id, "") if isinstance(node, ast.Name) else str(ast.literal_eval(node))
    return re.sub(r"\d+", lambda number: number[0].zfill(4), text)


def fits(version: str, requirement: str) -> bool:
    """Return whether the release of a version is within what a requirement states."""
    stated = re.sub(r"~=\s*(([\d.]+)\.\d+)", r">=\1,==\2.*", requirement.partition(";")[0])
    for sign, bound in re.findall(r"([=!<>]=*)\s*([\w.*]+)", stated):
        left, right = (
            [*map(int, re.findall(r"\d+", re.split(r"[^\d.]", one)[0])), *[0] * 9][
                : bound.count(".") if "*" in bound else 9
            ]
            for one in (version, bound)
        )
        if ("<=>"[(left > right) - (left < right) + 1] in sign) == (sign == "!="):
            return False
    return "@" not in stated  # the address of a file


def installed_version(requirement: str) -> str | None:
    """Return the version of a distribution that is installed here."""
    try:
        return metadata.version(distribution_name(requirement))
    except (metadata.PackageNotFoundError, ValueError):  # it has no name
        return None


@functools.cache
def _installed() -> tuple[dict[str, list[str] | None], Mapping[str, list[str]]]:
    """Return what the distributions here require, and which of them have a module."""
    requires = {distribution_name(one.name or ""): one.requires for one in metadata.distributions()}
    return requires, metadata.packages_distributions()


def distribution_name(requirement: str) -> str:
    """Return the name of the distribution that is required, as pip compares it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement.strip())[0]).lower()
