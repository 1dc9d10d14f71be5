"""Steps of a handler may have the names of steps outside: it reads its own, others read those."""

from couler.ir.workflow import ExitHandler
from tests.corpus.build import Expected, flow, group, or_else, out, ref, sh

workflow = flow(
    "exit-handlers-own-names",
    group(
        "work",
        sh("one", "echo 1"),
        sh("two", 'echo "$1 and 2"', ref("one")),
        outputs=[out("result", source=ref("two"))],
    ),
    exit_handlers=[
        ExitHandler(
            name="own",
            on="any",
            steps=(
                group(
                    "work",
                    sh("one", "echo own"),
                    sh("two", 'echo "$1 work"', ref("one")),
                    outputs=[out("result", source=ref("two"))],
                ),
                sh("say", 'echo "$1"', ref("work")),
            ),
        ),
        ExitHandler(
            name="outside",
            on="any",
            steps=(sh("say", 'echo "$1"', or_else(ref("work"), "nothing")),),
        ),
    ],
)
expected = Expected(
    "succeeded",
    succeeded="work work/one work/two exit:own exit:own/work exit:own/work/one "
    "exit:own/work/two exit:own/say exit:outside exit:outside/say",
    outputs={
        "exit:own/say": {"result": "own work"},
        "exit:outside/say": {"result": "1 and 2"},
    },
)
