from __future__ import annotations

import enum
import json
import math
import re
from collections.abc import Callable

import pytest
import yaml
from hypothesis import example, given, strategies as st

from couler.ir.base import FrozenDict
from couler.ir.yaml_writer import JsonTree, dump, dump_all, dump_as_json
from tests.support import go_yaml, yaml12


def load_py(text: str) -> object:
    return yaml.load(text, Loader=yaml.SafeLoader)


def load_c(text: str) -> object:
    return yaml.load(text, Loader=yaml.CSafeLoader)


READERS: dict[str, Callable[[str], object]] = {
    "yaml 1.1 in Python": load_py,
    "yaml 1.1 in C": load_c,
    "yaml 1.2": yaml12.load,
    "Go": go_yaml.load,
}

# Text that some reader takes for something else, or that breaks some way of writing it.
ONE_WORD = """
1e-5 1e3 08 0o17 017 +.5 .5 5. 1_000 _1 0x1F 0b11 -0 +1 1.5 1e999 00 1:30 12:30:45 2024-01-01
2024-01-01T00:00:00Z y Y n N yes No ON off True FALSE ~ null Null nULL .inf -.INF +.inf .nan nan
inf Infinity << = ! !x !!str &a *a %x @x | > - -- --- ... . .. ? : , # [] {} [a] {a} a,b a: :a a:b
http://x:80/y a:1 -1 -c -y --out=x ./a ../b ~/x 500m 2Gi python:3.12 argoproj.io/v1alpha1 $(X) $$
${x} {{x}} {{=x}} % @ `x ' " \\ \\n
"""
PROBES = [
    *ONE_WORD.split(),
    *["", " ", "a ", " a", "\t", "a\t", "\ta", "a  b", "a b", "- x", "? x", ": x", "#x", "a: b"],
    *["a #b", "a - b", "--- a", "... a", "> x", "'a'", '"a"', "a's", 'say "x"', "yes ", "no\n"],
    *["{{=1 + 1}}", "{{=toJson(tasks['a-b'].outputs)}}", "x" * 5000, "word " * 2000 + "end"],
    *["\n", "\n\n", "a\n", "a\n\n", "a\n\n\n", "\na", "\n\na\n", "a\nb", "a\n\nb", "a\n b\n"],
    *[" \n", " a\nb", "\n a\nb", " \na", "  \n a\n", "\ta\nb", "\n\ta\n", "a\n\tb", "a\n "],
    *["a\n  \n", "a\n\t", "a \nb", "a\n \nb", "a\n---\nb\n", "---\na", "#a\nb", "a #b\nc: d"],
    *["- a\n- b", "|\na", "\\\na", "a\rb", "a\r\nb\r\n", "a\r", "\x00", "\x07\n", "\x1b[0m"],
    *["\x7f", "\x80", "\x85", "a\x85b\nc", "\u2028", "a\u2029b\nc", "\ufeff", "\ufeffa\nb"],
    *["\ufffe\uffff", "\ud7ff\ue000", "\xa0", "\xa0\na", "a\u202eb", "\u3000a\nb", "\U0010ffff"],
    *["é", "日本語", "naïve\ncafé\n", "😀", "👨\u200d👩", "😀\n😀\n"],
]

PIECES = [
    *"-+.0123456789eExXoObBaAnNyYtTfF_:~<=>|!&*%@`'\"#,?[]{}()\\/$ \t\n\r",
    *["\n", "\n", "\n  ", "  ", "\r\n", "---", "\x00", "\x1f", "\x7f", "\x85", "\xa0", "\u2028"],
    *["\ufeff", "\uffff", "\u202e", "é", "😀", "word", "true", "null"],
]
texts = st.one_of(
    st.sampled_from(PROBES),
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.text(max_size=20),
)
keys = texts.filter(lambda text: len(text) < 200)
scalars = st.one_of(
    texts,
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=5),
    ),
    max_leaves=20,
)


def exactly(value: object) -> str:
    """Text that differs wherever values do: also in the order of keys, and 1 from 1.0 from true."""
    return json.dumps(value)


@pytest.fixture(params=READERS)
def read(request: pytest.FixtureRequest) -> Callable[[str], object]:
    return READERS[request.param]


# What is written reads back equal


def test_probes_read_back_everywhere(read: Callable[[str], object]) -> None:
    for probe in PROBES:
        tree: JsonTree = {"value": probe, "items": [probe, [probe, {"in": probe}], {"also": probe}]}
        if len(probe) < 1000:
            tree = {probe: tree, "list": [{probe: [probe]}, {probe: 1}]}
        assert exactly(read(dump(tree))) == exactly(tree), ascii(probe)
        assert exactly(read(dump(probe))) == exactly(probe), ascii(probe)


def test_text_in_json_reads_back_everywhere(read: Callable[[str], object]) -> None:
    for probe in PROBES:
        tree = {"value": probe, "items": [probe, [probe, {"in": probe}], 1, True, None]}
        assert exactly(read(dump_as_json(tree))) == exactly(tree), ascii(probe)
        assert exactly(json.loads(dump_as_json(tree))) == exactly(tree), ascii(probe)


