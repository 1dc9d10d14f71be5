"""Argo's linter judges all manifests that the tests made, and those in goldens, docs and examples.

`make argo-lint` runs it after the tests, which have put what they made below build/manifests
(tests/support/argo_record.py). Argo must take each, but for those of tests that say why it must
refuse them; these it must refuse. Its linter here is that of Argo 4.0: what only Argo 4.1 reads
is taken out before, and checked by the schemas of 4.1 in the tests alone.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import typing as t
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from tests.support import argo_api, argo_oracle
from tests.support.argo_record import Record, records

ROOT = Path(__file__).parents[2]
MADE = ROOT / "build" / "manifests"
THERE = tuple(sorted((Path(__file__).parent / "templates").glob("*.yaml")))
"""Templates that exist in the cluster, which manifests may name."""

_BLOCK = re.compile(r"^```yaml\n(apiVersion: argoproj\.io/.*?)^```$", re.M | re.S)


def committed(folder: Path) -> Iterator[Record]:
    """Yield the manifests among the files of the repository; blocks of pages go to a folder."""
    for pattern in ("docs/**/*.yaml", "examples/**/*.yaml", "tests/golden/**/*.yaml"):
        for file in sorted(ROOT.glob(pattern)):
            if "apiVersion: argoproj.io/" in file.read_text(encoding="utf-8"):
                yield Record(file, str(file.relative_to(ROOT)), None)
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        for index, block in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8"))):
            if "\n..." in block or ": ..." in block:
                continue  # parts are left out
            file = folder / f"{page.stem}-{index}.yaml"
            file.write_text(block, encoding="utf-8")
            yield Record(file, str(page.relative_to(ROOT)), None)


class Mistake(t.NamedTuple):
    """A manifest with another verdict than its test states."""

    record: Record
    errors: Sequence[str]

    def __str__(self) -> str:
        said = "\n".join(self.errors) or f"taken, but must be refused: {self.record.refused}"
        return f"{self.record.test}\n  {self.record.file}\n  {said}"


def judge(found: Sequence[Record], folder: Path) -> list[Mistake]:
    """Return the manifests whose verdict is wrong; rewritten ones go to a folder."""
    files = [_readable(record.file, folder) for record in found]
    verdicts = argo_oracle.lint(files, alone=True, others=THERE)
    return [
        Mistake(record, verdict.errors)
        for record, verdict in zip(found, verdicts, strict=True)
        if verdict.ok is (record.refused is not None)
    ]


def _readable(file: Path, folder: Path) -> Path:
    """Return a file with what Argo 4.0 can read of a manifest; items of a list by themselves."""
    text = file.read_text(encoding="utf-8")
    is_list = file.suffix == ".json" and '"kind":"List"' in text.replace(": ", ":")
    has_later = any(f'{field}"' in text or f"{field}:" in text for _, field in argo_api.LATER)
    if not is_list and not has_later:
        return file
    made = [json.loads(text)] if file.suffix == ".json" else list(yaml.safe_load_all(text))
    if is_list:
        made = made[0]["items"]
    reduced = [
        argo_api.without_later(one) if one.get("kind") in argo_api.SPECS else one for one in made
    ]
    if not is_list and reduced == made:
        return file
    written = folder / f"{file.stem}.yaml"
    written.write_text("\n---\n".join(map(json.dumps, reduced)), encoding="utf-8")
    return written


def main() -> int:
    """Judge everything; return the exit code."""
    if reason := argo_oracle.lint_available():
        sys.stdout.write(f"not judged: {reason}\n")
        return 0
    made = list(records(sorted(MADE.glob("*/"))))
    if not made and os.environ.get("CI"):
        sys.stderr.write(f"there is nothing in {MADE}: run `make test` before\n")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = [*made, *committed(folder)]
        mistakes = judge(found, folder)
    refused = sum(record.refused is not None for record in found)
    sys.stdout.write(
        f"Argo judged {len(found)} manifests ({len(made)} made by tests): {len(mistakes)} "
        f"verdicts are wrong; {refused} must be refused\n"
    )
    sys.stderr.writelines(f"\n{mistake}\n" for mistake in mistakes)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
