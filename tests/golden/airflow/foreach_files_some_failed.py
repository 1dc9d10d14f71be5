"""Workflow foreach-files-some-failed.

Compiled by couler for Airflow 3.3. The DAG stands at the end, what it uses before it.
"""

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG
from airflow.sdk.definitions.template import literal
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from kubernetes.client import models as k8s

HELPER_IMAGE = "busybox:1.37-musl"
FILES_CLAIM = "files"
PROCESS = r"""# Runs a process and hands its outputs on: NAME=FILE words, "--", then the command. A file that
# need not be written is NAME?=FILE, standard output is NAME=-; a word without "=" is a container
# beside the process, which ends with it. What is not the end of the process itself is told by the
# termination message, as any exit code can be that of the process.
set -u
tools=/couler
message=${COULER_MESSAGE:-/dev/termination-log}
unset COULER_MESSAGE
trap '[ ! -e "$tools/told" ] || box cp "$tools/told" "$message"' EXIT
box() { "$tools/busybox" "$@"; }
tell() { echo "couler: $2" >&2; echo "couler $1: $2" >"$tools/told"; }
fail() { tell error "$*"; exit 125; }

# Becomes the process; where it cannot, the shell ends.
run() {
  program=$1
  trap 'tell error "there is no program $program that can be started"' EXIT
  exec "$@"
}

# Starts what comes after "--"; standard output that is an output goes to a file and to the log. A
# shell gives no standard input to what it does not wait for, hence the copy of its own.
start() {
  tee=""
  while [ "$1" != "--" ]; do
    case "$1" in *=-) tee=yes ;; esac
    shift
  done
  shift
  if [ -n "${COULER_SCRIPT+x}" ]; then
    printf %s "$COULER_SCRIPT" >"$tools/script"
    unset COULER_SCRIPT
    set -- "$@" "$tools/script"
  fi
  exec 3<&0
  if [ -n "$tee" ]; then
    box mkfifo "$tools/pipe"
    box tee "$tools/stdout" <"$tools/pipe" &
    tee=$!
    run "$@" <&3 3<&- >"$tools/pipe" &
  else
    run "$@" <&3 3<&- &
  fi
  child=$!
}

# Ends the containers beside the process, and fails as they do.
end_beside() {
  box touch "$tools/ended"
  while [ "$1" != "--" ]; do
    name=$1 other=0 ticks=0
    shift
    case "$name" in *=*) continue ;; esac
    [ -e "$tools/begun-$name" ] || continue
    until [ -e "$tools/code-$name" ] || [ "$ticks" = 300 ]; do
      box sleep 0.1
      ticks=$((ticks + 1))
    done
    [ ! -e "$tools/code-$name" ] || read -r other <"$tools/code-$name"
    [ "$other" != unable ] || fail "the container $name beside the process could not start"
    [ "$other" = 0 ] || [ "$code" != 0 ] || {
      tell failure "the container $name beside the process ended with exit code $other"
      code=$other
    }
  done
}

# Writes a text as JSON, in ASCII alone, less one final newline.
json() {
  box od -An -v -tu1 "$1" | box awk '
    function put(c) {
      if (c == 34 || c == 92) printf "\\%c", c
      else if (c > 31 && c < 127) printf "%c", c
      else if (c < 65536) printf "\\u%04x", c
      else printf "\\u%04x\\u%04x", 55232 + int(c / 1024), 56320 + c % 1024
    }
    { for (i = 1; i <= NF; i++) bytes[n++] = $i + 0 }
    END {
      if (n && bytes[n - 1] == 10) n--
      if (n > 65536) exit 3
      printf "\""
      for (i = 0; i < n; i++) {
        b = bytes[i]
        if (more) {
          if (b < low || b > high) exit 4
          letter = letter * 64 + b - 128; low = 128; high = 191
          if (!--more) put(letter)
        } else if (b < 128) {
          put(b)
        } else if (b < 194 || b > 244) {
          exit 4
        } else {
          more = b < 224 ? 1 : b < 240 ? 2 : 3
          letter = b - (b < 224 ? 192 : b < 240 ? 224 : 240)
          low = b == 224 ? 160 : b == 240 ? 144 : 128
          high = b == 237 ? 159 : b == 244 ? 143 : 191
        }
      }
      if (more) exit 4
      printf "\""
    }'
}

# Writes the outputs whose words come before "--" as a JSON object.
outputs() {
  next="{"
  while [ "$1" != "--" ]; do
    case "$1" in *=*) ;; *) shift; continue ;; esac
    name=${1%%=*} file=${1#*=}
    shift
    case "$file" in -) file=$tools/stdout ;; /*) ;; *) file=$COULER_WORK/$file ;; esac
    if [ ! -e "$file" ]; then
      case "$name" in *\?) continue ;; esac
      fail "the process did not write $file, which is its output $name"
    fi
    name=${name%\?}
    [ -f "$file" ] || fail "$file, which is the output $name, is no file"
    [ "$(box wc -c <"$file")" -le 65537 ] && printf '%s"%s":' "$next" "$name" && json "$file" ||
      fail "the output $name is no text of at most 65536 bytes of UTF-8. Give it as a file"
    next=,
  done
  [ "$next" = , ] || printf "{"
  printf "}"
}

[ -z "${COULER_WORK+x}" ] || box mkdir -p "$COULER_WORK" || fail "there can be no $COULER_WORK"
if [ -n "${COULER_DIR+x}" ]; then
  box mkdir -p "$COULER_DIR" && cd "$COULER_DIR" || fail "cannot enter $COULER_DIR"
  unset COULER_DIR
fi

# What a shell does not wait for ignores INT and QUIT, hence TERM in their place.
child=""
early=""
for signal in HUP INT QUIT TERM USR1 USR2; do
  case "$signal" in INT | QUIT) sent=TERM ;; *) sent=$signal ;; esac
  trap "if [ -n \"\$child\" ]; then kill -$sent \$child; else early=$sent; fi" "$signal"
done
start "$@"
[ -z "$early" ] || kill "-$early" "$child"
wait "$child"
code=$?
while kill -0 "$child" 2>"/dev/null"; do # a signal has ended the wait, not the process
  wait "$child"
  code=$?
done
wait "$child" # it can have ended between a signal and the look at it
last=$?
[ "$last" = 127 ] || code=$last
if [ -n "$tee" ]; then
  # What the process has left running can hold the pipe open for ever.
  (box sleep 10; kill "$tee") >"/dev/null" 2>&1 &
  wait "$tee"
fi
end_beside "$@"
[ "$code" = 0 ] || exit "$code"
if [ "$1" != "--" ]; then
  outputs "$@" >"$tools/result"
  box cp "$tools/result" /airflow/xcom/return.json || fail "cannot hand the outputs on"
fi
"""
FILES = r"""# Runs a process with its files: puts those that it takes in their places before it starts, and
# keeps those that it gives when it has ended well. Each thing to do is a number of words and these:
#   take TYPE PATH KEY                                 a file that is kept, by its location
#   each TYPE PATH KEYS                                one a line in a folder, "-" for none
#   get TYPE PATH ARCHIVE LOCATION FIELD TEXT ...      a file from elsewhere
#   text PATH TEXT                                     a file whose content is given
#   mode PATH MODE [-R]
#   keep TYPE NAME PATH KEY                            an output; without a name, a further copy
#   put TYPE PATH ARCHIVE LOCATION FIELD TEXT ...      an output that is put elsewhere besides
# Then "--" and the command. A type that ends in "?" is of a file that need not be there. Files are
# kept in a volume or, where there is none, by the helper beside the process, who also knows what
# lies elsewhere: it is asked in a folder (python -m couler.io). What goes wrong here is told as the
# wrapper of processes does, which runs this one.
set -u
tools=/couler
files=$tools/files
io=$tools/io
work=${COULER_WORK:-/tmp/couler}
box() { "$tools/busybox" "$@"; }
tell() { echo "couler: $2" >&2; echo "couler $1: $2" >"$tools/told"; }
fail() { tell error "$*"; exit 125; }

# Paths start at the work folder.
place() { case "$1" in /*) path=$1 ;; *) path=$work/$1 ;; esac; }
optional() { case "$1" in *\?) ;; *) return 1 ;; esac; }

check_type() {
  case "$1" in
    file*) [ -f "$2" ] || fail "$2 is no file, but was declared one" ;;
    *) [ -d "$2" ] || fail "$2 is no directory, but was declared one" ;;
  esac
}

check_key() {
  case "/$1/" in
    *//* | */../* | */./*) fail "$1 is no key of a file" ;;
  esac
}

# Writes a request for the helper, which is not sent yet.
request=0
write_request() {
  [ -d "$io" ] || (umask 0 && box mkdir -p "$io") || fail "cannot make $io"
  request=$((request + 1))
  printf '%s\0' "$@" >"$io/$request.new" && box chmod a+r "$io/$request.new" ||
    fail "cannot write a request for files"
}

# Sends a request and waits for the answer.
send() {
  pauses=0
  while [ ! -e "$io/ready" ]; do
    [ "$pauses" -lt 600 ] || fail "the helper that fetches and puts files did not start"
    pauses=$((pauses + 1))
    box sleep 0.1
  done
  box mv "$io/$1.new" "$io/$1.ask" || fail "cannot ask for files"
  while [ ! -e "$io/$1.answer" ]; do box sleep 0.1; done
  IFS= read -r answer <"$io/$1.answer"
  case "$answer" in failed*) fail "${answer#failed }" ;; esac
}

# Makes the folder of a file.
make_room() { folder_of=${1%/*}; box mkdir -p "${folder_of:-/}"; }

# The copy is the process's own.
copy_in() {
  source=$1
  if [ -d "$1" ]; then box mkdir -p "$2" && source=$1/.; else make_room "$2"; fi &&
    box cp -RH "$source" "$2" && box chmod -R u+rwX "$2" || fail "cannot copy a file to $2"
}

get() {
  type=$1
  place "$2"
  shift 2
  write_request get "$type" "$((request + 1)).got" "$@"
  send "$request"
  [ "$answer" = done ] || return 0
  copy_in "$io/$request.got" "$path"
  box rm -rf "$io/$request.got" 2>"/dev/null"
}

take() {
  if [ -z "$3" ] && optional "$1"; then return; fi
  check_key "$3"
  if [ ! -d "$files" ]; then get "$1" "$2" "" "" key "$3"; return; fi
  place "$2"
  if [ -e "$files/$3" ]; then
    copy_in "$files/$3" "$path"
    check_type "$1" "$path"
  elif ! optional "$1"; then
    fail "there is nothing at $3, which was to be put at $path"
  fi
}

each() {
  place "$2"
  folder=$path item=0
  box mkdir -p "$folder" || fail "cannot make $folder"
  [ -n "$3" ] || return 0
  while IFS= read -r key; do
    [ "$key" = - ] || take "$1" "$folder/$item" "$key"
    item=$((item + 1))
  done <<END
$3
END
}

text() {
  place "$1"
  make_room "$path" && printf %s "$2" >"$path" || fail "cannot write $path"
}

mode() {
  place "$1"
  [ ! -e "$path" ] || box chmod $3 "$2" "$path" || fail "cannot change the mode of $path"
}

# Remembers what is to be kept: type, name, path, key and the number of a request.
later=""
line="
"
remember() { later="$later$1$line$2$line$3$line$4$line$5$line"; }

keep() {
  number=""
  if [ ! -d "$files" ]; then
    path=${3%/}
    write_request put "$((request + 1)).put/${path##*/}" "" "" key "$4"
    number=$request
  fi
  remember "$1" "$2" "$3" "$4" "$number"
}

put() {
  type=$1 path=${2%/}
  shift 2
  write_request put "$((request + 1)).put/${path##*/}" "$@"
  remember "$type" "" "$path" "" "$request"
}

# Other steps may run as other users.
copy_out() {
  (umask 0 && make_room "$2") &&
    box rm -rf "$2.new" "$2" &&
    box cp "$3" "$1" "$2.new" &&
    box chmod -R a+rX "$2.new" &&
    box mv "$2.new" "$2" || fail "cannot copy $1"
}

finish() {
  place "${3%/}"
  if [ ! -e "$path" ]; then
    if optional "$1"; then return; fi
    fail "the process did not write $path, which is ${2:-to be put elsewhere}"
  fi
  check_type "$1" "$path"
  if [ -z "$5" ]; then
    check_key "$4"
    copy_out "$path" "$files/$4" -RH
  else
    copy_out "$path" "$io/$5.put/${path##*/}" -RL
    send "$5"
    box rm -rf "$io/$5.put"
  fi
  [ -z "$2" ] || printf %s "$4" >"$tools/keys/$2"
}

while [ "$1" != "--" ]; do
  count=$1
  shift
  words="" index=1
  while [ "$index" -le "$count" ]; do
    words="$words \"\${$index}\""
    index=$((index + 1))
  done
  eval "$words"
  shift "$count"
done
shift

# Becomes the process; where it cannot, the shell ends.
run() {
  program=$1
  trap 'tell error "there is no program $program that can be started"' EXIT
  exec "$@"
}

# A shell gives no standard input to what it does not wait for, hence the copy of its own.
exec 3<&0
run "$@" <&3 3<&- &
child=$!
for signal in HUP TERM USR1 USR2; do trap "kill -$signal $child" "$signal"; done
wait "$child"
code=$?
while kill -0 "$child" 2>"/dev/null"; do # a signal has ended the wait, not the process
  wait "$child"
  code=$?
done
wait "$child" # it can have ended between a signal and the look at it
last=$?
[ "$last" = 127 ] || code=$last
[ "$code" = 0 ] || exit "$code"

box mkdir -p "$tools/keys"
while IFS= read -r type && IFS= read -r name && IFS= read -r path && IFS= read -r key &&
  IFS= read -r number; do
  finish "$type" "$name" "$path" "$key" "$number"
done <<END
$later
END
"""


