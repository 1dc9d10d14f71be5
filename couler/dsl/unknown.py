"""What Python does with values, and cannot do with those that are known only in a run."""

from __future__ import annotations

import typing as t

from couler.dsl._places import ProgramError


class Unknown:
    """Something that is known only when the workflow runs: each use of it in a program raises."""

    __slots__ = ()

    def __contains__(self, item: object) -> bool:
        raise ProgramError(
            "CLR112",
            f"whether {self!r} contains something is known only when the workflow runs. Let a "
            "step look, and compare what it returns in couler.when(...)",
        )

    def __bool__(self) -> bool:
        raise ProgramError(
            "CLR113",
            f"the truth of {self!r} is known only when the workflow runs. Compare it and "
            "use couler.when(value == ...) in place of if, not, and, or",
        )

    def __str__(self) -> str:
        return format(self)

    def __format__(self, spec: str) -> str:
        raise ProgramError(
            "CLR114",
            f"{self!r} cannot be put into text while the workflow is built. "
            'Use couler.text("... {}", value); repr() shows what it is',
        )

    def _compute(self, *_: object) -> t.NoReturn:
        raise ProgramError(
            "CLR114",
            f"{self!r} is known only when the workflow runs, so nothing can be computed with it "
            'while it is built. Pass it to a step that does, or use couler.text("... {}", value)',
        )

    def __add__(self, other: object) -> t.Any:
        self._compute()

    __radd__ = __add__
    __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _compute
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = _compute
    __neg__ = __pos__ = __abs__ = __int__ = __float__ = __index__ = __round__ = _compute

    def __copy__(self) -> t.Self:
        return self

    def __deepcopy__(self, memo: object) -> t.Self:
        return self  # a value stands for itself wherever it is held, as in a dataclass

    def __reduce__(self) -> t.NoReturn:
        raise ProgramError(
            "CLR103",
            f"{self!r} is known only when the workflow runs, so it cannot be sent or written by "
            "this program. Pass it to a step",
        )
