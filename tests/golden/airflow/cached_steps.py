"""Workflow cached-steps.

Compiled by couler for Airflow 3.3. The DAG stands at the end, what it uses before it.
"""

import hashlib
import itertools
import json
from collections.abc import Sequence
from typing import Any

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG, TaskGroup
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
CACHE = r"""# Runs the wrapper of a process, unless the cache has what the process has given before: a folder of
# entries, what the digest of is the key of the entry, its greatest age in seconds (nothing for any),
# TYPE:NAME words for the files that are outputs, "--", then the command of the wrapper.
# An entry is one file, which gets its name when it is whole:
#   DIGEST                   of the lines below, SHA-256 as all here
#   SECONDS                  since 1970, when it was written
#   OUTPUTS                  as the wrapper has handed them on
#   DIGEST TYPE LOCATION     for each file that was kept
# It is taken if these files are still as they were, and else written anew when the process has ended
# well. What goes wrong with it is told in the log and fails nothing. Entries and files lie in a
# volume or, where there is none, where the helper beside the process reaches (python -m couler.io).
set -u
tools=/couler
files=$tools/files
io=$tools/io
handed=/airflow/xcom/return.json
folder=$1
digests=$2
age=$3
kept=""
shift 3
while [ "$1" != "--" ]; do
  kept="$kept $1"
  shift
done
shift
box() { "$tools/busybox" "$@"; }
tell() { echo "couler: $*" >&2; }
digest() { box sha256sum | { read -r sum _ && echo "$sum"; }; }
entry=$folder/$(printf %s "$digests" | digest)

# Asks the helper; its requests have names of their own, as the wrapper of files numbers its own.
asked=0
ask() {
  [ -d "$io" ] || (umask 0 && box mkdir -p "$io") || return 1
  printf '%s\0' "$@" >"$io/cache$asked.new" && box chmod a+r "$io/cache$asked.new" || return 1
  pauses=0
  while [ ! -e "$io/ready" ]; do
	[ "$pauses" -lt 600 ] || { answer="failed the helper did not start"; return 1; }
	pauses=$((pauses + 1))
	box sleep 0.1
  done
  box mv "$io/cache$asked.new" "$io/cache$asked.ask" || return 1
  while [ ! -e "$io/cache$asked.answer" ]; do box sleep 0.1; done
  IFS= read -r answer <"$io/cache$asked.answer"
  asked=$((asked + 1))
  case "$answer" in failed*) return 1 ;; esac
}

# Copies the entry to where it does not change any more.
fetch_entry() {
  if [ -d "$files" ]; then
	box cp "$files/$entry" "$tools/entry" 2>"/dev/null" || { why="it has no entry yet"; return 1; }
	return
  fi
  answer=failed
  ask get "file?" "cache$asked.got" "" "" key "$entry" || { why=${answer#failed }; return 1; }
  [ "$answer" = done ] || { why="it has no entry yet"; return 1; }
  box cp "$io/cache$((asked - 1)).got" "$tools/entry" || { why="its entry cannot be read"; return 1; }
}

# Of a directory the names and the contents of all files, the links and the folders.
digest_of_directory() (
  cd "$1" || exit 1
  {
	box find . -type d | box sort
	box find . -type l | box sort | while IFS= read -r link; do
	  echo "$link $(box readlink "$link")"
	done
	box find . -type f -print0 | box sort -z | box xargs -0 -r "$tools/busybox" sha256sum
  } | digest
)

# Finds the digest of a file that is kept: type, location.
digest_kept() {
  found=""
  case "/$2/" in *//* | */../* | */./*) return 1 ;; esac
  if [ ! -d "$files" ]; then
	ask digest "$1" "" "" key "$2" || return 1
	found=${answer#done }
  elif [ "$1" = file ] && [ -f "$files/$2" ]; then
	found=$(digest <"$files/$2")
  elif [ "$1" = directory ] && [ -d "$files/$2" ]; then
	found=$(digest_of_directory "$files/$2")
  fi
  [ "${#found}" = 64 ]
}

# Whether the entry has every output that the wrapper has to hand on: a quote inside of a text has a
# backslash before it.
has_outputs() {
  shift 5
  while [ "$1" != "--" ]; do
	name=${1%%=*}
	case "$1" in
	  *\?=*) ;;
	  *=*) case "$outputs" in *[{,]"\"$name\":"*) ;; *) return 1 ;; esac ;;
	esac
	shift
  done
}

is_number() { case "$1" in "" | *[!0-9]*) return 1 ;; esac; }

# Whether there is an entry that can be taken; why not.
has_entry() {
  fetch_entry || return 1
  why="its entry is damaged"
  written="" outputs=""
  { IFS= read -r sum && IFS= read -r written && IFS= read -r outputs; } <"$tools/entry"
  [ "$sum" = "$(box tail -n +2 "$tools/entry" | digest)" ] && is_number "$written" || return 1
  why="its entry is older than $age s"
  [ -z "$age" ] || [ $(($(box date +%s) - written)) -le "$age" ] || return 1
  why="its entry lacks an output that is read now"
  has_outputs "$@" || return 1
  box tail -n +4 "$tools/entry" >"$tools/entry.files"
  while read -r sum type location; do
	why="the $type $location of its entry is gone, or is another"
	digest_kept "$type" "$location" && [ "$found" = "$sum" ] || return 1
  done <"$tools/entry.files"
}

# Writes the entry of what the process has given.
make_entry() {
  {
	box date +%s
	if [ -s "$tools/result" ]; then box cat "$tools/result"; else printf '{}'; fi
	echo
	for one in $kept; do
	  key=$tools/keys/${one#*:}
	  [ -e "$key" ] || continue
	  location=$(box cat "$key")
	  digest_kept "${one%%:*}" "$location" || return 1
	  echo "$found ${one%%:*} $location"
	done
  } >"$tools/entry.lines" &&
	{ digest <"$tools/entry.lines" && box cat "$tools/entry.lines"; } >"$tools/entry.made"
}

# Puts the entry where others find it, at once as a whole: several pods may do so at the same time.
put_entry() {
  if [ ! -d "$files" ]; then
	(umask 0 && box mkdir -p "$io/cache$asked.put") &&
	  box cp "$tools/entry.made" "$io/cache$asked.put/entry" &&
	  box chmod a+r "$io/cache$asked.put/entry" &&
	  ask put "cache$asked.put/entry" "" "" key "$entry"
	return
  fi
  new=$files/$entry.$(box hostname).$$
  (umask 0 && box mkdir -p "${new%/*}") &&
	box cp "$tools/entry.made" "$new" && box chmod a+r "$new" && box mv "$new" "$files/$entry"
}

take_entry() {
  box touch "$tools/ended" # the containers beside the process end as well
  rest=${outputs#?}
  [ "$rest" = "}" ] || rest=,$rest
  printf '{".cached":"%s"%s' "${entry##*/}" "$rest" >"$tools/result"
  box cp "$tools/result" "$handed" || {
	tell "cannot hand the outputs on"
	echo "couler error: cannot hand the outputs on" >"${COULER_MESSAGE:-/dev/termination-log}"
	exit 125
  }
  since=$(box date -u -d "@$written" +%Y-%m-%dT%H:%M:%SZ)
  tell "cached: the outputs are those of $since, and the process does not run ($entry)"
  exit 0
}

trap 'exit 143' HUP INT QUIT TERM
why="it cannot be asked"
has_entry "$@" && take_entry
tell "the cache does not have it: $why ($entry)"

# A shell gives no standard input to what it does not wait for, hence the copy of its own; that
# ignores INT and QUIT, hence TERM in their place.
exec 3<&0
"$@" <&3 3<&- &
child=$!
for signal in HUP INT QUIT TERM USR1 USR2; do
  case "$signal" in INT | QUIT) sent=TERM ;; *) sent=$signal ;; esac
  trap "kill -$sent $child" "$signal"
done
wait "$child"
code=$?
while kill -0 "$child" 2>"/dev/null"; do # a signal has ended the wait, not the wrapper
  wait "$child"
  code=$?
done
wait "$child" # it can have ended between a signal and the look at it
last=$?
[ "$last" = 127 ] || code=$last
[ "$code" = 0 ] || exit "$code"

if make_entry && put_entry; then
  tell "the cache has the outputs from now on ($entry)"
else
  tell "the cache does not take the outputs: it cannot be written ($entry)"
fi
"""


