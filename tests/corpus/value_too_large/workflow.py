"""64 KiB travel; one byte more fails the step that made the value."""

from tests.corpus.build import Expected, flow, out, ref, words

workflow = flow(
    "value-too-large",
    words("fits", "python", "-c", "print('x' * 65_536)"),
    words("stdout", "python", "-c", "print('x' * 65_537)"),
    words(
        "file",
        "python",
        "-c",
        "import os; open(os.environ['COULER_WORK'] + '/f', 'w').write('ü' * 32_769)",
        outputs=[out("f", path="f")],
    ),
    words(
        "reads", "python", "-c", "import sys; print(len(sys.argv[1]))", ref("fits"), result="int"
    ),
    words("after", "python", "-c", "", ref("stdout")),
)
expected = Expected(
    "failed",
    succeeded="fits reads",
    failed="stdout file",
    omitted="after",
    outputs={"reads": {"result": 65_536}},
)
