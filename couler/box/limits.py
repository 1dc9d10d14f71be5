"""How much a program may use while it is built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one build; beyond one of them it ends, and a diagnostic says which."""

    wall_s: float = 30.0
    cpu_s: float = 10.0
    memory_bytes: int = 768 << 20
    open_files: int = 64
    result_bytes: int = 8 << 20
    output_bytes: int = 64 << 10
