"""What is told of a pass: its options with their defaults, and what its docstring says."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing as t
from dataclasses import dataclass

from couler.optimizers.pipeline import load_pass_class
from couler.options.types import Option, plain_text
from couler.plugins import distribution_of

_SENTENCE = re.compile(r".*?[.!?](?=\s|$)", flags=re.DOTALL)
_NAMES = re.compile(r"[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*(?: : .*)?")


@dataclass(frozen=True, slots=True)
class OptionText:
    """An option, as it is told of."""

    name: str
    type: str
    default: str | None
    description: str

    def to_json(self) -> dict[str, t.Any]:
        """Return the option as JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class PassDescription:
    """A pass, as it is told of."""

    name: str
    summary: str
    distribution: str
    options: tuple[OptionText, ...]

    def to_json(self) -> dict[str, t.Any]:
        """Return the description as JSON."""
        return {
            "name": self.name,
            "summary": self.summary,
            "distribution": self.distribution,
            "options": [option.to_json() for option in self.options],
        }


def describe_pass(name: str) -> PassDescription:
    """Describe an installed pass."""
    entry, factory, options = load_pass_class(name)
    text = inspect.getdoc(factory) or ""
    told = _attributes(text)
    match = _SENTENCE.match(text)
    return PassDescription(
        name=name,
        summary=" ".join(match[0].split()) if match else "",
        distribution=distribution_of(entry),
        options=tuple(_option_text(option, told.get(option.name, "")) for option in options),
    )


def _option_text(option: Option, description: str) -> OptionText:
    default = (
        None
        if option.default is dataclasses.MISSING
        else plain_text(option.default, is_size=option.is_size)
    )
    return OptionText(option.name, option.type_text, default, description)


def _attributes(text: str) -> dict[str, str]:
    """Return what the section `Attributes` or `Parameters` of a docstring says of each name."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    lines = text.splitlines()
    section = ""
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if following and set(following) == {"-"} and not line.startswith(" "):
            section, names = line, []
        elif section not in ("Attributes", "Parameters") or set(line) == {"-"}:
            continue
        elif not line.startswith(" ") and _NAMES.fullmatch(line):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        elif line.strip():
            for name in names:
                found.setdefault(name, []).append(line.strip())
    return {name: " ".join(words) for name, words in found.items()}