@given(text=texts, more=texts)
def test_text_reads_back(text: str, more: str) -> None:
    tree = {"a": text, "b": [text, more], "c": [[text], {"d": more}], "e": {"f": text, "g": 0}}
    document = dump(tree)
    for name, read in READERS.items():
        assert exactly(read(document)) == exactly(tree), name


@given(tree=trees)
def test_trees_read_back(tree: JsonTree) -> None:
    document = dump(tree)
    for name, read in READERS.items():
        assert exactly(read(document)) == exactly(tree), name


@given(value=st.floats(allow_nan=False, allow_infinity=False))
@example(1e16).via("no point in Python's own form")
@example(1e-5).via("no point either")
@example(5e-324).via("the smallest")
@example(1.7976931348623157e308).via("the largest")
def test_floats_stay_floats_to_the_last_digit(value: float) -> None:
    for name, read in READERS.items():
        back = read(dump({"v": value}))
        assert isinstance(back, dict), name
        assert isinstance(back["v"], float), name
        assert back["v"] == value, name
        assert math.copysign(1, back["v"]) == math.copysign(1, value), name


@given(documents=st.lists(trees, min_size=1, max_size=4))
def test_several_documents_read_back(documents: list[JsonTree]) -> None:
    stream = dump_all(documents)
    assert exactly(list(yaml.load_all(stream, Loader=yaml.CSafeLoader))) == exactly(documents)
    assert exactly(list(go_yaml.load_all(stream))) == exactly(documents)


@given(documents=st.lists(trees, min_size=1, max_size=3))
def test_lines_of_dashes_only_part_documents(documents: list[JsonTree]) -> None:
    """Kubernetes cuts a stream at every line that begins so, wherever it stands."""
    assert dump_all(documents).count("\n---") == len(documents) - 1
    assert not dump_all(documents).startswith("---")


@given(tree=trees)
def test_characters_on_which_versions_disagree_are_escaped(tree: JsonTree) -> None:
    r"""\x85, \u2028 and \u2029 break lines in YAML 1.1 and not in 1.2; the others are forbidden."""
    document = dump(tree)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", document)
    document.encode()


def test_a_key_of_the_greatest_length_reads_back(read: Callable[[str], object]) -> None:
    for tree in ({"k" * 1024: [1]}, {"é" * 1022: {"a": 1}}, {"a": [{"k" * 1024: 1}]}):
        assert read(dump(tree)) == tree


def test_deep_trees_read_back(read: Callable[[str], object]) -> None:
    tree: JsonTree = "leaf"
    for level in range(80):
        tree = {"a": tree, "b": level} if level % 2 else [[tree], "x y\nz"]
    assert exactly(read(dump(tree))) == exactly(tree)


# How it looks


def test_layout() -> None:
    tree = {
        "apiVersion": "argoproj.io/v1alpha1",
        "metadata": {"labels": {}, "name": "a-b", "on": "no"},
        "spec": {
            "parallelism": 3,
            "ratio": 0.5,
            "suspend": None,
            "hostNetwork": False,
            "empty": [],
            "command": ["python", "-c"],
            "args": ["--name", "{{inputs.parameters.name}}"],
            "matrix": [[1, 2.0], [{"a": 1, "b": [{"c": "d"}]}, [["{}"]]]],
            "templates": [
                {"name": "x", "script": {"source": "import os\n\nif os:\n  print(1)\n"}},
                {"name": "y", "lines": ["  indented\nfirst", "no break\nat the end", "two\n\n"]},
            ],
        },
    }
    assert dump(tree) == (
        """\
apiVersion: argoproj.io/v1alpha1
metadata:
  labels: {}
  name: a-b
  "on": "no"
spec:
  parallelism: 3
  ratio: 0.5
  suspend: null
  hostNetwork: false
  empty: []
  command: [python, -c]
  args: [--name, "{{inputs.parameters.name}}"]
  matrix:
  - [1, 2.0]
  - - a: 1
      b: [{c: d}]
    - [["{}"]]
  templates:
  - name: x
    script:
      source: |
        import os

        if os:
          print(1)
  - name: "y"
    lines:
    - |2-
        indented
      first
    - |-
      no break
      at the end
    - |+
      two

"""
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain words here", "plain words here"),
        ("python:3.12-slim", "python:3.12-slim"),
        ("https://a.b/c?d", '"https://a.b/c?d"'),
        ("2Gi", '"2Gi"'),
        ("1e-5", '"1e-5"'),
        ("Yes", '"Yes"'),
        ("yesterday", "yesterday"),
        ("a\tb", r'"a\tb"'),
        ("a\r\nb", r'"a\r\nb"'),
        ('say "\\"', r'"say \"\\\""'),
        ("\x00\x1b\x7f\x85\u2028\ufeff", r'"\u0000\u001b\u007f\u0085\u2028\ufeff"'),
        ("é 😀", '"é 😀"'),
        ("a\u202eb", r'"a\u202eb"'),
        ("\n\n", r'"\n\n"'),
        (1e-05, "1.0e-05"),
        (-0.0, "-0.0"),
        (2**64 - 1, "18446744073709551615"),
        (True, "true"),
    ],
)
def test_scalars(value: JsonTree, text: str) -> None:
    assert dump({"k": value}) == f"k: {text}\n"


