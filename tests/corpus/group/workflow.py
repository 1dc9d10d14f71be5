"""A group sees its inputs alone and shows its outputs alone."""

from tests.corpus.build import Expected, flow, given, group, out, param, ref, sh

workflow = flow(
    "group",
    sh("start", "echo 4", result="int"),
    group(
        "work",
        sh("twice", "echo $(($1 * 2))", param("n"), result="int"),
        sh("more", "echo $(($1 + 1))", ref("twice"), result="int"),
        inputs=[given("n", ref("start"), "int")],
        outputs=[out("answer", "int", source=ref("more"))],
    ),
    sh("end", 'echo "it is $1"', ref("work", "answer")),
)
expected = Expected(
    "succeeded",
    succeeded="start work work/twice work/more end",
    outputs={"work": {"answer": 9}, "end": {"result": "it is 9"}},
)
