"""The cache simulator: what it reads, prints and refuses."""

from __future__ import annotations

import gzip
import json
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.cache_simulation.__main__ import main

RUN = Path(__file__).parents[1] / "workflows" / "counts.json"

SWEEP = """
import couler
from couler import File

@couler.step(profile={"seconds": 30, "output_bytes": 400})
def load() -> File:
    return File("table")

@couler.step(profile={"seconds": 60, "output_bytes": 50})
def fit(table: File, depth: int) -> File:
    return File("model")

@couler.step(profile={"seconds": 5})
def best(models: list[File]) -> str:
    return "deep"

with couler.Workflow("sweep") as wf:
    best(fit.partial(table=load()).map(depth=[2, 4, 8]))
"""

UNSAID = """
import couler

@couler.step(profile={"seconds": 30})
def load() -> str:
    return "table"

@couler.step
def fit(table: str) -> str:
    return "model"

with couler.Workflow("unsaid") as wf:
    fit(load())
    fit(load())
"""


class Told(t.NamedTuple):
    """What the simulator printed, and its exit code."""

    code: object
    out: str
    err: str

    @property
    def json(self) -> t.Any:
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.py").write_text(SWEEP)
    (tmp_path / "unsaid.py").write_text(UNSAID)
    (tmp_path / "endless.py").write_text(SWEEP.replace("30", "1e308"))
    return tmp_path


