"""The artifacts of a workflow: which there are, who makes and reads them, how large they are."""

from __future__ import annotations

import functools
import random
import typing as t

import pytest

from benchmarks.cache_simulation.artifact_graph import artifact_graph
from benchmarks.cache_simulation.known_lists import steps_of_unknown_items
from couler.caching.graph import ArtifactGraph
from couler.ir.policies import Dependency, Foreach, Gpu, Loop, Profile, Resources
from couler.ir.rewrite import map_scopes
from couler.ir.storage import ConfigKey
from couler.ir.values import (
    Compare,
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    ParamRef,
    Range,
    RoundRef,
    StepRef,
    Template,
    Value,
)
from couler.ir.verify import verify
from couler.ir.walk import Scope
from couler.ir.workflow import (
    Container,
    Defaults,
    ExitHandler,
    Group,
    Input,
    Output,
    Parameter,
    Step,
    Suspend,
    Workflow,
)
from tests.support.mill_of_flows import Mill

RUN = Container(image="busybox", command=("true",))
OUT = Output(name="out", type="json", path="out")


def step(name: str, *reads: Value, **fields: t.Any) -> Step:
    inputs = tuple(Input(name=f"x{number}", value=value) for number, value in enumerate(reads))
    return Step(**{"name": name, "action": RUN, "inputs": inputs, "outputs": (OUT,), **fields})


def out(name: str) -> StepRef:
    return StepRef(step=name, output="out")


def each(*items: t.Any) -> Foreach:
    return Foreach(over={"item": Literal(value=items)})


def group(name: str, value: Value, *steps: Step, **fields: t.Any) -> Step:
    result = Output(name="out", type="json", value=value)
    return Step(**{"name": name, "action": Group(steps=steps), "outputs": (result,), **fields})


def drawn(*steps: Step, **fields: t.Any) -> ArtifactGraph:
    workflow = Workflow(name="w", steps=steps, **fields)
    assert [str(problem) for problem in verify(workflow) if problem.severity == "error"] == []
    return artifact_graph(workflow)


def reads(graph: ArtifactGraph) -> dict[str, list[str]]:
    """Return the names of the readers of each artifact."""
    return {
        name: [graph.jobs[job] for job in jobs]
        for name, jobs in zip(graph.artifacts, graph.readers, strict=True)
    }


def befores(graph: ArtifactGraph) -> dict[str, list[str]]:
    """Return the names of the predecessors of each job."""
    return {
        name: [graph.jobs[job] for job in jobs]
        for name, jobs in zip(graph.jobs, graph.predecessors, strict=True)
    }


def test_output_that_several_read_is_one_artifact_and_one_that_nobody_reads_is_none() -> None:
    graph = drawn(
        step("a"), step("b", out("a")), step("c", out("a"), out("a")), step("d", depends_on=("c",))
    )
    assert reads(graph) == {"a.out": ["b", "c"]}
    assert graph.producer == (0,)
    assert befores(graph) == {"a": [], "b": ["a"], "c": ["a"], "d": ["c"]}


def test_values_inside_values_are_reads() -> None:
    inside = (
        OrElse(value=out("a"), default=out("b")),
        FirstOf(options=(out("c"),)),
        Template(parts=("see ", Field(of=out("d"), path=("total",)))),
    )
    graph = drawn(*map(step, "abcd"), step("e", *inside))
    assert reads(graph) == {f"{name}.out": ["e"] for name in "abcd"}


def test_items_are_jobs_and_a_gathered_list_is_read_whole_or_item_by_item() -> None:
    graph = drawn(
        step("a", foreach=each(1, 2)),
        step("b", ItemRef(name="one"), foreach=Foreach(over={"one": out("a")})),
        step("c", out("b")),
    )
    assert graph.jobs == ("a[0]", "a[1]", "b[0]", "b[1]", "c")
    assert reads(graph) == {
        "a[0].out": ["b[0]"],
        "a[1].out": ["b[1]"],
        "b[0].out": ["c"],
        "b[1].out": ["c"],
    }
    # The list is there when both of its items are.
    assert befores(graph)["b[0]"] == ["a[0]", "a[1]"]


def param(name: str, default: t.Any = None, **fields: t.Any) -> Parameter:
    return Parameter(**{"name": name, "type": "json", "default": default, **fields})


