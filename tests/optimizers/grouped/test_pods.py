"""What the pod of a group has, from what its steps have: needs, conditions, files."""

from __future__ import annotations

import pytest

from couler.ir.policies import Gpu, Profile, Resources, Retry
from couler.ir.verify import verify
from couler.ir.workflow import Input, Step
from tests.corpus.build import (
    both,
    compare,
    flow,
    given,
    or_else,
    out,
    param,
    parameter,
    py,
    ref,
    sh,
)
from tests.optimizers.grouped.flows import definition, names, run


def test_what_the_pod_asks_for() -> None:
    def asks(name: str, cpu: str, memory: str, *after: str, seconds: float = 1.0) -> Step:
        return py(
            name,
            "1",
            resources=Resources(cpu=cpu, memory=memory),
            profile=Profile(seconds=seconds),
            depends_on=after,
        )

    row = flow("w", asks("a", "500m", "1Gi"), asks("b", "2", "512Mi", "a", seconds=5))
    [made] = run(row)[0].steps
    assert (made.resources, made.profile) == (
        Resources(cpu="2", memory="1Gi"),
        Profile(seconds=6),
    )
    side = flow(
        "w", asks("a", "500m", "1Gi"), asks("b", "2", "512Mi"), asks("c", "1", "1Gi", "a", "b")
    )
    [made] = run(side)[0].steps
    assert made.resources == Resources(cpu="2", memory="1Gi")
    assert definition(made)["room"] == {"cpu": 2.0, "memory": 2.0**30}
    assert definition(made)["steps"][0]["needs"] == {"cpu": 0.5, "memory": 2.0**30}
    [made] = run(side, cpu=3, memory_bytes=2**31)[0].steps
    assert made.resources == Resources(cpu="2500m", memory="2Gi")
    assert "room" not in definition(made)  # c waits for the others
    [made] = run(side, cpu=8, memory_bytes=2**33)[0].steps
    assert made.resources == Resources(cpu="2500m", memory="2Gi")
    assert "room" not in definition(made)
    [made] = run(side, cpu=8, max_parallel=1)[0].steps
    assert made.resources == Resources(cpu="2", memory="1Gi")
    assert made.profile == Profile(seconds=3)
    made_alone, context = run(side, cpu=1)
    assert names(made_alone) == ["a", "b", "c"]
    assert context.step_reasons["b"] == (
        "It is in no group: it asks for 2 cpu, and a pod of a group has 1."
    )


def test_processors_of_steps_that_ask_for_none() -> None:
    def asks(name: str, cpu: str | None) -> Step:
        resources = None if cpu is None else Resources(cpu=cpu)
        return py(name, "1", resources=resources, profile=Profile(seconds=10))

    silent = flow("w", *(asks(f"s{n}", None) for n in range(9)))
    [made] = run(silent, per_lost_s=0)[0].steps
    assert made.resources is None
    assert made.profile == Profile(seconds=45)  # two at a time at least
    assert definition(made)["max_parallel"] == "processors"
    assert definition(run(silent, max_parallel=4)[0].steps[0])["max_parallel"] == 4
    [made] = run(silent, cpu=9)[0].steps
    assert (made.resources, made.profile) == (None, Profile(seconds=10))
    assert definition(made)["max_parallel"] == 9
    mixed = flow("w", asks("a", "2"), *(asks(f"s{n}", None) for n in range(4)))
    [made] = run(mixed, per_lost_s=0)[0].steps
    assert (made.resources, made.profile) == (Resources(cpu="2"), Profile(seconds=30))
    assert "max_parallel" not in definition(made)
    assert definition(made)["room"] == {"cpu": 2.0}
    assert [one["needs"]["cpu"] for one in definition(made)["steps"]] == [2.0, 1.0, 1.0, 1.0, 1.0]
    [made] = run(mixed, cpu=4, per_lost_s=0)[0].steps
    assert made.resources == Resources(cpu="4")
    small = flow("w", asks("a", "500m"), asks("b", None), asks("c", None))
    [made] = run(small, per_lost_s=0)[0].steps
    assert made.resources == Resources(cpu="500m")
    assert [one["needs"]["cpu"] for one in definition(made)["steps"]] == [0.5, 0.5, 0.5]
    [made] = run(small, cpu=0.5, per_lost_s=0)[0].steps
    assert made.resources == Resources(cpu="500m")


