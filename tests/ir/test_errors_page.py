"""docs/errors.md: every code is explained, and its examples do what they say."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest

from couler.backends.base import Target
from couler.cli.load import Source, load
from couler.ir.codes import CODES
from couler.stages import diagnose
from couler.stages.programs import LoadError

pytestmark = pytest.mark.checkout

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"


class Example(t.NamedTuple):
    """A fenced block of an entry."""

    language: str
    text: str


class Entry(t.NamedTuple):
    """What the page says of a code."""

    code: str
    title: str
    text: str
    examples: list[Example]

    @property
    def engines(self) -> list[str]:
        """The engines that the entry says it is checked for."""
        command = r"`couler validate FILE -e (\w+)(?: --engine-version [\d.]+| --pipeline none)?`"
        return re.findall(command, self.text)

    @property
    def target(self) -> Target:
        """The version of an engine that the entry speaks of, the newest without one."""
        match = re.search(r" --engine-version ([\d.]+)`", self.text)
        return Target(engine_version=match[1] if match else None)

    @property
    def passes(self) -> tuple[str, ...] | None:
        """The passes that the entry asks for: none, or with None the default ones."""
        return () if " --pipeline none`" in self.text else None

    @property
    def name(self) -> str | None:
        """The workflow of the file that the entry asks for."""
        match = re.search(r"`couler validate flow\.py:(\w+)`", self.text)
        return match[1] if match else None


def _entries() -> list[Entry]:
    if not PAGE.is_file():  # not in a checkout: these tests are left out
        return []
    parts = re.split(r"^### (CLR\d{3}): (.*) \{#(CLR\d{3})\}$", PAGE.read_text(), flags=re.M)
    entries = []
    for code, title, anchor, text in zip(*(parts[i::4] for i in range(1, 5)), strict=True):
        assert code == anchor
        text = re.split(r"^## ", text, flags=re.M)[0]
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, flags=re.M | re.S)
        entries.append(Entry(code, title, text, [Example(*block) for block in blocks]))
    return entries


ENTRIES = _entries()


def test_the_page_has_an_entry_for_every_code_in_order() -> None:
    assert [entry.code for entry in ENTRIES] == sorted(CODES)
    assert {entry.code: entry.title for entry in ENTRIES} == CODES


def test_every_code_of_the_source_is_in_the_table() -> None:
    root = PAGE.parents[1]
    used: set[str] = set()
    for folder in ("couler", "ir", "backends", "optimizers"):
        for path in (root / folder).rglob("*.py"):
            used |= set(re.findall(r"\"(CLR\d{3})\"", path.read_text()))
    assert used == set(CODES)


def codes_of(example: Example, entry: Entry, folder: Path) -> list[str]:
    path = folder / ("flow.py" if example.language == "python" else "flow.yaml")
    path.write_text(example.text)
    if entry.code.startswith("CLR6"):  # programs that nobody trusts
        from couler.box import build_program, check_program

        if refused := check_program(example.text):
            return [one.code for one in refused]
        if entry.code == "CLR626":  # which only the build can tell
            return [one.code for one in build_program(example.text).diagnostics]
    try:
        workflow = load(Source(str(path), entry.name))
    except LoadError as error:
        return [error.diagnostic.code]
    found = diagnose(workflow, entry.engines, target=entry.target, passes=entry.passes)
    return [diagnostic.code for diagnostic in found]


WITHOUT_EXAMPLES = {
    *("CLR324", "CLR355", "CLR378", "CLR380", "CLR381"),
    *(
        "CLR147",
        "CLR148",
        "CLR149",
        "CLR304",
        "CLR305",
        "CLR514",
        "CLR540",
        "CLR541",
        "CLR550",
        "CLR551",
    ),
    *("CLR641", "CLR642"),
    *("CLR602", "CLR620", "CLR621", "CLR622", "CLR623", "CLR624", "CLR625"),
}
"""Codes that no short program leads to, or only for another version; the engine's own tests do."""


@pytest.mark.parametrize("area", sorted({entry.code[:4] for entry in ENTRIES}))
def test_the_first_example_fails_and_the_second_is_mended(area: str, tmp_path: Path) -> None:
    for entry in ENTRIES:
        if entry.code.startswith(area) and entry.code not in WITHOUT_EXAMPLES:
            failing, mended = entry.examples
            assert entry.code in codes_of(failing, entry, tmp_path)
            assert codes_of(mended, entry, tmp_path) == [], entry.code
