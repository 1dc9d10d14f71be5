"""What errors say of many diagnostics."""

from __future__ import annotations

from couler.errors import MOST_ALIKE, InvalidWorkflowError, fold
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef

LINE = SourceRef(file="flow.py", line=7)


def problem(number: int, code: str = "CLR363", source: SourceRef | None = LINE) -> Diagnostic:
    return Diagnostic(code, f"step {number} is wrong.", f"s{number}", source)


def test_what_a_loop_of_the_program_made_is_told_a_few_times() -> None:
    many = [problem(number) for number in range(300)]
    other = problem(300, "CLR364")
    error = InvalidWorkflowError("not valid", [*many, other])
    lines = str(error).splitlines()
    assert lines[1:-2] == [f"  {one}" for one in many[:MOST_ALIKE]]
    assert lines[-2] == "  flow.py:7  CLR363 error  and 295 more of this line"
    assert lines[-1] == f"  {other}"
    assert error.diagnostics == (*many, other)


def test_nothing_is_left_out_where_that_saves_no_line() -> None:
    many = [problem(number) for number in range(MOST_ALIKE + 1)]
    assert fold(many) == [(one, "") for one in many]


def test_diagnostics_without_a_line_are_all_told() -> None:
    many = [problem(number, source=None) for number in range(20)]
    assert fold(many) == [(one, "") for one in many]