def labels(rows: list[Any]) -> list[dict[str, str]]:
    """Return a label for the pod of each item."""
    return [{"couler-item": str(index)} for index in range(len(rows))]


def gather(
    ti: Any, place: str, name: str, rows: Any, default: str | None = None
) -> list[str | None] | None:
    """Return what all items of a step gave as an output, None for those that failed."""
    made = pull(ti, rows, "rows") if isinstance(rows, str) else range(rows)
    if made is None:
        return None
    task, indexes = near(ti, place), range(len(made))
    if "*" in task:
        found = [pull(ti, task.replace("*", str(index))) for index in indexes]
    else:
        found = ti.xcom_pull(task_ids=task, map_indexes=indexes) if made else []
    return [None if one is None else one.get(name, default) for one in found]


def gathered(
    ti: Any, place: str, name: str, rows: Any, kind: str = "str", default: str | None = None
) -> str | None:
    """Return the outputs of all items of a step as a JSON list."""
    texts = gather(ti, place, name, rows, default)
    if texts is None or kind == "str":
        return json_or_none(texts)
    return as_json([None if one is None else decoded(one, kind) for one in texts])


def if_started(ti: Any, step: str, value: str | None) -> str | None:
    """Return what the items of a step give; None if it has none, as it was skipped or omitted."""
    own, states = near(ti, step), states_near(ti)
    if {"failed", "upstream_failed"} & states.get(f"{own}.when", set()):  # the ends of items fail
        return None
    names = [name for name in states if name == own or name.startswith(f"{own}.")]
    ran = any({"success", "failed"} & states[name] for name in names)
    return value if ran or not names else None


