"""What of the corpus is refused for Airflow, and where Airflow does less than the semantics say."""

from __future__ import annotations

from tests.support.absences import Absence

REFUSED: dict[str, Absence] = {}
"""Cases that are not compiled, with the codes that say why."""