def test_scripts_with_tabs_and_trailing_blanks_stay_readable() -> None:
    assert dump({"k": "all:\n\tmake  \n \n"}) == "k: |\n  all:\n  \tmake  \n   \n"
    assert dump({"k": "\tmake\n"}) == "k: |2\n  \tmake\n"


def test_subclasses_are_written_as_what_they_extend() -> None:
    class Policy(enum.StrEnum):
        ALWAYS = "Always"
        NO = "no"

    class Old(str, enum.Enum):  # noqa: UP042  # formats itself as Old.NAME
        NAME = "name"

    class Level(enum.IntEnum):
        HIGH = 3

    tree = FrozenDict({Policy.ALWAYS: Policy.NO, "old": Old.NAME, "level": (Level.HIGH, Old.NAME)})
    assert dump(tree) == 'Always: "no"\nold: name\nlevel: [3, name]\n'


# What is refused


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": [{"b": math.nan}]}, r"\['a', 0, 'b'\].*out of range"),
        ({"a": -math.inf}, r"\['a'\].*out of range"),
        ({"a": 2**64}, r"\['a'\].*out of range"),
        ({"a": -(2**63) - 1}, r"\['a'\].*out of range"),
        ({"a": {"b": "\ud800"}}, r"\['a', 'b'\].*half a surrogate pair"),
        ({"a": "line\n\udfff"}, r"\['a'\].*half a surrogate pair"),
        ({"\ud800": 1}, r"half a surrogate pair"),
        ({"a": {1: 2}}, r"\['a', 1\].*key is no text"),
        ({"a": {None: 2}}, r"\['a', None\].*key is no text"),
        ({"k" * 1025: 1}, r"key is too long"),
        ({"a": {"b"}}, r"\['a'\].*set is not of JSON"),
        ({"a": [0, {"b": b"x"}]}, r"\['a', 1, 'b'\].*bytes is not of JSON"),
        (object(), r"root.*object is not of JSON"),
        (math.nan, r"root.*out of range"),
        ("\udc80", r"root.*half a surrogate pair"),
    ],
)
def test_what_cannot_come_back_is_refused(tree: JsonTree, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        dump(tree)
    str(caught.value).encode()  # the message itself can be printed


def test_a_tree_that_holds_itself_is_refused() -> None:
    tree: dict[str, JsonTree] = {}
    tree["again"] = [tree]
    with pytest.raises(ValueError, match="holds itself"):
        dump(tree)


# The measures themselves


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # Measured with sigs.k8s.io/yaml v1.6.0.
        *[("1e-5", 1e-5), ("1e3", 1000.0), ("08", 8.0), ("0o17", 15), ("017", 15), ("+.5", 0.5)],
        *[("y", True), ("N", False), ("off", False), ("yEs", "yEs"), ("~", None), ("nULL", "nULL")],
        *[("1_000", 1000), ("0x1F", 31), ("0b11", 3), ("-0b11", -3), ("_1", "_1"), (".1_0", 0.1)],
        *[("1e999", "1e999"), ("12:30:45", "12:30:45"), ("2024-01-01", "2024-01-01")],
        *[("18446744073709551615", 2**64 - 1), ("18446744073709551616", 2.0**64), ("=", "=")],
        *[("-9223372036854775809", -(2.0**63)), ("0o8", "0o8"), ("+.nan", "+.nan"), ("5.", 5.0)],
    ],
)
def test_the_model_of_go_reads_as_go_does(text: str, value: object) -> None:
    assert exactly(go_yaml.resolve(text)) == exactly(value)
    assert exactly(go_yaml.load(f"v: {text}\nw: '{text}'\n")) == exactly({"v": value, "w": text})


def test_the_model_of_go_merges_plain_merge_keys_only() -> None:
    assert go_yaml.load("<<: {a: 1}\nb: 2\n") == {"a": 1, "b": 2}
    assert go_yaml.load('"<<": {a: 1}\nb: 2\n') == {"<<": {"a": 1}, "b": 2}


class PlainDumper(yaml.SafeDumper):
    """PyYAML as it is: importing Hera changes how every dumper of the process writes text."""


PlainDumper.add_representer(str, lambda dumper, text: dumper.represent_scalar(_STR, text))
_STR = "tag:yaml.org,2002:str"


def test_a_long_text_is_written_once() -> None:
    text = "a line of a script\n" * 20
    tree = {"x |y": text, "list": [text, {"other": text + "more\n"}], "z": text}
    written = dump(tree)
    for read in READERS.values():
        assert read(written) == tree
    assert written.count(text.split("\n")[0]) == 40  # of two texts
    assert written.count("&text-1 |") == 1
    assert written.count("*text-1") == 2