def as_json(value: Any) -> str:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def first_of(*values: str | None) -> str | None:
    """Return the first value that is there."""
    return next((value for value in values if value is not None), None)


def json_or_none(value: Any) -> str | None:
    """Return a value that need not be there as JSON."""
    return None if value is None else as_json(value)


def decoded(value: str | None, kind: str = "json") -> Any:
    """Return the value of a declared type that a text stands for."""
    try:
        read = parsed(value or "")
    except ValueError:
        raise AirflowFailException(f"{value!r} is declared {kind}, but it is no JSON") from None
    of_kind = {"int": int, "float": int | float, "bool": bool, "list": list, "dict": dict}
    is_bool = isinstance(read, bool)
    if kind != "json" and not (isinstance(read, of_kind[kind]) and is_bool == (kind == "bool")):
        raise AirflowFailException(f"{value!r} is declared {kind}, but it is not one")
    try:
        return float(read) if kind == "float" else read
    except OverflowError:
        raise AirflowFailException(f"{value!r} is declared float, but too large for one") from None


def parsed(value: str) -> Any:
    """Return what JSON stands for; a ValueError if it is none, is not finite or nests too deep."""
    try:
        read = json.loads(value)
        json.dumps(read, allow_nan=False)
    except RecursionError:
        raise ValueError("it nests too deep") from None
    return read


