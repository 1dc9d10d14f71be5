"""Which steps share a pod, and what stands for them."""

from __future__ import annotations

import ast
import typing as t

import pytest

from couler.errors import ConfigurationError, EngineOptionError, GroupingError
from couler.ir.policies import Cache, Gpu, Placement, Profile, Resources, Retry
from couler.ir.rewrite import map_scopes
from couler.ir.storage import EnvVar, Mount, SecretKey
from couler.ir.verify import verify
from couler.ir.workflow import Container, Input, Script, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.grouping import METHODS
from couler.optimizers.passes.group import Group
from couler.optimizers.registry import read_pass
from tests.corpus.build import (
    both,
    compare,
    flow,
    given,
    group,
    on_completion,
    or_else,
    out,
    param,
    parameter,
    part,
    py,
    ref,
    sh,
    words,
)


def names(workflow: Workflow) -> list[str]:
    return [step.name for step in workflow.steps]


def run(workflow: Workflow, **options: t.Any) -> tuple[Workflow, PassContext]:
    context = PassContext()
    return Group(**options).run(workflow, context), context


def definition(step: Step) -> dict[str, t.Any]:
    """Return what the script of a group says of its steps."""
    assert isinstance(step.action, Script)
    [made] = [
        node.value
        for node in ast.parse(step.action.source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "GROUP"
    ]
    found: dict[str, t.Any] = ast.literal_eval(made)
    return found


def chain(**fields: t.Any) -> Workflow:
    return flow(
        "w", py("a", "1", **fields), py("b", "2", depends_on=["a"]), py("c", "3", depends_on=["b"])
    )


def test_a_chain_is_one_step() -> None:
    workflow = flow(
        "w",
        sh("x", "true"),
        py("a", "1", depends_on=["x"]),
        py("b", "2", inputs=[given("n", ref("a"))]),
        sh("y", "echo", ref("b")),
        outputs=[out("b", source=ref("b"))],
    )
    made, context = run(workflow)
    assert names(made) == ["x", "a-to-b", "y"]
    both = made.steps[1]
    assert both.depends_on == ("x",)
    assert [(one.name, one.path) for one in both.outputs] == [("result", "outputs/0")]
    assert made.steps[2] == sh("y", "echo", ref("a-to-b"))
    assert made.outputs == (out("b", source=ref("a-to-b")),)
    assert context.derived == {"a-to-b": ("a", "b")}
    assert context.step_reasons["a-to-b"] == (
        "a, b run in one pod of python:3.12-slim: 1 pod less at 50, and 1 edge within it at 5 in "
        "place of 20."
    )
    assert [step["name"] for step in definition(both)["steps"]] == ["a", "b"]


def test_the_same_twice() -> None:
    assert run(chain())[0] == run(chain())[0]
    again, context = run(run(chain())[0])
    assert names(again) == ["a-to-c"]
    assert not context.derived


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"foreach": [1]}, "it is a foreach"),
        ({"cache": Cache()}, "it has a cache"),
        ({"mutex": "m"}, "it holds a lock"),
        ({"daemon": True}, "it is a daemon"),
        ({"engine": {"argo": {}}}, "it has overrides for an engine"),
        ({"working_dir": "/tmp/couler/x"}, "it works in /tmp/couler/x"),
        (
            {"inputs": [given("f", "x", path="/data/x")]},
            '"f" lies at /data/x, which is not in its own folder',
        ),
        ({"retry": Retry(limit=1, other_node=True)}, "each of its attempts wants another node"),
    ],
)
def test_steps_that_are_left_alone(fields: dict[str, t.Any], why: str) -> None:
    made, context = run(chain(**fields))
    assert names(made) == ["a", "b-to-c"]
    assert context.step_reasons["a"] == f"It is in no group: {why}."


def test_containers_without_a_command_and_other_kinds() -> None:
    plain = Step(name="p", action=Container(image="python:3.12-slim"))
    made, context = run(flow("w", plain, group("g", py("i", "1"))))
    assert names(made) == ["p", "g"]
    assert "entry point" in context.step_reasons["p"]
    assert "of the kind group" in context.step_reasons["g"]


def test_others_that_ask_for_its_end() -> None:
    made, context = run(
        flow(
            "w",
            py("a", "1"),
            py("b", "2", depends_on=["a"]),
            py("c", "3", depends_on=[on_completion("b")]),
        )
    )
    assert names(made) == ["a", "b", "c"]
    assert "others ask for its failure or its end" in context.step_reasons["b"]


