"""Which steps the pass `memoize` takes, for how long, and why not the others."""

from __future__ import annotations

import typing as t

import pytest

from couler.backends.base import Target
from couler.ir.artifacts import S3Location
from couler.ir.diagnostics import Diagnostic
from couler.ir.pods import PodContainer
from couler.ir.policies import Cache, Mutex, Profile
from couler.ir.storage import ClaimVolume, EmptyVolume, Mount
from couler.ir.workflow import Input, Output, Step, Workflow
from couler.optimizers.base import History, Refusals
from couler.optimizers.passes.memoize import Memoize
from couler.optimizers.pipeline import PassLog, Pipeline
from couler.stages.planning import plan
from tests.corpus.build import flow, given, group, item, out, param, ref, run, sh

USUAL = Memoize()
GIB = 1 << 30
LONG = Profile(seconds=600, output_bytes=0)
FILE = Output(name="f", type="file", path="f")


def work(name: str = "a", *words: object, **fields: t.Any) -> Step:
    """Return a step that is worth it, if it can be memoized."""
    return sh(name, "work", *words, **{"profile": LONG, **fields})


def reads(*names: str) -> Step:
    return sh("last", "show", *map(ref, names))


def memoized(
    workflow: Workflow, pass_: Memoize = USUAL, engine: str | None = "argo"
) -> tuple[dict[str, float | None], PassLog]:
    planned, log = Pipeline((pass_,)).run(workflow, engine=engine)
    found: dict[str, float | None] = {}

    def look(steps: tuple[Step, ...], path: str) -> None:
        for step in steps:
            if step.cache is not None:
                found[path + step.name] = step.cache.max_age_s
            look(getattr(step.action, "steps", ()), f"{path}{step.name}/")

    look(planned.steps, "")
    return found, log


def why_not(workflow: Workflow, path: str = "a", engine: str | None = "argo") -> str:
    found, log = memoized(workflow, engine=engine)
    assert path not in found
    return log.records[0].step_reasons[path].removeprefix("Not memoized: ")


@pytest.mark.parametrize(
    ("seconds", "size", "age"),
    [
        (3600, 8 * GIB, 648_000),  # 0.04 an hour; 8 GiB cost 0.16 in 30 days: a quarter of that
        (3600, 2 * GIB, 2_592_000),
        (3600, 0, 2_592_000),
        (60, 32 * GIB, None),  # reading takes longer
        (600, 32 * GIB, 27_000),
        (11, 0, 2_592_000),
        (10.9, 0, None),
    ],
)
def test_an_entry_is_kept_until_keeping_costs_what_making_costs(
    seconds: float, size: int, age: float | None
) -> None:
    step = work(profile=Profile(seconds=seconds, output_bytes=size))
    found, _ = memoized(flow("w", step, reads("a")))
    assert found.get("a") == age


def test_options_are_prices_and_speeds() -> None:
    step = work(profile=Profile(seconds=3600, output_bytes=8 * GIB))
    workflow = flow("w", step, reads("a"))
    assert memoized(workflow, Memoize(compute_hour=0.02))[0] == {"a": 324_000}
    assert memoized(workflow, Memoize(storage_gib_month=0.04))[0] == {"a": 324_000}
    assert memoized(workflow, Memoize(most_age_s=60))[0] == {"a": 60}
    assert memoized(workflow, Memoize(read_bytes_per_s=1e6))[0] == {}
    assert memoized(workflow, Memoize(hit_s=3_600))[0] == {}
    with pytest.raises(ValueError, match="read_bytes_per_s is more than 0, not 0"):
        Memoize(read_bytes_per_s=0)
    with pytest.raises(ValueError, match="hit_s is at least 0, not -1"):
        Memoize(hit_s=-1)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (work(profile=None), "its profile does not say how long it takes."),
        (
            work(profile=Profile(seconds=5)),
            "a hit saves 4 s of its 5 s, less than 10 s (by its profile).",
        ),
        (work(locks=(Mutex(name="m"),)), "it takes a lock, so it changes what others use."),
        (work("a", run("id")), "it reads a fact of the run, which is another each time."),
        (
            work(mounts=(Mount(volume="shared", path="/data"),)),
            'it sees the volume "shared", whose content no key has.',
        ),
        (
            work(outputs=[FILE.model_copy(update={"at": S3Location(key="k", bucket="b")})]),
            'it puts "f" at a place outside of the run.',
        ),
        (
            work(inputs=[Input(name="d", type="file", at=S3Location(key="k", bucket="b"))]),
            'it fetches "d" from outside, whose content no key has.',
        ),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_does_more_than_give_outputs_is_left_alone(step: Step, why: str) -> None:
    volumes = [ClaimVolume(name="shared", claim="c")] if step.mounts else []
    assert why_not(flow("w", step, reads("a"), volumes=volumes)) == why


