"""Steps with a cache run once and give what they would give without: values, lists and files."""

from couler.ir.policies import Cache
from tests.corpus.build import Expected, flow, given, group, item, out, param, ref, sh

workflow = flow(
    "cached-steps",
    sh("load", "echo 3", cache=Cache(name="numbers", salt="v1", max_age_s=3600)),
    sh("each", 'echo "$1$2"', item(), ref("load"), foreach=["a", "b"], cache=Cache()),
    sh(
        "make",
        'echo "$1" > "$COULER_WORK/f"',
        ref("each"),
        result=None,
        outputs=[out("f", "file", "f")],
        cache=Cache(),
    ),
    group(
        "work",
        sh(
            "read",
            'cat "$COULER_WORK/f"',
            inputs=[given("f", param("f"), "file", "f")],
            cache=Cache(max_age_s=60),
        ),
        inputs=[given("f", ref("make", "f"), "file")],
        outputs=[out("text", source=ref("read"))],
    ),
)
expected = Expected(
    "succeeded",
    succeeded="load each each[0] each[1] make work work/read",
    outputs={
        "load": {"result": "3"},
        "each": {"result": ["a3", "b3"]},
        "work": {"text": '["a3","b3"]'},
    },
)
