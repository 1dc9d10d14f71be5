"""Secrets are masked in a stream, however it is cut into chunks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from couler.backends.local.masking import Masker

LONG = "-----BEGIN-----\nabcdef\nx\nyz\n-----END-----\n"


def shown(secrets: list[str], *chunks: bytes) -> bytes:
    masker = Masker(secrets)
    return b"".join([masker.feed(chunk) for chunk in chunks]) + masker.flush()


def test_a_secret_that_begins_as_a_shorter_one() -> None:
    secrets = ["hunter2", "hunter2-and-more"]
    assert shown(secrets, b"x hunter2", b"-and-more y") == b"x *** y"
    assert shown(secrets, b"x hunter2", b"-and-less y") == b"x ***-and-less y"
    assert shown(secrets, b"x hunter2") == b"x ***"


@pytest.mark.parametrize("size", [1, 2, 7, 16, 30])
def test_a_secret_of_several_lines_is_masked_whole(size: int) -> None:
    text = f"key: {LONG}end".encode()
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert shown([LONG], *chunks) == b"key: ***\nend"


def test_secrets_that_overlap_are_masked_together() -> None:
    assert shown(["abcd", "cdef"], b"-abcdef-") == b"-***-"
    assert shown(["abcd", "cdef"], b"-abcd", b"ef-") == b"-***-"


def test_the_line_break_after_a_secret_is_not_part_of_it() -> None:
    assert shown(["hunter2\n"], b"x hunter2 y hunter2\nz") == b"x *** y ***\nz"


def test_no_more_is_held_back_than_may_be_a_secret() -> None:
    masker = Masker([LONG, "hunter2"])
    assert masker.feed(b"working\n") == b"working\n"
    assert masker.feed(b"with hunt") == b"with "
    assert masker.feed(b"ing\n") == b"hunting\n"


def test_long_secrets_and_chains_of_them_are_not_held() -> None:
    masker = Masker(["a-" * 100_000 + "b", "=="])
    for _ in range(200):
        assert masker.feed(b"c a a-a" * 100) is not None
    assert sum(len(masker.feed(b"=" * 65536)) for _ in range(10)) < 2000


pieces = st.text("ab\n", max_size=6)


@given(
    secrets=st.lists(st.text("ab\n", min_size=1, max_size=9), max_size=4),
    around=st.lists(pieces, max_size=5),
    cuts=st.lists(st.integers(0, 60), max_size=8),
)
def test_chunks_change_nothing(secrets: list[str], around: list[str], cuts: list[int]) -> None:
    text = "".join(part for pair in zip(around, [*secrets, *around], strict=False) for part in pair)
    stream = text.encode()
    ends = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(ends)]
    whole = shown(secrets, stream)
    assert shown(secrets, *chunks) == whole
    assert shown(secrets, *(bytes([one]) for one in stream)) == whole
    assert not any(secret.strip() and secret.encode() in whole for secret in secrets)