def test_daemons_are_left_alone() -> None:
    daemon = work(daemon=True, result=None)
    assert why_not(flow("w", daemon, sh("last", "show", depends_on=("a",)))) == "it is a daemon."


def test_volumes_of_its_own_are_no_obstacle() -> None:
    step = work(mounts=(Mount(volume="scratch", path="/data"),))
    workflow = flow("w", step, reads("a"), volumes=[EmptyVolume(name="scratch")])
    assert list(memoized(workflow)[0]) == ["a"]


def test_what_the_program_says_stays() -> None:
    given_cache = work(cache=Cache(name="own", max_age_s=5))
    found, log = memoized(flow("w", given_cache, reads("a")))
    assert found == {"a": 5}
    assert log.records[0].reason == "No step is memoized."


def chain(**first: t.Any) -> Workflow:
    make = work("make", outputs=[FILE], **first)
    copy = work("a", inputs=[given("d", ref("make", "f"), "file")])
    return flow("w", make, copy, reads("a"))


def test_a_file_of_a_step_that_cannot_be_memoized_is_another_in_each_run() -> None:
    assert list(memoized(chain())[0]) == ["make", "a"]
    assert list(memoized(chain(profile=None, cache=Cache()))[0]) == ["make", "a"]
    why = "it reads a file of make, which cannot be memoized and so has another place in each run."
    assert why_not(chain(mutex="m")) == why
    assert list(memoized(chain(mutex="m"), engine="local")[0]) == ["a"]


def test_files_are_followed_through_groups_and_items() -> None:
    def nested(**fields: t.Any) -> Workflow:
        make = work("make", item(), foreach=["x", "y"], outputs=[FILE], **fields)
        inner = work("a", inputs=[given("d", param("file"), "file")])
        files = {"file": ref("make", "f")}
        outer = group(
            "each",
            inner,
            foreach=files,
            inputs=[given("file", item("file"), "file")],
            outputs=[out("r", source=ref("a"))],
        )
        return flow("w", make, outer, sh("last", "show", inputs=[given("r", ref("each", "r"))]))

    assert list(memoized(nested(profile=None))[0]) == ["make", "each/a"]
    assert "a file of make" in why_not(nested(mutex="m"), "each/a")


def test_a_fact_of_the_run_is_followed_into_groups() -> None:
    inner = work("a", param("id"))
    outer = group("g", inner, inputs=[given("id", run("id"))], outputs=[out("r", source=ref("a"))])
    assert "a fact of the run" in why_not(flow("w", outer, sh("l", "x", ref("g", "r"))), "g/a")


def test_files_that_are_read_as_one_folder_stay_with_their_run() -> None:
    make = work("a", item(), foreach=["x", "y"], outputs=[FILE])
    folder = sh("last", "ls", inputs=[given("d", ref("a", "f"), "file", many=True)])
    workflow = flow("w", make, folder)
    assert why_not(workflow) == "last reads the files of all its items as one folder."
    assert list(memoized(workflow, engine="local")[0]) == ["a"]


def long_chain(length: int) -> list[Step]:
    """Return steps of which each reads a file of the one before; the first tells of the run."""
    first = work("s0", run("id"), outputs=[FILE])
    return [first] + [
        work(
            f"s{number}",
            inputs=[given("d", ref(f"s{number - 1}", "f"), "file")],
            outputs=[FILE],
        )
        for number in range(1, length)
    ]