def open_gate(*needs: Any, ti: Any) -> None:
    """Succeed if each need is met by one of its alternatives: a way to end, the step, its last."""
    unmet = [need for need in needs if not any(ended_so(ti, *one) for one in need)]
    for need in unmet:
        if not any(way == "failure" for way, *_ in need):
            raise AirflowFailException(f"none of {need} came true")
    if unmet:
        raise AirflowSkipException(f"none of {unmet} came true")


def ended_so(ti: Any, way: str, step: str, leaves: list[str], first: str = "") -> bool:
    """Return whether a step ended in a way: its own task, or those with which it ends."""
    if way == "completion":
        return True
    states, tasks = states_near(ti), ti.task.dag.task_dict
    own, *others = (near(ti, one) for one in (step, first, *leaves))
    bad = any({"failed", "upstream_failed"} & states.get(leaf, set()) for leaf in others[1:])
    if way == "success":
        return not bad
    if "upstream_failed" in states.get(others[0], ()):
        return False
    inside = (one for one in states if one.startswith(f"{own}."))
    failed = [one for one in (own, *others, *inside) if "failed" in states.get(one, ())]
    return bad and not all(is_gate(tasks.get(one)) for one in failed)


def is_gate(task: Any) -> bool:
    """Return whether a task says what comes next: its own failure is none."""
    function = getattr(task, "python_callable", None)
    return getattr(function, "__name__", "") == "open_gate"


