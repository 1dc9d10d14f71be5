"""Texts are the same whether they share parts or not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from couler.backends.airflow.module import SEPARATOR, Part, Shared, share

_long = st.sampled_from([f"def f{number}():\n" + "    x\n" * 25 for number in range(4)])
_texts = st.lists(_long | st.text("ab\n", max_size=5), max_size=8).map(SEPARATOR.join)


@given(st.dictionaries(st.text("xyz", min_size=1, max_size=3), _texts, max_size=5))
def test_parts_make_the_text(texts: dict[str, str]) -> None:
    shared, parts = share(texts)

    def joined(given: list[Part]) -> str:
        return "".join(
            joined(shared[one.number]) if isinstance(one, Shared) else one for one in given
        )

    assert {name: joined(given) for name, given in parts.items()} == texts
    for number, one_shared in enumerate(shared):
        inner = [one.number for one in one_shared if isinstance(one, Shared)]
        assert all(one > number for one in inner), "files define the last first"


def test_what_is_shared_shares_parts() -> None:
    block = ["def a():" + "\n    pass" * 20, "def b():" + "\n    pass" * 20]
    long = [f"def {name}():" + "\n    pass" * 30 for name in "cd"]
    whole = SEPARATOR.join([long[0], *block, long[1], ""])
    texts = {"x": f"{whole}x", "y": f"{whole}y", "z": SEPARATOR.join([*block, "z"])}
    shared, parts = share(texts)
    assert parts["x"] == [Shared(0), "x"]
    assert parts["z"] == [Shared(1), "z"]
    assert Shared(1) in shared[0]


def test_what_two_begin_with_is_there_once() -> None:
    common = ["class A:" + "\n    x = 1" * 10, "def b():" + "\n    pass" * 12]
    texts = {name: SEPARATOR.join([f"# {name}", *common, name]) for name in ("c", "d", "e")}
    shared, parts = share(texts)
    assert len(shared) == 1
    assert parts["d"] == [f"# d{SEPARATOR}", Shared(0), "d"]
    alone, whole = share({"c": texts["c"]})
    assert (alone, whole) == ([], {"c": [texts["c"]]})
