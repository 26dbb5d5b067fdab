# Ends the programs that still run in a folder, and removes it. A program that has ended left its lock.
end() {
  for job in "$1"/*/ "$1"/.[!.]*/; do
    [ -e "$job/lock" ] && ! flock -n "$job/lock" true || continue
    pid=$(cat "$job/pid")
    case $pid in '' | *[!0-9]* | 0 | 1) continue ;; esac
    # The file belongs to the program's user, who must not end others' programs by it.
    [ "$(stat -c %u "$job")" = "$(stat -c %u "/proc/$pid")" ] || continue
    kill -TERM "-$pid"
    flock -w 5 "$job/lock" true || kill -KILL "-$pid"
  done
  rm -rf "$1"
}