def output(ti: Any, task: str, name: str = "result") -> str | None:
	"""Return an output of a task; None if it did not run, or not well."""
	outputs = ti.xcom_pull(task_ids=task)
	return None if outputs is None else outputs.get(name)


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


def text(value: Any) -> str:
	"""Return the text by which a value travels: text as it is, anything else as JSON."""
	if isinstance(value, str):
		return value
	return as_json(value)


def as_json(value: Any) -> str:
	"""Return compact JSON."""
	return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


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


def with_cache(
	fields: dict[str, Any],
	folder: str,
	digests: Sequence[str],
	*,
	max_age_s: int | None = None,
	files: Sequence[str] = (),
	claim: str | None = None,
) -> dict[str, Any]:
	"""Have the wrapper of a process run by CACHE, which takes the outputs of an entry instead."""
	words = [folder, "".join(digests), "" if max_age_s is None else str(max_age_s), *files]
	cached = {
		**fields,
		"cmds": ["/couler/busybox", "sh", "-c", "{{ CACHE }}", "couler"],
		"arguments": [*words, "--", *fields["cmds"], *fields["arguments"]],
		"do_xcom_push": True,
	}
	return cached if claim is None else with_volume(cached, claim)


def sha256(text: str | None) -> str:
	"""Return the digest of a text; of none that of an empty one."""
	return hashlib.sha256((text or "").encode()).hexdigest()


