"""Data with braces in it, made by a step or put together from values, is data."""

from tests.corpus.build import Expected, flow, item, ref, text, words

TEXTS = ["{{inputs.parameters.x}}", "{{=1+1}}", "{{workflow.name}} {{ item }} {{"]

SHOW = "import json, sys; print(json.dumps(sys.argv[1:]))"

workflow = flow(
    "braces-in-data",
    words("args", "python", "-c", SHOW, *TEXTS, result="list"),
    words("items", "python", "-c", SHOW, item(), foreach=ref("args"), result="list"),
    words("joined", "python", "-c", SHOW, text("{{", ref("args"), "}}"), result="list"),
)
expected = Expected(
    "succeeded",
    succeeded="args items items[0] items[1] items[2] joined",
    outputs={"args": {"result": TEXTS}, "items": {"result": [[one] for one in TEXTS]}},
)