@pytest.mark.parametrize(
    "fields",
    [
        {"placement": Placement(node_selector={"disk": "fast"})},
        {"mounts": (Mount(volume="v", path="/v"),)},
        {"labels": {"team": "x"}},
        {"pull_policy": "Always"},
        {"resources": Resources(gpu=Gpu(count=1))},
        {"action": Script(image="python:3.12-slim", source="", packages=("numpy",))},
        {"action": Script(image="python:3.13-slim", source="")},
        {"action": Script(image="python:3.12-slim", source="", command=("python3",))},
    ],
    ids=str,
)
def test_pods_that_differ_are_not_shared(fields: dict[str, t.Any]) -> None:
    """Where all have it in common, it is that of the pod."""

    def changed(step: Step) -> Step:
        return step.model_copy(update=fields)

    workflow = chain()
    one = workflow.model_copy(update={"steps": (*workflow.steps[:2], changed(workflow.steps[2]))})
    assert names(run(one)[0]) == ["a-to-b", "c"]
    every = map_scopes(workflow, lambda scope: tuple(map(changed, scope.steps)))
    [made] = run(every)[0].steps
    for field, value in fields.items():
        if field == "action":
            assert isinstance(made.action, Script)
            assert (made.action.image, made.action.packages, made.action.command) == (
                value.image,
                value.packages,
                value.command,
            )
        else:
            assert getattr(made, field) == value


def test_images_with_tags() -> None:
    tool = Step(name="b", action=Container(image="tool:1", command=("tool",)), depends_on=("a",))
    workflow = flow("w", py("a", "1"), tool)
    made, context = run(workflow)
    assert names(made) == ["a", "b"]
    assert 'say images=["tool:1 = python"]' in context.step_reasons["b"]
    made, _ = run(workflow, images=("tool:1 = python git", "python:3.12-slim = python"))
    [both] = made.steps
    assert isinstance(both.action, Script)
    assert both.action.image == "tool:1"
    made, _ = run(workflow, images=("tool:1 = python git", "python:3.12-slim = python pip"))
    assert names(made) == ["a", "b"]  # none has what both have
    large = ("tool:1 = git", "python:3.12-slim = python", "all:1 = git python")
    [both] = run(workflow, images=large)[0].steps
    assert isinstance(both.action, Script)
    assert both.action.image == "all:1"
    assert read_pass('group{images=["tool:1 = python"]}') == Group(images=("tool:1 = python",))


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
    assert made.resources == Resources(cpu="3", memory="2Gi")
    assert definition(made)["room"] == {"cpu": 3.0, "memory": 2.0**31}
    [made] = run(side, cpu=8, memory_bytes=2**33)[0].steps
    assert made.resources == Resources(cpu="3500m", memory="2560Mi")
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
    [made] = run(silent)[0].steps
    assert made.resources is None
    assert definition(made)["max_parallel"] == "processors"
    assert definition(run(silent, max_parallel=4)[0].steps[0])["max_parallel"] == 4
    mixed = flow("w", asks("a", "2"), *(asks(f"s{n}", None) for n in range(4)))
    [made] = run(mixed)[0].steps
    assert (made.resources, made.profile) == (Resources(cpu="2"), Profile(seconds=30))
    assert "max_parallel" not in definition(made)
    assert definition(made)["room"] == {"cpu": 2.0}
    assert [one["needs"]["cpu"] for one in definition(made)["steps"]] == [2.0, 1.0, 1.0, 1.0, 1.0]
    [made] = run(mixed, cpu=4)[0].steps
    assert made.resources == Resources(cpu="4")
    small = flow("w", asks("a", "500m"), asks("b", None), asks("c", None))
    [made] = run(small)[0].steps
    assert made.resources == Resources(cpu="500m")
    assert [one["needs"]["cpu"] for one in definition(made)["steps"]] == [0.5, 0.5, 0.5]
    [made] = run(small, cpu=0.5)[0].steps
    assert made.resources == Resources(cpu="500m")


def test_what_is_lost_counts_steps_that_ask_for_no_processors() -> None:
    steps = [py(f"s{n}", "1", profile=Profile(seconds=100)) for n in range(3)]
    assert len(names(run(flow("w", *steps), cpu=1, per_lost_s=5)[0])) == 3
    assert len(names(run(flow("w", *steps), cpu=3, per_lost_s=5)[0])) == 1


def test_a_bound_around_holds_inside() -> None:
    workflow = chain().model_copy(update={"max_parallel": 3})
    assert definition(run(workflow)[0].steps[0])["max_parallel"] == 1
    inner = group("g", group("h", py("a", "1"), py("b", "2")), max_parallel=2)
    [g] = run(flow("w", inner))[0].steps
    [h] = g.action.steps  # type: ignore[union-attr]  # a group
    assert definition(h.action.steps[0])["max_parallel"] == 1  # type: ignore[union-attr]


