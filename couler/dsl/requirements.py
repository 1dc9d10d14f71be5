"""The packages of steps: as written, or those of a requirements file, a pyproject.toml, a lock."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator
from pathlib import Path

from couler.dsl._context import program_file
from couler.dsl.checks import check_packages, checked_texts
from couler.packages import locked_versions

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder


def packages_of(builder: Builder, given: object, step: str) -> tuple[str, ...]:
    """Return the packages that an option names, by themselves or by a file beside the program."""
    texts = checked_texts(builder, "packages", given, step)
    found: list[str] = []
    for text in texts:
        if not re.fullmatch(r"[^\[\]=<>@;]+\.(txt|in|toml|lock)", text):
            found.append(text)
            continue
        file = Path(program_file()).parent / text
        try:
            found += _read(file)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            builder.report("CLR105", f'step "{step}": packages: {text}: {why}', step=step)
    check_packages(builder, tuple(found), step)
    return tuple(dict.fromkeys(found))


def _read(file: Path) -> Iterator[str]:
    """Yield the requirements that a file states."""
    if file.suffix in (".txt", ".in"):
        yield from _requirements(file)
        return
    import tomllib

    tree = tomllib.loads(file.read_text())
    if "package" in tree or "packages" in tree:  # uv.lock and poetry.lock, pylock.toml
        yield from (f"{name}=={version}" for name, version in locked_versions(tree).items())
        return
    if "project" not in tree:
        raise ValueError("it states no packages: neither [project] nor [[package]] is in it")
    yield from tree["project"].get("dependencies", ())


def _requirements(file: Path) -> Iterator[str]:
    text = re.sub(r"\\\n", " ", file.read_text())
    for line in text.splitlines():
        words = re.sub(r"(^|\s)#.*", "", line).strip()
        included = re.fullmatch(r"(?:-r|--requirement)[ =]?\s*(\S+)", words)
        if included:
            yield from _requirements(file.parent / included[1])
        elif words.startswith("-"):
            raise ValueError(f"pip's option {words.split()[0]} is not taken here")
        elif words:
            yield re.split(r"\s+--hash", words)[0]
