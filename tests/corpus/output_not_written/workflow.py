"""A file that was not written and has no default fails the step, though its process ended well."""

from tests.corpus.build import Expected, flow, out, sh

workflow = flow(
    "output-not-written",
    sh("value", "echo lost", outputs=[out("n", "int", "n")]),
    sh("file", "true", outputs=[out("f", "file", "f")]),
    # A directory is no file, and a file no directory.
    sh("not-a-file", 'mkdir "$COULER_WORK/f"', outputs=[out("f", "file", "f")]),
    sh("after", "true", depends_on=["value"]),
)
expected = Expected("failed", failed="value file not-a-file", omitted="after")