@pytest.fixture
def simulate(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    def call(*arguments: str) -> Told:
        code: object = 0
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
        return Told(code, *capsys.readouterr())

    return call


def test_a_table_for_each_size_with_the_quickest_first(simulate: Callable[..., Told]) -> None:
    told = simulate(
        *("sweep.py", "--remote-bandwidth", "10B", "--remote-latency", "0"),
        *("--policy", "none", "--policy", "next-use", "--cache-size", "400B"),
        *("--cache-size", "50%", "--cache-size", "275"),  # the same twice
    )
    assert (told.code, told.err) == (0, "")
    # Three times 400 bytes and three times 50, at 10 bytes a second.
    without = "without a cache: 3 min 15 s, reading 2 min 15 s of all steps together, of which "
    without += "0.0 s cannot be saved"
    head, first, second = told.out.split("\n\n")
    assert head.splitlines() == ["sweep: 5 steps read 4 artifacts of 550 B 6 times", without]
    title, header, *rows = first.splitlines()
    assert title == "cache of 400 B"
    assert header == "policy          time     reading   saved    hits  most held  mean held"
    assert rows[0].startswith("next-use  2 min 20 s       0.0 s  100.0%  100.0%      400 B  ")
    assert rows[1] == "none      3 min 15 s  2 min 15 s    0.0%    0.0%        0 B        0 B"
    assert second.startswith("cache of 275 B\n")
    assert len(second.splitlines()) == 4


def test_json_has_the_same(simulate: Callable[..., Told]) -> None:
    options = ("--remote-bandwidth", "10B", "--remote-latency", "0", "--cache-size", "400B")
    tree = simulate("sweep.py", *options, "--format", "json").json
    assert tree["schema_version"] == 1
    (one,) = tree["workflows"]
    assert (one["file"], one["workflow"], one["notes"]) == ("sweep.py", "sweep", [])
    assert (one["steps"], one["artifacts"], one["artifact_bytes"], one["reads"]) == (5, 4, 550, 6)
    assert one["least_read_s"] == 0
    assert one["without_cache"]["read_s"] == 135
    (cache,) = one["caches"]
    assert cache["capacity_bytes"] == 400
    rows = {row["policy"]: row for row in cache["policies"]}
    assert {"none", "all", "lru", "next-use", "couler", "couler-paper"} <= set(rows)
    assert [row["seconds"] for row in cache["policies"]] == sorted(
        row["seconds"] for row in rows.values()
    )
    assert (rows["none"]["saved"], rows["none"]["seconds"]) == (0, one["without_cache"]["seconds"])
    assert rows["next-use"]["saved"] == 1
    assert (rows["next-use"]["hits"], rows["next-use"]["peak_bytes"]) == (6, 400)


def test_misses_workers_and_stores_are_those_asked_for(simulate: Callable[..., Told]) -> None:
    def of(*options: str) -> dict[str, float]:
        told = ("--policy", "none", "--cache-size", "1B", "--format", "json")
        (one,) = simulate("sweep.py", *told, *options).json["workflows"]
        return one["without_cache"] | {"least_read_s": one["least_read_s"]}

    # Each fit has load made again, 30 s; the best one has that and all three fits.
    assert of("--misses", "recompute")["read_s"] == 3 * 30 + 30 + 3 * 60
    assert of("--workers", "1")["seconds"] > of()["seconds"] + 100
    assert of("--remote-latency", "7")["read_s"] > 6 * 7
    slow = of("--cache-latency", "0.25", "--cache-bandwidth", "10kB")
    assert slow["least_read_s"] == pytest.approx(6 * 0.25 + 3 * 0.04 + 3 * 0.005)


def test_the_size_is_a_share_by_default(simulate: Callable[..., Told]) -> None:
    tree = simulate("sweep.py", "--format", "json").json
    assert tree["workflows"][0]["caches"][0]["capacity_bytes"] == 550 // 4


@pytest.mark.parametrize("name", ["counts.json", "counts.json.gz"])
def test_runs_in_wfformat_are_read_beside_programs(
    simulate: Callable[..., Told], folder: Path, name: str
) -> None:
    raw = RUN.read_bytes()
    (folder / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    told = simulate(name, "sweep.py", "--policy", "lru")
    assert (told.code, told.err) == (0, "")
    first, second = told.out.split("\n\nsweep: ")
    assert first.startswith("counts: 14 steps read ")
    assert second.startswith("5 steps read 4 artifacts")


def test_what_profiles_do_not_say_is_told(simulate: Callable[..., Told]) -> None:
    told = simulate("unsaid.py", "--policy", "lru")
    assert told.code == 0
    assert told.err.splitlines() == [
        "note: unsaid: the profile of load, load-2 has no output_bytes; 1 byte is taken",
        "note: unsaid: the profile of fit, fit-2 has no seconds; the mean of the others is taken",
    ]


def test_known_times_can_change_what_is_kept(simulate: Callable[..., Told], folder: Path) -> None:
    """A slow step of two that become ready together: only run times say which reader is next."""
    tasks = [
        {"id": "make", "outputFiles": ["x", "y"]},
        {"id": "slow", "parents": ["make"], "outputFiles": ["s"]},
        {"id": "quick", "parents": ["make"], "outputFiles": ["q"]},
        {"id": "after slow", "inputFiles": ["x", "s"]},
        {"id": "after quick", "inputFiles": ["y", "q"]},
    ]
    seconds = {"make": 1, "slow": 50, "quick": 1, "after slow": 50, "after quick": 50}
    sizes = {"x": 999, "y": 1000, "s": 0, "q": 0}
    files = [{"id": name, "sizeInBytes": size} for name, size in sizes.items()]
    tree = {
        "workflow": {
            "specification": {"tasks": tasks, "files": files},
            "execution": {
                "tasks": [{"id": one, "runtimeInSeconds": some} for one, some in seconds.items()]
            },
        }
    }
    (folder / "two.json").write_text(json.dumps(tree))

    def held(*options: str) -> int:
        chosen = ("--policy", "next-use", "--cache-size", "1000B", "--workers", "2")
        told = simulate("two.json", *chosen, "--format", "json", *options).json
        return int(told["workflows"][0]["caches"][0]["policies"][0]["peak_bytes"])

    assert (held(), held("--known-times")) == (sizes["x"], sizes["y"])


def test_a_workflow_in_which_nothing_is_read_has_nothing_to_save(
    simulate: Callable[..., Told], folder: Path
) -> None:
    (folder / "alone.py").write_text(
        'import couler\n@couler.step(profile={"seconds": 1})\ndef one() -> None: ...\n'
        'with couler.Workflow("alone") as wf:\n    one()\n'
    )
    told = simulate("alone.py", "--policy", "lru")
    assert told.code == 0
    assert told.out.splitlines()[0] == "alone: 1 step read 0 artifacts of 0 B 0 times"
    assert told.out.splitlines()[-1].split() == ["lru", "1.0", "s", "0.0", "s", "-", "-", *"0B0B"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "'FILE...'"),
        (["none.json"], "there is no file none.json"),
        (["none.json.gz"], "none.json.gz"),
        (["/"], "is a folder"),
        (["endless.py"], "endless.py: its artifacts are more than 1EB (10^18 bytes) together, or"),
        (["sweep.py", "--cache-size", "0%"], '"0%" is no share'),
        (["sweep.py", "--cache-size", "101%"], '"101%" is no share'),
        (["sweep.py", "--cache-size", "nan%"], '"nan%" is no share'),
        (["sweep.py", "--cache-size", "some"], '"some" is no size'),
        (["sweep.py", "--cache-size", "9999999EB"], "less than 8Ei"),
        (["sweep.py", "--policy", "lur"], "lru"),
        (["sweep.py", "--workers", "0"], "--workers"),
        (["sweep.py", "--workers", "99999999999999999999"], "--workers"),
        (["sweep.py", "--misses", "wait"], "--misses"),
        (["sweep.py", "--remote-latency", "-1"], "-1 is not from 0 to 31536000 seconds"),
        (["sweep.py", "--remote-latency", "nan"], "nan is not from 0"),
        (["sweep.py", "--remote-latency", "1e308"], "1e308 is not from 0"),
        (["sweep.py", "--cache-latency", "some"], "--cache-latency"),
        (["sweep.py", "--remote-bandwidth", "0"], "from 1B to 1PB"),
        (["sweep.py", "--cache-bandwidth", "1000PB"], "from 1B to 1PB"),
    ],
)
def test_wrong_arguments_are_refused(
    simulate: Callable[..., Told], arguments: list[str], problem: str
) -> None:
    told = simulate(*arguments)
    assert told.code == 2
    assert told.out == ""
    assert problem in told.err


