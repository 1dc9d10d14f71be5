"""The reader's type decides the form: text of a JSON text, JSON of a text, text of a number."""

from tests.corpus.build import Expected, flow, given, group, out, param, ref, sh

workflow = flow(
    "types-of-readers",
    sh("text", "echo word"),
    sh("quoted", "echo '\"word\"'", result="json"),
    sh("number", "echo 4", result="int"),
    sh(
        "reads",
        'echo "$COULER_INPUT_a $COULER_INPUT_b $COULER_INPUT_c $COULER_INPUT_d $1"',
        ref("quoted"),
        inputs=[
            given("a", ref("text"), "json"),
            given("b", ref("quoted"), "json"),
            given("c", ref("quoted")),
            given("d", ref("number")),
        ],
    ),
    group(
        "work",
        sh("inside", 'echo "$1 $2"', param("a"), param("b")),
        inputs=[given("a", ref("quoted")), given("b", ref("text"), "json")],
        outputs=[out("all", "json", source=ref("inside"))],
    ),
    sh("end", 'echo "$1"', ref("work", "all")),
)
expected = Expected(
    "succeeded",
    succeeded="text quoted number reads work work/inside end",
    outputs={
        "reads": {"result": '"word" "word" word 4 word'},
        "work/inside": {"result": "word word"},
        "work": {"all": "word word"},
        "end": {"result": "word word"},
    },
)
