"""The id of the run is one for all steps; the logical date is a time in UTC."""

from tests.corpus.build import Expected, flow, ref, run, sh, words

workflow = flow(
    "run-facts",
    sh("id", 'echo "$1"', run("id")),
    sh("same", 'test -n "$1" && test "$1" = "$2" && echo same', run("id"), ref("id")),
    words(
        "date",
        "python",
        "-c",
        "import datetime, sys\n"
        "then = datetime.datetime.fromisoformat(sys.argv[1].replace('Z', '+00:00'))\n"
        "now = datetime.datetime.now(datetime.timezone.utc)\n"
        "print(then.utcoffset().total_seconds() == 0, 0 <= (now - then).total_seconds() < 3600)",
        run("logical_date"),
    ),
)
expected = Expected(
    "succeeded",
    succeeded="id same date",
    outputs={"same": {"result": "same"}, "date": {"result": "True True"}},
)
