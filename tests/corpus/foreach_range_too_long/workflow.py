"""A range that turns out too long in the run, and one whose count is no number."""

from tests.corpus.build import Expected, flow, item, ref, rng, sh

workflow = flow(
    "foreach-range-too-long",
    sh("many", "echo 1001", result="int"),
    sh("word", "echo many"),
    sh("long", "true", foreach=rng(count=ref("many"))),
    sh("far", "true", foreach=rng(end=ref("many"))),
    sh("wrong", 'echo "$1"', item(), foreach=rng(count=ref("word"))),
)
expected = Expected("failed", succeeded="many word", failed="long far wrong")
