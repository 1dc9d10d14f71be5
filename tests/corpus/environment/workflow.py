"""Variables from text and from values, and the working directory."""

from couler.ir.storage import EnvVar
from tests.corpus.build import Expected, flow, ref, sh, text

workflow = flow(
    "environment",
    sh("n", "echo 4", result="int"),
    sh(
        "shows",
        'echo "$PLAIN $NUMBER $JOINED $(pwd)"',
        env=[
            EnvVar(name="PLAIN", value="a b"),
            EnvVar(name="NUMBER", value=ref("n")),
            EnvVar(name="JOINED", value=text("<", ref("n"), ">")),
        ],
        working_dir="/usr",
    ),
    # Each attempt has a folder of its own, and it can be written.
    sh("writes", 'test -z "$(ls "$COULER_WORK")" && echo x > "$COULER_WORK/x"'),
    sh("again", 'test -z "$(ls "$COULER_WORK")" && echo empty', depends_on=["writes"]),
)
expected = Expected(
    "succeeded",
    succeeded="n shows writes again",
    outputs={"shows": {"result": "a b 4 <4> /usr"}, "again": {"result": "empty"}},
)
