"""Parts of workflows: each in other words that mean the same, and in words that do not."""

PRELUDE = """\
from typing import NamedTuple

import couler
from couler import File
from couler.ir.storage import ConfigKey, SecretKey


class Trained(NamedTuple):
    name: str
    score: float


@couler.step
def score() -> float:
    return 0.8


@couler.step
def pick() -> str:
    return "a"


@couler.step
def keep(value: float) -> float:
    return value


@couler.step
def train(kind: str) -> float:
    return 0.9


@couler.step
def trained(kind: str) -> Trained:
    return Trained(kind, 0.9)


@couler.step
def best(scores: list[float]) -> float:
    return max(scores)


@couler.step
def best_of(first: float, second: float) -> float:
    return max(first, second)


@couler.step
def best_trained(found: list[Trained]) -> str:
    return max(found, key=lambda one: one.score).name


@couler.step
def load() -> list[int]:
    return [1, 2]


@couler.step
def fit(kind: str, data: list[int]) -> float:
    return 0.9


@couler.step
def refit(kind: str, data: list[int]) -> float:
    return 0.9


@couler.step
def days() -> list[str]:
    return ["mon", "tue"]


def run(*words, **options):
    return couler.run_container("x:1", list(words), step_name=words[0], **options)


with couler.Workflow("w"{options}) as wf:
"""

BANDS = """\
value = score()
with couler.when(value < 0.7) as low:
    run("a")
with low.otherwise():
    with couler.when(value < 0.9) as middle:
        run("b")
    with middle.otherwise():
        run("c")
"""
FLAT_BANDS = """\
value = score()
with couler.when(value < 0.7):
    run("a")
with couler.when((value >= 0.7) & (value < 0.9)):
    run("b")
with couler.when(value {op} 0.9):
    run("c")
"""
BY_STATUS = """\
run("a")
def page():
    with couler.when(wf.run_facts.status == "{status}"):
        run("page")
wf.on_exit(page, name="alert")
"""
BODY = """\
body = couler.text('{{{{"a":{blank}"{{}}"}}}}', pick())
couler.http("https://x.org", "POST", body=body, step_name="tell")
"""
LIST = """\
def one({name}):
    key = couler.text("{key}/{{}}", {name})
    run("read", input=couler.S3Artifact("/in", bucket="b", key=key))
couler.map(one, days())
"""
FILES = """\
def one({name}):
    there = couler.S3Artifact(bucket="b", key=couler.text("{key}/{{}}", {name}))
    couler.list_files(there, step_name="{name}")
couler.map(one, days())
"""
SET = """\
def one({name}):
    main = couler.PodContainer("main", "x:1", ["{key}"], args=[{name}])
    couler.run_container_set([main], step_name="{name}")
couler.map(one, days())
"""
IN_OTHER_NAMES = (
    {"name": "day", "key": "a"},
    {"name": "date", "key": "a"},
    {"name": "date", "key": "b"},
)
CONDITIONS = """\
value = score()
with couler.when(value > 0.5) as high:
    run("a")
with {}:
    run("b")
"""

MANY = """\
one, two, three, four, five, six = [score() for _ in range(6)]
tests = [one > 0.1, two > 0.2, three > 0.3, four > 0.4, five > 0.5, six > 0.6, {}]
whole = tests[0]
for test in tests[1:]:
    whole = whole {} test
with couler.when(whole):
    run("a")
"""

FITS = 'data = load()\nbest(fit.partial(data=data).map(kind=["a", "b", "c"]))'
IN_A_ROW = """\
data = load()
first, second, third = [fit(kind, data) for kind in "abc"]
{}
best([first, second, third])
"""
BRANCHES = """\
value = score()
with couler.when(value {} 0.5) as one:
    run("{}")
with one.otherwise():
    run("{}")
"""

