"""Text that looks like the reference language of some engine is text."""

from couler.ir.storage import EnvVar
from tests.corpus.build import Expected, flow, given, py, words

TEXTS = [
    "{{inputs.parameters.x}}",
    "{{=1+1}}",
    "{{workflow.name}} {{ item }} {{",
    "{% raw %}{{ ds }}{% endraw %}",
    "}} {{{{ {} }}}}",
]

SHOW = "import json, sys; print(json.dumps(sys.argv[1:]))"

workflow = flow(
    "hostile-braces",
    words("args", "python", "-c", SHOW, *TEXTS, result="list"),
    py(
        "env",
        """
        import json, os
        print(json.dumps([os.environ["A"], os.environ["COULER_INPUT_b"], "{{=1+1}}"]))
        """,
        env=[EnvVar(name="A", value=TEXTS[0])],
        inputs=[given("b", TEXTS[1])],
        result="list",
    ),
)
expected = Expected(
    "succeeded",
    succeeded="args env",
    outputs={
        "args": {"result": TEXTS},
        "env": {"result": [TEXTS[0], TEXTS[1], "{{=1+1}}"]},
    },
)
