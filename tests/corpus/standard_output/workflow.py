"""`result` is standard output without the last newline; errors are not part of it."""

from tests.corpus.build import Expected, flow, ref, sh

workflow = flow(
    "standard-output",
    sh("none", "true"),
    sh("two", "printf 'a\\n\\n'"),
    sh("blanks", "printf ' a '"),
    sh("errors", "echo out; echo err >&2"),
    sh("end", 'printf "<%s>" "$@"', ref("none"), ref("two"), ref("blanks"), ref("errors")),
)
expected = Expected(
    "succeeded",
    succeeded="none two blanks errors end",
    outputs={"two": {"result": "a\n"}, "end": {"result": "<><a\n>< a ><out>"}},
)