EQUIVALENT: dict[str, tuple[str, str, str]] = {
    "nested otherwise": (BANDS, FLAT_BANDS.format(op=">="), FLAT_BANDS.format(op=">")),
    "otherwise": tuple(
        CONDITIONS.format(one)
        for one in ("couler.when(value <= 0.5)", "high.otherwise()", "couler.when(value >= 0.5)")
    ),
    "conditions over many values": (
        MANY.format("one > two", "&"),
        MANY.format("two < one", "&").replace("one, two, three", "three, one, two"),
        MANY.format("one > two", "|"),
    ),
    "branches in another order": (
        BRANCHES.format(">", "a", "b"),
        BRANCHES.format("<=", "b", "a"),
        BRANCHES.format(">", "b", "a"),
    ),
    "conditions in each other": tuple(
        f"value, name = score(), pick()\nwith {one}:\n    run('a')"
        for one in (
            'couler.when(value > 0.5), couler.when(name == "a")',
            'couler.when((name == "a") & (value > 0.5))',
            'couler.when((name == "a") | (value > 0.5))',
        )
    ),
    "calls of two functions for a map": (
        FITS,
        'data = load()\nbest([fit("a", data), refit("b", data), fit("c", data)])',
        'data = load()\nbest([fit("a", data), refit("b", data)])',
    ),
    "a map of a function with other constants": (
        FITS,
        'data = load()\nbest(couler.map(lambda kind: fit(kind, data), ["x", "y", "z"]))',
        'data = load()\nbest(couler.map(lambda kind: fit(kind, data), ["x", "y", "x"]))',
    ),
    "a group without policies": (
        FITS,
        IN_A_ROW.replace("first", 'with couler.group("all"):\n    first', 1).format(""),
        IN_A_ROW.replace("best([first, ", "best([").format(""),
    ),
    "order that follows from data": (
        FITS,
        IN_A_ROW.format("data >> [first, second]"),
        IN_A_ROW.format("first >> second >> third"),
    ),
    "a condition of a handler": (
        'run("a")\nwf.on_exit(lambda: run("page"), status="failure", name="alert")',
        BY_STATUS.format(status="failed"),
        BY_STATUS.format(status="succeeded"),
    ),
    "blanks in JSON": tuple(BODY.format(blank=blank) for blank in ("", " ", "1")),
    "a name in a location": tuple(LIST.format(**one) for one in IN_OTHER_NAMES),
    "a name in a list of files": tuple(FILES.format(**one) for one in IN_OTHER_NAMES),
    "a name in a container set": tuple(SET.format(**one) for one in IN_OTHER_NAMES),
    "names of headers": tuple(
        f'couler.http("https://x.org", headers={{"{name}": "1"}}, step_name="tell")'
        for name in ("X-A", "x-a", "x-b")
    ),
    "the slash of a folder": tuple(
        f'couler.list_files(couler.S3Artifact(bucket="b", key="{key}"), step_name="all")'
        for key in ("in", "in/", "out")
    ),
    "a script and a shell": (
        'run("sh", "-c", "date")',
        'couler.run_script("x:1", command="sh", source="date", step_name="s")',
        'couler.run_script("x:1", command="sh", source="time", step_name="s")',
    ),
    "the name of a cache": tuple(
        f'run("a", cache={given})'
        for given in ('couler.Cache(name="a")', 'couler.Cache(name="b")', "False")
    ),
    "maps inside each other": (
        'couler.map(lambda a, b: run("a", a, b), ["1", "1", "2", "2"], ["3", "4", "3", "4"])',
        'couler.map(lambda a: couler.map(lambda b: run("a", a, b), ["3", "4"]), ["1", "2"])',
        'couler.map(lambda a: couler.map(lambda b: run("a", a, b), ["3", "5"]), ["1", "2"])',
    ),
    "results with names": (
        'best([train("a"), train("b")])',
        'best_trained([trained("a"), trained("b")])',
        'best_trained([trained("a"), trained("a")])',
    ),
    "parameters for a list": (
        'best([train("a"), train("b")])',
        'best_of(train("a"), train("b"))',
        'one = train("a")\ntrain("b")\nbest_of(one, one)',
    ),
}
"""By what is written in another way: parts that mean the same, and one that does not."""

HTTP = 'couler.http("https://x.org"{}, step_name="tell")'
SIDE = 'run("a", {}=[couler.PodContainer("db", "{}", ["db"])])'
GAUGE = 'run("a", metrics=couler.Gauge("{}", "Seconds.", couler.own.duration_s))'

MOUNT = """\
couler.add_volume(couler.Volume("data", claim_name="d"))
run("a", volume_mounts=[couler.VolumeMount("data", "/data"{})])
"""

LOOP = """\
with couler.loop(while_=lambda: value > {}, max_iterations={}):
    value = keep(1.0)
"""
CARRYING = """\
with couler.loop(while_=lambda: value > 1, max_iterations=5) as rounds:
    value = keep(rounds.carry(8.0, name="v"))
    rounds.next(value)
"""
HANDLED = 'run("a")\nwf.on_exit(lambda: run("b"), status="{}", name="handler")'
AFTER = 'first, second, third = run("a"), run("b"), run("c")\n{} >> third'
RETRIED = """\
with couler.group("again", retry=2):
    run("a")
    {}
{}
"""

