"""What of the corpus is refused for Airflow, and where Airflow does less than the semantics say."""

from __future__ import annotations

from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from tests.support.absences import Absence

REFUSED: dict[str, Absence] = {
    "locks": Absence(UnsupportedFeatureError, "CLR301, CLR345"),
    "policies_that_change_nothing": Absence(UnsupportedFeatureError, "CLR301"),
    "retry_group": Absence(UnsupportedFeatureError, "CLR301"),
    "timeout_of_group": Absence(UnsupportedFeatureError, "CLR301"),
    "timeout_of_workflow": Absence(InvalidWorkflowError, "CLR346"),
}
"""Cases that are not compiled, with the codes that say why."""

REFUSED_BEFORE_3_3 = ("retry_exit_codes", "retry_on_one_kind")
"""Cases that need the retry policies of Airflow 3.3."""
