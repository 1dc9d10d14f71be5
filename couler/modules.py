"""The project's own modules that a source imports, and the data files of their packages."""

from __future__ import annotations

import ast
import base64
import functools
import os
import re
import sys
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from itertools import accumulate
from pathlib import Path

from couler.ir.imports import absolute_name, imports_of
from couler.ir.workflow import CodeFile

if t.TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_LIBRARY = Path(os.__file__).parent
_ROOTS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_PRIVATE = re.compile(
    r".*\.env(\..*)?|[._]netrc|\.pypirc|\.npmrc|\.htpasswd|\.git-credentials"
    r"|id_(rsa|dsa|ecdsa|ed25519)(?!\.(pub|py)$)(\..*)?|.*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk)"
    r"|(.*[-_.])?credentials?(\..*)?|(.*[-_.])?service[-_]?account(\..*)?|kube[-_.]?config"
    r"|(.*[-_.])?secrets?\.txt|.*\.(tfvars|tfstate)(\..*)?|(.*[-_.])?vault\.ya?ml|rclone\.conf"
    r"|(.*[-_.])?(credentials?|secrets?)([-_.].*)?\.(ya?ml|json|toml|ini|cfg|conf)"
    r"|(.*[-_.])?(passwords?|api[-_.]?keys?)\.(ya?ml|json|toml|ini|cfg|conf|csv|txt)"
    r"|env\.(prod|production|dev|development|stage|staging|test|local)",
    re.IGNORECASE,
)
"""Names of files that hold secrets."""
_PRIVATE_FOLDERS = frozenset(
    (".git", ".ssh", ".aws", ".kube", ".gnupg", ".docker", ".azure", "secrets")
)
_NO_CODE = frozenset(("__pycache__", "node_modules", ".git"))
_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----")


def is_installed(file: Path) -> bool:
    """Return whether a file is of the standard library or of an installed package."""
    is_library = file.is_relative_to(_LIBRARY)  # which is around site-packages
    return is_library or not {"site-packages", "dist-packages"}.isdisjoint(file.parts)


def project_modules(source: str | bytes, package: str = "") -> dict[str, Path]:
    """Return the files of modules that are not installed: what a source imports, and these import.

    They are the project's own, by their full names, also where it is installed as editable. Of a
    module in a zip file that is the file.
    """
    found: dict[str, Path] = {}
    waiting = [*_resolved(source, package)]
    for name in waiting:  # which grows
        around = name.rpartition(".")[0]
        if name in found or name.partition(".")[0] in ("", "couler"):
            continue
        file = _file(name)
        if file and not is_installed(file):
            found[name] = file
            inside = name if file.stem == "__init__" else around
            waiting += [
                *_resolved(file.read_bytes(), inside),
                *accumulate(around.split("."), "{}.{}".format),
            ]
    return found


def imported_outside(source: str) -> list[str]:
    """Return what a source needs of a package around it, as it names it."""
    needed = {name for name, is_needed in imports_of(source) if is_needed}
    packages = {name for name in needed if name.startswith(".") and name.strip(".")}
    return sorted(packages - {name for name in packages if name.rpartition(".")[0] in packages})


@functools.lru_cache(maxsize=256)
def imports_by_name(source: str | bytes) -> bool:
    """Return whether a source imports modules by names that are known only at run time."""
    with suppress(SyntaxError, ValueError, RecursionError):  # it is no Python
        return any(
            getattr(one.func, "attr", getattr(one.func, "id", ""))
            in ("import_module", "__import__", "iter_modules", "walk_packages")
            and not isinstance(name, ast.Constant)
            for one in ast.walk(ast.parse(source))
            if isinstance(one, ast.Call)
            for name in one.args[:1]
        )
    return False


def _file(name: str) -> Path | None:
    """Return the file of a module, if it has one."""
    spec = _find(name, sys.path)
    file = Path(getattr(spec.loader, "archive", spec.origin or "") if spec else "")
    return file if file.is_file() else None


