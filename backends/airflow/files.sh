# Runs a process with its files: puts those that it takes in their places before it starts, and
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