DIFFERENT: dict[str, tuple[str, str]] = {
    "order": ('run("a") >> run("b")', 'run("a")\nrun("b")'),
    "order turned round": ('run("a") >> run("b")', 'run("b") >> run("a")'),
    "no condition on a text": (
        'with couler.when(pick() == "a"):\n    run("a")',
        'pick() >> run("a")',
    ),
    "no condition": (BRANCHES.format(">", "a", "b"), 'score() >> [run("a"), run("b")]'),
    "a list that is known": (
        "fit.partial(data=[1]).map(kind=days())",
        'fit.partial(data=[1]).map(kind=["a"])',
    ),
    "no handler": (HANDLED.format("failure"), 'run("a")'),
    "handler of any end": (HANDLED.format("failure"), HANDLED.format("any")),
    "rounds of a loop": (LOOP.format(0.1, 5), LOOP.format(0.1, 6)),
    "condition of a loop": (LOOP.format(0.1, 5), LOOP.format(0.2, 5)),
    "no loop": (LOOP.format(0.1, 5), "keep(1.0)"),
    "a value carried that nobody asked for": (LOOP.format(1, 5), CARRYING),
    "nothing that a loop carries": (CARRYING, LOOP.format(1, 5)),
    "failure and completion": tuple(
        AFTER.format(f"couler.{kind}(first)") for kind in ("failure", "completion")
    ),
    "completion and success": (AFTER.format("couler.completion(first)"), AFTER.format("first")),
    "whose failure it is": tuple(
        AFTER.format(f"couler.failure({name})") for name in ("first", "second")
    ),
    "what is retried": (RETRIED.format('run("b")', ""), RETRIED.format("", 'run("b")')),
    "image": ('run("a")', 'couler.run_container("y:1", ["a"], step_name="a")'),
    "command": ('run("a")', 'run("b")'),
    "header": tuple(HTTP.format(h) for h in (', headers={"X": "1"}', "")),
    "header from a secret": tuple(
        HTTP.format(f', headers={{"X": SecretKey(secret="s", key="{key}")}}') for key in "ab"
    ),
    "success condition of a request": tuple(
        HTTP.format(f", success_condition=couler.own.status_code == {code}") for code in (200, 201)
    ),
    "certificate": tuple(HTTP.format(f", verify_tls={given}") for given in (True, False)),
    "body": tuple(HTTP.format(f', method="POST", body={given}') for given in ('"x"', '"y"')),
    "input file": tuple(
        f'made = run("a", output={{"x": File("/out/x")}})\nrun("b", input={{"{path}": made.x}})'
        for path in ("/in/x", "/in/y")
    ),
    **{
        name: tuple(f'run("a", retry=couler.Retry(limit=2, {given}))' for given in both)
        for name, both in {
            "time for all attempts": ('wait="1s", within="1h"', 'wait="1s", within="2h"'),
            "kinds of failures": ('on=("error",)', 'on=("failure",)'),
            "another node": ("other_node=True", "other_node=False"),
        }.items()
    },
    "mount that is only read": tuple(MOUNT.format(one) for one in (", read_only=True", "")),
    "folder of a volume": tuple(MOUNT.format(f', sub_path="{name}"') for name in "ab"),
    "sidecar": tuple(SIDE.format("sidecars", image) for image in ("a:1", "b:1")),
    "init container": tuple(SIDE.format("init_containers", image) for image in ("a:1", "b:1")),
    "service account": tuple(
        f'run("a", pod=couler.PodSettings(service_account="{name}"))' for name in "ab"
    ),
    "hook": tuple(f'run("a", hooks={{"failed": lambda: run("{word}")}})' for word in "xy"),
    "metric": tuple(GAUGE.format(name) for name in "ab"),
    "label": tuple(f'run("a", labels={{"team": "{name}"}})' for name in "ab"),
}
"""By what differs: parts that differ in a field that the first states."""

DIFFERENT_OPTIONS: dict[str, tuple[str, str]] = {
    "choices": tuple(f', region=couler.Parameter("a", choices={c})' for c in (["a", "b"], ["a"])),
    "config map": tuple(
        f', region=couler.Parameter("a", config=ConfigKey(config_map="site", key="{key}"))'
        for key in "kl"
    ),
    "gap": tuple(f', schedule=couler.Schedule("0 3 * * *", min_gap="{n}h")' for n in (1, 2)),
    "end of a schedule": tuple(
        f', schedule=couler.Schedule("0 3 * * *", stop_after_failed={n})' for n in (1, 2)
    ),
    "suspended schedule": tuple(
        f', schedule=couler.Schedule("0 3 * * *", suspended={given})' for given in (True, False)
    ),
    "service account of all pods": tuple(
        f', pod=couler.PodSettings(service_account="{name}")' for name in "ab"
    ),
    "metric of the run": tuple(
        f', metrics=couler.Gauge("{name}", "Seconds.", couler.own.duration_s)' for name in "ab"
    ),
    "defaults": tuple(f", defaults=couler.StepDefaults(retry={n})" for n in (1, 2)),
}
"""By what differs: options of workflows that differ in a field that the first states."""