def test_inside_of_groups() -> None:
    inner = group(
        "g",
        py("a", "1", inputs=[given("n", param("n"), "int")]),
        py("b", "2", inputs=[given("m", ref("a"))]),
        inputs=[given("n", 3, "int")],
        outputs=[out("last", source=ref("b"))],
    )
    made, context = run(flow("w", inner))
    assert made.steps[0].outputs == (out("last", source=ref("a-to-b")),)
    assert context.derived == {"g/a-to-b": ("g/a", "g/b")}
    inside = made.steps[0].action.steps[0]  # type: ignore[union-attr]  # a group
    assert inside.inputs == (Input(name="in_0", value=param("n"), type="int"),)


def test_exit_handlers_read_what_is_there_now() -> None:
    from couler.ir.workflow import ExitHandler

    tell = sh("tell", "echo", or_else(ref("c"), "none"))
    handler = ExitHandler(name="h", on="any", steps=(tell, sh("c", "echo mine")))
    workflow = chain().model_copy(
        update={
            "exit_handlers": (handler, handler.model_copy(update={"name": "i", "steps": (tell,)}))
        }
    )
    made, _ = run(workflow)
    own, other = made.exit_handlers
    assert own.steps[0] == tell  # its own c
    assert other.steps[0] == sh("tell", "echo", or_else(ref("a-to-c"), "none"))


def test_secrets_are_given_to_the_step_that_asks() -> None:
    secret = EnvVar(name="TOKEN", secret=SecretKey(secret="s", key="k"))
    whole, _ = run(chain(env=[secret, EnvVar(name="N", value=param("n"))]))
    assert "CLR413" not in {one.code for one in verify(whole)}  # names that are Couler's own
    [made] = whole.steps
    assert made.env == (EnvVar(name="GROUPED_ENV_0", secret=SecretKey(secret="s", key="k")),)
    assert definition(made)["steps"][0]["env"] == [
        {"name": "TOKEN", "hidden": "GROUPED_ENV_0"},
        {"name": "N", "value": {"given": "in_0", "type": "str"}},
    ]


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


def fork(**fields: t.Any) -> Workflow:
    return flow(
        "w",
        py("a", "1"),
        py("b", "2", depends_on=["a"]),
        py("c", "3", inputs=[given("x", ref("a"))]),
        sh("y", "echo", ref("b")),
        sh("z", "echo", ref("c")),
        **fields,
    )


def test_failures_kept_or_whole() -> None:
    kept, _ = run(fork())
    assert names(kept) == names(fork())
    whole, context = run(fork(), failures="whole")
    assert names(whole) == ["a-to-c", "y", "z"]
    assert [(one.name, one.path) for one in whole.steps[0].outputs] == [
        ("result", "outputs/0"),
        ("c-result", "outputs/1"),
    ]
    assert whole.steps[2] == sh("z", "echo", ref("a-to-c", "c-result"))
    assert "what waits for another one of it is omitted" in context.reason
    assert (Group().keeps_failures, Group(failures="whole").keeps_failures) == (True, False)


def test_whole_groups_never_wait_in_a_circle() -> None:
    workflow = flow(
        "w", py("a", "1"), sh("x", "true", depends_on=["a"]), py("b", "2", depends_on=["x", "a"])
    )
    assert names(run(workflow, failures="whole")[0]) == ["a", "x", "b"]


def test_what_may_fail_the_reader_alone() -> None:
    workflow = flow(
        "w",
        sh("list", "echo [1]", foreach=[1, 2], result="int"),
        py("a", "1", inputs=[given("all", ref("list"), "list")]),
        py("b", "2", depends_on=["a"], inputs=[given("p", part(param("p"), "x"))]),
        parameters=[parameter("p", "{}")],
    )
    made, context = run(workflow)
    assert names(made) == ["list", "a", "b"]
    assert context.step_reasons["a"] == (
        "It is in no group: it reads a list of int, and an item that is none fails it alone, as "
        "only typed steps look at what they give."
    )
    assert names(run(workflow, failures="whole")[0]) == ["list", "a-to-b"]


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


def test_a_reason_names_the_first_steps_of_a_large_group() -> None:
    """The JSON of the plan has all, as what the group comes from."""
    made, context = run(flow("w", *(py(f"s{n}", "1") for n in range(150))))
    [name] = names(made)
    assert context.step_reasons[name].startswith("s0, s1, s2, s3, s4 and 145 more run in one pod ")
    assert len(context.derived[name]) == 150


