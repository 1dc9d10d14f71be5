# Runs a container beside that of a step: when the step's process has ended, it is asked to end as
# well, and after some seconds killed. Its exit code is left for the step, or that it cannot start.
set -u
tools=/couler
name=$0
box() { "$tools/busybox" "$@"; }
end() {
  case "$1" in 137 | 143) set -- 0 ;; esac
  printf '%s\n' "${2-$1}" >"$tools/code-$name.new"
  box mv "$tools/code-$name.new" "$tools/code-$name"
  exit "$1"
}
run() {
  trap 'box touch "$tools/unable-$name"' EXIT
  exec "$@"
}

box touch "$tools/begun-$name"
[ ! -e "$tools/ended" ] || end 0
exec 3<&0
run "$@" <&3 3<&- &
child=$!
{
  until [ -e "$tools/ended" ]; do box sleep 0.1; done
  kill -TERM "$child"
  box sleep 10
  kill -KILL "$child"
} 2>"/dev/null" &
watch=$!
trap 'kill -TERM "$child"' TERM INT QUIT
wait "$child"
code=$?
while kill -0 "$child" 2>"/dev/null"; do # a signal has ended the wait, not the process
  wait "$child"
  code=$?
done
wait "$child" # it can have ended between a signal and the look at it
last=$?
[ "$last" = 127 ] || code=$last
kill "$watch"
[ ! -e "$tools/unable-$name" ] || end "$code" unable
end "$code"
