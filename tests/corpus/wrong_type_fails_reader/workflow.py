"""Text that is not of its declared type fails the step that decodes it."""

from tests.corpus.build import Expected, compare, flow, on_failure, ref, sh

workflow = flow(
    "wrong-type-fails-reader",
    sh("makes", "echo many", result="int"),
    sh("passes", 'echo "$1"', ref("makes")),
    sh("decodes", "true", when=compare(ref("makes"), ">", 1)),
    sh("handle", "true", depends_on=["passes", on_failure("decodes")]),
)
expected = Expected(
    "succeeded",
    succeeded="makes passes handle",
    failed="decodes",
    outputs={"passes": {"result": "many"}},
)
