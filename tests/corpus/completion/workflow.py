"""A step that asks for any end runs after success, failure, skip and omission."""

from tests.corpus.build import Expected, compare, flow, on_completion, on_failure, or_else, ref, sh

workflow = flow(
    "completion",
    sh("good", "echo good"),
    sh("bad", "echo bad; exit 1"),
    sh("skipped", "true", depends_on=[on_failure("good")]),
    sh("omitted", "true", depends_on=["bad"]),
    sh(
        "all",
        'echo "$1 $2"',
        or_else(ref("good"), "-"),
        or_else(ref("bad"), "-"),
        depends_on=[on_completion(name) for name in ("good", "bad", "skipped", "omitted")],
    ),
    sh("off", "true", when=compare(ref("all"), "==", "other")),
)
expected = Expected(
    "succeeded",
    succeeded="good all",
    failed="bad",
    skipped="skipped off",
    omitted="omitted",
    outputs={"all": {"result": "good -"}},
)
