"""What is known of a step that need not run."""

from __future__ import annotations

from dataclasses import dataclass

from couler.backends.local.cache import Found
from couler.backends.local.ends import End
from couler.ir.semantics.values import Outputs
from couler.state.records import StepRecord


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is known of an instance before it has come up."""

    key: str
    end: End
    is_kept: bool
    record: StepRecord | None = None
    found: Found | None = None

    @property
    def outputs(self) -> Outputs:
        """Outputs of the step."""
        return self.end.outputs

    @property
    def since(self) -> int:
        """Ordinal of its end."""
        return self.end.since
