"""Outcomes: files of them, the choice among trained candidates, ranks."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from couler.errors import TuningError
from couler.tuning.metrics import Metric
from couler.tuning.outcome import (
    Candidate,
    LogPoint,
    Outcome,
    RealTraining,
    choose,
    read_outcome,
    spearman,
)


def candidate(name: str, predicted: float | None, *real: float, **fields: t.Any) -> Candidate:
    return Candidate(
        name=name,
        round=1,
        origin="default" if name == "c01" else "proposed",
        parameters={"depth": int(name[1:]), "leaf": None, "sizes": [1, 2]},
        predicted=predicted,
        real=RealTraining(scores=real) if real else None,
        **fields,
    )


def outcome(*candidates: Candidate, metric: str = "accuracy") -> Outcome:
    judged = Metric.model_validate(metric)
    chosen = choose(candidates, judged)
    assert chosen is not None
    return Outcome(
        data="d",
        model="m",
        metric=judged,
        parameters=chosen[0].parameters,
        chosen=chosen[0].name,
        why=chosen[1],
        candidates=candidates,
    )


def test_an_outcome_reads_back_equal(tmp_path: Path) -> None:
    point = LogPoint(
        step=1, train_loss=0.5, validation_loss=1e-9, train_metric=0.1, validation_metric=0.2
    )
    made = outcome(
        candidate("c01", 0.2, 0.5, 0.7, log=(point,), reason="because: of {this}"),
        candidate("c02", None, problems=("it has 0 points",)),
    )
    for name, text in (("o.yaml", made.to_yaml()), ("o.json", made.to_json_text())):
        (tmp_path / name).write_text(text)
        assert read_outcome(tmp_path / name) == made


def test_what_is_no_outcome_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "o.yaml"
    file.write_text("{rate: 0.1}")
    with pytest.raises(TuningError, match="this is no outcome of tuning"):
        read_outcome(file)
    text = outcome(candidate("c01", 0.2)).to_yaml()
    file.write_text(text.replace("chosen: c01", "chosen: c09"))
    with pytest.raises(TuningError, match='there is no candidate "c09"'):
        read_outcome(file)
    file.write_text(text.replace("depth: 1", "depth: 7", 1))
    with pytest.raises(TuningError, match="parameters are not those of c01"):
        read_outcome(file)


def test_among_equals_the_default_is_before_all_and_then_the_better_prediction() -> None:
    c01, c02 = candidate("c01", 0.7, 0.8), candidate("c02", 0.9, 0.8)
    assert outcome(c01, c02).chosen == "c01"  # the default, though it was predicted worse
    unpredicted = candidate("c01", None, 0.8)
    assert outcome(c02, unpredicted).chosen == "c01"
    third = candidate("c03", 0.95, 0.8)
    assert outcome(c02, third).chosen == "c03"
    assert outcome(c02, candidate("c03", 0.9, 0.8)).chosen == "c02"
    assert outcome(c02, candidate("c03", None, 0.8)).chosen == "c02"
    assert outcome(candidate("c02", 0.9), candidate("c01", 0.9)).chosen == "c01"


def test_the_rank_correlation_says_of_how_many() -> None:
    three = [candidate(f"c0{n}", n / 10, n / 20) for n in (1, 2, 3)]
    assert outcome(*three, candidate("c04", 0.9)).rank_correlation == (1.0, 3)
    assert outcome(*three[:2]).rank_correlation == (None, 2)
    same = [candidate(f"c0{n}", 0.5, n / 20) for n in (1, 2, 3)]
    assert outcome(*same).rank_correlation == (None, 3)


PAIRS = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=12)


@given(PAIRS)
def test_spearman_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    found = spearman(pairs)
    if len(set(one)) == 1 or len(set(other)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(stats.spearmanr(one, other).statistic)
