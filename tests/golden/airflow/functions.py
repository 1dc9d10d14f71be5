RUN = r'''def write(name, value, *types, of=()):
    """Check an output and write it: a text as it is, all else as JSON."""
    import json, sys
    if types and (not isinstance(value, types) or (type(value) is bool and bool not in types)):
        sys.exit(f"the output {name} is {value!r:.200}, which does not fit its type")
    for one in value if of else ():
        if not isinstance(one, of) or (type(one) is bool and bool not in of):
            sys.exit(f"the output {name} is {value!r:.200}, which does not fit its type")
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")  # as Argo
        size = len((value if types == (str,) else text).encode())
        if "\\u0000" in text.replace("\\\\", ""):
            raise ValueError("a text cannot hold NUL")
    except (TypeError, ValueError) as error:
        sys.exit(f"the output {name} cannot travel: {error}")
    if size > 65536:
        sys.exit(f"the output {name} is {size} bytes, more than 65536: return a File instead")
    outputs = globals().setdefault("couler_outputs", {})
    outputs[name] = value if types == (str,) else text

def files_in(folder):
    """Return the files of a list, by their indexes; None for those that are missing."""
    import os
    files = {int(name): os.path.join(folder, name) for name in os.listdir(folder)}
    return [files.get(index) for index in range(max(files, default=-1) + 1)]

def link(source, path):
    """Put a file at another path as well."""
    import os, shutil
    source = os.path.realpath(source)
    if source != os.path.realpath(path):
        try:
            os.link(source, path)
        except OSError:  # another disk
            shutil.copy2(source, path)

def copy_all(source, path, mode):
    """Copy to a path and widen the modes; on an I/O error exit with a message of couler."""
    import os, pathlib, shutil, sys
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.isdir(source):
            shutil.copytree(source, path, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy(source, path)
        for one in [pathlib.Path(path), *pathlib.Path(path).rglob("*")]:
            if not one.is_symlink():
                bits = one.stat().st_mode
                one.chmod(bits | (mode if bits & 0o111 else mode & 0o666))
    except OSError as error:
        pathlib.Path("/dev/termination-log").write_text(f"couler error: {error}")
        sys.exit(f"couler: {error}")

def take(name, many=False):
    """Copy an input from the volume to its path."""
    import os
    key, path = os.environ["COULER_FILE_" + name], os.environ["COULER_INPUT_" + name]
    if not many:
        copy_all(f"/couler/files/{key}", path, 0o700)
    for at, one in enumerate(key.split("\n") if many else ()):
        os.makedirs(path, exist_ok=True)
        if one not in ("", "-"):
            copy_all(f"/couler/files/{one}", f"{path}/{at}", 0o700)

def hand_on(name, source):
    """Copy an output to where files are kept, and return where that is."""
    import os, shutil, uuid
    keys = os.environ["COULER_OUTPUT_" + name], os.environ.get("COULER_COPY_" + name)
    os.umask(0)  # other steps may run as other users
    for path in [f"/couler/files/{key}" for key in keys if key]:
        new = f"{path}.{uuid.uuid4().hex}"
        copy_all(source, new, 0o555)
        if os.path.isdir(path) or (os.path.isdir(new) and os.path.exists(path)):
            os.rename(path, new + ".old")
        os.replace(new, path)
        shutil.rmtree(new + ".old", ignore_errors=True)
    return keys[0]

def keep(name, source):
    """Make a file an output."""
    import os, sys
    if not os.path.isfile(str(source)):
        sys.exit(f"the output {name} is {source!r:.200}, but there is no such file")
    globals().setdefault("couler_outputs", {})[name] = str(source)

def keep_folder(name, source):
    """Make a folder an output; links into it stay links, others give their targets."""
    import os, sys
    if not os.path.isdir(str(source)):
        sys.exit(f"the output {name} is {source!r:.200}, but there is no such folder")
    path = os.path.join(os.environ["COULER_WORK"], "outputs", name)
    root = os.path.realpath(source)

    def copy(source, target):
        real = os.path.realpath(source)
        if os.path.islink(source) and os.path.join(real, "").startswith(os.path.join(root, "")):
            inside = os.path.join(path, os.path.relpath(real, root))
            os.symlink(os.path.relpath(inside, os.path.dirname(target)), target)
        elif os.path.isdir(real):
            if os.path.join(root, "").startswith(os.path.join(real, "")) and source != root:
                sys.exit(f"{source} is a link to a folder that it is in")
            os.makedirs(target, exist_ok=True)
            for name in os.listdir(real):
                copy(os.path.join(real, name), os.path.join(target, name))
        elif os.path.exists(real):
            link(real, target)
        else:
            sys.exit(f"{source} is a link to {os.readlink(source)}, which is not there")

    try:
        if root != os.path.realpath(path):
            copy(root, path)
    except (OSError, RecursionError) as error:
        sys.exit(f"the output {name} cannot travel: {error}")
    globals().setdefault("couler_outputs", {})[name] = path

def run(script):
    """Run a script; tracebacks name the files and lines that its comments tell."""
    import __future__, io, json, linecache, os, pathlib, re, sys, traceback

    def tell(kind, error, trace):
        while trace.tb_next and trace.tb_frame.f_code.co_filename in ("<string>", "couler"):
            trace = trace.tb_next
        traceback.print_exception(kind, error, trace)

    sys.excepthook, sys.path[:] = tell, filter(None, sys.path)
    work = os.environ.setdefault("COULER_WORK", "/tmp/couler")
    os.makedirs(work, exist_ok=True)
    os.chdir(work)
    import signal
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # PID 1 has no default action
    text, script = script, work + ".py"
    pathlib.Path(script).write_text(text, "utf-8")
    globals()["__file__"], sys.argv[:] = script, [script]
    flags = text.startswith("from __future__") and __future__.annotations.compiler_flag
    _, *parts = re.split(r"^# From (.+):([0-9]+)\n", "# From couler:1\n" + text, flags=re.M)
    lines = {0: ""}
    for file, first, part in zip(parts[::3], parts[1::3], parts[2::3]):
        lines.update(enumerate(io.StringIO(part), int(first)))
        whole = [lines.get(at, "") for at in range(1, max(lines) + 1)]
        linecache.cache[file] = 0, None, whole, file
        part = "\n" * (int(first) - 1) + part
        exec(compile(part, file, "exec", flags), globals())
    outputs = globals().get("couler_outputs", {})
    for name in outputs:
        if "COULER_OUTPUT_" + name in os.environ:
            outputs[name] = hand_on(name, outputs[name])
    if outputs:
        pathlib.Path("/airflow/xcom/return.json").write_text(json.dumps(outputs))

run(__import__('sys').argv[1])
'''
PREPARE = r"""from __future__ import annotations
File = str

# From tests/corpus/functions/workflow.py:6
from pathlib import Path

# From tests/corpus/functions/workflow.py:43
def prepare(rows: int) -> File:
    Path("data.csv").write_text("x\n" * rows)
    Path("data.csv").chmod(0o400)
    return File("data.csv")

# From couler:14
import json, os
if __name__ == "__main__":
    result = prepare(rows=json.loads(os.environ["COULER_INPUT_rows"]))
    keep("result", result)
"""
GRID = """\
from __future__ import annotations

# From tests/corpus/functions/workflow.py:5
from dataclasses import dataclass

# From tests/corpus/functions/workflow.py:13
@dataclass
class Grid:
    depths: list[int]
    rates: list[float]
    names: list[str]
    none: list[int]

# From tests/corpus/functions/workflow.py:58
def grid() -> Grid:
    return Grid([3, 2**64 + 1, -1], [1e-05, 0.1, 1e22], ["a $$(HOME) $$$$", "{{b}}", "'é'"], [])

# From couler:19
if __name__ == "__main__":
    result = grid()
    write("depths", result.depths, list, tuple, of=(int,))
    write("rates", result.rates, list, tuple, of=(int, float))
    write("names", result.names, list, tuple, of=(str,))
    write("none", result.none, list, tuple, of=(int,))
"""
TRAIN = r"""from __future__ import annotations
File = str

# From tests/corpus/functions/workflow.py:5
from dataclasses import dataclass
from pathlib import Path

# From tests/corpus/functions/workflow.py:21
@dataclass
class Trial:
    depth: int
    score: float
    good: bool
    model: File

# From tests/corpus/functions/workflow.py:63
def train(data: File, depth: int, rate: float) -> Trial:
    with open(data, "a") as own:  # the copy of each is its own
        own.write("x\n")
    count = len(Path(data).read_text().split())
    Path("model").write_text(f"{depth} {rate} {count}")
    return Trial(depth, rate * 2, rate < 0.1, File("model"))

# From couler:25
import json, os
if __name__ == "__main__":
    take("data")
    result = train(
        data=os.environ["COULER_INPUT_data"],
        depth=json.loads(os.environ["COULER_INPUT_depth"]),
        rate=float(json.loads(os.environ["COULER_INPUT_rate"])),
    )
    write("depth", result.depth, int)
    write("score", result.score, int, float)
    write("good", result.good, bool)
    keep("model", result.model)
"""
SHOUT = """\
from __future__ import annotations

# From tests/corpus/functions/workflow.py:72
def shout(name: str) -> str:
    return name.upper()

# From couler:8
import os
if __name__ == "__main__":
    result = shout(name=os.environ["COULER_INPUT_name"])
    write("result", result, str)
"""
NEVER = """\
from __future__ import annotations

# From tests/corpus/functions/workflow.py:77
def never(number: int) -> float:
    return number / 2

# From couler:8
import json, os
if __name__ == "__main__":
    result = never(number=json.loads(os.environ["COULER_INPUT_number"]))
    write("result", result, int, float)
"""
FOLDER = """\
from __future__ import annotations
Directory = str

# From tests/corpus/functions/workflow.py:6
from pathlib import Path

# From tests/corpus/functions/workflow.py:50
def folder(text: str) -> Directory:
    Path("made/inner").mkdir(parents=True)
    Path("made/inner/text").write_text(text)
    Path("made/link").symlink_to("inner/text")
    return Directory("made")

# From couler:15
import os
if __name__ == "__main__":
    result = folder(text=os.environ["COULER_INPUT_text"])
    keep_folder("result", result)
"""
BEST = r"""from __future__ import annotations
File = Directory = str

# From tests/corpus/functions/workflow.py:5
from dataclasses import dataclass
from pathlib import Path

# From tests/corpus/functions/workflow.py:21
@dataclass
class Trial:
    depth: int
    score: float
    good: bool
    model: File

# From tests/corpus/functions/workflow.py:107
def best(trials: list[Trial], made: Directory, halves: list[float]) -> File:
    if halves:
        raise ValueError(halves)
    lines = [f"{one.depth} {one.score} {one.good} {Path(one.model).read_text()}" for one in trials]
    text = (Path(made) / "link").read_text()
    Path("best").write_text("\n".join([*lines, text]))
    return File("best")

# From couler:26
import itertools, json, os
if __name__ == "__main__":
    take("trials_model", many=True)
    take("made")
    result = best(
        trials=[
            Trial(depth=depth, score=score, good=good, model=model)
            for depth, score, good, model in itertools.zip_longest(
                json.loads(os.environ["COULER_INPUT_trials_depth"]),
                [float(one) for one in json.loads(os.environ["COULER_INPUT_trials_score"])],
                json.loads(os.environ["COULER_INPUT_trials_good"]),
                files_in(os.environ["COULER_INPUT_trials_model"]),
            )
        ],
        made=os.environ["COULER_INPUT_made"],
        halves=[float(one) for one in json.loads(os.environ["COULER_INPUT_halves"])],
    )
    keep("result", result)
"""
LOOK = """\
from __future__ import annotations
File = str

# From tests/corpus/functions/workflow.py:6
from pathlib import Path

# From tests/corpus/functions/workflow.py:87
def look(model: File, name: str) -> str:
    return f"{name} {Path(model).read_text()}"

# From couler:12
import os
if __name__ == "__main__":
    take("model")
    result = look(model=os.environ["COULER_INPUT_model"], name=os.environ["COULER_INPUT_name"])
    write("result", result, str)
"""
LABEL = """\
from __future__ import annotations

# From tests/corpus/functions/workflow.py:92
def label(name: str, depth: int) -> str:
    return f"{name} {depth}"

# From couler:8
import json, os
if __name__ == "__main__":
    result = label(
        name=os.environ["COULER_INPUT_name"],
        depth=json.loads(os.environ["COULER_INPUT_depth"]),
    )
    write("result", result, str)
"""
WHOLE = """\
from __future__ import annotations

# From tests/corpus/functions/workflow.py:5
from dataclasses import dataclass

# From tests/corpus/functions/workflow.py:29
@dataclass
class Point:
    name: str
    x: float
    y: int


@dataclass
class Whole:
    point: Point
    note: str

# From tests/corpus/functions/workflow.py:97
def whole() -> Whole:
    return Whole(Point('a","x":9,"y":9', 1e-07, 2**64 + 1), "{{x}}")

# From couler:24
if __name__ == "__main__":
    result = whole()
    write("point", {"name": result.point.name, "x": result.point.x, "y": result.point.y})
    write("note", result.note, str)
"""
SHOWN = """\
from __future__ import annotations

# From tests/corpus/functions/workflow.py:102
def shown(x: float, y: int, note: str) -> str:
    return f"{x} {y} {note}"

# From couler:8
import json, os
if __name__ == "__main__":
    result = shown(
        x=float(json.loads(os.environ["COULER_INPUT_x"])),
        y=json.loads(os.environ["COULER_INPUT_y"]),
        note=os.environ["COULER_INPUT_note"],
    )
    write("result", result, str)
"""
EXACT = """\
from __future__ import annotations

# From tests/corpus/functions/workflow.py:82
def exact(number: int) -> str:
    return str(number)

# From couler:8
import json, os
if __name__ == "__main__":
    result = exact(number=json.loads(os.environ["COULER_INPUT_number"]))
    write("result", result, str)
"""
READ = r"""from __future__ import annotations
File = str

# From tests/corpus/functions/workflow.py:6
from pathlib import Path

# From tests/corpus/functions/workflow.py:117
def read(
    file: File, names: list[str], numbers: list[str], looks: list[str], labels: list[str], last: str
) -> list[str]:
    return [*Path(file).read_text().split("\n"), *names, *numbers, *looks, *labels, last]

# From couler:14
import json, os
if __name__ == "__main__":
    take("file")
    result = read(
        file=os.environ["COULER_INPUT_file"],
        names=json.loads(os.environ["COULER_INPUT_names"]),
        numbers=json.loads(os.environ["COULER_INPUT_numbers"]),
        looks=json.loads(os.environ["COULER_INPUT_looks"]),
        labels=json.loads(os.environ["COULER_INPUT_labels"]),
        last=os.environ["COULER_INPUT_last"],
    )
    write("result", result, list, tuple, of=(str,))
"""
FILES_VOLUME = {
    "volumes": [
        k8s.V1Volume(
            name="files",
            persistent_volume_claim=k8s.V1PersistentVolumeClaimVolumeSource(claim_name=FILES_CLAIM),
        ),
    ],
    "volume_mounts": [k8s.V1VolumeMount(name="files", mount_path="/couler/files")],
}
INTEGER = {
    "type": ["integer", "string"],
    "pattern": "^-?(0|[1-9][0-9]*)$",
    "$schema": "http://json-schema.org/draft-04/schema#",
}


