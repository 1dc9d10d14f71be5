"""Every type from a literal through a step and a condition back: what goes in comes out."""

from tests.corpus.build import Expected, compare, flow, given, out, py, ref, sh

VALUES = {
    "str": ("str", "7"),
    "int": ("int", -3),
    "float": ("float", 1.0),
    "small": ("float", 1e-9),
    "bool": ("bool", False),
    "list": ("list", [1, "1", [None, True], {}]),
    "dict": ("dict", {"a": {"b": [0.5]}, "": "é"}),
    "null": ("json", None),
    "text": ("json", 'quoted " text'),
    "number": ("json", 12),
}

# Decodes each input by its type, and writes it again.
ECHO = f"""
import json, os

for name in {list(VALUES)!r}:
    text = os.environ["COULER_INPUT_" + name]
    value = text if name == "str" else json.loads(text)
    path = os.path.join(os.environ["COULER_WORK"], name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(value if name == "str" else json.dumps(value, ensure_ascii=False))
"""


def echo(name, source):
    return py(
        name,
        ECHO,
        result=None,
        inputs=[given(key, source(key, value), kind) for key, (kind, value) in VALUES.items()],
        outputs=[out(key, kind, path=key) for key, (kind, _) in VALUES.items()],
    )


workflow = flow(
    "typed-values",
    echo("first", lambda _key, value: value),
    echo("second", lambda key, _value: ref("first", key)),
    sh("one", "true", when=compare(ref("second", "float"), "==", 1)),
    sh("seven", "true", when=compare(ref("second", "str"), "==", "7")),
    sh("null", "true", when=compare(ref("second", "null"), "==", None)),
    sh("off", "true", when=compare(ref("second", "bool"), "==", True)),
)
expected = Expected(
    "succeeded",
    succeeded="first second one seven null",
    skipped="off",
    outputs={
        step: {key: value for key, (_, value) in VALUES.items()} for step in ("first", "second")
    },
)
