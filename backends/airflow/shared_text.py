"""What several texts have in common, taken out: scripts of functions begin with the same ones."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Mapping, Sequence

SEPARATOR = "\n\n\n"
"""Stands between the definitions of a script of Python."""

_MORE_LINES = 3
"""What is shared takes these where it stands, and again in each text that has it."""


class Shared(t.NamedTuple):
    """A text that is shared, in the place of what it stands for."""

    number: int


Part: t.TypeAlias = str | Shared


def share(texts: Mapping[str, str]) -> tuple[list[list[Part]], dict[str, list[Part]]]:
    r"""Return the parts of what texts share, and those of each; joined they are the text."""
    blocks: dict[str, list[Part]] = {name: _cut(text) for name, text in texts.items()}
    shared: list[list[Part]] = []
    while run := _best_run([*blocks.values(), *shared]):
        number = Shared(len(shared))
        shared = [*(_replaced(one, run, number) for one in shared), [*run]]
        blocks = {name: _replaced(one, run, number) for name, one in blocks.items()}
    return [_joined(one) for one in shared], {name: _joined(one) for name, one in blocks.items()}


def _cut(text: str) -> list[Part]:
    """Return the definitions of a text, each with what separates it from the next."""
    parts = text.split(SEPARATOR)
    return [*(f"{part}{SEPARATOR}" for part in parts[:-1]), parts[-1]]


def _best_run(texts: Sequence[Sequence[Part]]) -> tuple[str, ...]:
    """Return the run of definitions in two or more texts that saves most lines."""
    uses = Counter(block for blocks in texts for block in set(blocks))
    counts: Counter[tuple[str, ...]] = Counter()
    for blocks in texts:
        counts.update(_runs(blocks, uses))
    best: tuple[str, ...] = ()
    saved = 0
    for run, count in counts.items():
        less = sum(block.count("\n") for block in run) * (count - 1) - _MORE_LINES * (count + 1)
        if count > 1 and less > saved:
            best, saved = run, less
    return best


def _runs(blocks: Sequence[Part], uses: Mapping[Part, int]) -> set[tuple[str, ...]]:
    """Return the runs of definitions of a text that others have as well."""
    found: set[tuple[str, ...]] = set()
    for start in range(len(blocks)):
        run: list[str] = []
        for block in blocks[start:]:
            if isinstance(block, Shared) or uses[block] < 2:
                break
            run.append(block)
            found.add(tuple(run))
    return found


def _replaced(blocks: list[Part], run: Sequence[str], number: Shared) -> list[Part]:
    for start in range(len(blocks) - len(run) + 1):
        if blocks[start : start + len(run)] == [*run]:
            rest = _replaced(blocks[start + len(run) :], run, number)
            return [*blocks[:start], number, *rest]
    return blocks


def _joined(blocks: Sequence[Part]) -> list[Part]:
    """Join texts beside each other."""
    parts: list[Part] = []
    for block in blocks:
        last = parts[-1] if parts else None
        if isinstance(block, str) and isinstance(last, str):
            parts[-1] = last + block
        elif block != "":
            parts.append(block)
    return parts
