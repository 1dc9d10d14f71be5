"""All below a failure is omitted, down to the end; another branch goes on."""

from tests.corpus.build import Expected, flow, ref, sh

workflow = flow(
    "omitted-chain",
    sh("root", "echo root"),
    sh("bad", "exit 1", depends_on=["root"]),
    sh("next", 'echo "$1"', ref("bad")),
    sh("last", "true", depends_on=["next"]),
    sh("other", 'echo "$1"', ref("root")),
    sh("joined", "true", depends_on=["other", "last"]),
    sh("other-end", 'echo "$1 end"', ref("other")),
)
expected = Expected(
    "failed",
    succeeded="root other other-end",
    failed="bad",
    omitted="next last joined",
    outputs={"other-end": {"result": "root end"}},
)
