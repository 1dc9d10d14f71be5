"""Defaults of the workflow hold where a step says nothing itself, in groups and handlers too."""

from couler.ir.policies import Retry
from couler.ir.storage import EnvVar
from couler.ir.workflow import Defaults, ExitHandler
from tests.corpus.build import (
    SHARED,
    Expected,
    flow,
    given,
    group,
    on_failure,
    out,
    param,
    parameter,
    ref,
    sh,
)

count = 'echo x >> "$1/$2"; exit 1'

workflow = flow(
    "defaults-merged",
    sh("inherits", count, param("shared"), "a"),
    sh("own", count, param("shared"), "b", retry=Retry(limit=2)),
    sh("env", 'echo "$A $B"', env=[EnvVar(name="B", value="own")]),
    group(
        "work",
        sh(
            "inside", 'echo x >> "$1/c"; test $(wc -l < "$1/c") -eq 2 && echo "$A"', param("shared")
        ),
        inputs=[given("shared", param("shared"))],
        outputs=[out("a", source=ref("inside"))],
    ),
    sh(
        "attempts",
        'echo $(wc -l < "$1/a") $(wc -l < "$1/b")',
        param("shared"),
        depends_on=[on_failure("inherits"), on_failure("own")],
    ),
    parameters=[parameter("shared")],
    defaults=Defaults(
        retry=Retry(limit=1),
        env=(EnvVar(name="A", value="default"), EnvVar(name="B", value="default")),
    ),
    exit_handlers=[ExitHandler(name="end", on="any", steps=(sh("env", 'echo "$A"'),))],
)
parameters = {"shared": SHARED}
expected = Expected(
    "succeeded",
    succeeded="env work work/inside attempts exit:end exit:end/env",
    failed="inherits own",
    outputs={
        "env": {"result": "default own"},
        "work": {"a": "default"},
        "attempts": {"result": "2 3"},
        "exit:end/env": {"result": "default"},
    },
)
