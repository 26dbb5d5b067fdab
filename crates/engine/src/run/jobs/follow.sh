# follow JOB OUT ERR
#
# Prints a program's output from byte OUT and its errors from byte ERR, as they come, until it ends. What is there already comes
# in that order: two files do not tell what was written first, and most programs report before they fail.
cd "$1" || exit
pid=$(cat pid)
out=$(stat -c %s out)
err=$(stat -c %s err)
tail -c "+$2" out | head -c "$((out - $2 + 1))"
tail -c "+$3" err | head -c "$((err - $3 + 1))" >&2
tail -q -s 0.03 --pid="$pid" -f -c "+$((out + 1))" out 2>/dev/null &
tail -q -s 0.03 --pid="$pid" -f -c "+$((err + 1))" err >&2 2>/dev/null &
wait
