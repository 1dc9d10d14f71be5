"""Workflow suspend-for-seconds.

Compiled by couler for Airflow 3.3. The DAG stands at the end, what it uses before it.
"""

import time
from typing import Any

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG
from kubernetes.client import models as k8s

HELPER_IMAGE = "busybox:1.37-musl"
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


def wait(seconds: float, outputs: dict[str, str] | None = None) -> dict[str, str] | None:
    """Wait so long, and hand outputs on."""
    time.sleep(seconds)
    return outputs


# Above: what the tasks need, the same in all such files. Below: this workflow.

with DAG(
    dag_id="suspend-for-seconds",
    schedule=None,
    catchup=False,
    default_args={
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": 86400,
        "startup_timeout_seconds": 3600,
    },
    user_defined_macros={"PROCESS": PROCESS},
):
    a = KubernetesPodOperator(
        task_id="a",
        image="busybox:1.36",
        **process(["sh", "-c", "true"], outputs=["result=-"]),
    )
    pause = PythonOperator(
        task_id="pause",
        python_callable=wait,
        op_args=[0.1],
        doc_md="cooling down",
    )
    a >> pause
    b = KubernetesPodOperator(
        task_id="b",
        image="busybox:1.36",
        **process(["sh", "-c", "echo rested"], outputs=["result=-"]),
    )
    pause >> b
