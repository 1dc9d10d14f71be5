"""After a success its handlers run, and those for any end; the others are skipped."""

from couler.ir.workflow import ExitHandler
from tests.corpus.build import Expected, flow, or_else, out, ref, run, sh

workflow = flow(
    "exit-handlers-of-success",
    sh("work", "echo done"),
    outputs=[out("work", source=ref("work"))],
    exit_handlers=[
        ExitHandler(
            name="good",
            on="success",
            steps=(
                sh("first", 'echo "$1 $2"', run("status"), or_else(ref("work"), "nothing")),
                sh("second", 'echo "$1!"', ref("first")),
            ),
        ),
        ExitHandler(name="bad", on="failure", steps=(sh("say", "true"),)),
        ExitHandler(name="always", on="any", steps=(sh("say", 'echo "$1"', run("status")),)),
    ],
)
expected = Expected(
    "succeeded",
    succeeded="work exit:good exit:good/first exit:good/second exit:always exit:always/say",
    skipped="exit:bad",
    outputs={
        "exit:good/second": {"result": "succeeded done!"},
        "exit:always/say": {"result": "succeeded"},
    },
    run_outputs={"work": "done"},
)
