"""The files of the project that travel with a workflow: what its scripts import."""

from __future__ import annotations

import functools
import os
import re
import typing as t
from collections.abc import Mapping, Sequence
from pathlib import Path

from couler.dsl._context import shown_file
from couler.dsl.sources import SourceError
from couler.errors import ConfigurationError
from couler.ir.cachekey import text_digest
from couler.ir.policies import SourceRef
from couler.ir.workflow import CodeFile, Script
from couler.modules import (
    code_file,
    imported_outside,
    imports_by_name,
    is_ignored,
    is_private,
    module_path,
    packages_of,
    project_modules,
    project_root,
    shippable_files,
)

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder

_BY_NAME = re.compile(r"\b(import_module|__import__|pkgutil|runpy)\b")
"""What imports modules by names that only the run knows."""
_MOST_BYTES = 64 * 1024 * 1024
"""Most bytes of all files that travel with a workflow."""


class Code:
    """The files that travel with one workflow."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._files: dict[str, Path] = {}
        self._sources: dict[str, None] = {}
        self._left_out: dict[str, None] = {}
        self._project = functools.cache(_project)
        self._folders: dict[Path, dict[str, Path]] = {}

    def take(
        self,
        script: Script,
        written: str,
        step: str,
        origin: str,
        source: SourceRef | None = None,
    ) -> Script:
        """Return a script with the files that it imports, and with the digest of its code.

        `written` is what its author wrote of it, empty if that is all of it; `origin` is the file.
        """
        text = script.source if script.is_python else ""
        found = project_modules(text)
        own = {name: file for name, file in found.items() if file.suffix == ".py"}
        try:
            root, paths = self._project(os.path.abspath(origin))
        except ConfigurationError as error:
            self._builder.report("CLR105", str(error), source=source)
            return script
        inside = {
            name: file
            for name, file in own.items()
            if any(file.resolve().is_relative_to(one) for one in (root, *paths))
        }
        wrong = [*imported_outside(text), *(found.keys() - own.keys())]
        if wrong:
            self._builder.report(
                "CLR146",
                f'step "{step}": it imports {", ".join(sorted(wrong))}, which cannot travel: no '
                "package is around a step, and modules travel as source files. Import modules by "
                "their full names, or name an image that has them (image=...)",
                step=step,
                source=source,
            )
        elif own.keys() - inside.keys():
            self._builder.report(
                "CLR149",
                f'step "{step}": it imports {", ".join(sorted(own.keys() - inside.keys()))}, which '
                f"does not travel, as it is outside of the project ({root}). Name its folder in "
                "code_paths of [tool.couler], or an image that has it (image=...)",
                step=step,
                source=source,
                severity="warning",
            )
        self._check_files(inside, paths, step, source)
        by_name = ["it"] * imports_by_name(written or text) + [
            name for name, file in inside.items() if imports_by_name(file.read_bytes())
        ]
        if by_name and not paths:
            self._builder.report(
                "CLR149",
                f'step "{step}": {", ".join(by_name)} imports modules by names that only the run '
                "knows; these do not travel. Name their folder in code_paths of [tool.couler]",
                step=step,
                source=source,
                severity="warning",
            )
        whole = paths if inside or _BY_NAME.search(text) else ()
        if not own and not whole:
            return script.model_copy(update={"code": text_digest(written)}) if written else script
        from couler.dsl.used_code import used_code

        modules = {module_path(name, file): file for name, file in inside.items()}
        others = self._others(inside, whole, root)
        files = others | modules
        self._files |= files
        self._sources[text] = None
        missing: list[str] = []
        try:
            used = used_code(written or text, own, missing)
        except SourceError as error:
            file = own.get(str(error).partition(":")[0], Path(origin))
            reason = str(error).replace("<unknown>, line ", f"{shown_file(str(file))}:")
            self._builder.report("CLR146", f'step "{step}": {reason}', step=step, source=source)
            return script
        if missing:
            self._builder.report(
                "CLR122",
                f'step "{step}": it uses {", ".join(dict.fromkeys(missing))}, which exists only '
                "where the workflow is built; move what makes it out of that, or make it an "
                "argument",
                step=step,
                source=source,
            )
        known = [
            (path, _content(file)) for path, file in sorted(others.items()) if path not in modules
        ]
        digest = text_digest(repr((written or text, used, known)))
        return script.model_copy(update={"code": digest, "files": tuple(sorted(files))})

    def _check_files(
        self,
        modules: Mapping[str, Path],
        whole: Sequence[Path],
        step: str,
        source: SourceRef | None,
    ) -> None:
        """Report modules that may hold secrets, and those beside which files are left behind."""
        private = [shown_file(str(file)) for file in modules.values() if is_private(file)]
        if private:
            self._builder.report(
                "CLR147",
                f'step "{step}": it imports {", ".join(private)}, which may hold secrets by its '
                "name or its beginning, and does not travel. Hand secrets to steps by "
                "couler.create_secret; if there are none in it, give it another name",
                step=step,
                source=source,
            )
        around = [folder for _, folder in packages_of(modules)]
        for name, file in modules.items():
            travels = any(file.is_relative_to(one) for one in (*around, *whole))
            if not travels and b"__file__" in file.read_bytes():
                self._builder.report(
                    "CLR149",
                    f'step "{step}": {name} looks for files by its place (__file__), but beside a '
                    "module of no package none travel. Put it and them into a package, a folder "
                    "with __init__.py, or name the folder in code_paths of [tool.couler]",
                    step=step,
                    source=source,
                    severity="warning",
                )

    def _others(
        self, own: Mapping[str, Path], whole: Sequence[Path], root: Path
    ) -> dict[str, Path]:
        """Return the data files of packages, and the files of the folders that travel whole."""
        found: dict[str, Path] = {}
        for name, folder in packages_of(own):
            place = name.replace(".", "/")
            for inner, file in self._below(folder, root).items():
                if file.suffix != ".py":
                    found[f"{place}/{inner}"] = file
        for folder in whole:
            found = self._below(folder, root) | found
        return found

    def _below(self, folder: Path, root: Path) -> dict[str, Path]:
        """Return the files below a folder that travel, by their paths in it; found once."""
        if folder not in self._folders:
            left_out: list[Path] = []
            self._folders[folder] = {
                file.relative_to(folder).as_posix(): file
                for file in shippable_files(folder, root, left_out)
            }
            self._left_out |= dict.fromkeys(shown_file(str(one)) for one in left_out)
        return self._folders[folder]

    def files(self) -> tuple[CodeFile, ...]:
        """Return the files, by their paths; report what is wrong with them."""
        if self._left_out:
            self._builder.report(
                "CLR147",
                f"{', '.join(self._left_out)}: it may hold secrets, or a link leads out of the "
                "project, so it does not travel with the code. Hand secrets to the steps that need "
                "them by couler.create_secret, and put copies in place of links",
                source=self._builder.source,
                severity="warning",
            )
        ignored = [
            shown_file(str(file))
            for file in self._files.values()
            if file.suffix == ".py" and is_ignored(file.resolve())
        ]
        if ignored:
            self._builder.report(
                "CLR147",
                f"{', '.join(ignored)}: .gitignore names it, but it travels with the code, "
                "as a step imports it. If it holds secrets, hand them to steps by "
                "couler.create_secret",
                source=self._builder.source,
                severity="warning",
            )
        sizes = {path: file.stat().st_size for path, file in self._files.items()}
        if sum(sizes.values()) > _MOST_BYTES:
            largest = sorted(sizes, key=lambda path: -sizes[path])[:3]
            named = ", ".join(f"{shown_file(str(self._files[one]))}" for one in largest)
            self._builder.report(
                "CLR148",
                f"the code of the workflow takes {sum(sizes.values()):,} bytes, more than "
                f"{_MOST_BYTES:,}; the largest files are {named}. Name them in .gitignore, and "
                "hand data to steps as files (couler.File)",
                source=self._builder.source,
            )
            return ()
        from couler.dsl.plain import drop_unused_steps

        found = {path: code_file(path, one.read_bytes()) for path, one in self._files.items()}
        modules = {path: one.text for path, one in found.items() if path.endswith(".py")}
        data = [one.text for path, one in found.items() if path not in modules]
        for path, text in drop_unused_steps(modules, self._sources, data).items():
            found[path] = found[path].model_copy(update={"text": text})
        return tuple(found[path] for path in sorted(found))


def _content(file: Path) -> bytes:
    """Return what is in a file, nothing of one that is too large to travel."""
    return b"" if file.stat().st_size > _MOST_BYTES else file.read_bytes()


def _project(file: str) -> tuple[Path, tuple[Path, ...]]:
    """Return the root of the project of a file, and the folders of it that travel whole."""
    folder = Path(file).parent if Path(file).is_file() else Path()  # of a notebook
    root = project_root(folder.resolve())
    project = root / "pyproject.toml"
    if not project.is_file():
        return root, ()
    from couler.config_files import read_text, read_toml

    stated = read_toml(read_text(project), str(project)).at("tool", "couler", "code_paths")
    paths = [(root / one).resolve() for one in stated.texts()]
    lacking = ", ".join(str(one) for one in paths if not one.is_dir())
    if lacking:
        raise stated.error([((), f"tool.couler.code_paths: there is no folder {lacking}")])
    return root, tuple(paths)
