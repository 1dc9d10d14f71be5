"""The values of `cluster.yaml`: how each is read, and its JSON schema."""

from __future__ import annotations

import math
import typing as t
from decimal import Decimal

from pydantic import AfterValidator, BeforeValidator, Field as ModelField, Strict, WithJsonSchema

from couler.cluster.model import Effect as EffectName
from couler.config_files import shown
from couler.ir.diagnostics import did_you_mean
from couler.ir.quantity import parse_quantity
from couler.ir.verify.names import is_qualified, is_subdomain

MOST = 100_000
"""The most nodes of a pool, and GPUs of a node: beyond it a number is a slip of the keyboard."""

_LARGEST = 2**63 - 1

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

EFFECTS = t.get_args(EffectName)


def read_cpu(value: object) -> float:
    """Return the processors that a quantity says."""
    number = float(_quantity(value))
    if not 0 < number < math.inf:
        raise ValueError(f"a machine has more than 0 processors, and not {value!s:.60}")
    return number


def read_memory(value: object) -> int:
    """Return the bytes that a quantity says; a part of a byte is none that a pod could have."""
    number = int(_quantity(value))
    if not 0 < number <= _LARGEST:
        raise ValueError(f"must be above 0 and below 8Ei, not {value!s:.60}")
    return number


def read_count(text: str) -> int:
    """Return a number of pods or GPUs."""
    number = int(_quantity(text))
    if not 1 <= number <= MOST:
        raise ValueError(f"must be a whole number from 1 to {MOST:,}, not {text}")
    return number


def _quantity(value: object) -> Decimal:
    return parse_quantity(str(value) if type(value) in (str, int, float) else shown(value))


def _some_text(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty: give a text, or leave the key out")
    return text


def _object_name(text: str) -> str:
    if not is_subdomain(text):
        raise ValueError(
            f'"{text}" is no name of a node: lower-case letters, digits, "-" and ".", at most 253 '
            "characters, beginning and ending with a letter or digit"
        )
    return text


def check_label_value(text: str) -> str:
    """Return the value of a label."""
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


def _architecture(text: str) -> str:
    if text in ARCHITECTURES:
        return text
    known = _OTHERS_SAY.get(text.lower())
    hint = f' Did you mean "{known}"?' if known else did_you_mean(text, ARCHITECTURES)
    told = f".{hint}" if hint else f"; these are: {', '.join(ARCHITECTURES)}"
    raise ValueError(f'"{text}" is no architecture{told}')


_QUANTITY = r"^(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,3})?$"
_VALUE = r"^([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?$"
_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = rf"^{_PART}(\.{_PART})*$"
KEY_PATTERN = rf"^({_PART}(\.{_PART})*/)?[A-Za-z0-9]([-_.A-Za-z0-9]{{0,61}}[A-Za-z0-9])?$"


def _or_quantity(schema: dict[str, object]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [schema, {"type": "string", "pattern": _QUANTITY}]})


def _text(**schema: object) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", **schema})


Cpu = t.Annotated[
    float, BeforeValidator(read_cpu), _or_quantity({"type": "number", "exclusiveMinimum": 0})
]
Memory = t.Annotated[
    int, BeforeValidator(read_memory), _or_quantity({"type": "integer", "minimum": 1})
]
Price = t.Annotated[float, Strict(), ModelField(ge=0)]
Rate = t.Annotated[float, Strict(), ModelField(gt=0)]
Seconds = Price
Count = t.Annotated[int, Strict(), ModelField(ge=1, le=MOST)]
Flags = t.Annotated[int, Strict(), ModelField(ge=0, le=MOST)]
Text = t.Annotated[str, AfterValidator(_some_text), _text(minLength=1)]
Name = t.Annotated[str, AfterValidator(_object_name), _text(pattern=_NAME, maxLength=253)]
Value = t.Annotated[str, AfterValidator(check_label_value), _text(pattern=_VALUE)]
Key = t.Annotated[str, AfterValidator(check_label_key), _text(pattern=KEY_PATTERN)]
Labels = t.Annotated[
    dict[Key, Value],
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": {"type": "string", "pattern": KEY_PATTERN},
            "additionalProperties": {"type": "string", "pattern": _VALUE},
        }
    ),
]
Group = t.Annotated[
    str,
    AfterValidator(_some_text),
    AfterValidator(check_label_value),
    _text(minLength=1, pattern=_VALUE),
]
Resource = t.Annotated[
    str, AfterValidator(_resource), _text(pattern=KEY_PATTERN.replace("*/)?", "*/)"))
]
Architecture = t.Annotated[
    str, AfterValidator(_architecture), WithJsonSchema({"enum": list(ARCHITECTURES)})
]
Effect = t.Annotated[EffectName, WithJsonSchema({"enum": list(EFFECTS)})]
