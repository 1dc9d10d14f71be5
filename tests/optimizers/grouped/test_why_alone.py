"""What the pass says of steps that could share a pod, and are alone beside groups."""

from __future__ import annotations

from couler.ir.policies import Profile, Resources
from couler.ir.workflow import Group, Step
from tests.corpus.build import flow, py, sh
from tests.optimizers.grouped.flows import names, run


def test_failures_that_would_be_told_otherwise() -> None:
    # c waits for a alone, so that a and b are no group; d and e are.
    outside = sh("c", "true", depends_on=("a",))
    steps = py("a", "1"), py("b", "1", depends_on=("a",)), outside
    chain = py("d", "1", depends_on=("c",)), py("e", "1", depends_on=("d",))
    made, context = run(flow("w", *steps, *chain))
    assert names(made) == ["a", "b", "c", "d-to-e"]
    assert (
        "a, b are in no group, as runs in which something fails would come to something else; "
        "failures=whole accepts it." in context.reason
    )
    assert "in no group" not in run(flow("w", *steps, *chain), failures="whole")[1].reason
    assert "in no group" not in run(flow("w", *chain[1:]))[1].reason


def test_time_that_is_worth_more_than_the_pods() -> None:
    def long(name: str) -> Step:
        return py(
            name, "1", profile=Profile(seconds=600), resources=Resources(cpu="1", memory="1Gi")
        )

    fan = [long(f"t{n}") for n in range(2)]
    chain = py("d", "1"), py("e", "1", depends_on=("d",))
    made, context = run(flow("w", *fan, *chain))
    assert names(made) == ["t0", "t1", "d-to-e"]
    assert "t0, t1 are in no group, as " in context.reason
    assert "per_lost_s=0 does not count" in context.reason


def test_what_is_inside_of_a_group_is_told_and_not_the_group() -> None:
    inner = Group(steps=(py("a", "1"), py("b", "1", depends_on=("a",))))
    made, context = run(flow("w", Step(name="sub", action=inner)))
    [sub] = made.steps
    assert isinstance(sub.action, Group)
    assert [one.name for one in sub.action.steps] == ["a-to-b"]
    assert "sub" not in context.step_reasons
    assert "cannot share" not in context.reason