def process(
    command: list[Any], outputs: list[str] | None = None, beside: list[str] | None = None
) -> dict[str, Any]:
    """Return what a pod needs to run a command by PROCESS, which hands its outputs on."""
    tools = k8s.V1Volume(name="couler", empty_dir=k8s.V1EmptyDirVolumeSource())
    mount = k8s.V1VolumeMount(name="couler", mount_path="/couler")
    copy = k8s.V1Container(
        name="couler",
        image=HELPER_IMAGE,
        command=["cp", "/bin/busybox", "/couler/busybox"],
        volume_mounts=[mount],
    )
    return {
        "cmds": ["/couler/busybox", "sh", "-c", "{{ PROCESS }}", "couler"],
        "arguments": [*(outputs or ()), *(beside or ()), "--", *command],
        "init_containers": [copy],
        "volumes": [tools],
        "volume_mounts": [mount],
        "do_xcom_push": bool(outputs or beside),
    }


def run_failed(ti: Any, leaves: list[str]) -> bool:
    """Return whether a run has failed: a task with which it ends, or one above one not run."""
    states, tasks = states_near(ti), ti.task.dag.task_dict
    left, seen = [near(ti, leaf) for leaf in leaves], set[str]()
    while left:
        task = left.pop()
        if task in seen:
            continue
        seen.add(task)
        made, ends = tasks[task], states.get(task, set())
        if is_gate(made):  # it says what comes next, not what was before
            needs = (leaves for need in made.op_args for _, _, leaves, *_ in need)
            left += (near(made, one) for needed in needs for one in needed)
        elif ends & {"failed", "upstream_failed"}:
            return True
        elif "success" not in ends:
            left += right_before(made)
    return False


def right_before(task: Any) -> set[str]:
    """Return the tasks before one, less those that `wait_for_all` adds: they come before others."""
    found: set[str] = task.upstream_task_ids
    if task.trigger_rule != "all_done":
        return found
    return found.difference(
        *(one.get_flat_relative_ids(upstream=True) for one in task.upstream_list)
    )


def check_end(leaves: list[str], ti: Any) -> None:
    """Fail if the run has failed, or the group that these tasks end."""
    if not run_failed(ti, leaves):
        return
    states, tasks = states_near(ti), ti.task.dag.task_dict
    failed = [one for one in states if "failed" in states[one] and not is_gate(tasks.get(one))]
    raise AirflowFailException(
        f"no task that ran after a failure has handled it; failed: {', '.join(sorted(failed))}"
    )


def check_lists(
    place: str,
    rows: Any,
    kinds: dict[str, str],
    defaults: dict[str, str] | None = None,
    ti: Any = None,
) -> None:
    """Fail if a list of what items gave is too large to travel; skip if there were none."""
    given = defaults or {}
    lists = {name: gather(ti, place, name, rows, given.get(name)) for name in kinds}
    if None in lists.values() or {one for texts in lists.values() for one in texts or ()} == {None}:
        raise AirflowSkipException(f"{place} was skipped")
    for name, kind in kinds.items():
        texts = lists[name] or []
        if kind in ("str", "file", "directory"):
            texts = [json_or_none(one) for one in texts]
        size = sum(len((one or "null").encode()) + 1 for one in texts) + 1
        if size > 96 * 1024:
            raise AirflowFailException(f"{name} takes {size} bytes in all, and 98304 may travel")