def outputs_of_run(ti: Any, params: Any) -> dict[str, Any]:
    return {"lines": json.loads(ti.xcom_pull("read")["result"])}


with DAG(
    dag_id="functions",
    description="Functions with files and lists: maps over numbers, and files and lists that maps give.",
    schedule=None,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
        "image": "python:3.12-slim",
        "cmds": ["python", "-c", RUN],
        "do_xcom_push": True,
    },
    params={"rows": Param(2, **INTEGER)},
    user_defined_macros={"listed": listed, "lines": lines, "field_of": field_of},
): ...
prepare = KubernetesPodOperator(
    task_id="prepare",
    **FILES_VOLUME,
    arguments=[PREPARE],
    env_vars={
        "COULER_INPUT_rows": '{{ params["rows"] }}',
        "COULER_OUTPUT_result": "{{ ti.dag_id }}/{{ ti.run_id }}/{{ ti.task_id }}/result",
    },
)
grid = KubernetesPodOperator(task_id="grid", arguments=[literal(GRID)])
train_items = PythonOperator(
    task_id="train-items",
    python_callable=make_plain_rows,
    op_kwargs={
        "lists": {
            "depth": '{{ ti.xcom_pull("grid")["depths"] }}',
            "rate": '{{ ti.xcom_pull("grid")["rates"] }}',
        },
    },
)
# What is expanded is a label; each task reads its item by its map index.
train = KubernetesPodOperator.partial(
    task_id="train",
    **FILES_VOLUME,
    arguments=[TRAIN],
    env_vars={
        "COULER_INPUT_data": "/tmp/couler/inputs/data/data.csv",
        "COULER_INPUT_depth": '{{ ti.xcom_pull("train-items", key="rows")[ti.map_index]["depth"] }}',
        "COULER_INPUT_rate": '{{ ti.xcom_pull("train-items", key="rows")[ti.map_index]["rate"] }}',
        "COULER_FILE_data": '{{ ti.xcom_pull("prepare")["result"] }}',
        "COULER_OUTPUT_model": "{{ ti.dag_id }}/{{ ti.run_id }}/{{ ti.task_id }}/{{ ti.map_index }}/model",
    },
    max_active_tis_per_dagrun=2,
).expand(labels=train_items.output)
train_lists = PythonOperator(
    task_id="train-lists",
    python_callable=check_sizes,
    op_args=[
        "train",
        "train-items",
        {"depth": "int", "score": "float", "good": "bool", "model": "file"},
    ],
)
train >> train_lists
[grid, prepare] >> train_items
shout_items = PythonOperator(
    task_id="shout-items",
    python_callable=make_plain_rows,
    op_kwargs={"lists": {"name": '{{ ti.xcom_pull("grid")["names"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
shout = KubernetesPodOperator.partial(
    task_id="shout",
    arguments=[SHOUT],
    env_vars={
        "COULER_INPUT_name": '{{ ti.xcom_pull("shout-items", key="rows")[ti.map_index]["name"] | replace("$", "$$") }}',
    },
).expand(labels=shout_items.output)
shout_lists = PythonOperator(
    task_id="shout-lists",
    python_callable=check_sizes,
    op_args=["shout", "shout-items", {"result": "str"}],
)
shout >> shout_lists
grid >> shout_items
never_items = PythonOperator(
    task_id="never-items",
    python_callable=make_plain_rows,
    op_kwargs={"lists": {"number": '{{ ti.xcom_pull("grid")["none"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
never = KubernetesPodOperator.partial(
    task_id="never",
    arguments=[NEVER],
    env_vars={
        "COULER_INPUT_number": '{{ ti.xcom_pull("never-items", key="rows")[ti.map_index]["number"] }}',
    },
).expand(labels=never_items.output)
grid >> never_items
folder = KubernetesPodOperator(
    task_id="folder",
    **FILES_VOLUME,
    arguments=[FOLDER],
    env_vars={
        "COULER_INPUT_text": "text",
        "COULER_OUTPUT_result": "{{ ti.dag_id }}/{{ ti.run_id }}/{{ ti.task_id }}/result",
    },
)
best = KubernetesPodOperator(
    task_id="best",
    **FILES_VOLUME,
    arguments=[BEST],
    env_vars={
        "COULER_INPUT_trials_depth": '{{ listed(ti, "train", "depth", "train-items") }}',
        "COULER_INPUT_trials_score": '{{ listed(ti, "train", "score", "train-items") }}',
        "COULER_INPUT_trials_good": '{{ listed(ti, "train", "good", "train-items") }}',
        "COULER_INPUT_trials_model": "/tmp/couler/inputs/trials_model",
        "COULER_INPUT_made": "/tmp/couler/inputs/made/made",
        "COULER_INPUT_halves": '{{ listed(ti, "never", "result", "never-items") }}',
        "COULER_FILE_trials_model": '{{ lines(listed(ti, "train", "model", "train-items", texts=True)) }}',
        "COULER_FILE_made": '{{ ti.xcom_pull("folder")["result"] }}',
        "COULER_OUTPUT_result": "{{ ti.dag_id }}/{{ ti.run_id }}/{{ ti.task_id }}/result",
        "COULER_COPY_result": "models/best.txt",
    },
)
[train_lists, folder, never] >> best
look_items = PythonOperator(
    task_id="look-items",
    python_callable=make_plain_rows,
    op_kwargs={
        "lists": {
            "model": '{{ listed(ti, "train", "model", "train-items", texts=True) }}',
            "name": literal('["{{p}}","q","$$(r)"]'),
        },
    },
)
# What is expanded is a label; each task reads its item by its map index.
look = KubernetesPodOperator.partial(
    task_id="look",
    **FILES_VOLUME,
    arguments=[LOOK],
    env_vars={
        "COULER_INPUT_model": "/tmp/couler/inputs/model/model",
        "COULER_INPUT_name": '{{ ti.xcom_pull("look-items", key="rows")[ti.map_index]["name"] | replace("$", "$$") }}',
        "COULER_FILE_model": '{{ ti.xcom_pull("look-items", key="rows")[ti.map_index]["model"] | replace("$", "$$") }}',
    },
).expand(labels=look_items.output)
look_lists = PythonOperator(
    task_id="look-lists",
    python_callable=check_sizes,
    op_args=["look", "look-items", {"result": "str"}],
)
look >> look_lists
train_lists >> look_items
label_items = PythonOperator(
    task_id="label-items",
    python_callable=make_plain_rows,
    op_kwargs={
        "lists": {
            "name": '{{ ti.xcom_pull("grid")["names"] }}',
            "depth": '{{ ti.xcom_pull("grid")["depths"] }}',
        },
    },
)
# What is expanded is a label; each task reads its item by its map index.
label = KubernetesPodOperator.partial(
    task_id="label",
    arguments=[LABEL],
    env_vars={
        "COULER_INPUT_name": '{{ ti.xcom_pull("label-items", key="rows")[ti.map_index]["name"] | replace("$", "$$") }}',
        "COULER_INPUT_depth": '{{ ti.xcom_pull("label-items", key="rows")[ti.map_index]["depth"] }}',
    },
).expand(labels=label_items.output)
label_lists = PythonOperator(
    task_id="label-lists",
    python_callable=check_sizes,
    op_args=["label", "label-items", {"result": "str"}],
)
label >> label_lists
grid >> label_items
whole_2 = KubernetesPodOperator(task_id="whole", arguments=[literal(WHOLE)])
shown = KubernetesPodOperator(
    task_id="shown",
    arguments=[SHOWN],
    env_vars={
        "COULER_INPUT_x": '{{ field_of(ti.xcom_pull("whole")["point"], "x") }}',
        "COULER_INPUT_y": '{{ field_of(ti.xcom_pull("whole")["point"], "y") }}',
        "COULER_INPUT_note": '{{ ti.xcom_pull("whole")["note"] | replace("$", "$$") }}',
    },
)
whole_2 >> shown
exact_items = PythonOperator(
    task_id="exact-items",
    python_callable=make_plain_rows,
    op_kwargs={"lists": {"number": '{{ ti.xcom_pull("grid")["depths"] }}'}},
)
# What is expanded is a label; each task reads its item by its map index.
exact = KubernetesPodOperator.partial(
    task_id="exact",
    arguments=[EXACT],
    env_vars={
        "COULER_INPUT_number": '{{ ti.xcom_pull("exact-items", key="rows")[ti.map_index]["number"] }}',
    },
).expand(labels=exact_items.output)
exact_lists = PythonOperator(
    task_id="exact-lists",
    python_callable=check_sizes,
    op_args=["exact", "exact-items", {"result": "str"}],
)
exact >> exact_lists
grid >> exact_items
read = KubernetesPodOperator(
    task_id="read",
    **FILES_VOLUME,
    arguments=[READ],
    env_vars={
        "COULER_INPUT_file": "/tmp/couler/inputs/file/best",
        "COULER_INPUT_names": '{{ listed(ti, "shout", "result", "shout-items", texts=True) | replace("$", "$$") }}',
        "COULER_INPUT_numbers": '{{ listed(ti, "exact", "result", "exact-items", texts=True) | replace("$", "$$") }}',
        "COULER_INPUT_looks": '{{ listed(ti, "look", "result", "look-items", texts=True) | replace("$", "$$") }}',
        "COULER_INPUT_labels": '{{ listed(ti, "label", "result", "label-items", texts=True) | replace("$", "$$") }}',
        "COULER_INPUT_last": '{{ ti.xcom_pull("shown")["result"] | replace("$", "$$") }}',
        "COULER_FILE_file": '{{ ti.xcom_pull("best")["result"] }}',
    },
)
[best, shout_lists, exact_lists, look_lists, label_lists, shown] >> read
run_outputs = PythonOperator(task_id="run-outputs", python_callable=outputs_of_run)
read >> run_outputs
