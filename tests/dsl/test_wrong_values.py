"""Values of a wrong kind are told of, with a code and a place, and never taken for others."""

from __future__ import annotations

import pytest

import couler
from tests.dsl.look import steps


def test_one_text_stands_for_a_list_of_one() -> None:
    @couler.step(packages="numpy", command="python3")
    def typed() -> int:
        return 1

    with couler.Workflow("w") as wf:
        typed()
        couler.run_script("python", "python3", "pass", packages="numpy", step_name="script")
    for step in steps(wf).values():
        assert (step.action.packages, step.action.command) == (("numpy",), ("python3",))


@pytest.mark.parametrize("option", ["packages", "command"])
@pytest.mark.parametrize("wrong", [3, [3], {"a": "b"}])
def test_lists_of_texts_hold_texts(option: str, wrong: object) -> None:
    def made() -> int:
        return 1

    with couler.Workflow("w") as wf:
        couler.step(**{option: wrong})(made)()
        couler.run_script("python", source="pass", step_name="script", **{option: wrong})
    assert [one.code for one in wf.diagnostics] == ["CLR105", "CLR105"]
    assert all(option in one.message for one in wf.diagnostics)
