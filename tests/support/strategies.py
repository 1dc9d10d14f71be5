"""Hypothesis strategies: workflows that are valid, with groups, foreach, loops and conditions."""

from __future__ import annotations

import typing as t

from hypothesis import strategies as st

from couler.ir.base import FrozenDict
from couler.ir.policies import (
    AnyOf,
    Backoff,
    Cache,
    Dependency,
    Foreach,
    Gpu,
    Loop,
    Placement,
    Profile,
    Resources,
    Retry,
    SourceRef,
    Toleration,
)
from couler.ir.storage import ClaimVolume, EmptyVolume, EnvVar, Mount, SecretKey
from couler.ir.values import (
    And,
    Compare,
    Condition,
    Field,
    FirstOf,
    ItemRef,
    Literal,
    Not,
    Or,
    OrElse,
    ParamRef,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
)
from couler.ir.workflow import (
    Action,
    Container,
    ExitHandler,
    Group,
    Http,
    Input,
    Job,
    LocalForm,
    Output,
    Parameter,
    Schedule,
    Script,
    Step,
    Suspend,
    Workflow,
)

hostile_text = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
) | st.sampled_from(
    ["{{x}}", "${HOME}", "$(HOME)", "$$", "1e3", "no", "'", '"', "a\nb\n", "\t", "#", "08", "null"]
)
"""Text that engines are tempted to read as something else."""

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | hostile_text,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(hostile_text, inner, max_size=3).map(FrozenDict)
    ),
    max_leaves=6,
)

Draw: t.TypeAlias = st.DrawFn


class _Scope(t.NamedTuple):
    """What the steps of a scope can read."""

    parameters: tuple[str, ...]
    """Names of parameters of type str."""
    finished: dict[str, Step]
    """Steps drawn so far."""
    volumes: tuple[str, ...] = ()
    in_handler: bool = False


def _read(draw: Draw, scope: _Scope) -> Value:
    """A value that can be read anywhere in the scope: reads of steps have defaults."""
    options: list[Value] = [Literal(value=draw(hostile_text)), RunRef(field="id")]
    options += [ParamRef(name=name) for name in scope.parameters]
    if scope.in_handler:
        options.append(RunRef(field="status"))
    for name, step in scope.finished.items():
        for output in step.outputs:
            if output.type != "file":
                read = StepRef(step=name, output=output.name)
                options.append(OrElse(value=read, default=Literal(value="none")))
                options.append(FirstOf(options=(read, Literal(value="none"))))
    value = draw(st.sampled_from(options))
    if draw(st.integers(0, 5)) == 0:
        return Template(parts=("<", value, draw(hostile_text)))
    return value


def _condition(draw: Draw, left: Value, depth: int = 2) -> Condition:
    """A condition that can come out either way: every comparison has another literal."""
    kind = draw(st.sampled_from(["compare", "compare", "and", "or", "not"])) if depth else "compare"
    if kind == "not":
        return Not(item=_condition(draw, left, depth - 1))
    if kind == "compare":
        text = draw(st.text("abcdefgh", min_size=3, max_size=6))
        return Compare(left=left, op=draw(st.sampled_from(["==", "!="])), right=Literal(value=text))
    return (And if kind == "and" else Or)(items=(_condition(draw, left, 0),))


def _process(draw: Draw, scope: _Scope, items: tuple[Value, ...]) -> Action:
    values = [_read(draw, scope) for _ in range(draw(st.integers(0, 2)))]
    match draw(st.sampled_from(["container", "script", "job", "http", "suspend"])):
        case "container":
            words = tuple(draw(st.lists(hostile_text, max_size=2)))
            command = draw(st.sampled_from([(), ("sh", "-c")]))
            return Container(image="alpine:3", command=command, args=(*words, *values, *items))
        case "script":
            return Script(
                image="python:3.12-slim",
                source="print(1)\n" + draw(hostile_text),
                packages=draw(st.sampled_from([(), ("numpy",)])),
            )
        case "job":
            manifest = {"apiVersion": "v1", "kind": "Job", "spec": draw(json_values)}
            return Job(
                manifest=FrozenDict(manifest),
                success_condition=draw(st.sampled_from([None, "status.succeeded > 0"])),
                local=draw(st.none() | st.just(_local_form(values, items))),
            )
        case "http":
            return Http(
                url="https://example.org/",
                method=draw(st.sampled_from(["GET", "POST"])),
                headers=(EnvVar(name="X-Run", value=RunRef(field="id")),),
                body=values[0] if values else None,
                success_codes=draw(st.sampled_from([(), (200, 201)])),
            )
        case _:
            return Suspend(seconds=draw(st.sampled_from([None, 1.5])))


