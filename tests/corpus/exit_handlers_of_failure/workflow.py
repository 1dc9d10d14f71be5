"""After a failure handlers read what there is, with defaults for the rest."""

from couler.ir.workflow import ExitHandler
from tests.corpus.build import Expected, compare, flow, or_else, out, ref, run, sh

workflow = flow(
    "exit-handlers-of-failure",
    sh("first", "echo 1"),
    sh("work", "exit 1", depends_on=["first"]),
    sh("never", "echo 3", depends_on=["work"]),
    outputs=[out("first", source=ref("first"))],
    exit_handlers=[
        ExitHandler(name="good", on="success", steps=(sh("say", "true"),)),
        ExitHandler(
            name="bad",
            on="failure",
            steps=(
                sh(
                    "say",
                    'echo "$1: $2 $3 $4"',
                    run("status"),
                    or_else(ref("first"), "-"),
                    or_else(ref("work"), "-"),
                    or_else(ref("never"), "-"),
                ),
                sh("off", "true", when=compare(or_else(ref("first"), "-"), "!=", "1")),
            ),
        ),
    ],
)
expected = Expected(
    "failed",
    succeeded="first exit:bad exit:bad/say",
    failed="work",
    omitted="never",
    skipped="exit:good exit:bad/off",
    outputs={"exit:bad/say": {"result": "failed: 1 - -"}},
)
