"""The packages of steps: as written, or those of a requirements file, a pyproject.toml, a lock."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator, Sequence
from pathlib import Path

from couler.config_files import read_text, read_toml
from couler.dsl._context import program_file, shown_file
from couler.dsl.checks import check_packages, checked_texts
from couler.errors import ConfigurationError
from couler.packages import read_lock

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder

_FILE = re.compile(r"[^\[\]=<>@;]+\.(txt|in|toml|lock)")
_REQUIREMENT = re.compile(
    r"(?!environment\.yaml$|[\w.-]+\.(yml|cfg|py|whl)$)[A-Za-z0-9][\w.-]*([\s\[(<>=!~;@,].*)?"
    r"|[a-z][a-z+]*://.+"
)


def packages_of(builder: Builder, given: object, step: str) -> tuple[str, ...]:
    """Return the packages that an option names, by themselves or by a file beside the program."""
    found: list[str] = []
    for text in checked_texts(builder, "packages", given, step):
        try:
            found += _read(text)
        except ConfigurationError as error:
            builder.report("CLR105", f'step "{step}": packages: {error}', step=step)
    check_packages(builder, tuple(found), step)
    return tuple(dict.fromkeys(found))


def _read(text: str) -> Sequence[str]:
    """Return the requirements that a text is, or that its file states."""
    program = Path(program_file())
    file = shown_file(str((program.parent if program.is_file() else Path.cwd()) / text))
    found, place = [text], ""
    if _FILE.fullmatch(text):
        read = _stated if text.endswith((".toml", ".lock")) else _lines
        found, place = [*read(file)], f"{file}: "
    if not found:
        raise ConfigurationError(
            f"{place}it states no packages. Name the file that does, such as requirements.txt"
        )
    for one in found:
        if not _REQUIREMENT.fullmatch(one):
            raise ConfigurationError(
                f'{place}"{one}" is no package. Write requirements such as "numpy>=2", or the name '
                "of a requirements.txt, pyproject.toml, uv.lock, poetry.lock or pylock.toml"
            )
    return found


def _stated(file: str) -> Sequence[str]:
    """Return the requirements of a pyproject.toml or a lock file."""
    project = read_toml(read_text(Path(file)), file).at("project")
    if project.tree is None:
        return [f"{name}=={version}" for name, version in read_lock(Path(file)).items()]
    return project.at("dependencies").texts()


def _lines(file: str) -> Iterator[str]:
    """Yield the requirements of a file for pip, and of those that it includes, each once."""
    waiting = [file]
    for one in waiting:  # which grows
        for line in re.sub(r"\\\n", " ", read_text(Path(one))).splitlines():
            words = re.sub(r"(^|\s)#.*", "", line).strip()
            included = re.fullmatch(r"(?:-r|--requirement)[ =]?\s*(\S+)", words)
            if included:
                inner = shown_file(str(Path(one).parent / included[1]))
                waiting += [inner] * (inner not in waiting)
            elif words.startswith("-"):
                raise ConfigurationError(
                    f"{one}: pip's option {words.split()[0]} is not taken here"
                )
            elif words:
                yield re.split(r"\s+--hash", words)[0]
