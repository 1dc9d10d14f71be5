"""Parts of JSON are compared by what they are: text that meets a number is read as one."""

from tests.corpus.build import Expected, compare, flow, part, ref, sh

value = ref("value")

workflow = flow(
    "condition-on-parts",
    sh("value", 'echo \'{"n": 5, "v": "5", "t": "true", "z": null}\'', result="dict"),
    sh("number-text", "true", when=compare(part(value, "n"), "==", "5")),
    sh("number-part", "true", when=compare(part(value, "v"), "==", part(value, "n"))),
    sh("text-true", "true", when=compare(part(value, "t"), "==", True)),
    sh("text-text", "true", when=compare(part(value, "v"), "==", "5")),
    sh("null", "true", when=compare(part(value, "z"), "==", None)),
    sh("differs", "true", when=compare(part(value, "n"), "!=", "5")),
    sh("no-number", "true", when=compare(part(value, "n"), "==", "five")),
)
expected = Expected(
    "failed",
    succeeded="value number-text number-part text-true text-text null",
    skipped="differs",
    failed="no-number",
)
