"""Items of every kind come out as they went in, alone, beside others, and read as JSON."""

from tests.corpus.build import Expected, flow, given, item, py, ref, words

TEXTS = ['q"u', "a\\b", "x\ny", '{"k":"v"}', "$(HOME) $$", "it's"]
VALUES = [1, "1", None, True, {"a": 1}, [2, "b"], 'say "x"']

SHOW = "import json, sys; print(json.dumps(sys.argv[1:]))"
READ = """
import json, os
print(json.dumps([json.loads(os.environ["COULER_INPUT_v"])]))
"""

workflow = flow(
    "hostile-items",
    words("texts", "python", "-c", SHOW, *TEXTS, result="list"),
    words("values", "python", "-c", f"import json; print(json.dumps({VALUES!r}))", result="list"),
    words(
        "pairs",
        *("python", "-c", SHOW, item("a"), item("b")),
        foreach={"a": TEXTS, "b": TEXTS[::-1]},
        result="list",
    ),
    words(
        "later",
        *("python", "-c", SHOW, item("a"), item("b")),
        foreach={"a": ref("texts"), "b": TEXTS[::-1]},
        result="list",
    ),
    py("known", READ, inputs=[given("v", item(), "json")], foreach=VALUES, result="list"),
    py("made", READ, inputs=[given("v", item(), "json")], foreach=ref("values"), result="list"),
)
every_text = range(len(TEXTS))
every_value = range(len(VALUES))
pairs = [list(pair) for pair in zip(TEXTS, TEXTS[::-1], strict=True)]
singles = [[value] for value in VALUES]
expected = Expected(
    "succeeded",
    succeeded="texts values pairs later known made "
    + " ".join(f"pairs[{n}] later[{n}]" for n in every_text)
    + " "
    + " ".join(f"known[{n}] made[{n}]" for n in every_value),
    outputs={
        "pairs": {"result": pairs},
        "later": {"result": pairs},
        "known": {"result": singles},
        "made": {"result": singles},
        **{f"pairs[{n}]": {"result": pairs[n]} for n in every_text},
        **{f"later[{n}]": {"result": pairs[n]} for n in every_text},
        **{f"known[{n}]": {"result": singles[n]} for n in every_value},
        **{f"made[{n}]": {"result": singles[n]} for n in every_value},
    },
)