def over(value: Value, name: str = "fit", **fields: t.Any) -> Step:
    each = Foreach(over={"item": value})
    return step(name, ItemRef(name="item"), foreach=each, outputs=(), **fields)


@pytest.mark.parametrize(
    ("parameter", "value", "count"),
    [
        (param("p", (2, 4, 8)), ParamRef(name="p"), 3),
        (param("p", ()), ParamRef(name="p"), 0),
        (param("p", '["a", "b"]', type="str"), ParamRef(name="p"), 2),
        (param("p", {"depths": (2, 4)}), Field(of=ParamRef(name="p"), path=("depths",)), 2),
        (param("p", 4, type="int"), Range(count=ParamRef(name="p")), 4),
        (param("p", (2, 4), config=ConfigKey(config_map="c", key="k")), ParamRef(name="p"), 2),
        (param("p", config=ConfigKey(config_map="c", key="k")), ParamRef(name="p"), None),
        (param("p", required=True), ParamRef(name="p"), None),
        (param("p", "no list", type="str"), ParamRef(name="p"), None),
        (param("p", "none", type="str"), Range(count=ParamRef(name="p")), None),
    ],
)
def test_items_of_a_parameter_are_those_of_its_default(
    parameter: Parameter, value: Value, count: int | None
) -> None:
    workflow = Workflow(name="w", parameters=(parameter,), steps=(over(value),))
    jobs = ("fit",) if count is None else tuple(f"fit[{number}]" for number in range(count))
    assert artifact_graph(workflow).jobs == jobs
    assert steps_of_unknown_items(workflow) == (("fit",) if count is None else ())


def test_a_parameter_is_followed_into_groups_and_handlers() -> None:
    inside = Input(name="some", type="json", value=ParamRef(name="p"))
    made = Input(name="made", type="json", value=out("a"))
    steps = (over(ParamRef(name="some")), over(ParamRef(name="made"), "made"))
    held = Step(name="g", action=Group(steps=steps), inputs=(inside, made))
    handlers = (
        ExitHandler(name="any", on="any", steps=(over(ParamRef(name="p")),)),
        ExitHandler(name="bad", on="failure", steps=(over(out("a")),)),
    )
    workflow = Workflow(
        name="w", parameters=(param("p", (1, 2)),), steps=(step("a"), held), exit_handlers=handlers
    )
    assert artifact_graph(workflow).jobs == (
        *("a", "g/fit[0]", "g/fit[1]", "g/made"),
        *("exit:any/fit[0]", "exit:any/fit[1]"),
    )
    assert steps_of_unknown_items(workflow) == ("g/made",)


def test_foreach_of_no_items_is_no_job_and_hides_nothing_that_it_waits_for() -> None:
    graph = drawn(step("a"), step("b", foreach=each(), depends_on=("a",)), step("c", out("b")))
    assert befores(graph) == {"a": [], "c": ["a"]}
    assert not graph.artifacts


def test_group_is_its_jobs() -> None:
    inner = (
        step("first", ParamRef(name="given")),
        step("second", out("first")),
        step("third", depends_on=("first",)),
    )
    graph = drawn(
        step("a"),
        step("before"),
        group(
            "g",
            out("second"),
            *inner,
            inputs=(Input(name="given", type="json", value=out("a")),),
            depends_on=("before",),
        ),
        step("z", out("g")),
    )
    assert reads(graph) == {
        "a.out": ["g/first"],
        "g/first.out": ["g/second"],
        "g/second.out": ["z"],
    }
    assert befores(graph)["g/first"] == ["a", "before"]
    assert befores(graph)["g/second"] == ["g/first"]
    # The group has ended when all of its steps have.
    assert befores(graph)["z"] == ["g/second", "g/third"]


def test_loop_is_one_job() -> None:
    again = Loop(condition=Compare(left=RoundRef(), op="==", right=Literal(value="x")))
    values = (Output(), Output(name="out", path="out"))
    graph = drawn(
        step("a", outputs=values),
        step("b", RoundRef(initial=StepRef(step="a")), loop=again, outputs=values),
    )
    assert reads(graph) == {"a.result": ["b"]}