@pytest.mark.parametrize("engine", ["argo", "local"])
def test_the_order_in_which_steps_are_written_does_not_matter(engine: str) -> None:
    steps = long_chain(1200)
    forth, back = flow("w", *steps), flow("w", *reversed(steps))
    assert why_not(back, "s0", engine) == "it reads a fact of the run, which is another each time."
    found, log = memoized(back, engine=engine)
    assert found == memoized(forth, engine=engine)[0]
    assert len(found) == (0 if engine == "argo" else 1198)
    if engine == "argo":
        assert "it reads a file of s1197" in log.records[0].step_reasons["s1198"]
    kept = flow("w", *reversed([work("s0", outputs=[FILE]), *steps[1:]]))
    assert len(memoized(kept, engine=engine)[0]) == 1199


def test_files_are_followed_through_any_number_of_groups_in_a_row() -> None:
    def handing(number: int) -> Step:
        source = ref(f"g{number - 1}", "out") if number else ref("make", "f")
        return group(
            f"g{number}",
            sh("idle", "true"),
            inputs=[given("in", source, "file")],
            outputs=[out("out", "file", source=param("in"))],
        )

    def passed_on(**fields: t.Any) -> Workflow:
        groups = [handing(number) for number in range(1000)]
        last = work("a", inputs=[given("d", ref("g999", "out"), "file")])
        return flow("w", work("make", outputs=[FILE], **fields), *groups, last, reads("a"))

    assert "a file of make" in why_not(passed_on(mutex="m"))
    assert list(memoized(passed_on(profile=None))[0]) == ["make", "a"]


def refuses(*names: str) -> Refusals:
    """Return an engine that keeps nothing of some steps."""

    def refused(workflow: Workflow) -> list[Diagnostic]:
        return [
            Diagnostic("CLR382", f'argo: step "{step.name}" has a cache. Leave it out.', step.name)
            for step in workflow.steps
            if step.name in names and step.cache is not None
        ]

    return refused


def test_what_the_engine_refuses_is_left_alone_and_so_is_who_reads_its_files() -> None:
    planned, log = Pipeline((USUAL,)).run(chain(), engine="argo", refusals=refuses("make"))
    assert planned == chain()
    [record] = log.records
    assert record.reason == "No step is memoized. argo refuses the caches of 1."
    assert record.step_reasons["make"] == (
        'Not memoized: argo refuses it: step "make" has a cache. Leave it out [CLR382].'
    )
    assert "it reads a file of make, which cannot be memoized" in record.step_reasons["a"]
    planned, _ = Pipeline((USUAL,)).run(chain(), engine="argo", refusals=refuses("a"))
    assert [step.name for step in planned.steps if step.cache is not None] == ["make"]


def test_a_refusal_of_the_whole_leaves_all_steps_alone() -> None:
    def refused(workflow: Workflow) -> list[Diagnostic]:
        too_many = any(step.cache is not None for step in workflow.steps)
        return [Diagnostic("CLR515", "argo: the entries do not fit.")] if too_many else []

    planned, log = Pipeline((USUAL,)).run(chain(), engine="argo", refusals=refused)
    assert planned == chain()
    [record] = log.records
    assert record.reason == (
        "No step is memoized: argo refuses it: the entries do not fit [CLR515]."
    )
    assert record.gave_up


@pytest.mark.parametrize(
    ("target", "memoized", "left", "code"),
    [
        (Target(), [], "a", "[CLR354]"),
        (Target(options={"files_claim": "f", "io_image": "i"}), ["a"], "b", "[CLR382]"),
    ],
)
def test_airflow_takes_what_is_memoized(
    target: Target, memoized: list[str], left: str, code: str
) -> None:
    first = PodContainer(name="first", image="busybox", command=("true",))
    workflow = flow("w", work(), work("b", init_containers=(first,)), reads("a", "b"))
    planned = plan(workflow, engine="airflow", target=target, passes=[USUAL])
    assert [step.name for step in planned.workflow.steps if step.cache is not None] == memoized
    assert code in planned.log.records[-1].step_reasons[left]


def by_runs(workflow: Workflow, history: History) -> tuple[dict[str, float | None], PassLog]:
    planned, log = Pipeline((USUAL,)).run(workflow, engine="argo", history=history)
    ages = {step.name: step.cache.max_age_s for step in planned.steps if step.cache is not None}
    return ages, log