def _local_form(values: list[Value], items: tuple[Value, ...]) -> LocalForm:
    return LocalForm(
        action=Container(image="alpine:3", command=("echo",), args=(*values, *items)),
        env=(EnvVar(name="HERE", value="yes"),),
        outputs=(Output(name="phase", path="phase"),),
    )


def _outputs(draw: Draw, action: Action) -> tuple[Output, ...]:
    match action:
        case Container() | Script():
            stdout = Output(type=draw(st.sampled_from(["str", "json"])))
            file = Output(name="model", type="file", path="/tmp/model")
            value = Output(name="score", path="score.txt", default=draw(hostile_text))
            return tuple(draw(st.lists(st.sampled_from([stdout, file, value]), unique=True)))
        case Job():
            return (Output(name="phase", json_path="{.status.phase}"),)
        case _:
            return ()


def _policies(draw: Draw, scope: _Scope, step: Step) -> Step:
    """The step with policies that its kind can have."""
    update: dict[str, t.Any] = {}
    if not isinstance(step.action, Suspend):
        update["retry"] = draw(
            st.none()
            | st.builds(
                Retry,
                limit=st.integers(1, 5),
                backoff=st.none() | st.just(Backoff(seconds=0.5, cap_s=60.0)),
                exit_codes=st.sampled_from([(), (1, 137)]),
            )
        )
    if isinstance(step.action, Container | Script):
        update["cache"] = draw(st.none() | st.just(Cache(salt="1", max_age_s=60.0)))
        update["resources"] = draw(
            st.none()
            | st.just(Resources(cpu="500m", memory="1Gi", cpu_limit="1", gpu=Gpu(count=1)))
        )
        update["placement"] = draw(
            st.none()
            | st.just(
                Placement(
                    node_selector=FrozenDict(disk="ssd"),
                    tolerations=(Toleration(key="gpu", operator="Exists"),),
                )
            )
        )
        update["env"] = tuple(
            draw(
                st.lists(
                    st.sampled_from(
                        [
                            EnvVar(name="PLAIN", value="$(HOME)"),
                            EnvVar(name="READ", value=_read(draw, scope)),
                            EnvVar(name="TOKEN", secret=SecretKey(secret="s", key="k")),
                        ]
                    ),
                    unique=True,
                )
            )
        )
        if scope.volumes:
            mount = Mount(volume=scope.volumes[0], path="/data")
            update["mounts"] = draw(st.sampled_from([(), (mount,)]))
        update["labels"] = draw(st.just(FrozenDict()) | st.just(FrozenDict(team="ml")))
    update["timeout_s"] = draw(st.none() | st.just(30.0))
    profiles = st.sampled_from((Profile(seconds=1.0), Profile(operations=2e9)))
    update["profile"] = draw(st.none() | profiles)
    update["source"] = draw(st.none() | st.just(SourceRef(file="flow.py", line=3)))
    return step.model_copy(update=update)


def _step(draw: Draw, scope: _Scope, name: str, depth: int) -> Step:
    update: dict[str, t.Any] = {}
    if scope.finished:
        names = st.sampled_from(sorted(scope.finished))
        entry = st.one_of(
            names,
            st.builds(Dependency, step=names, on=st.sampled_from(["failure", "completion"])),
        )
        entries = draw(st.lists(entry, max_size=2, unique_by=_target))
        if draw(st.integers(0, 4)) == 0:
            taken = {_target(entry) for entry in entries}
            free = sorted(set(scope.finished) - taken)
            if len(free) > 1:
                entries.append(AnyOf(options=tuple(free[:2])))
        update["depends_on"] = tuple(entries)
    if draw(st.integers(0, 3)) == 0:
        update["when"] = _condition(draw, _read(draw, scope))
    items: tuple[Value, ...] = ()
    if draw(st.integers(0, 3)) == 0:
        values = tuple(draw(st.lists(json_values, min_size=1, max_size=3)))
        over = {"item": Literal(value=values)}
        if draw(st.booleans()):
            over["other"] = Literal(value=values)
        update["foreach"] = Foreach(
            over=FrozenDict(over), max_parallel=draw(st.none() | st.integers(1, 3))
        )
        items = (ItemRef(name="item"), Field(of=ItemRef(name="item"), path=()))
    if depth and draw(st.integers(0, 2)) == 0:
        return _policies(draw, scope, _group(draw, scope, name, depth, update, items))
    action = _process(draw, scope, items)
    step = Step(name=name, action=action, outputs=_outputs(draw, action), **update)
    if isinstance(action, Container | Script):
        given = [Input(name="text", value=_read(draw, scope))]
        if items:
            given.append(Input(name="one", value=items[0], type="json"))
        update = {"inputs": tuple(given)}
        if draw(st.integers(0, 3)) == 0:
            again = RoundRef(output="result", initial=Literal(value="0"))
            update["loop"] = Loop(condition=_condition(draw, again), max_iterations=3)
            update["inputs"] += (Input(name="before", value=again, type="json"),)
        step = step.model_copy(update=update)
    return _policies(draw, scope, step)


