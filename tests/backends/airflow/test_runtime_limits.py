"""What DAG files do where something is too large to travel."""

from __future__ import annotations

import types
import typing as t
from collections.abc import Mapping

import pytest

from couler.backends.airflow import runtime, worker
from couler.backends.airflow.runtime import check_lists, check_sizes
from tests.backends.airflow.test_runtime import RefusedError, SkippedError

KINDS = {"f": "file", "result": "str"}
Given: t.TypeAlias = list[Mapping[str, str] | None]


@pytest.fixture(autouse=True)
def _names_of_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (runtime, worker):
        monkeypatch.setattr(module, "AirflowFailException", RefusedError, raising=False)
    monkeypatch.setattr(runtime, "AirflowSkipException", SkippedError, raising=False)


class Instance:
    """A task instance behind a mapped task whose items gave something."""

    def __init__(self, given: Given) -> None:
        self.given = given

    def xcom_pull(self, *_tasks: object, **_which: object) -> Given:
        """Return what the items gave."""
        return self.given


def check(*given: Mapping[str, str] | None) -> None:
    check_lists("e", len(given), KINDS, ti=Instance([*given]))


def test_a_file_that_no_item_wrote_hides_no_large_list() -> None:
    with pytest.raises(RefusedError, match="result takes 120007 bytes"):
        check({"result": "x" * 60000}, {"result": "x" * 60000})
    check({"result": "x"}, None)
    check()
    with pytest.raises(SkippedError):
        check(None, None)


def test_lists_of_texts_count_as_json() -> None:
    items = Instance([{"text": '"' * 25_000, "number": "1"}] * 2)  # each has a backslash
    check_sizes("e", "", {"number": "int", "text": "json"}, ti=items)
    with pytest.raises(RefusedError, match="text takes 100007 bytes in all"):
        check_sizes("e", "", {"number": "int", "text": "str"}, ti=items)


def test_what_a_person_enters_has_the_limit_of_a_value() -> None:
    pushed: dict[str, object] = {}
    context = {"ti": types.SimpleNamespace(xcom_push=pushed.__setitem__)}
    worker.entered("x")(context, {"params_input": {"x": [1, 2]}})
    assert pushed == {"return_value": {"x": "[1,2]"}}
    with pytest.raises(RefusedError, match="x takes 65537 bytes"):
        worker.entered("x")(context, {"params_input": {"x": "a" * 65537}})
