"""Texts are the same whether they share parts or not."""

from __future__ import annotations

from hypothesis import given, strategies as st

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


def test_runs_that_save_alike_are_shared_in_their_order() -> None:
    functions = [f"def f{number}():" + "\n    x" * 25 for number in range(7)]
    texts = {
        name: SEPARATOR.join(f"{one}{SEPARATOR}{name} = {at}" for at, one in enumerate(functions))
        for name in "ab"
    }
    shared, _ = share(texts)
    assert shared == [[f"{one}{SEPARATOR}"] for one in functions]