def _resolved(source: str | bytes, package: str) -> Iterator[str]:
    """Yield the full names of what a source of a package imports."""
    return (absolute_name(name, package) for name, _ in imports_of(source))


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


def project_root(folder: Path) -> Path:
    """Return the folder of the project that a folder is in; itself if it is in none."""
    around = (folder, *folder.parents)
    return next((one for one in around if any((one / name).exists() for name in _ROOTS)), folder)


def module_path(name: str, file: Path) -> str:
    """Return where a module is below a folder that is importable."""
    return name.replace(".", "/") + ("/__init__.py" if file.stem == "__init__" else ".py")


def packages_of(own: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    """Yield the outermost packages among modules, with their folders."""
    packages = {name: file.parent for name, file in own.items() if file.name == "__init__.py"}
    for name, folder in packages.items():
        if name.rpartition(".")[0] not in packages:
            yield name, folder


def shippable_files(folder: Path, root: Path, left_out: list[Path]) -> Iterator[Path]:
    """Yield the files below a folder that may travel; add those that must not to `left_out`.

    These may hold secrets, or are links out of the project. Hidden files, virtual environments and
    what a `.gitignore` of the project names do not travel either.
    """
    roots = (folder.resolve(), root.resolve())
    ignoring = _ignored_around(folder, root)
    for path, folders, names in os.walk(folder, followlinks=True):
        here = Path(path)
        around_here = {one.resolve() for one in (here, *here.parents)}
        ignoring = [one for one in ignoring if here.is_relative_to(one[0])]
        if ".gitignore" in names and (spec := _ignored_in(here)):
            ignoring.append((here, spec))
        ends = dict.fromkeys(names, "") | dict.fromkeys(folders, "/")
        folders.clear()
        for name, end in sorted(ends.items()):
            one = here / name
            target = one.resolve()
            if (
                name in _NO_CODE
                or not (end or one.is_file())
                or target in around_here  # a link to a folder around it
                or (one / "pyvenv.cfg").exists()
            ):
                continue
            inside = [target.relative_to(top) for top in roots if target.is_relative_to(top)]
            places = {name, *(inside[0] if inside else target).parts}
            if places & _PRIVATE_FOLDERS or (not end and is_private(one)):
                left_out.append(one)
            elif name[0] == "." or _is_ignored(one, ignoring, end):
                continue
            elif not inside:
                left_out.append(one)
            elif end:
                folders.append(name)
            else:
                yield one


def is_ignored(module: Path) -> bool:
    """Return whether a `.gitignore` of its project names a module that a person wrote."""
    return not re.fullmatch(r"_?version\.py", module.name) and _is_ignored(
        module, _ignored_around(module, project_root(module.parent))
    )


def _ignored_around(path: Path, root: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    """Return what is ignored in the folders around a path, from the root of its project on."""
    return [
        (one, spec)
        for one in path.parents
        if one.is_relative_to(root) and (spec := _ignored_in(one))
    ]


def _ignored_in(folder: Path) -> GitIgnoreSpec | None:
    from pathspec import GitIgnoreSpec

    file = folder / ".gitignore"
    if not file.is_file():
        return None
    return GitIgnoreSpec.from_lines(file.read_text(errors="replace").splitlines())


def _is_ignored(path: Path, ignoring: Iterable[tuple[Path, GitIgnoreSpec]], end: str = "") -> bool:
    return any(
        spec.match_file(path.relative_to(folder).as_posix() + end) for folder, spec in ignoring
    )


def is_private(file: Path) -> bool:
    """Return whether a file may hold secrets: by its name, that of its target, its beginning."""
    with file.open("rb") as opened:
        return any(_PRIVATE.fullmatch(one.name) for one in (file, file.resolve())) or bool(
            _KEY.search(opened.read(4096))
        )


def code_file(path: str, data: bytes) -> CodeFile:
    """Return a file as the IR has it."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return CodeFile(path=path, base64=base64.b64encode(data).decode())
    return CodeFile(path=path, text=text)
