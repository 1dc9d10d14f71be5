"""Records that a map gathers, handed over as a list of records."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from pathlib import Path

import pytest

import couler
from couler import File, stages
from tests.dsl.look import box, codes, steps


class Made(t.NamedTuple):
    number: int
    item: str
    file: File


@dataclass
class Wide:
    number: int
    item: str
    file: File
    extra: float = 1.5


@couler.step
def make(number: int) -> Made:
    with open("made.txt", "w") as file:
        file.write("=" * number)
    return Made(number, f"item {number}", File("made.txt"))


@couler.step
def tell(all: list[Made]) -> str:
    return ", ".join(f"{one.number} {one.item} {open(one.file).read()}" for one in all)


@couler.step
def shape(made: Made) -> int:
    return made.number


def run(workflow: couler.Workflow, folder: Path) -> dict[str, object]:
    result = stages.run(workflow)
    assert result.status == "succeeded", result.to_json()
    return dict(result.outputs)


def test_a_map_of_records_is_a_list_of_records(tmp_path: Path) -> None:
    with couler.Workflow("w") as wf:
        direct = make.map([1, 2, 3])
        wf.output("direct", tell(direct))
        lifted = couler.map(lambda n: (box("a", n), make(n))[1], [2, 1])
        wf.output("lifted", tell(lifted))
        wf.output("single", tell(couler.map(make, [4])))
        wf.output("none", tell(make.map([])))
        wf.output("listed", tell([make(1), make(2)]))
    assert codes(wf) == []
    assert [(one.name, one.many) for one in steps(wf)["tell"].inputs] == [
        ("all_number", False),
        ("all_item", False),
        ("all_file", True),
    ]
    assert run(wf, tmp_path) == {
        "direct": "1 item 1 =, 2 item 2 ==, 3 item 3 ===",
        "lifted": "2 item 2 ==, 1 item 1 =",
        "single": "4 item 4 ====",
        "none": "",
        "listed": "1 item 1 =, 2 item 2 ==",
    }


def test_one_record_is_no_list_and_a_list_is_no_record() -> None:
    with couler.Workflow("w") as wf:
        tell(make(1))
        shape(make.map([1, 2]))
    assert codes(wf) == ["CLR107", "CLR107"]
    assert [one.message for one in wf.diagnostics] == [
        (
            'step "tell": the argument "all" must be list[Made], not <couler step make>, which is '
            "a record of number, item, file"
        ),
        (
            'step "shape": the argument "made" must be Made, not <couler step make-2>, which is '
            "a list of records of number, item, file"
        ),
    ]


def test_the_records_must_have_the_fields() -> None:
    @couler.step
    def wide(all: list[Wide]) -> int: ...

    with couler.Workflow("w") as wf:
        wide(make.map([1, 2]))
    assert codes(wf) == ["CLR107"]
    assert "it has no extra" in wf.diagnostics[0].message


def test_names_of_columns_must_be_free() -> None:
    @couler.step
    def collide(all: list[Made], all_item: str) -> int: ...

    with couler.Workflow("w") as wf:
        collide(make.map([1, 2]), "a")
    assert "CLR109" in codes(wf)


@pytest.mark.parametrize("name", ["item", "cls", "self", "name"])
def test_fields_may_have_any_name(name: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import couler\nfrom typing import NamedTuple\n"
        f"class Made(NamedTuple):\n    {name}: int\n"
        f"@couler.step\ndef make(n: int) -> Made:\n    return Made(n)\n"
        f"@couler.step\ndef add(all: list[Made]) -> int:\n"
        f"    return sum(one.{name} for one in all)\n"
        f"@couler.step\ndef keep(one: Made) -> int:\n    return one.{name}\n"
        "with couler.Workflow('w') as wf:\n"
        "    wf.output('sum', add(make.map([1, 2])))\n"
        "    wf.output('one', keep(make(3)))\n"
    )
    from couler.cli.load import Source, load

    loaded = load(Source(str(program), None))
    result = stages.run(loaded)
    assert dict(result.outputs) == {"sum": 3, "one": 3}
