"""Text that is compared with a number and is none fails the step that has the condition."""

from tests.corpus.build import Expected, compare, flow, ref, sh

workflow = flow(
    "condition-is-no-number",
    sh("a", "echo many"),
    sh("b", "true", when=compare(ref("a"), ">", 3)),
    sh("c", "true", depends_on=["b"]),
)
expected = Expected("failed", succeeded="a", failed="b", omitted="c")
