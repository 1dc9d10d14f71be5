"""What Argo's real controller makes of the short forms of bounds and of numbers in records."""

from __future__ import annotations

import pytest

import couler
from couler.ir.policies import Foreach
from tests.backends.argo.test_file_keys import read_in_groups, read_in_turn
from tests.backends.argo.test_record_numbers import both, shown
from tests.corpus.build import flow, item, value
from tests.support import argo_oracle
from tests.support.argo_bench import Bench

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]


def test_items_do_not_run_at_the_same_time(bench: Bench) -> None:
    lock = f"{bench.folder}/taken"
    script = f"mkdir {lock} && sleep 0.5 && rmdir {lock}"
    each = bench.step("each", script, item(), depends_on=["before"]).model_copy(
        update={"foreach": Foreach(over={"item": value(["a", "b", "c"])}, max_parallel=1)}
    )
    workflow = flow("alone", bench.step("before"), each, bench.step("after", depends_on=["each"]))
    assert bench.run(workflow) == ["after", "before", "each a", "each b", "each c"]
    assert bench.status == "succeeded"


def test_numbers_of_a_record_arrive_beside_texts_that_look_like_them(bench: Bench) -> None:
    with couler.Workflow("records") as workflow:
        made = both()
        workflow.output("said", shown(made.flat.error, made.nested.error, made.flat.rounds))
    bench.run(workflow.to_ir())
    assert (bench.status, bench.run_outputs) == ("succeeded", {"said": "1e-05 0.5 None"})


def test_files_by_index_are_those_of_their_items(bench: Bench) -> None:
    bench.run(read_in_turn().to_ir())
    assert (bench.status, bench.run_outputs) == ("succeeded", {"said": "xa yb zc"})


def test_groups_map_over_files_made_outside(bench: Bench) -> None:
    bench.run(read_in_groups().to_ir())
    assert bench.status == "succeeded"
    assert bench.run_outputs == {"said": "a b", "again": "a b", "count": 2}
