"""At least one of several ends; what a step is that meets none depends on what it asked for."""

from tests.corpus.build import Expected, any_of, flow, on_completion, on_failure, sh

workflow = flow(
    "any-of",
    sh("good", "true"),
    sh("bad", "exit 1"),
    sh("one-success", "true", depends_on=[any_of("good", "bad")]),
    sh("no-success", "true", depends_on=[any_of("bad")]),
    sh("a-failure", "true", depends_on=[any_of(on_failure("good"), on_failure("bad"))]),
    sh("no-failure", "true", depends_on=[any_of(on_failure("good"))]),
    sh("any-end", "true", depends_on=[any_of("bad", on_completion("no-success"))]),
    sh("after-skip", "true", depends_on=[any_of("no-failure", on_failure("good"))]),
)
expected = Expected(
    "succeeded",
    succeeded="good one-success a-failure any-end after-skip",
    failed="bad",
    skipped="no-failure",
    omitted="no-success",
)