def test_what_no_profile_says_is_taken_from_earlier_runs() -> None:
    measured = Profile(seconds=3600, output_bytes=8 * GIB)
    workflow = flow("w", work(profile=None), reads("a"))
    ages, log = by_runs(workflow, lambda: {"a": measured, "last": Profile(seconds=2)})
    assert ages == {"a": 648_000}
    reasons = log.records[0].step_reasons
    assert reasons["a"].endswith("8 GiB are worth keeping for 7.5 days (by earlier runs).")
    assert reasons["last"] == "Not memoized: nothing reads what it gives."
    _, log = by_runs(workflow, lambda: {"a": Profile(seconds=5)})
    reason = log.records[0].step_reasons["a"]
    assert reason == "Not memoized: a hit saves 4 s of its 5 s, less than 10 s (by earlier runs)."
    _, log = by_runs(workflow, dict)
    reason = log.records[0].step_reasons["a"]
    assert reason == "Not memoized: neither its profile nor an earlier run says how long it takes."


def test_profiles_come_first_and_runs_are_asked_only_for_what_they_leave_open() -> None:
    workflow = flow("w", work(profile=Profile(seconds=3600)), reads("a"))
    measured = Profile(seconds=1, output_bytes=8 * GIB)
    ages, log = by_runs(workflow, lambda: {"a": measured})
    assert ages == {"a": 648_000}
    reason = log.records[0].step_reasons["a"]
    assert reason.endswith("(seconds by its profile, bytes by earlier runs).")

    def unasked() -> dict[str, Profile]:
        raise AssertionError("nothing is open")

    said = Profile(seconds=3600, output_bytes=0)
    closed = flow("w", work(profile=said), reads("a").model_copy(update={"profile": said}))
    assert list(by_runs(closed, unasked)[0]) == ["a"]


@pytest.mark.parametrize(
    ("options", "profile", "reason"),
    [
        (
            {"least_saved_s": 0},
            Profile(seconds=0.637151, output_bytes=6),
            (
                "Not memoized: a hit saves nothing: it takes 1 s (hit_s), and the step 0.637 s "
                "(by its profile)."
            ),
        ),
        (
            {},
            Profile(seconds=60, output_bytes=32 * GIB),
            (
                "Not memoized: a hit saves nothing: it takes 1 s (hit_s) and reading what the step "
                "gives 344 s, and the step 60 s (by its profile)."
            ),
        ),
        (
            {"least_saved_s": 0, "hit_s": 0},
            Profile(seconds=60, output_bytes=32 * GIB),
            (
                "Not memoized: a hit saves nothing: reading what the step gives takes 344 s, and "
                "the step 60 s (by its profile)."
            ),
        ),
        (
            {"least_saved_s": 0, "hit_s": 0},
            Profile(seconds=0.0071, output_bytes=6),
            "A hit saves 0.0071 s; 6 bytes are worth keeping for 30 days (by its profile).",
        ),
        (
            {"least_saved_s": 0, "hit_s": 0},
            Profile(seconds=0.000_04, output_bytes=1),
            "A hit saves less than 0.001 s; 1 byte is worth keeping for 30 days (by its profile).",
        ),
        (
            {"least_saved_s": 0, "hit_s": 0},
            Profile(seconds=0, output_bytes=0),
            "A hit saves nothing; 0 bytes are worth keeping for 30 days (by its profile).",
        ),
        (
            {"most_age_s": 1e9},
            Profile(seconds=86_400, output_bytes=1000 * 2**20),
            "A hit saves 86,389 s; 1,000 MiB are worth keeping for 1,475 days (by its profile).",
        ),
        (
            {"storage_gib_month": 20},
            Profile(seconds=60, output_bytes=GIB),
            "A hit saves 48.3 s; 1 GiB is worth keeping for 1 minute (by its profile).",
        ),
        (
            {"read_bytes_per_s": 1e9},
            Profile(seconds=60, output_bytes=1536 * 2**20),
            "A hit saves 57.4 s; 1.5 GiB are worth keeping for 16 hours (by its profile).",
        ),
    ],
)
def test_figures_have_units_that_fit_and_what_saves_nothing_says_why(
    options: dict[str, float], profile: Profile, reason: str
) -> None:
    _, log = memoized(flow("w", work(profile=profile), reads("a")), Memoize(**options))
    assert log.records[0].step_reasons["a"] == reason