def test_bytes_are_shared_by_files_and_else_by_values() -> None:
    files = (
        Output(name="data", type="file", path="data"),
        Output(name="log", type="directory", path="log"),
        Output(name="n", path="n"),
    )
    profile = Profile(output_bytes=101)
    inputs = (
        Input(name="x0", type="file", value=StepRef(step="a", output="data")),
        Input(name="x1", type="directory", value=StepRef(step="a", output="log")),
        Input(name="x2", value=StepRef(step="a", output="n")),
        Input(name="x3", value=StepRef(step="b", output="x")),
        Input(name="x4", value=StepRef(step="b", output="result")),
    )
    graph = drawn(
        step("a", outputs=files, profile=profile),
        step("b", outputs=(Output(name="x", path="x"), Output()), profile=profile),
        Step(name="c", action=RUN, inputs=inputs),
    )
    sizes = dict(zip(graph.artifacts, graph.size_bytes, strict=True))
    assert sizes == {"a.data": 51, "a.log": 50, "a.n": 0, "b.x": 51, "b.result": 50}


def test_seconds_and_resources() -> None:
    asked = Resources(cpu="1500m", gpu=Gpu(count=2))
    graph = drawn(
        step("a", profile=Profile(seconds=4), resources=asked),
        step("b", profile=Profile(seconds=2)),
        step("unknown"),
        step("pause", action=Suspend(seconds=6), outputs=()),
        step("small", profile=Profile(seconds=4), resources=Resources(cpu_limit="100m")),
        defaults=Defaults(resources=Resources(cpu="2")),
    )
    assert graph.seconds == (4.0, 2.0, 4.0, 6.0, 4.0)
    # 3.5 of a; 2 by default; a pause has no processors, and 1 is the least.
    assert graph.resources == (14.0, 4.0, 8.0, 6.0, 4.0)


def test_exit_handlers_come_last_and_those_on_failure_not_at_all() -> None:
    mail = (step("mail", OrElse(value=StepRef(step="a"), default=Literal(value="")), outputs=()),)
    graph = drawn(
        step("a", outputs=(Output(),)),
        step("b", depends_on=("a",)),
        step("c", depends_on=(Dependency(step="a", on="completion"),)),
        exit_handlers=(
            ExitHandler(name="done", on="any", steps=mail),
            ExitHandler(name="bad", on="failure", steps=mail),
        ),
    )
    assert reads(graph) == {"a.result": ["exit:done/mail"]}
    assert befores(graph)["exit:done/mail"] == ["a", "b", "c"]


def test_edges_of_order_alone_do_not_multiply() -> None:
    many = each(*range(101))
    graph = drawn(
        step("a", foreach=many),
        step("b", foreach=many, depends_on=("a",)),
        step("c", foreach=each(*range(100)), depends_on=("b",)),
        step("d", depends_on=("c",)),
    )
    # Each job of b waits for the one that ends a; d for the 100 of c.
    assert befores(graph)["b[7]"] == ["a"]
    assert graph.seconds[graph.jobs.index("a")] == graph.resources[graph.jobs.index("a")] == 0
    assert befores(graph)["c[0]"] == ["b"]
    assert befores(graph)["d"] == [f"c[{number}]" for number in range(100)]


def test_steps_may_stand_before_those_that_they_wait_for() -> None:
    workflow = Workflow(name="w", steps=(step("c", out("b")), step("b", out("a")), step("a")))
    assert artifact_graph(workflow).jobs == ("a", "b", "c")


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_what_is_read_in_random_workflows_is_made_by_a_step_of_that_name(first: int) -> None:
    for seed in range(first, first + 50):
        dice = random.Random(seed)
        workflow = map_scopes(Mill(seed).workflow(), functools.partial(_timed, dice))
        graph = artifact_graph(workflow)
        for name, maker in zip(graph.artifacts, graph.producer, strict=True):
            assert maker is not None
            assert name.startswith(f"{graph.jobs[maker]}."), seed


def workflow_time(graph: ArtifactGraph) -> float:
    """Return the length of the critical path."""
    ends = [0.0] * len(graph.jobs)
    for job in graph.order:
        start = max((ends[before] for before in graph.predecessors[job]), default=0.0)
        ends[job] = start + graph.seconds[job]
    return max(ends, default=0.0)


def _timed(dice: random.Random, scope: Scope) -> tuple[Step, ...]:
    """Return the steps of a scope with whole seconds, their items all at once."""
    steps = []
    for one in scope.steps:
        foreach = one.foreach and one.foreach.model_copy(update={"max_parallel": None})
        profile = Profile(seconds=dice.randint(0, 9))
        steps.append(one.model_copy(update={"foreach": foreach, "profile": profile}))
    return tuple(steps)
