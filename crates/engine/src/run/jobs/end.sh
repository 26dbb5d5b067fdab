# Ends the programs that still run in a folder, and removes it. A program that has ended left its lock.
end() {
  for job in "$1"/*/ "$1"/.[!.]*/; do
    [ -e "$job/lock" ] && ! flock -n "$job/lock" true || continue
    pid=$(cat "$job/pid")
    case $pid in '' | *[!0-9]* | 0 | 1) continue ;; esac
    # The file belongs to the program's user, who must not end others' programs by it.
    [ "$(stat -c %u "$job")" = "$(stat -c %u "/proc/$pid")" ] || continue
    kill -TERM "-$pid" || continue
    # The leader holds the lock; the others of its group can ignore the signal.
    tries=50
    while [ "$tries" -gt 0 ] && kill -0 "-$pid" 2>/dev/null; do
      tries=$((tries - 1))
      sleep 0.1
    done
    kill -KILL "-$pid" 2>/dev/null || true
  done
  rm -rf "$1"
}
