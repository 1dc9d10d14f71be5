# Runs the wrapper of a process, unless the cache has what the process has given before: a folder of
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
  if [ -n "$age" ]; then
    since=$(($(box date +%s) - written))
    why="its entry is older than $age s"
    [ "$since" -le "$age" ] || return 1
    why="its entry was made in the future"
    [ "$since" -ge 0 ] || return 1
  fi
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
