"""Which steps share a pod, and what stands for them."""

from __future__ import annotations

import typing as t

import pytest

from couler.errors import ConfigurationError, EngineOptionError, GroupingError
from couler.ir.cachekey import definition_digest
from couler.ir.policies import Cache, Gpu, Placement, Profile, Resources, Retry
from couler.ir.rewrite import map_scopes
from couler.ir.storage import EnvVar, Mount, SecretKey
from couler.ir.verify import verify
from couler.ir.workflow import Container, Http, Input, Script, Step, Workflow
from couler.optimizers.grouping.methods import METHODS
from couler.optimizers.passes.group import Group
from couler.optimizers.pipeline import read_pass
from tests.corpus.build import (
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
)
from tests.optimizers.grouped.flows import definition, names, run


def chain(**fields: t.Any) -> Workflow:
    return flow(
        "w",
        py("a", "1", **fields),
        py("b", "2", depends_on=["a"]),
        py("c", "3", depends_on=["b"]),
        parameters=[parameter("n", "1")],
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
    asking = Step(name="h", action=Http(url="http://localhost"))
    made, context = run(flow("w", plain, asking, group("g", py("i", "1"))))
    assert names(made) == ["p", "h", "g"]
    assert "entry point" in context.step_reasons["p"]
    assert "of the kind http" in context.step_reasons["h"]
    assert "g" not in context.step_reasons  # of what is inside it is told


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


def test_modules_of_the_project_count_for_the_pod() -> None:
    """A changed helper of one of its steps makes the pod another one."""

    def key(helper: str) -> str:
        def importing(step: Step) -> Step:
            assert isinstance(step.action, Script)
            return step.model_copy(
                update={"action": step.action.model_copy(update={"code": helper})}
            )

        first, *others = chain().steps
        workflow = chain().model_copy(update={"steps": (first, *map(importing, others))})
        [made] = run(workflow)[0].steps
        return definition_digest(made, {})

    assert key("one") == key("one")
    assert len({key(""), key("one"), key("two")}) == 3


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
    assert len(names(run(flow("w", *steps), cpu=3)[0])) == 1
    assert len(names(run(flow("w", *steps), per_lost_s=0)[0])) == 1
    assert len(names(run(flow("w", *steps))[0])) == 3
    assert len(names(run(flow("w", *steps), cpu=1)[0])) == 3


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