MAPPED = SWEEP.replace("[2, 4, 8]", "wf.params.depths").replace(
    'Workflow("sweep")', 'Workflow("sweep", depths=[2, 4, 8])'
)

OVER_AN_OUTPUT = """
import couler

@couler.step(profile={"seconds": 1, "output_bytes": 9})
def some() -> list[int]:
    return [1, 2]

@couler.step(profile={"seconds": 1, "output_bytes": 9})
def fit(one: int) -> int:
    return one

with couler.Workflow("late", seed=1) as wf:
    fit.map(one=some())
"""


def test_a_map_over_a_parameter_has_the_items_of_its_default_or_of_the_flag(
    simulate: Callable[..., Told], folder: Path
) -> None:
    (folder / "mapped.py").write_text(MAPPED)
    options = ("--policy", "lru", "--cache-size", "400B")
    plain, told = (simulate(f, *options) for f in ("sweep.py", "mapped.py"))
    assert (told.code, told.err, told.out) == (0, "", plain.out)
    for flag in ("-p", "--param"):
        told = simulate("mapped.py", *options, flag, "depths=[1,2,3,4,5]")
        assert told.out.startswith("sweep: 7 steps read 6 artifacts")


def test_items_that_only_a_run_makes_known_are_told_of(
    simulate: Callable[..., Told], folder: Path
) -> None:
    (folder / "late.py").write_text(OVER_AN_OUTPUT)
    (folder / "mapped.py").write_text(MAPPED)
    note = "fit: its items are known only in a run; 1 is taken"
    told = simulate("late.py", "--policy", "lru")
    assert (told.code, told.err) == (0, f"note: late: {note}\n")
    words = ("late.py", "mapped.py", "--policy", "lru", "-p", "depths=[1]")
    late, mapped = simulate(*words, "--format", "json").json["workflows"]
    assert (late["notes"], late["steps"]) == ([note], 2)
    assert (mapped["notes"], mapped["steps"]) == ([], 3)


@pytest.mark.parametrize(
    ("param", "problem"),
    [
        ("depth=[1]", 'there is no parameter "depth". Did you mean "depths"?'),
        ("depths=[1", 'parameter "depths": '),
        ("depths", "'depths' is not NAME=VALUE"),
    ],
)
def test_wrong_parameters_are_refused(
    simulate: Callable[..., Told], folder: Path, param: str, problem: str
) -> None:
    (folder / "mapped.py").write_text(MAPPED)
    told = simulate("mapped.py", "-p", param)
    assert told.code == 2
    assert told.out == ""
    assert problem in told.err


def test_a_parameter_that_a_run_needs_is_needed_for_no_simulation(
    simulate: Callable[..., Told], folder: Path
) -> None:
    (folder / "needed.yaml").write_text(
        'ir_version: "1"\nname: w\n'
        "parameters: [{name: n, type: json, required: true}, {name: m, type: int, default: 1}]\n"
        "steps:\n- name: a\n  action: {kind: container, image: b}\n"
        "  foreach: {over: {one: {kind: param, name: n}}}\n"
    )
    words = ("needed.yaml", "--policy", "lru")
    assert "note: w: a: its items are known only in a run; 1 is taken" in simulate(*words).err
    assert "known only in a run" in simulate(*words, "-p", "m=3").err
    assert simulate(*words, "-p", "n=[1, 2]").out.startswith("w: 2 steps read")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("bad.json", "{", "CLR005"),
        ("bad.json", "[]", "CLR005"),
        ("bad.json", '{"workflow": {}}', "WfFormat"),
        ("bad.json.gz", "no gzip", "WfFormat"),
        ("bad.py", "import couler", "CLR002"),
        ("bad.yaml", "name: w", "CLR005"),
    ],
)
def test_files_that_are_neither_are_refused_by_name(
    simulate: Callable[..., Told], folder: Path, name: str, text: str, problem: str
) -> None:
    (folder / name).write_text(text)
    told = simulate("sweep.py", name)
    assert (told.code, told.out) == (1, "")
    assert name in told.err
    assert problem in told.err
    assert "Traceback" not in told.err


def test_a_workflow_with_mistakes_is_refused(simulate: Callable[..., Told], folder: Path) -> None:
    (folder / "bad.yaml").write_text(
        'ir_version: "1"\nname: w\nsteps:\n'
        "- {name: a, action: {kind: container, image: b}, depends_on: [c]}\n"
    )
    told = simulate("bad.yaml")
    assert (told.code, told.out) == (1, "")
    assert 'the workflow "w" is not valid' in told.err
    assert '"c"' in told.err
