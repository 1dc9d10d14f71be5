"""Runs end under Argo's real controller as on this machine, where Argo alone would not end them."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.ir.policies import Part, Retry
from couler.ir.workflow import ExitHandler, Step, Workflow
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    on_completion,
    on_failure,
    or_else,
    out,
    param,
    part,
    ref,
    rng,
    run,
    sh,
    text,
    while_,
)
from tests.support import argo_oracle
from tests.support.argo_bench import Bench
from tests.support.argo_compare import assert_same_outcome

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(4),
]


def same(workflow: Workflow, argo: argo_oracle.Session, folder: Path) -> dict[str, str]:
    """Return the states of the steps, which are those on this machine as well."""
    return dict(assert_same_outcome(workflow, argo, folder).states)


def told(step: str, default: object = None) -> ExitHandler:
    """An exit handler that reads a step, for which Argo runs the step in a template of steps."""
    reader = sh("tell", 'echo "$1"', or_else(ref(step), [] if default is None else default))
    return ExitHandler(name="end", on="any", steps=(reader,))


def a_key_of(says: str, **fields: object) -> Step:
    """A group that gives out a key of what its step prints."""
    inner = sh("say", says, *([param("n")] if "inputs" in fields else []), result="json")
    fields = {"outputs": [out("key", "int", source=part(ref("say"), "k"))], **fields}
    return group("of", inner, **fields)


AFTER = sh("after", "echo after", depends_on=["of"])


def test_a_group_whose_output_is_not_there(argo: argo_oracle.Session, tmp_path: Path) -> None:
    workflow = flow("not-there", a_key_of("echo '{}'"), AFTER)
    states = same(workflow, argo, tmp_path)
    assert states == {"of": "failed", "of/say": "succeeded", "after": "omitted"}


def test_a_group_in_parts_whose_output_is_not_there(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    inside = (
        sh("say", "echo '{}'", result="json", part=Part(group="one")),
        sh("more", "true", depends_on=["say"], part=Part(group="two")),
        sh("last", "true", depends_on=["more"]),
    )
    of = group("of", *inside, outputs=[out("key", "int", source=part(ref("say"), "k"))])
    outcome = assert_same_outcome(flow("in-parts", of, AFTER), argo, tmp_path)
    assert outcome.states["after"] == "omitted"
    assert "'k' not found" in outcome.messages["of"]


def test_the_reason_is_told_of_the_group(argo: argo_oracle.Session, tmp_path: Path) -> None:
    outcome = assert_same_outcome(flow("why", a_key_of("echo '{}'"), AFTER), argo, tmp_path)
    assert "'k' not found" in outcome.messages["of"]


@pytest.mark.parametrize("source", [ref("say"), text("<", ref("say"), ">")], ids=["whole", "text"])
def test_a_group_whose_output_is_no_json(
    source: object, argo: argo_oracle.Session, tmp_path: Path
) -> None:
    as_text = [out("key", "str", source=source)]
    workflow = flow("no-json", a_key_of("echo x", outputs=as_text), AFTER)
    assert same(workflow, argo, tmp_path)["after"] == "omitted"


def test_exit_handlers_run_after_a_workflow_whose_output_is_not_there(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    handlers = [
        ExitHandler(name=on, on=on, steps=(sh("tell", 'echo "$1"', run("status")),))
        for on in ("success", "failure")
    ]
    workflow = flow(
        "own",
        sh("say", "echo '{}'", result="json"),
        exit_handlers=handlers,
        outputs=[out("key", "int", source=part(ref("say"), "k"))],
    )
    states = same(workflow, argo, tmp_path)
    assert (states["exit:failure/tell"], states["exit:success"]) == ("succeeded", "skipped")


@pytest.mark.parametrize("found", ["[]", "{}", "true", "null"])
def test_what_is_no_number_is_unequal_to_one(
    found: str, argo: argo_oracle.Session, tmp_path: Path
) -> None:
    says = sh("says", f'echo \'{{"k":{found},"n":1}}\'', result="json")
    key, number = part(ref("says"), "k"), part(ref("says"), "n")
    workflow = flow(
        "unequal",
        says,
        sh("same", "true", when=compare(key, "==", 1)),
        sh("other", "true", when=compare(1, "!=", key)),
        sh("one", "true", when=compare(number, "==", 1)),
        sh("not-one", "true", when=compare(number, "!=", 1)),
    )
    states = same(workflow, argo, tmp_path)
    assert [states[name] for name in ("same", "other", "one", "not-one")] == [
        "skipped",
        "succeeded",
        "succeeded",
        "skipped",
    ]


def test_a_failure_to_give_an_output_is_handled(argo: argo_oracle.Session, tmp_path: Path) -> None:
    handled = sh("rescue", 'echo "$1"', or_else(ref("of", "key"), 7), depends_on=[on_failure("of")])
    states = same(flow("handled", a_key_of("echo '{}'"), handled), argo, tmp_path)
    assert (states["of"], states["rescue"]) == ("failed", "succeeded")


def test_an_item_and_a_round_whose_output_is_not_there(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    items = a_key_of(
        'echo "{\\"$1\\":1}"', inputs=[given("n", item())], foreach=["k", "x", "k"]
    ).model_copy(update={"name": "items"})
    # The round after the first has a number for an object.
    rounds = a_key_of(
        'test "$1" != 0 && echo "$1" || echo \'{"k":1}\'',
        inputs=[given("n", last("key", initial=0), "int")],
        loop=while_(compare(last("key"), "<", 3)),
    ).model_copy(update={"name": "rounds"})
    after = [sh(f"after-{one}", "true", depends_on=[one]) for one in ("items", "rounds")]
    states = same(flow("parts", items, rounds, *after), argo, tmp_path)
    assert [states[f"items[{index}]"] for index in range(3)] == ["succeeded", "failed", "succeeded"]
    assert (states["rounds@0"], states["rounds@1"]) == ("succeeded", "failed")


def test_a_leaf_that_is_skipped_below_a_failure_still_counts(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    never = compare("a", "==", "b")
    inside = group(
        "of",
        sh("say", "exit 1", result="json"),
        sh("leaf", "true", when=never, depends_on=[on_completion("say")]),
        sh("alarm", "true", depends_on=[on_failure("leaf")]),
        outputs=[out("key", "int", source=or_else(part(ref("say"), "k"), 1))],
    )
    states = same(flow("below", inside, AFTER), argo, tmp_path)
    assert (states["of/alarm"], states["of"]) == ("skipped", "failed")


def test_a_group_that_is_retried(argo: argo_oracle.Session, tmp_path: Path) -> None:
    workflow = flow("retried", a_key_of("echo '{}'", retry=Retry(limit=1)), AFTER)
    assert same(workflow, argo, tmp_path)["of"] == "failed"


def test_items_of_a_group_that_exit_handlers_read(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    of = a_key_of('echo "{\\"$1\\":1}"', inputs=[given("n", item())], foreach=["x", "k"])
    reader = sh("tell", 'echo "$1"', or_else(ref("of", "key"), []))
    end = ExitHandler(name="end", on="any", steps=(reader,))
    states = same(flow("kept-items", of, AFTER, exit_handlers=[end]), argo, tmp_path)
    assert (states["of[0]"], states["of[1]"]) == ("failed", "succeeded")


@pytest.mark.parametrize(
    ("says", "over"),
    [("nothing", ref("list")), ("many", rng(count=ref("list", "result")))],
    ids=["no-list", "no-number"],
)
def test_a_kept_foreach_over_what_is_no_list(
    says: str, over: object, argo: argo_oracle.Session, tmp_path: Path
) -> None:
    made = sh("list", f"echo {says}", result="list" if says == "nothing" else "str")
    of = sh("of", 'echo "$1"', item(), foreach=over)
    states = same(flow("no-list", made, of, AFTER, exit_handlers=[told("of")]), argo, tmp_path)
    assert (states["of"], states["after"]) == ("failed", "omitted")


def test_a_kept_loop_that_cannot_begin(argo: argo_oracle.Session, tmp_path: Path) -> None:
    first = sh("first", "echo 5", result="json")
    of = sh(
        "of",
        'echo "$1"',
        part(last(initial=ref("first")), "k"),
        result="json",
        loop=while_(compare(last(), "==", 0)),
    )
    workflow = flow("no-round", first, of, AFTER, exit_handlers=[told("of", 1)])
    outcome = assert_same_outcome(workflow, argo, tmp_path, unbegun=("of@0",))
    assert (outcome.states["of"], outcome.states["after"]) == ("failed", "omitted")


def test_kept_lists_are_lists_for_their_readers(argo: argo_oracle.Session, tmp_path: Path) -> None:
    made = sh("list", "echo '[1,2]'", result="list")
    of = sh("of", 'echo "$1"', item(), foreach=ref("list"))
    same_list = compare(ref("of"), "==", ["1", "2"])
    reader = sh("reader", "echo read", depends_on=["of"], when=same_list)
    workflow = flow("lists", made, of, reader, exit_handlers=[told("of")])
    assert same(workflow, argo, tmp_path)["reader"] == "succeeded"


def test_a_kept_step_that_did_not_run_has_its_default(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    never = compare("a", "==", "b")
    default = [out("n", "int", path="n", default=4)]
    of = sh("of", "echo 1 > n", outputs=default, result=None, when=never)
    reader = sh("reader", 'test "$1" = 4', ref("of", "n"))
    end = sh("tell", 'test "$1" = 4', or_else(ref("of", "n"), 5))
    workflow = flow(
        "defaults", of, reader, exit_handlers=[ExitHandler(name="end", on="any", steps=(end,))]
    )
    states = same(workflow, argo, tmp_path)
    assert (states["reader"], states["exit:end/tell"]) == ("succeeded", "succeeded")


def test_what_a_failed_process_printed_is_not_its_output(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    of = sh("of", "echo 7; exit 1", outputs=[out("result", "int", default=4)], result=None)
    reader = sh("reader", 'test "$1" = 4', ref("of"), depends_on=[on_completion("of")])
    states = same(flow("printed", of, reader), argo, tmp_path)
    assert states["reader"] == "succeeded"


@pytest.mark.parametrize("says", ["exit 1", "echo 1"])
def test_the_default_of_a_group_that_did_not_give_its_output(
    says: str, argo: argo_oracle.Session, tmp_path: Path
) -> None:
    never = None if says == "exit 1" else compare("a", "==", "b")
    of = group(
        "of",
        sh("in", says, result="int"),
        outputs=[out("n", "int", source=ref("in"), default=4)],
        when=never,
    )
    reader = sh("reader", 'test "$1" = 4', ref("of", "n"), depends_on=[on_completion("of")])
    states = same(flow("default", of, reader), argo, tmp_path)
    assert states["reader"] == "succeeded"


def test_a_foreach_over_a_literal_of_nothing(argo: argo_oracle.Session, tmp_path: Path) -> None:
    workflow = flow(
        "nothing",
        sh("of", "exit 1", foreach=[]),
        sh("items", 'echo "$1"', item(), foreach=[]),
        sh("kept", 'echo "$1"', item(), foreach=[]),
        group(
            "groups",
            sh("in", "exit 1", param("n")),
            inputs=[given("n", item())],
            outputs=[out("o", source=ref("in"))],
            foreach={"item": [], "other": []},
        ),
        sh("json", "echo x", result="json"),
        sh("unread", "true", item(), part(ref("json"), "k"), foreach=[]),
        sh("after", 'echo "$1 $2 $3"', ref("items"), ref("kept"), ref("groups", "o")),
        exit_handlers=[told("kept")],
    )
    states = same(workflow, argo, tmp_path)
    assert set(states.values()) == {"succeeded"}


def test_a_handler_that_waits_for_no_failure_and_reads_a_step_that_was_left_out(
    argo: argo_oracle.Session, tmp_path: Path
) -> None:
    says = sh("says", "echo x")
    second = sh(
        "second", 'echo "$1"', or_else(ref("left"), "none"), depends_on=[on_failure("says")]
    )
    workflow = flow(
        "left-out",
        sh("bad", "exit 1"),
        sh("left", "echo x", depends_on=["bad"]),
        exit_handlers=[ExitHandler(name="end", on="any", steps=(says, second))],
    )
    assert same(workflow, argo, tmp_path)["exit:end/second"] == "skipped"


def test_a_group_that_could_not_give_its_output_is_mended(bench: Bench) -> None:
    says = bench.step("says", f"{bench.mended} && echo '{{\"k\":1}}' || echo '{{}}'", result="json")
    workflow = flow(
        "mended",
        group(
            "of",
            bench.step("other"),
            says,
            outputs=[out("key", "int", source=part(ref("says"), "k"))],
        ),
        bench.step("after", "true", ref("of", "key")),
    )
    assert bench.run(workflow) == ["other", "says"]
    assert bench.status == "failed"
    bench.mend()
    assert bench.restart("of/says", "after") == ["after 1", "says"]
    assert bench.status == "succeeded"
