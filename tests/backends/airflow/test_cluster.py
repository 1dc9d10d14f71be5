"""What a job does where its resource, or another of that name, is there already."""

from __future__ import annotations

import copy
import typing as t

import pytest

from couler.backends.airflow import cluster

PATH = "/apis/batch/v1/namespaces/default/jobs"
MANIFEST = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "fixed"}}


class Instance:
    """A first attempt."""

    dag_id, run_id, task_id, map_index, try_number = "d", "r", "t", -1, 1


class Answers:
    """A cluster that refuses a name, as its list does not yet have the object that it is of."""

    def __init__(self, known: dict[str, t.Any] | None) -> None:
        self.known = known
        self.asked: list[str] = []

    def __call__(self, method: str, path: str, *_: t.Any, **more: t.Any) -> t.Any:
        self.asked.append(method)
        if path == "/apis/batch/v1":
            return {"resources": [{"kind": "Job", "name": "jobs", "namespaced": True}]}
        if "labels" in more:
            return {"items": []}
        assert more["none_on"] == {"POST": 409, "GET": 404}[method]
        return None if method == "POST" else self.known


def created(known: dict[str, t.Any] | None, patch: pytest.MonkeyPatch) -> t.Any:
    patch.setattr(cluster, "make_safe_label_value", lambda text: text, raising=False)
    patch.setattr(cluster, "cluster_namespace", lambda: "default")
    answers = Answers(known)
    patch.setattr(cluster, "ask_cluster", answers)
    try:
        return cluster.create_resource(Instance(), copy.deepcopy(MANIFEST), [], [])
    finally:
        assert answers.asked == ["GET", "GET", "POST", "GET"]


def labelled(**more: str) -> dict[str, t.Any]:
    labels = {"dag_id": "d", "run_id": "r", "task_id": "t", "try_number": "1", **more}
    return {"metadata": {"name": "fixed", "labels": labels}}


def test_the_resource_of_this_attempt_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    known = labelled(more="any")
    assert created(known, monkeypatch) is known


@pytest.mark.parametrize(
    "known",
    [
        None,
        labelled(try_number="0"),
        {"metadata": {"name": "fixed", "deletionTimestamp": "2026-01-01T00:00:00Z"}},
    ],
    ids=["gone", "of the attempt before", "being deleted"],
)
def test_a_name_that_is_about_to_be_free_is_waited_for(
    known: dict[str, t.Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConnectionError, match="fixed cannot be created while another"):
        created(known, monkeypatch)


@pytest.mark.parametrize(
    "known",
    [{"metadata": {"name": "fixed"}}, labelled(run_id="other"), labelled(task_id="other")],
    ids=["without labels", "of another run", "of another task"],
)
def test_a_name_of_others_is_an_error(
    known: dict[str, t.Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="there is a Job fixed already that is not of this task"):
        created(known, monkeypatch)
