# Runs a process and hands its outputs on: NAME=FILE words, "--", then the command. A file that
# need not be written is NAME?=FILE, standard output is NAME=-.
set -u
tools=/couler
box() { "$tools/busybox" "$@"; }
fail() { echo "couler: $*" >&2; exit 1; }

outputs=""
while [ "$1" != "--" ]; do outputs="$outputs $1"; shift; done
shift
work=${COULER_WORK:-/tmp/couler}
box mkdir -p "$work" && cd "${COULER_DIR:-$work}" || fail "cannot enter ${COULER_DIR:-$work}"
if [ -n "${COULER_SCRIPT+x}" ]; then
  printf %s "$COULER_SCRIPT" >"$tools/script"
  unset COULER_SCRIPT
  set -- "$@" "$tools/script"
fi

# The process gets what the pod is told, and standard output goes to the log as well.
case "$outputs " in
  *=-\ *)
    box mkfifo "$tools/pipe"
    box tee "$tools/stdout" <"$tools/pipe" &
    "$@" >"$tools/pipe" &
    ;;
  *) "$@" & ;;
esac
child=$!
trap 'kill -TERM "$child"' TERM INT
wait "$child"
code=$?
while kill -0 "$child" 2>"/dev/null"; do
  wait "$child"
  code=$?
done
wait
[ "$code" = 0 ] || exit "$code"

# A text as JSON, less one final newline.
json() {
  box od -An -v -tu1 "$1" | box awk '
    { for (i = 1; i <= NF; i++) bytes[n++] = $i }
    END {
      if (n && bytes[n - 1] == 10) n--
      printf "\""
      for (i = 0; i < n; i++) {
        b = bytes[i] + 0
        if (b == 34 || b == 92) printf "\\%c", b
        else if (b < 32) printf "\\u%04x", b
        else printf "%c", b
      }
      printf "\""
    }'
}

if [ -n "$outputs" ]; then
  comma=""
  result=$tools/result
  printf "{" >"$result"
  for word in $outputs; do
    name=${word%%=*}
    file=${word#*=}
    [ "$file" = - ] && file=$tools/stdout
    if [ ! -f "$file" ]; then
      case "$name" in
        *\?) continue ;;
        *) fail "the process did not write $file, which is its output $name" ;;
      esac
    fi
    size=$(box wc -c <"$file")
    [ "$size" -le 65537 ] || fail "the output ${name%\?} takes $size bytes; at most 65536 travel. Give it as a file"
    printf '%s"%s":' "$comma" "${name%\?}" >>"$result"
    json "$file" >>"$result"
    comma=,
  done
  printf "}" >>"$result"
  box cp "$result" /airflow/xcom/return.json
fi
