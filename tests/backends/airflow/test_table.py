"""docs/airflow-corpus.md: what can be known of it without Airflow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.base import Ignored, Lowered, Native, Unsupported
from couler.ir.features import Feature
from tests.corpus import cases
from tests.support import airflow_table
from tests.support.airflow_table import Share

pytestmark = pytest.mark.checkout


def test_every_case_is_on_the_page() -> None:
    """If this fails, the corpus has a case that Airflow has not run: `make airflow-table`."""
    run = airflow_table.known_rows()
    rows = airflow_table.all_rows(run)
    assert list(rows) == [case.name for case in cases()]
    refused = {name for name, row in rows.items() if row.airflow.startswith("[CLR")}
    assert {name for name, row in rows.items() if row.airflow != "equal"} == refused


@pytest.mark.golden
def test_refusals_and_counts_are_up_to_date(golden: Callable[[Path, str], None]) -> None:
    rows = airflow_table.all_rows(airflow_table.known_rows())
    golden(airflow_table.PAGE, airflow_table.page(rows))


def test_shares_count_each_feature_once() -> None:
    answers = (Native(), Lowered("so"), Ignored("needless"), Unsupported("no. Do this"))
    table = dict(zip(Feature, answers, strict=False))
    found = airflow_table.share(table, table)
    assert found == Share(1, 1, 1, 1)
    assert found.percent == 50


def test_a_difference_is_told() -> None:
    told = airflow_table._differences("status", {"a": "succeeded"}, {"a": "failed", "b": "failed"})
    assert told == [
        'status a: "succeeded" here, "failed" there',
        'status b: null here, "failed" there',
    ]
