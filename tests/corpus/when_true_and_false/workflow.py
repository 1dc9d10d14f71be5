"""A condition that holds and one that does not; who waits for a skipped step runs."""

from tests.corpus.build import Expected, compare, flow, ref, sh

workflow = flow(
    "when-true-and-false",
    sh("toss", "echo heads"),
    sh("heads", "echo won", when=compare(ref("toss"), "==", "heads")),
    sh("tails", "echo lost", when=compare(ref("toss"), "==", "tails")),
    sh("after", "echo done", depends_on=["heads", "tails"]),
)
expected = Expected(
    "succeeded",
    succeeded="toss heads after",
    skipped="tails",
    outputs={"heads": {"result": "won"}, "tails": {}},
)
