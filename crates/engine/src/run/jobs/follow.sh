# follow JOB OUT ERR
#
# Prints a program's output from byte OUT and its errors from byte ERR, as they come, until it ends.
cd "$1" || exit
pid=$(cat pid)
tail -q -s 0.03 --pid="$pid" -f -c "+$2" out 2>/dev/null &
tail -q -s 0.03 --pid="$pid" -f -c "+$3" err >&2 2>/dev/null &
wait
