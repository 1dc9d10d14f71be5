"""The errors for what makes going on impossible."""

from __future__ import annotations

from couler.dsl._places import caller_frame, shown_file
from couler.errors import DefinitionError
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef


class ProgramError(DefinitionError):
    """A program asks for what has no meaning; `diagnostic` says what, and where."""

    def __init__(self, code: str, message: str) -> None:
        frame = caller_frame()
        place = SourceRef(file=shown_file(frame.f_code.co_filename), line=frame.f_lineno)
        self.diagnostic = Diagnostic(code, message, source=place)
        super().__init__(str(self.diagnostic))


class UnknownAttributeError(ProgramError, AttributeError):
    """A value of the workflow has no part of a name, so that `hasattr` is False."""
