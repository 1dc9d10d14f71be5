"""The values of `cluster.yaml`: how each is read from its text, and its JSON schema."""

from __future__ import annotations

import math
import re
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from couler.ir.diagnostics import did_you_mean
from couler.ir.quantity import parse_quantity
from couler.ir.verify.kubernetes import is_qualified, is_subdomain

Json: t.TypeAlias = t.Any

MOST = 100_000
"""The most nodes of a pool, and GPUs of a node: beyond it a number is a slip of the keyboard."""

_LARGEST = 2**63 - 1
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", flags=re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,18}", flags=re.ASCII)

ARCHITECTURES = (
    *("amd64", "arm64", "386", "arm", "loong64", "mips", "mips64", "mips64le", "mipsle"),
    *("ppc64", "ppc64le", "riscv64", "s390x"),
)
"""What the label `kubernetes.io/arch` can say: the names of Go."""

_OTHERS_SAY = {
    "x86_64": "amd64",
    "x86-64": "amd64",
    "x64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "i386": "386",
    "i686": "386",
}

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value."""

    read: Callable[[str], t.Any]
    schema: Mapping[str, Json]
    is_text: bool = False
    is_number: bool = False


def _cpu(text: str) -> float:
    number = float(_quantity(text))
    if number == math.inf:
        raise ValueError(f"must be a number of processors that a machine can have, not {text}")
    if not number > 0:
        raise ValueError(f"must be above 0, not {text}")
    return number


def _memory(text: str) -> int:
    # A part of a byte is no memory that a pod could have.
    number = int(_quantity(text))
    if not 0 < number <= _LARGEST:
        raise ValueError(f"must be above 0 and below 8Ei, not {text}")
    return number


def _quantity(text: str) -> Decimal:
    try:
        return parse_quantity(text)
    except ValueError as error:
        raise ValueError(f"is wrong: {error}") from error


def _price(text: str) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f'must be a number of US dollars, such as 3.06, not "{text}"')
    number = float(text)
    if not 0 <= number < math.inf:
        raise ValueError(f"must be 0 or above, not {text}")
    return number


def _rate(text: str) -> float:
    if _NUMBER.fullmatch(text) is None or not 0 < float(text) < math.inf:
        raise ValueError(f'must be a number above 0, such as 2e9, not "{text}"')
    return float(text)


def _seconds(text: str) -> float:
    if _NUMBER.fullmatch(text) is None or not 0 <= float(text) < math.inf:
        raise ValueError(f'must be a number of seconds, such as 1.5, not "{text}"')
    return float(text)


def _from(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if _WHOLE.fullmatch(text) is None or not least <= int(text) <= MOST:
            raise ValueError(f"must be a whole number from {least} to {MOST:,}, not {text}")
        return int(text)

    return read


def _some_text(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty: give a text, or leave the key out")
    return text


def _object_name(text: str) -> str:
    if not is_subdomain(text):
        raise ValueError(
            f'"{text}" is no name of a node: lower-case letters, digits, "-" and ".", at most 253 '
            "characters, beginning and ending with a letter or digit"
        )
    return text


def _label_value(text: str) -> str:
    if text and ("/" in text or not is_qualified(text)):
        raise ValueError(
            f'"{text}" is no value of a label: at most 63 letters, digits, "-", "_" and ".", '
            "beginning and ending with a letter or digit"
        )
    return text


def check_label_key(text: str) -> str:
    """Return the key of a label or taint."""
    if not is_qualified(text):
        raise ValueError(
            f'"{text}" is no key of a label: at most 63 letters, digits, "-", "_" and ".", or a '
            'domain, "/" and such a name'
        )
    return text


def _resource(text: str) -> str:
    if "/" not in text or not is_qualified(text):
        raise ValueError(f'"{text}" is no name of a resource, such as nvidia.com/gpu')
    return text


def _group(text: str) -> str:
    return _label_value(_some_text(text))


def _architecture(text: str) -> str:
    if text in ARCHITECTURES:
        return text
    known = _OTHERS_SAY.get(text.lower())
    hint = f' Did you mean "{known}"?' if known else did_you_mean(text, ARCHITECTURES)
    told = f".{hint}" if hint else f"; these are: {', '.join(ARCHITECTURES)}"
    raise ValueError(f'"{text}" is no architecture{told}')


def _effect(text: str) -> str:
    if text not in EFFECTS:
        hint = did_you_mean(text, EFFECTS)
        raise ValueError(f'"{text}" is no effect of a taint: {", ".join(EFFECTS)}.{hint}')
    return text


_QUANTITY = r"^(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,3})?$"
_VALUE = r"^([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?$"
_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = rf"^{_PART}(\.{_PART})*$"
KEY_PATTERN = rf"^({_PART}(\.{_PART})*/)?[A-Za-z0-9]([-_.A-Za-z0-9]{{0,61}}[A-Za-z0-9])?$"

CPU = Kind(
    _cpu,
    {
        "anyOf": [
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "string", "pattern": _QUANTITY},
        ]
    },
)
MEMORY = Kind(
    _memory,
    {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": _QUANTITY}]},
)
PRICE = Kind(_price, {"type": "number", "minimum": 0}, is_number=True)
RATE = Kind(_rate, {"type": "number", "exclusiveMinimum": 0}, is_number=True)
SECONDS = Kind(_seconds, {"type": "number", "minimum": 0}, is_number=True)
COUNT = Kind(_from(1), {"type": "integer", "minimum": 1, "maximum": MOST}, is_number=True)
FLAGS = Kind(_from(0), {"type": "integer", "minimum": 0, "maximum": MOST}, is_number=True)
TEXT = Kind(_some_text, {"type": "string", "minLength": 1}, is_text=True)
NAME = Kind(_object_name, {"type": "string", "pattern": _NAME, "maxLength": 253}, is_text=True)
VALUE = Kind(_label_value, {"type": "string", "pattern": _VALUE}, is_text=True)
KEY = Kind(check_label_key, {"type": "string", "pattern": KEY_PATTERN}, is_text=True)
GROUP = Kind(_group, {"type": "string", "minLength": 1, "pattern": _VALUE}, is_text=True)
RESOURCE = Kind(
    _resource, {"type": "string", "pattern": KEY_PATTERN.replace("*/)?", "*/)")}, is_text=True
)
ARCHITECTURE = Kind(_architecture, {"enum": list(ARCHITECTURES)}, is_text=True)
EFFECT = Kind(_effect, {"enum": list(EFFECTS)}, is_text=True)
