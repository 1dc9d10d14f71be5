"""The gate runs outside of the box: no program may keep it for long, or end it."""

from __future__ import annotations

import pytest

from couler.box import check_program
from couler.box.text_checks import MOST_CHARACTERS

START = "import couler\n"


def doubled(first: str, pattern: str, times: int = 60) -> str:
    """Return assignments of which each has the one before it twice."""
    lines = [f"T0 = {first}", *(pattern.format(n, n - 1) for n in range(1, times))]
    return START + "\n".join(lines) + "\n"


LAST = "T59"

HARD = {
    "types of types": (
        doubled("int", "T{0} = T{1} | T{1}") + f"def f(x: {LAST}): ...\n",
        None,
    ),
    "texts of types": (
        doubled("int", "T{0} = 'T{1} | T{1}'") + f"def f(x: {LAST}): ...\n",
        None,
    ),
    "outputs of outputs": (
        doubled("'x'", "T{0} = [T{1}, T{1}]") + f"couler.run_container('x', output={LAST})\n",
        None,
    ),
    "an output that has itself": (
        START + "a = [a]\ncouler.run_container('x', output=a, name=a)\n",
        None,
    ),
    "zeros of a format": (START + f"x = '%{'0' * (MOST_CHARACTERS - 100)}' % 1\n", None),
    "digits of a format": (START + f"x = '%{'1' * (MOST_CHARACTERS - 100)}' % 1\n", None),
    "many formats": (START + f"x = '{'%0.' * (MOST_CHARACTERS // 4)}' % 1\n", None),
    "names that are nearly declared": (
        START
        + f"f = dict({', '.join(f'k{n}=1' for n in range(4000))})\n"
        + "".join(f"f.q{n}\n" for n in range(2500)),
        "CLR606",
    ),
    "names that are nearly bound": (
        START
        + "".join(f"k{n} = 1\n" for n in range(3000))
        + "".join(f"q{n}\n" for n in range(3000)),
        "CLR605",
    ),
    "modules that are nearly known": (
        "".join(f"import couler.stepz{n}\n" for n in range(3000)),
        "CLR603",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD)
def test_no_program_keeps_the_gate_for_long(name: str) -> None:
    """Each of these programs would last longer than the timeout of a test, or never end."""
    program, code = HARD[name]
    found = check_program(program)
    assert {one.code for one in found} == (set() if code is None else {code})


def test_types_that_have_themselves_are_none() -> None:
    found = check_program(START + "A = 'B'\nB = 'A | int'\ndef f(x: A, y: B): ...\n")
    assert {one.code for one in found} == {"CLR612"}
    assert check_program(START + "A = int\nB = 'A | A'\ndef f(x: B, y: 'A | B'): ...\n") == ()


def test_messages_are_short_whatever_names_are_long() -> None:
    long = "q" * 100_000
    for program in (f"x = 1\nx.{long}\n", f"{long}\n", f"import {long}\n", f"int = x.{long} = 1\n"):
        found = check_program(program)
        assert found
        assert all(len(one.message) < 1_000 for one in found)
