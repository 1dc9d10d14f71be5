"""Texts are the same whether they share parts or not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from couler.backends.airflow.shared_text import SEPARATOR, Shared, share

_long = st.sampled_from([f"def f{number}():\n" + "    x\n" * 25 for number in range(4)])
_texts = st.lists(_long | st.text("ab\n", max_size=5), max_size=8).map(SEPARATOR.join)


@given(st.dictionaries(st.text("xyz", min_size=1, max_size=3), _texts, max_size=5))
def test_parts_make_the_text(texts: dict[str, str]) -> None:
    shared, parts = share(texts)
    for name, text in texts.items():
        joined = [shared[one.number] if isinstance(one, Shared) else one for one in parts[name]]
        assert "".join(joined) == text


def test_what_two_begin_with_is_there_once() -> None:
    common = ["class A:" + "\n    x = 1" * 10, "def b():" + "\n    pass" * 12]
    texts = {name: SEPARATOR.join([f"# {name}", *common, name]) for name in ("c", "d", "e")}
    shared, parts = share(texts)
    assert len(shared) == 1
    assert parts["d"] == [f"# d{SEPARATOR}", Shared(0), "d"]
    alone, whole = share({"c": texts["c"]})
    assert (alone, whole) == ([], {"c": [texts["c"]]})