def own_number(ti: Any, place: str) -> int:
    """Return the number that a task has in the last part of a place."""
    part = ti.task_id.split(".")[place.count(".")]
    return int(part.rpartition("_")[2])


def near(ti: Any, place: str) -> str:
    """Return the id of a task: # is the number that this task has there, #-1 the one before."""
    found = place.split(".")
    for at, part in enumerate(found):
        name, mark, before = part.partition("#")
        if mark:
            number = own_number(ti, ".".join(found[: at + 1])) + int(before or 0)
            found[at] = f"{name}{number}"
    return ".".join(found)


def pull(ti: Any, place: str, key: str = "return_value") -> Any:
    """Return what a task has handed on, of its items that of this task; * is the last round."""
    task = near(ti, place)
    group = ti.task.get_closest_mapped_task_group()
    index = ti.map_index if group is not None and task.startswith(f"{group.group_id}.") else None
    if "*" not in task:
        return ti.xcom_pull(task_ids=task, key=key, map_indexes=index)
    last = None
    for number in itertools.count():
        found = ti.xcom_pull(task_ids=task.replace("*", str(number)), map_indexes=index)
        if found is None:
            return last
        last = found
    return last


def states_near(ti: Any) -> dict[str, set[Any]]:
    """Return the states of each task; in the items of a group around this task, of its own item."""
    tasks, found = ti.task.dag.task_dict, dict[str, set[Any]]()
    group, alike = ti.task.get_closest_mapped_task_group(), namesakes(tasks)
    for only in (None, *alike):
        asked = None if only is None else [only]
        states = ti.get_task_states(dag_id=ti.dag_id, run_ids=[ti.run_id], task_ids=asked)
        for key, state in states.get(ti.run_id, {}).items():
            name = only or (key if key in tasks else key.rpartition("_")[0])
            is_beside = group is None or not name.startswith(f"{group.group_id}.")
            if (only or name not in alike) and (is_beside or key == f"{name}_{ti.map_index}"):
                found.setdefault(name, set()).add(state)
    return found


def namesakes(tasks: dict[str, Any]) -> set[str]:
    """Return the tasks whose names are those of items of another in the states of Airflow."""
    found = set()
    for name in tasks:
        head, _, number = name.rpartition("_")
        task = tasks.get(head) if number.isdigit() else None
        if task and (task.is_mapped or task.get_closest_mapped_task_group()):
            found |= {head, name}
    return found


def are_open(ti: Any, *gates: str) -> bool:
    """Return whether no gate was skipped."""
    states = states_near(ti)
    return not any("skipped" in states.get(near(ti, gate), ()) for gate in gates)


def run_within(
    *gates: str, condition: Callable[[Any, Any], bool] | None = None
) -> Callable[[Any], None]:
    """Return what skips a task, before it starts, as a gate was skipped or by its condition."""

    def pre_execute(context: Any) -> None:
        ti = context["ti"]
        if not are_open(ti, *gates):
            raise AirflowSkipException(f"skipped as one of {', '.join(gates)}")
        if condition is not None and not condition(ti, context["params"]):
            raise AirflowSkipException(f"{condition.__name__} is false")

    return pre_execute


def wait_for_all(dag: Any) -> None:
    """Have each task that runs after any end wait for all before it."""
    for task in dag.tasks:
        if runs_after_any_end(task):
            before: set[str] = set()
            found = set(task.upstream_task_ids)
            while found:
                before |= found
                walked = (one for one in map(dag.get_task, found) if not runs_after_any_end(one))
                found = {up for one in walked for up in one.upstream_task_ids} - before
            ended = {up for one in before for up in ended_before(dag.get_task(one))}
            for one in sorted(before - ended - task.upstream_task_ids):
                task.set_upstream(dag.get_task(one))


def runs_after_any_end(task: Any) -> bool:
    """Return whether a task waits until all tasks right before it have ended, in any way."""
    return task.trigger_rule in ("all_done", "all_done_setup_success")


def ended_before(task: Any) -> set[str]:
    """Return which tasks right before one have surely ended when it has."""
    found: set[str] = task.upstream_task_ids
    if runs_after_any_end(task) or not found:
        return found
    first, *others = task.upstream_list
    is_mapped = first.is_mapped or first.get_closest_mapped_task_group() is not None
    return set() if others or is_mapped else found


