"""The first of several that ran is read, whichever of them were skipped."""

from tests.corpus.build import (
    Expected,
    compare,
    first_of,
    flow,
    given,
    group,
    or_else,
    out,
    param,
    part,
    ref,
    sh,
    text,
)

workflow = flow(
    "first-of-run-and-skipped",
    sh("size", "echo 20"),
    sh("large", "echo '[1]'", when=compare(ref("size"), ">", 10), result="json"),
    sh("small", "echo '[2]'", when=compare(ref("size"), "<=", 10), result="json"),
    sh("one", 'echo "$1"', first_of(ref("large"), ref("small"))),
    sh("other", 'echo "$1"', first_of(ref("small"), ref("large"))),
    sh("inner", 'echo "$1"', first_of(part(ref("large"), 0), part(ref("small"), 0))),
    sh("words", 'echo "$1"', first_of(text("l ", ref("large")), text("s ", ref("small")))),
    sh("default", 'echo "$1"', or_else(ref("small"), first_of(ref("large"), ref("small")))),
    sh("met", "true", when=compare(first_of(ref("large"), ref("small")), "==", [1])),
    group(
        "inside",
        sh("large", "echo l", when=compare(param("size"), ">", 10)),
        sh("small", "echo s", when=compare(param("size"), "<=", 10)),
        inputs=[given("size", ref("size"))],
        outputs=[out("it", source=first_of(ref("large"), ref("small")))],
    ),
    sh("after", 'echo "$1"', ref("inside", "it")),
    outputs=[out("it", "json", source=first_of(ref("large"), ref("small")))],
)
expected = Expected(
    "succeeded",
    succeeded="size large one other inner words default met inside inside/large after",
    skipped="small inside/small",
    outputs={
        "one": {"result": "[1]"},
        "other": {"result": "[1]"},
        "inner": {"result": "1"},
        "words": {"result": "l [1]"},
        "default": {"result": "[1]"},
        "after": {"result": "l"},
    },
    run_outputs={"it": [1]},
)
