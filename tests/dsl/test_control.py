"""Conditions, groups, and what crosses their borders."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

import couler
from couler import stages
from couler.ir.values import And, Compare, Literal, Not, Or, OrElse, ParamRef, StepRef
from couler.stages.programs import LoadError, load_program
from tests.dsl.look import box, codes, implicit, steps


def is_(step: str, value: object, op: str = "==") -> Compare:
    return Compare(left=StepRef(step=step), op=op, right=Literal(value=value))


def test_a_condition_that_calls_itself_without_end_is_one_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "flow.py"
    program.write_text(
        "import couler\n"
        "@couler.step\n"
        "def flip() -> str: return 'tails'\n"
        "def again():\n"
        "    with couler.when(flip() == 'tails'):\n"
        "        again()\n"
        "with couler.Workflow('w') as wf:\n"
        "    again()\n"
    )
    with pytest.raises(LoadError, match="again calls itself without an end"):
        load_program(str(program))
    assert capfd.readouterr().err == ""


def test_a_block_and_its_otherwise() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        with couler.when(a == "x") as branch:
            b = box("b")
        with branch.otherwise():
            c = box("c")
        box("d", couler.first_of(b, c))
    found = steps(wf)
    assert found["b"].when == is_("a", "x")
    assert found["c"].when == Not(item=is_("a", "x"))
    assert found["d"].when is None
    assert codes(wf) == []


def test_the_function_forms_give_what_the_functions_return() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        yes = couler.when(a == "x", lambda: box("b"))
        no = yes.otherwise(lambda: box("c"))
        box("d", couler.first_of(yes.result, no.result))
    assert [type(step.when) for step in steps(wf).values()] == [
        type(None),
        Compare,
        Not,
        type(None),
    ]
    assert couler.when(False).result is None


def test_nested_whens_make_one_and() -> None:
    with couler.Workflow("w") as wf:
        a, b = box("a"), box("b")
        with couler.when(a == "x"):
            c = box("c")
            with couler.when((b > 1) & (b < 3)), couler.when(a == "x"):
                box("d", c)
    assert steps(wf)["d"].when == And(items=(is_("a", "x"), is_("b", 1, ">"), is_("b", 3, "<")))
    assert codes(wf) == []


def test_and_or_not_and_chains_of_them() -> None:
    with couler.Workflow("w") as wf:
        a, b = box("a"), box("b")
        with couler.when(((a == "x") | (b == "y") | (b == "z")) & ~(a != "q")):
            box("c")
        with couler.when(~~(a == "x")):
            box("d")
    either = Or(items=(is_("a", "x"), is_("b", "y"), is_("b", "z")))
    assert steps(wf)["c"].when == And(items=(either, Not(item=is_("a", "q", "!="))))
    assert steps(wf)["d"].when == is_("a", "x")


def test_conditions_on_plain_values_are_decided_at_once() -> None:
    made = []
    with couler.Workflow("w") as wf:
        a = box("a")
        couler.when(couler.equal(1, 2), lambda: made.append(box("never")))
        couler.when(couler.bigger("2", 1), lambda: made.append(box("always")))
        couler.when(True & (a == "x"), lambda: made.append(box("perhaps")))
        couler.when((a == "x") | True, lambda: made.append(box("surely")))
        couler.when((a == "x") & couler.equal(1, 2), lambda: made.append(box("never-2")))
    found = steps(wf)
    assert list(found) == ["a", "always", "perhaps", "surely"]
    assert found["always"].when is None
    assert found["surely"].when is None


def test_plain_values_that_have_no_order_cannot_be_decided() -> None:
    with couler.Workflow("w"), pytest.raises(couler.DefinitionError, match="CLR121"):
        couler.when(couler.bigger([1], 2), lambda: None)


@pytest.mark.parametrize("condition", ["text", None, 3])
def test_what_is_no_condition_is_refused(condition: object) -> None:
    with couler.Workflow("w"), pytest.raises(couler.DefinitionError, match="CLR120"):
        couler.when(condition)


def test_a_condition_with_one_side_is_for_loops() -> None:
    branch = couler.when(couler.equal("tails"))
    with couler.Workflow("w"), pytest.raises(couler.DefinitionError, match="CLR120"), branch:
        pass


def test_a_value_is_a_condition_by_itself() -> None:
    with couler.Workflow("w", debug=False) as wf, couler.when(wf.params.debug):
        box("trace")
    assert steps(wf)["trace"].when == Compare(
        left=ParamRef(name="debug"), op="==", right=Literal(value=True)
    )


@pytest.mark.parametrize(
    ("predicate", "op"),
    [
        (couler.equal, "=="),
        (couler.not_equal, "!="),
        (couler.bigger, ">"),
        (couler.smaller, "<"),
        (couler.bigger_equal, ">="),
        (couler.smaller_equal, "<="),
    ],
)
def test_predicates_take_steps_lists_of_outputs_and_functions(predicate, op: str) -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        couler.when(predicate([a], 1), lambda: box("b"))
        couler.when(predicate(lambda: box("c"), 1), lambda: box("d"))
    assert steps(wf)["b"].when == is_("a", 1, op)
    assert steps(wf)["d"].when == is_("c", 1, op)


def test_an_exception_in_a_block_leaves_no_condition_behind() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        with pytest.raises(ZeroDivisionError), couler.when(a == "x"), couler.group("g"):
            raise ZeroDivisionError
        box("b")
    assert steps(wf)["b"].when is None


def test_names_of_inputs_are_derived_and_unique() -> None:
    @couler.step
    def fit() -> tuple[int, int]:
        return 1, 2

    with couler.Workflow("w", fit=1) as wf, couler.group("g"):
        outside = wf.params.fit
        box("a", outside)
    with couler.Workflow("v", x_y=1) as wf:
        a, b = box("x-y"), box("x_y2")
        with couler.group("g"):
            box("z", a, b, wf.params.x_y, fit()[0])
    assert [one.name for one in steps(wf)["g"].inputs] == ["x_y", "x_y2", "x_y_2"]


def test_a_default_holds_for_a_skipped_step_in_a_group_and_for_the_group() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        with couler.group("g"), couler.when(a == "x"):
            b = box("b")
        box("c", b.or_else("none"))
    group = steps(wf)["g"]
    default = Literal(value="none")
    assert group.outputs[0].value == OrElse(value=StepRef(step="b"), default=default)
    assert steps(wf)["c"].action.args == (
        OrElse(value=StepRef(step="g", output="b"), default=default),
    )
    assert codes(wf) == []


def test_an_unsafe_read_of_a_skipped_step_is_still_reported() -> None:
    with couler.Workflow("w") as wf:
        a = box("a")
        with couler.when(a == "x"):
            b = box("b")
        box("c", b)
    assert codes(wf) == ["CLR211"]


def test_options_of_groups() -> None:
    with couler.Workflow("w") as wf:
        with couler.group("g", retry=2, timeout="1h", max_parallel=3):
            box("b")
        with couler.group("h", retires=2):  # type: ignore[call-arg]
            box("c")
    group = steps(wf)["g"]
    assert (group.retry.limit, group.timeout_s, group.max_parallel) == (2, 3600, 3)
    [problem] = wf.diagnostics
    assert problem.code == "CLR104"
    assert 'Did you mean "retry"' in problem.message


def test_concurrent_returns_what_the_functions_return() -> None:
    a, b = couler.concurrent([lambda: box("a"), lambda: box("b")])
    box("c", a, b)
    assert steps(implicit())["c"].action.args == (StepRef(step="a"), StepRef(step="b"))


DEFAULTS: dict[str, Callable[[t.Any], t.Any]] = {
    "or_else": lambda value: value.or_else("none"),
    "first_of": lambda value: couler.first_of(value, "none"),
    "or_else of another": lambda value: value.or_else(couler.first_of(value, "none")),
}


@pytest.mark.parametrize("block", ["loop", "group"])
@pytest.mark.parametrize("default", DEFAULTS.values(), ids=list(DEFAULTS))
@pytest.mark.parametrize("inside", [True, False])
def test_defaults_of_a_branch_hold_outside_of_its_block(
    block: str, default: Callable[[t.Any], t.Any], inside: bool, tmp_path: Path
) -> None:
    with couler.Workflow("w") as wf:
        with couler.group("block") if block == "group" else couler.loop(name="block") as opened:
            a = box("a")
            with couler.when(a == "x"):
                b = box("b")
            value = default(b) if inside else None
            if block == "loop":
                opened.while_(a == "again")
        box("c", default(b) if value is None else value)
        wf.output("found", default(b) if value is None else value)
    assert codes(wf) == []
    result = stages.run(wf)
    assert (result.status, result.outputs) == ("succeeded", {"found": "none"})
