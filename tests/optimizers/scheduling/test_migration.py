"""SpeCon's three algorithms on cases worked by hand, and the rule by remaining work."""

from __future__ import annotations

from couler.optimizers.scheduling.migration import JobProgress, Move, RemainingWork, SpeCon


def job(name: str, node: str, loss: float | None) -> JobProgress:
    return JobProgress(name, node, loss)


def fed(rule: SpeCon, node_of: dict[str, str], losses: dict[str, list[float]]) -> list[list[Move]]:
    """Give a rule the losses of jobs, an interval of 30 s after the other; apply its moves."""
    places = dict(node_of)
    found = []
    for number in range(max(map(len, losses.values()))):
        jobs = [
            job(name, places[name], values[number])
            for name, values in losses.items()
            if number < len(values)
        ]
        moves = rule.decide(30.0 * number, jobs)
        found.append(moves)
        places |= {move.job: move.target for move in moves}
    return found


FAST = [1.0 * 0.8**number for number in range(12)]
"""Always more than a hundredth of the first loss in an interval, for eleven intervals."""

SLOW = [1.0, 0.5, 0.495, 0.492, 0.490, 0.489]
"""Gains of 0.5, 0.005, 0.003, 0.002 and 0.001: watching, converged, and then a request."""


def test_a_job_goes_from_progressing_to_watching_to_converged_and_back() -> None:
    rule = SpeCon(["a", "b"])
    seen = []
    for number, loss in enumerate([1.0, 0.5, 0.495, 0.492, 0.4]):
        rule.decide(30.0 * number, [job("one", "a", loss)])
        seen.append(rule.category("one"))
    # The first two intervals have no gain before; a gain of 0.092 then makes it progress again.
    assert seen == ["progressing", "progressing", "watching", "converged", "progressing"]


def test_a_gain_that_grows_below_alpha_changes_nothing() -> None:
    rule = SpeCon(["a"])
    for number, loss in enumerate([1.0, 0.5, 0.496, 0.490]):  # gains 0.5, 0.004, 0.006
        rule.decide(30.0 * number, [job("one", "a", loss)])
    assert rule.category("one") == "watching"


def test_a_gain_equal_to_alpha_is_progress() -> None:
    rule = SpeCon(["a"], alpha=0.25)
    for number, loss in enumerate([1.0, 0.5, 0.25]):
        rule.decide(30.0 * number, [job("one", "a", loss)])
    assert rule.category("one") == "progressing"


def test_a_converged_job_makes_way_where_two_others_grow() -> None:
    # Node a has two jobs that grow (2 + 2) and one that has converged (1); b has one that grows.
    nodes = {"slow": "a", "f1": "a", "f2": "a", "f3": "b"}
    moves = fed(
        SpeCon(["a", "b"]), nodes, {name: SLOW if name == "slow" else FAST for name in nodes}
    )
    assert moves[4] == [Move("slow", "a", "b", "its progress is slow")]
    assert [one for number, one in enumerate(moves) if number != 4 and one] == []


def test_a_converged_job_stays_where_no_two_others_grow() -> None:
    nodes = {"slow": "a", "f1": "a", "f3": "b"}
    moves = fed(
        SpeCon(["a", "b"]), nodes, {name: SLOW if name == "slow" else FAST for name in nodes}
    )
    assert not any(moves)


def test_a_job_whose_node_has_the_least_score_stays_and_is_not_looked_at_again() -> None:
    nodes = {"slow": "a", "f1": "a", "f2": "a", "g1": "b", "g2": "b", "g3": "b"}
    losses = {name: SLOW if name == "slow" else FAST for name in nodes}  # 5 against 6
    assert not any(fed(SpeCon(["a", "b"]), nodes, losses))


def test_ties_of_scores_go_to_the_node_with_fewer_jobs() -> None:
    # Scores: a 5, b 2 (two converged jobs), c 2 (one job that grows).
    nodes = {"slow": "a", "f1": "a", "f2": "a", "s1": "b", "s2": "b", "f3": "c"}
    losses = {name: SLOW if name.startswith("s") else FAST for name in nodes}
    moves = fed(SpeCon(["a", "b", "c"]), nodes, losses)
    assert [one.target for one in moves[4]] == ["c"]


def test_an_idle_node_gets_the_job_that_was_decided_on_last() -> None:
    # Both jobs are decided on in turn; then b idles, and node a has three jobs.
    nodes = {"s1": "a", "f1": "a", "f2": "a", "f3": "b", "f4": "b", "f5": "b"}
    losses = dict.fromkeys(nodes, FAST) | {"s1": [*SLOW, 0.488, 0.4875]}
    losses |= dict.fromkeys(("f3", "f4", "f5"), FAST[:6])
    moves = fed(SpeCon(["a", "b"]), nodes, losses)
    assert moves[6] == [Move("s1", "a", "b", "nodes are uneven")]
    assert not any(moves[:6])
    assert not any(moves[7:])


def test_a_loss_that_is_not_reported_decides_nothing() -> None:
    rule = SpeCon(["a", "b"])
    for number in range(5):
        assert rule.decide(30.0 * number, [job("one", "a", None), job("two", "a", None)]) == []


def test_remaining_work_is_evened_out() -> None:
    def some(name: str, node: str, done: float, used_s: float) -> JobProgress:
        return JobProgress(name, node, None, done, used_s)

    # 300 and 100 s are left on a, 50 on b: moving 100 leaves 300 and 150.
    rule = RemainingWork(["a", "b"])
    jobs = [some("x", "a", 0.25, 100), some("y", "a", 0.5, 100), some("z", "b", 0.5, 50)]
    assert [(one.job, one.target) for one in rule.decide(0, jobs)] == [("y", "b")]
    # What gains less than twice the pause is not moved.
    assert RemainingWork(["a", "b"], pause_s=60).decide(0, jobs) == []
    # Of a job that reports nothing the mean is assumed: 150 here, so that 550 are left on a.
    unknown = [*jobs, JobProgress("new", "a")]
    assert [one.job for one in rule.decide(0, unknown)] == ["x", "z"]
    # It may not be able to save itself yet, so it is not moved.
    assert rule.decide(0, [JobProgress("new", "a"), JobProgress("other", "a"), jobs[2]]) == []
    assert rule.decide(0, []) == []
