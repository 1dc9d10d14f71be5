"""What of the corpus is refused for Argo, and in what Argo does less than the semantics say."""

from __future__ import annotations

from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from tests.support.absences import Absence
from tests.support.argo_oracle import OracleTimeoutError

REFUSED = {
    "foreach_files_some_failed": Absence(UnsupportedFeatureError, "CLR301, CLR313"),
    "foreach_read_on_completion": Absence(UnsupportedFeatureError, "CLR301"),
    "list_files": Absence(InvalidWorkflowError, "CLR323"),
    "list_files_of_nothing": Absence(InvalidWorkflowError, "CLR323"),
    "timeout_of_group": Absence(UnsupportedFeatureError, "CLR301"),
}
"""Cases that are not compiled, with the codes that say why."""

BEYOND = {
    "value_too_large": Absence(
        AssertionError, "Argo hands on up to 256 KiB of what a container printed"
    ),
    "list_too_large": Absence(AssertionError, "Argo has no limit of its own for gathered lists"),
    "output_not_written": Absence(AssertionError, "Argo keeps a folder where a file was declared"),
    "timeout_of_workflow": Absence(
        # What of the steps has begun by then tells which.
        (OracleTimeoutError, AssertionError),
        "no pod is made after the deadline and nothing wakes Argo, or a step fails that is omitted",
    ),
}
"""Cases in which Argo does less than the semantics say, see docs/argo.md."""