def process_with_files(
    command: list[Any],
    *,
    before: Sequence[list[Any]] = (),
    after: Sequence[list[Any]] = (),
    outputs: Sequence[str] = (),
    beside: Sequence[str] = (),
    claim: str | None = None,
) -> dict[str, Any]:
    """Return what a pod needs to run a command by FILES, which takes files and keeps them."""
    kept_at = [[] if line[4:] else [f"{{{{ place(ti, '{line[2]}') }}}}"] for line in after]
    told = [*before, *([*line, *at] for line, at in zip(after, kept_at, strict=True))]
    words = [word for line in told for word in (str(len(line)), *map(word_of, line))]
    wrapped = ["/couler/busybox", "sh", "-c", "{{ FILES }}", "couler", *words, "--", *command]
    kept = [
        f"{name}{'?' if kind.endswith('?') else ''}=/couler/keys/{name}"
        for verb, kind, name, *_ in after
        if verb == "keep" and name
    ]
    fields = process(wrapped, [*outputs, *kept], [*beside])
    return fields if claim is None else with_volume(fields, claim)


def with_volume(fields: dict[str, Any], claim: str) -> dict[str, Any]:
    """Add the volume that keeps files."""
    source = k8s.V1PersistentVolumeClaimVolumeSource(claim_name=claim)
    fields["volumes"].append(k8s.V1Volume(name="files", persistent_volume_claim=source))
    mount = k8s.V1VolumeMount(name="files", mount_path="/couler/files")
    fields["volume_mounts"].append(mount)
    return fields


def word_of(given: Any) -> Any:
    """Return a word for FILES: what is no text as JSON, past Jinja and the kubelet."""
    if not isinstance(given, dict):
        return given
    return literal(json.dumps(given).replace("$", "$$"))


def place(ti: Any, name: str, root: str = "") -> str:
    """Return where an output of a task is kept."""
    parts = [root, ti.dag_id, ti.run_id, ti.task_id, str(ti.map_index), name]
    return "/".join(part for part in parts if part not in ("", "-1"))


def lines(value: str | None) -> str:
    """Return a list of locations, each on a line of its own; "-" stands for none."""
    return "\n".join(one or "-" for one in json.loads(value or "[]"))


# Above: what the tasks need, the same in all such files. Below: this workflow.

WRITE_ITEMS = [{"item": "a"}, {"item": "b"}, {"item": "c"}]
LEAVES = ["all"]

with DAG(
    dag_id="foreach-files-some-failed",
    schedule=None,
    catchup=False,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
    },
    user_defined_macros={
        "WRITE_ITEMS": WRITE_ITEMS,
        "FILES": FILES,
        "PROCESS": PROCESS,
        "place": place,
        "gathered": gathered,
        "if_started": if_started,
        "first_of": first_of,
        "lines": lines,
    },
) as dag:
    # What is expanded is a label; each task reads its item by its map index.
    write = KubernetesPodOperator.partial(
        task_id="write",
        image="busybox:1.36",
        **process_with_files(
            [
                "sh",
                "-c",
                'test "$1" != b && echo "$1" > "$COULER_WORK/f"',
                "sh",
                '{{ WRITE_ITEMS[ti.map_index]["item"] }}',
            ],
            after=[["keep", "file", "f", "f"]],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        env_vars={"COULER_WORK": "/tmp/couler"},
    ).expand(labels=labels(WRITE_ITEMS))
    write_lists = PythonOperator(
        task_id="write-lists",
        python_callable=check_lists,
        op_args=["write", 3, {"result": "str", "f": "file"}],
    )
    write >> write_lists
    all__needs = PythonOperator(
        task_id="all-needs",
        python_callable=open_gate,
        op_args=[[["completion", "write", ["write-lists"]]]],
        trigger_rule="all_done",
    )
    all_ = KubernetesPodOperator(
        task_id="all",
        image="busybox:1.36",
        **process_with_files(
            ["sh", "-c", 'cd "$COULER_INPUT_files" && ls && cat *'],
            before=[
                [
                    "each",
                    "file",
                    "files",
                    '{{ lines(first_of(if_started(ti, "write", gathered(ti, "write", "f", 3)), "[]")) }}',
                ],
            ],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_files": "/tmp/couler/files"},
        pre_execute=run_within("all-needs"),
    )
    write_lists >> all__needs
    all__needs >> all_
    run_status = PythonOperator(
        task_id="run-status",
        python_callable=check_end,
        op_args=[LEAVES],
        trigger_rule="all_done",
    )
    all_ >> run_status
    wait_for_all(dag)