def place_of_try(ti: Any, name: str, root: str = "") -> str:
	"""Return where an output is kept, by each try elsewhere: what a cache knows stays as it is."""
	return f"{place(ti, name, root)}/{ti.try_number}"


# Above: what the tasks need, the same in all such files. Below: this workflow.

EACH_ITEMS = [{"item": "a"}, {"item": "b"}]

with DAG(
	dag_id="cached-steps",
	schedule=None,
	catchup=False,
	default_args={
		"retries": 0,
		"trigger_rule": "none_failed",
		"schedule_timeout_seconds": 86400,
		"startup_timeout_seconds": 3600,
	},
	user_defined_macros={
		"PROCESS": PROCESS,
		"CACHE": CACHE,
		"EACH_ITEMS": EACH_ITEMS,
		"output": output,
		"text": text,
		"sha256": sha256,
		"gathered": gathered,
		"FILES": FILES,
		"place_of_try": place_of_try,
	},
):
	load = KubernetesPodOperator(
		task_id="load",
		image="busybox:1.36",
		**with_cache(
			process(["sh", "-c", "echo 3"], outputs=["result=-"]),
			"cache/numbers",
			[
				"52b16f08e776e2f9b1353f1c66f025848e28033e740f3b16f4ebd9a9a27689b7",
				"e83546777fc5a3065f751e429bc069a8f4d04efd7fa6da0c871a5a46f2cf838a",
				"3bfc269594ef649228e9a74bab00f042efc91d5acc6fbee31a382e80d42388fe",
			],
			max_age_s=3600,
			claim=FILES_CLAIM,
		),
	)
	# What is expanded is a label; each task reads its item by its map index.
	each = KubernetesPodOperator.partial(
		task_id="each",
		image="busybox:1.36",
		**with_cache(
			process(
				[
					"sh",
					"-c",
					'echo "$1$2"',
					"sh",
					'{{ EACH_ITEMS[ti.map_index]["item"] }}',
					'{{ output(ti, "load") | replace("$", "$$") }}',
				],
				outputs=["result=-"],
			),
			"cache/cached-steps",
			[
				"e3b907a84683a0423d569d3f857579b8725b195774d4b3ba88989c977f3eb1e7",
				"ff7f506d304810757db7858b62c9f9521d38b868766ca9c2b1b98843d0401604",
				"89c4ec9f6b3f1086b158d8ef03dfe8155e6f79d9e66434b8f9b3432fe8720e50",
				'{{ sha256(text(EACH_ITEMS[ti.map_index]["item"])) }}',
				'{{ sha256(output(ti, "load")) }}',
			],
			claim=FILES_CLAIM,
		),
	).expand(labels=labels(EACH_ITEMS))
	each_lists = PythonOperator(
		task_id="each-lists",
		python_callable=check_lists,
		op_args=["each", 2, {"result": "str"}],
	)
	each >> each_lists
	load >> each
	make = KubernetesPodOperator(
		task_id="make",
		image="busybox:1.36",
		**with_cache(
			process_with_files(
				[
					"sh",
					"-c",
					'echo "$1" > "$COULER_WORK/f"',
					"sh",
					'{{ gathered(ti, "each", "result", 2) | replace("$", "$$") }}',
				],
				after=[["keep", "file", "f", "f", '{{ place_of_try(ti, "f") }}']],
				claim=FILES_CLAIM,
			),
			"cache/cached-steps",
			[
				"32c6e7eab626c3310249e3e820a2e680184e23b8d44a38edfd80520308160a77",
				"1aed481419440b65a4bc05b484fe8eaab54041a99c7e58be2f8ea898b41d60cf",
				"89c4ec9f6b3f1086b158d8ef03dfe8155e6f79d9e66434b8f9b3432fe8720e50",
				'{{ sha256(gathered(ti, "each", "result", 2)) }}',
			],
			files=["file:f"],
		),
		env_vars={"COULER_WORK": "/tmp/couler"},
	)
	each_lists >> make
	with TaskGroup("work") as work:
		read = KubernetesPodOperator(
			task_id="read",
			image="busybox:1.36",
			**with_cache(
				process_with_files(
					["sh", "-c", 'cat "$COULER_WORK/f"'],
					before=[["take", "file", "f", '{{ output(ti, "make", "f") }}']],
					outputs=["result=-"],
					claim=FILES_CLAIM,
				),
				"cache/cached-steps",
				[
					"edd0368af107bf3d6f56b7213974aeb67da124e2fa586fccd3110f2b26c4661b",
					"34547a41b844ed039e123b60c0d1eda99072016799327838e0c56680455887a1",
					'{{ sha256(output(ti, "make", "f")) }}',
				],
				max_age_s=60,
			),
			env_vars={"COULER_WORK": "/tmp/couler", "COULER_INPUT_f": "/tmp/couler/f"},
		)
	make >> work