def test_what_is_lost_counts_steps_that_ask_for_no_processors() -> None:
    steps = [py(f"s{n}", "1", profile=Profile(seconds=100)) for n in range(3)]
    assert len(names(run(flow("w", *steps), cpu=1, per_lost_s=5)[0])) == 3
    assert len(names(run(flow("w", *steps), cpu=3, per_lost_s=5)[0])) == 1


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ([Retry(limit=2), Retry(limit=3)], Retry(limit=2, on=("error",))),
        ([Retry(limit=2), None], None),
        ([Retry(limit=2), Retry(limit=2, on=("failure",))], None),
        ([Retry(limit=2), Retry(limit=2, exit_codes=(3,))], None),
    ],
)
def test_a_pod_that_is_lost(policies: list[Retry | None], expected: Retry | None) -> None:
    steps = [py(f"s{n}", "1", retry=one) for n, one in enumerate(policies)]
    [made] = run(flow("w", *steps))[0].steps
    assert made.retry == expected


def test_conditions_are_those_of_the_pod() -> None:
    holds = compare(ref("x"), ">", 3)
    workflow = flow(
        "w",
        sh("x", "echo 4"),
        py("a", "1", when=holds),
        py("b", "2", inputs=[given("n", ref("a"))], when=holds),
        py("c", "3", inputs=[given("n", ref("b"))], when=both(holds, compare(ref("b"), "!=", ""))),
        py("d", "4", inputs=[given("n", or_else(ref("b"), ""))]),
    )
    made, _ = run(workflow)
    assert names(made) == ["x", "a-to-b", "c", "d"]
    group_, stricter, reader = made.steps[1:]
    assert (group_.when, group_.depends_on) == (holds, ())
    assert "when" not in str(definition(group_))
    assert stricter.when == both(holds, compare(ref("a-to-b"), "!=", ""))
    assert reader.inputs[0].value == or_else(ref("a-to-b"), "")
    assert not [one for one in verify(made) if one.severity == "error"]


def test_conditions_that_differ_are_not_shared() -> None:
    """Neither is one that is stricter, which can be false where the other one holds."""
    first, other = (compare(param("p"), "==", text) for text in ("x", "y"))
    for conditions in ((first, other), (first, None), (first, both(first, other))):
        steps = [py(f"s{n}", "1", when=when) for n, when in enumerate(conditions)]
        made, _ = run(flow("w", *steps, parameters=[parameter("p", "x")]), failures="whole")
        assert names(made) == ["s0", "s1"]


def test_a_value_of_a_condition_that_is_read_besides() -> None:
    """The group has the condition; what a step reads elsewhere is looked at as always."""
    numbers = ref("list")
    steps = [
        py(name, "1", inputs=inputs, when=compare(numbers, "!=", "[]"))
        for name, inputs in (("a", []), ("b", []), ("c", [given("all", numbers, "list")]))
    ]
    workflow = flow("w", sh("list", "echo 1", foreach=[1, 2], result="int"), *steps)
    made, context = run(workflow)
    assert names(made) == ["list", "a-to-b", "c"]
    assert "it reads a list of int" in context.step_reasons["c"]


def test_files_of_a_foreach_come_in_as_they_are() -> None:
    files = ref("write", "f")
    write = py("write", "", None, foreach=[1], outputs=[out("f", "file", "f")])
    steps = [
        py("a", "1", inputs=[given("one", files, "file", "in/x", many=True)]),
        py("b", "2", depends_on=["a"], inputs=[given("two", files, "file", many=True)]),
    ]
    [_, made] = run(flow("w", write, *steps))[0].steps
    assert made.inputs == (Input(name="in_0", value=files, type="file", many=True),)
    first, second = definition(made)["steps"]
    there = {"type": "file", "value": {"given": "in_0", "type": "file"}, "many": True}
    assert first["inputs"] == [{"name": "one", "path": "in/x", **there}]
    assert second["inputs"] == [{"name": "two", **there}]


def test_gpus_are_given_to_one_step_at_a_time() -> None:
    steps = [py(f"s{n}", "1", resources=Resources(gpu=Gpu(count=n + 1))) for n in range(2)]
    [made] = run(flow("w", *steps), per_lost_s=0)[0].steps
    assert made.resources == Resources(gpu=Gpu(count=2))
    assert definition(made)["room"] == {"gpu": 1}
    assert [one["needs"] for one in definition(made)["steps"]] == [{"gpu": 1.0}] * 2
