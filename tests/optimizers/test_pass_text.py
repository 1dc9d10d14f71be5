"""The text of a pass: what it means, and what is told where it means nothing."""

from __future__ import annotations

import contextlib
import string
import typing as t

import pytest
from hypothesis import given, strategies as st

from couler.errors import EngineOptionError
from couler.optimizers.pipeline import read_pass
from couler.plugin_options import parse_plugin


def read(options: str) -> t.Any:
    return read_pass(f"take-all-options{{{options}}}")


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("", 1, "the name of a pass is missing"),
        ("{a=1}", 1, "the name of a pass is missing"),
        ("p q", 3, "a pass is name or name{option=value,...}"),
        ("p{a=1", 6, '"," or "}" is missing after the value of a'),
        ("p{a}", 4, '"=" is missing after the option a'),
        ("p{a=}", 5, "the value of a is missing; an empty text is a=''"),
        ("p{a=1 b=2}", 11, None),
        ("p{a=1,,b=2}", 7, 'the name of an option or "}" is missing'),
        ("p{a=1,a=2}", 7, "the option a is given twice"),
        ("p{a=1}x", 7, "nothing stands after the braces"),
        ("p{a='x}", 5, "the quote ' has no end"),
        ("p{a=[1,2}", 9, '"," or "]" is missing in the list of a'),
        ("p=1", 2, "options stand in braces, as in p{option=value,other=value}; in a shell"),
    ],
)
def test_what_is_no_pass(text: str, position: int, problem: str | None) -> None:
    if problem is None:  # a bare value goes to the next comma
        parsed = parse_plugin("pass", text)
        assert parsed.options is not None
        assert parsed.options["a"][1].text == "1 b=2"
        return
    with pytest.raises(EngineOptionError) as caught:
        parse_plugin("pass", text)
    assert str(caught.value).startswith(f"the pass {text!r}, character {position}: {problem}")


@given(st.dictionaries(st.from_regex(r"[a-z][a-z_]{0,5}", fullmatch=True), st.text(), max_size=4))
def test_quoted_texts_come_back(options: dict[str, str]) -> None:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    text = f"p{{{','.join(f'{name}={quoted(value)}' for name, value in options.items())}}}"
    parsed = parse_plugin("pass", text)
    assert {name: raw.text for name, (_, raw) in (parsed.options or {}).items()} == options


@given(st.text(alphabet=string.ascii_letters + "{}[]=,'\"\\ -_1", max_size=20))
def test_any_text_is_a_pass_or_one_error(text: str) -> None:
    with contextlib.suppress(EngineOptionError):  # and nothing else
        assert parse_plugin("pass", text).name in text


@pytest.mark.usefixtures("samples")
class TestTypes:
    @pytest.mark.parametrize(
        ("options", "name", "value"),
        [
            ("count=12", "count", 12),
            ("count=1_000", "count", 1000),
            ("share=1e-3", "share", 0.001),
            ("share=2", "share", 2.0),
            ("is_loud=true", "is_loud", True),
            ("is_loud=False", "is_loud", False),
            ("max_bytes=4096", "max_bytes", 4096),
            ("max_bytes=1MiB", "max_bytes", 1 << 20),
            ("max_bytes=1.5Mi", "max_bytes", 3 << 19),
            ("max_bytes=2kB", "max_bytes", 2000),
            ("max_bytes=2 GB", "max_bytes", 2 * 10**9),
            ("max_bytes=none", "max_bytes", None),
            ("method=dfs", "method", "dfs"),
            ("method='dfs'", "method", "dfs"),
            ("label=None", "label", None),
            ("label='None'", "label", "None"),
            ("label=''", "label", ""),
            ("label=a b=c", "label", "a b=c"),
            ("either=3", "either", 3),
            ("either='3'", "either", "3"),
            ("either=x", "either", "x"),
            ("names=[a, 'b,c']", "names", ("a", "b,c")),
            ("names=a", "names", ("a",)),
            ("names=[]", "names", ()),
            ("pair=[2,3]", "pair", (2, 3.0)),
            ("sizes_bytes=[1KiB,1]", "sizes_bytes", (1024, 1)),
        ],
    )
    def test_values(self, options: str, name: str, value: object) -> None:
        found = getattr(read(options), name)
        assert (found, type(found)) == (value, type(value))

    @pytest.mark.parametrize(
        ("options", "position", "problem"),
        [
            ("count=x", 24, "count must be a whole number, not 'x'"),
            ("count=1.5", 24, "count must be a whole number, not '1.5'"),
            ("count='1'", 24, "count must be a whole number, not '1'"),
            ("count=none", 24, "count must be a whole number, not none"),
            ("count=[1]", 24, "count must be a whole number, not '[1]'"),
            ("share=nan", 24, "share must be a number, not 'nan'"),
            ("is_loud=yes", 26, "is_loud must be true or false, not 'yes'"),
            ("max_bytes=1 MiBy", 28, "max_bytes must be a size such as 1MiB or none, not '1 MiBy'"),
            ("max_bytes=0.3", 28, "max_bytes must be a whole number of bytes, not 0.3"),
            ("method=level", 25, "method must be dfs or levels, not 'level'. Did you mean \"lev"),
            ("pair=[1]", 23, "pair must be a list [...] of a whole number, not '[1]'"),
            ("sizes_bytes=[1,x]", 33, "sizes_bytes must be a size such as 1MiB, not 'x'"),
            ("function=print", 27, "function must be "),
            ("cuont=1", 18, 'take-all-options has no option "cuont"; it has: count, share, is_'),
            ("is-loud=true", 18, 'take-all-options has no option "is-loud"'),
        ],
    )
    def test_wrong_values(self, options: str, position: int, problem: str) -> None:
        with pytest.raises(EngineOptionError) as caught:
            read(options)
        text = f"take-all-options{{{options}}}"
        assert str(caught.value).startswith(f"the pass {text!r}, character {position}: {problem}")

    def test_value_that_the_pass_itself_refuses(self) -> None:
        with pytest.raises(EngineOptionError, match='pass "take-all-options": count must be at le'):
            read("count=0")

    def test_unknown_pass(self) -> None:
        with pytest.raises(EngineOptionError) as caught:
            read_pass("tag-step{key=x}")
        assert str(caught.value).startswith("the pass 'tag-step{key=x}', character 1: there is no ")
        assert str(caught.value).endswith('Did you mean "tag-steps"?')

    def test_same_as_with_values(self) -> None:
        assert read("count=3,method=dfs") == type(read("count=1"))(count=3, method="dfs")