def test_costs_and_methods() -> None:
    _, context = run(chain(), costs="node")
    assert "By the costs node that is 1010 in place of 3010." in context.reason
    _, context = run(chain(), group=0.0, inter=5.0)
    assert context.reason.startswith("No steps are put together.")
    assert names(run(chain(), method="none")[0]) == ["a", "b", "c"]
    assert names(run(chain(), max_steps=2)[0]) == ["a-to-b", "c"]


def test_parallelism_that_is_lost() -> None:
    steps = [
        py(f"s{n}", "1", profile=Profile(seconds=100), resources=Resources(cpu="1"))
        for n in range(3)
    ]
    assert len(names(run(flow("w", *steps))[0])) == 1
    assert len(names(run(flow("w", *steps), cpu=1, per_lost_s=5)[0])) == 3


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": "best"}, 'there is no method "best"'),
        ({"max_steps": 0}, "max_steps is 0"),
        ({"images": ("python:3.12",)}, 'images: "python:3.12" is none'),
        ({"images": ("a = x", "a = y")}, "images: a is declared twice"),
        ({"intra": 30.0}, "intra"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, t.Any], told: str) -> None:
    with pytest.raises((EngineOptionError, ConfigurationError, ValueError), match=told):
        Group(**options)


def test_names_that_are_taken() -> None:
    workflow = flow("w", sh("a-to-b", "true"), py("a", "1"), py("b", "2", depends_on=["a"]))
    assert names(run(workflow)[0]) == ["a-to-b", "a-to-b-2"]


def test_words_of_values() -> None:
    made, _ = run(
        flow(
            "w",
            words("a", "python", "-c", ""),
            words("b", "echo", or_else(ref("a"), "x"), param("p")),
        )
    )
    assert definition(made.steps[0])["steps"][1]["words"] == [
        "echo",
        {"first": [{"step": "a", "output": "result"}, {"literal": "x"}]},
        {"given": "in_0", "type": "str"},
    ]


@pytest.mark.parametrize("width", [1, 7])
def test_scripts_have_a_bound(width: int) -> None:
    steps = [
        py(
            f"step-{n}",
            f"print({n!r}, '${{HOME}}')\n" * 10,
            inputs=[given("n", ref(f"step-{n - width}"))] if n >= width else [],
            retry=Retry(limit=2),
            resources=Resources(cpu="1", memory="1Gi"),
        )
        for n in range(400)
    ]
    made, _ = run(flow("w", *steps), cpu=2)
    assert 3 < len(made.steps) < 12
    sizes = [len(step.action.source.encode()) for step in made.steps]  # type: ignore[union-attr]
    assert 48 << 10 < max(sizes) <= 96 << 10
    made, context = run(flow("w", *steps[:2]), script_bytes=28_896)
    assert names(made) == names(flow("w", *steps[:2]))
    assert "bytes in a script, and a group has 224" in context.step_reasons["step-0"]


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method(method: str) -> None:
    try:
        made, context = run(chain(), method=method)
        again, _ = run(chain(), method=method)
    except ConfigurationError as error:
        pytest.skip(str(error))
    assert made == again
    if method not in ("none", "random"):
        assert names(made) == ["a-to-c"]
    if method in ("milp", "tree-dp", "cp-sat"):
        assert "no grouping costs less than 60" in context.reason


def test_a_method_that_cannot() -> None:
    with pytest.raises(GroupingError, match="tree-dp cannot solve"):
        run(fork(), method="tree-dp")


def test_limits_of_containers_are_not_reached_by_others() -> None:
    def bounded(name: str, memory: str | None, limit: str | None) -> Step:
        return py(name, "1", resources=Resources(memory=memory, memory_limit=limit))

    [made] = run(flow("w", bounded("a", None, "1Gi"), bounded("b", "512Mi", "2Gi")))[0].steps
    assert made.resources == Resources(memory="512Mi", memory_limit="2Gi")
    assert definition(made)["room"] == {"memory": 2.0**31}
    assert [one["needs"] for one in definition(made)["steps"]] == [
        {"memory": 2.0**30},
        {"memory": 2.0**31},
    ]
    [made] = run(flow("w", bounded("a", "1Gi", "1Gi"), bounded("b", "512Mi", None)))[0].steps
    assert made.resources == Resources(memory="1Gi")


def test_gpus_are_given_to_one_step_at_a_time() -> None:
    steps = [py(f"s{n}", "1", resources=Resources(gpu=Gpu(count=n + 1))) for n in range(2)]
    [made] = run(flow("w", *steps))[0].steps
    assert made.resources == Resources(gpu=Gpu(count=2))
    assert definition(made)["room"] == {"gpu": 1}
    assert [one["needs"] for one in definition(made)["steps"]] == [{"gpu": 1.0}] * 2
