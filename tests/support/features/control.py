"""Order, conditions and iteration: a minimal workflow for each feature."""

from __future__ import annotations

from couler.ir.features import Feature
from couler.ir.policies import AnyOf, Dependency, Foreach
from couler.ir.values import ItemRef, Literal, OrElse, RoundRef, StepRef
from couler.ir.workflow import Input, Output, Workflow
from tests.support.sample_flows import (
    AGAIN,
    IS_X,
    ITEM,
    LIST,
    MODEL_FILE,
    OVER_A,
    OVER_LIST,
    A,
    echo,
    flow,
    group,
)

CONTROL: dict[Feature, Workflow] = {
    # order
    Feature.DEPENDS_ON_FAILURE: flow(
        echo("a"), echo("b", depends_on=(Dependency(step="a", on="failure"),))
    ),
    Feature.DEPENDS_ON_COMPLETION: flow(
        echo("a"), echo("b", depends_on=(Dependency(step="a", on="completion"),))
    ),
    Feature.DEPENDS_ON_ANY: flow(
        echo("a"), echo("b"), echo("c", depends_on=(AnyOf(options=("a", "b")),))
    ),
    # conditions
    Feature.WHEN: flow(echo("a"), echo("b", when=IS_X)),
    Feature.WHEN_ON_GROUP: flow(echo("a"), group("g", echo("b"), when=IS_X)),
    Feature.WHEN_ON_FOREACH: flow(echo("a"), echo("b", ITEM, when=IS_X, foreach=OVER_LIST)),
    # iteration
    Feature.FOREACH: flow(echo("b", ITEM, foreach=OVER_LIST)),
    Feature.FOREACH_OVER_OUTPUT: flow(
        echo("a", outputs=(Output(type="list"),)), echo("b", ITEM, foreach=OVER_A)
    ),
    Feature.FOREACH_ZIP: flow(
        echo("b", ITEM, ItemRef(name="y"), foreach=Foreach(over={"item": LIST, "y": LIST}))
    ),
    Feature.FOREACH_GROUP: flow(group("g", echo("b"), foreach=OVER_LIST)),
    Feature.FOREACH_IN_FOREACH: flow(
        group("g", echo("b", ITEM, foreach=OVER_LIST), foreach=OVER_LIST, outputs=())
    ),
    Feature.FOREACH_OVER_OUTPUT_IN_FOREACH: flow(
        group(
            "g",
            echo("a", outputs=(Output(type="list"),)),
            echo("b", ITEM, foreach=OVER_A),
            foreach=OVER_LIST,
            outputs=(),
        )
    ),
    Feature.FOREACH_OVER_OUTPUT_IN_GROUP: flow(
        group(
            "g",
            echo("a", outputs=(Output(type="list"),)),
            echo("b", ITEM, foreach=OVER_A),
            outputs=(),
        )
    ),
    Feature.FOREACH_MAX_PARALLEL: flow(
        echo("b", ITEM, foreach=Foreach(over={"item": LIST}, max_parallel=1))
    ),
    Feature.FOREACH_READ_ON_COMPLETION: flow(
        echo("a", ITEM, foreach=OVER_LIST),
        echo(
            "b",
            OrElse(value=A, default=Literal(value=())),
            depends_on=(Dependency(step="a", on="completion"),),
        ),
    ),
    Feature.FOREACH_FILES: flow(
        echo("a", ITEM, foreach=OVER_LIST, outputs=(MODEL_FILE,)),
        echo(
            "b",
            inputs=(
                Input(
                    name="models",
                    value=StepRef(step="a", output="model"),
                    type="file",
                    path="models",
                    many=True,
                ),
            ),
        ),
    ),
    Feature.LOOP: flow(echo("a", loop=AGAIN)),
    Feature.LOOP_GROUP: flow(group("g", echo("a"), loop=AGAIN)),
    Feature.LOOP_CARRIED: flow(
        echo("a", RoundRef(initial=Literal(value="start")), loop=AGAIN),
    ),
    Feature.LOOP_IN_LOOP: flow(group("g", echo("a", loop=AGAIN), loop=AGAIN)),
    Feature.LOOP_IN_FOREACH: flow(group("g", echo("a", loop=AGAIN), foreach=OVER_LIST)),
    Feature.LOOP_WITH_FOREACH: flow(echo("a", ITEM, foreach=OVER_LIST, loop=AGAIN)),
    Feature.FOREACH_IN_LOOP: flow(
        group(
            "g",
            echo("b", ITEM, foreach=OVER_LIST),
            echo("a", StepRef(step="b")),
            loop=AGAIN,
            outputs=(Output(value=A),),
        )
    ),
}
