"""Parallelism, locks and caches change when and whether steps run, never what they give."""

from couler.ir.policies import Backoff, Cache, Foreach, Retry
from couler.ir.values import Literal
from tests.corpus.build import Expected, flow, group, item, out, ref, sh

workflow = flow(
    "policies-that-change-nothing",
    group(
        "work",
        sh("a", "echo a", mutex="one"),
        sh("b", "echo b", mutex="one"),
        outputs=[out("a", source=ref("a")), out("b", source=ref("b"))],
        max_parallel=1,
    ),
    sh("cached", "echo 1", cache=Cache(name="numbers", salt="v1", max_age_s=60)),
    sh("patient", "echo 2", retry=Retry(limit=3, backoff=Backoff(seconds=60, factor=3, cap_s=90))),
    sh("each", 'echo "$1"', item()).model_copy(
        update={"foreach": Foreach(over={"item": Literal(value=[3, 1, 2])}, max_parallel=2)}
    ),
    max_parallel=2,
)
expected = Expected(
    "succeeded",
    succeeded="work work/a work/b cached patient each each[0] each[1] each[2]",
    outputs={
        "work": {"a": "a", "b": "b"},
        "cached": {"result": "1"},
        "each": {"result": ["3", "1", "2"]},
    },
)