def _target(entry: str | Dependency | AnyOf) -> object:
    return entry if isinstance(entry, str) else getattr(entry, "step", entry)


def _group(
    draw: Draw,
    scope: _Scope,
    name: str,
    depth: int,
    update: dict[str, t.Any],
    items: tuple[Value, ...],
) -> Step:
    inputs = [Input(name="text", value=_read(draw, scope))]
    if items:
        inputs.append(Input(name="one", value=items[0], type="json"))
    inner = _Scope(("text",), {}, scope.volumes, scope.in_handler)
    steps = _steps(draw, inner, depth - 1)
    output = Output(name="result", value=_read(draw, inner))
    if draw(st.integers(0, 2)) == 0:
        again = RoundRef(output="result", initial=Literal(value="start"))
        update["loop"] = Loop(condition=_condition(draw, again))
        inputs.append(Input(name="before", value=again))
    return Step(
        name=name,
        action=Group(steps=steps),
        inputs=tuple(inputs),
        outputs=(output,),
        max_parallel=draw(st.none() | st.integers(1, 3)),
        **update,
    )


def _steps(draw: Draw, scope: _Scope, depth: int) -> tuple[Step, ...]:
    for index in range(draw(st.integers(1, 4))):
        name = f"{draw(st.sampled_from(['a', 'Fit', 'x-y']))}-{index}"
        scope.finished[name] = _step(draw, scope, name, depth)
    return tuple(scope.finished.values())


@st.composite
def workflows(draw: Draw) -> Workflow:
    """Valid workflows with up to three levels of groups and every kind of step."""
    volumes = draw(
        st.sampled_from(
            [
                (),
                (EmptyVolume(name="scratch", size="1Gi"),),
                (ClaimVolume(name="data", claim="shared"),),
            ]
        )
    )
    parameters = (
        Parameter(name="text", default=draw(hostile_text)),
        Parameter(name="size", default="small", choices=("small", "large")),
    )
    names = tuple(volume.name for volume in volumes)
    scope = _Scope(("text",), {}, names)
    steps = _steps(draw, scope, depth=2)
    handlers: tuple[ExitHandler, ...] = ()
    if draw(st.booleans()):
        inside = _Scope(("text",), {}, names, in_handler=True)
        status = draw(st.sampled_from(["success", "failure", "any"]))
        handlers = (ExitHandler(name="tell", on=status, steps=_steps(draw, inside, depth=1)),)
    schedule = Schedule(cron=("*/5 * * * *",), timezone="UTC")
    return Workflow(
        name=draw(st.from_regex(r"[a-z][-a-z0-9]{0,20}[a-z]", fullmatch=True)),
        description=draw(st.none() | hostile_text),
        parameters=parameters,
        steps=steps,
        outputs=(Output(name="last", value=_read(draw, scope)),),
        exit_handlers=handlers,
        schedule=draw(st.none() | st.just(schedule)),
        volumes=volumes,
        timeout_s=draw(st.none() | st.just(3600.0)),
        max_parallel=draw(st.none() | st.integers(1, 4)),
        labels=FrozenDict(draw(st.dictionaries(st.sampled_from(["a", "b"]), st.just("x")))),
    )


@st.composite
def edges(draw: Draw, max_size: int = 12) -> dict[str, tuple[str, ...]]:
    """Graphs, with or without cycles: for each node those that it waits for."""
    names = [f"n{index}" for index in range(draw(st.integers(0, max_size)))]
    if not names:
        return {}
    some = st.lists(st.sampled_from(names), max_size=3, unique=True)
    return {name: tuple(draw(some)) for name in names}


@st.composite
def acyclic_edges(draw: Draw, max_size: int = 12) -> dict[str, tuple[str, ...]]:
    """Graphs without cycles, not necessarily in topological order."""
    names = [f"n{index}" for index in range(draw(st.integers(0, max_size)))]
    order = draw(st.permutations(names))
    found: dict[str, tuple[str, ...]] = {}
    for index, name in enumerate(order):
        before = order[:index]
        some = st.lists(st.sampled_from(before), max_size=3, unique=True) if before else st.just([])
        found[name] = tuple(draw(some))
    return {name: found[name] for name in names}
