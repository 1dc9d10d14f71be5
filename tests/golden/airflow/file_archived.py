"""Workflow file-archived.

Compiled by couler for Airflow 3.3. The DAG stands at the end, what it uses before it.
"""

import json
from collections.abc import Sequence
from typing import Any

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG
from airflow.sdk.definitions.template import literal
from kubernetes.client import models as k8s

HELPER_IMAGE = "busybox:1.37-musl"
FILES_CLAIM = "files"
IO_IMAGE = "couler-io:test"
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


def output(ti: Any, task: str, name: str = "result") -> str | None:
    """Return an output of a task; None if it did not run, or not well."""
    outputs = ti.xcom_pull(task_ids=task)
    return None if outputs is None else outputs.get(name)


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


def with_helper(
    fields: dict[str, Any],
    *,
    repository: dict[str, Any] | str | None = None,
    secrets: Sequence[list[Any]] = (),
) -> dict[str, Any]:
    """Add a helper that fetches files and puts them, for as long as the process runs."""
    helper = k8s.V1Container(
        name="couler-io",
        image=IO_IMAGE,
        command=["python", "-m", "couler.io", "serve", "/couler/io"],
        env=helper_env(repository, secrets),
        restart_policy="Always",
        volume_mounts=fields["volume_mounts"],
    )
    fields["init_containers"].append(helper)
    return fields


def helper_env(repository: dict[str, Any] | str | None, secrets: Sequence[list[Any]]) -> list[Any]:
    """Return the variables by which couler.io knows its repository, and entries of secrets."""
    env = []
    if repository is not None:
        named = repository if isinstance(repository, str) else json.dumps(repository)
        env.append(k8s.V1EnvVar(name="COULER_REPOSITORY", value=named.replace("$", "$$")))
    for name, secret, key, *optional in secrets:
        entry = k8s.V1SecretKeySelector(name=secret, key=key, optional=bool(optional))
        env.append(k8s.V1EnvVar(name=name, value_from=k8s.V1EnvVarSource(secret_key_ref=entry)))
    return env


def place(ti: Any, name: str, root: str = "") -> str:
    """Return where an output of a task is kept."""
    parts = [root, ti.dag_id, ti.run_id, ti.task_id, str(ti.map_index), name]
    return "/".join(part for part in parts if part not in ("", "-1"))


# Above: what the tasks need, the same in all such files. Below: this workflow.

with DAG(
    dag_id="file-archived",
    schedule=None,
    catchup=False,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
    },
    user_defined_macros={"FILES": FILES, "PROCESS": PROCESS, "place": place, "output": output},
):
    make = KubernetesPodOperator(
        task_id="make",
        image="busybox:1.36",
        **with_helper(
            process_with_files(
                [
                    "sh",
                    "-c",
                    'cd "$COULER_WORK"; mkdir -p folder/deep; echo a > folder/a; echo b > folder/deep/b; echo c > note',
                ],
                after=[
                    ["keep", "directory", "folder", "folder"],
                    [
                        "put",
                        "directory",
                        "folder",
                        '{"kind": "zip"}',
                        {"kind": "s3", "key": ""},
                        "key",
                        "packed/folder.zip",
                    ],
                    ["keep", "file", "note", "note"],
                    [
                        "put",
                        "file",
                        "note",
                        '{"kind": "tar", "level": 0}',
                        {"kind": "s3", "key": ""},
                        "key",
                        "packed/note.tgz",
                    ],
                ],
                outputs=["result=-"],
                claim=FILES_CLAIM,
            ),
            repository="/couler/files",
        ),
        env_vars={"COULER_WORK": "/tmp/couler"},
    )
    read = KubernetesPodOperator(
        task_id="read",
        image="busybox:1.36",
        **process_with_files(
            [
                "sh",
                "-c",
                'cat "$COULER_INPUT_folder/a" "$COULER_INPUT_folder/deep/b" "$COULER_INPUT_note"',
            ],
            before=[
                ["take", "directory", "inputs/folder", '{{ output(ti, "make", "folder") }}'],
                ["take", "file", "inputs/note", '{{ output(ti, "make", "note") }}'],
            ],
            outputs=["result=-"],
            claim=FILES_CLAIM,
        ),
        env_vars={
            "COULER_WORK": "/tmp/couler",
            "COULER_INPUT_folder": "/tmp/couler/inputs/folder",
            "COULER_INPUT_note": "/tmp/couler/inputs/note",
        },
    )
    make >> read
    fetch = KubernetesPodOperator(
        task_id="fetch",
        image="busybox:1.36",
        **with_helper(
            process_with_files(
                [
                    "sh",
                    "-c",
                    'cat "$$COULER_INPUT_folder/deep/b"; test "$$(wc -c < "$$COULER_INPUT_packed")" -gt 50',
                ],
                before=[
                    [
                        "get",
                        "directory",
                        "inputs/folder",
                        '{"kind": "zip"}',
                        {"kind": "s3", "key": ""},
                        "key",
                        "packed/folder.zip",
                    ],
                    ["take", "file", "inputs/packed", "packed/folder.zip"],
                ],
                outputs=["result=-"],
                claim=FILES_CLAIM,
            ),
            repository="/couler/files",
        ),
        env_vars={
            "COULER_WORK": "/tmp/couler",
            "COULER_INPUT_folder": "/tmp/couler/inputs/folder",
            "COULER_INPUT_packed": "/tmp/couler/inputs/packed",
        },
    )
    make >> fetch
