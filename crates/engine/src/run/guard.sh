# guard BYTES_MAX PROCESSES_MAX PROGRAM [ARGUMENT...]
#
# Runs a program in its own place, with limits. Its output goes into the files of a launched program (see the module `jobs`): a watcher
# ends all its processes when they grow too large, and leaves the exit code that the launcher looks for. Processes are limited by
# systemd for root, and by the user's limit for others.
most=$1
processes=$2
shift 2
job=$(readlink "/proc/$$/fd/1")
job=${job%/out}
leader=$(cat "$job/pid" 2>/dev/null)
case $leader in
'' | *[!0-9]*) ;;
*)
  setsid sh -c '
    job=$1 leader=$2 most=$3
    # Stops the processes of the session, those that can write the output, and what descends from them, but not this watcher.
    stop_all() {
      kill -STOP "-$leader"
      all=" $leader "
      for link in $(find /proc/[0-9]*/fd -perm -200 "(" -lname "$job/out" -o -lname "$job/err" ")"); do
        pid=${link#/proc/}
        pid=${pid%%/*}
        kill -STOP "$pid"
        all="$all$pid "
      done
      found=yes
      while [ -n "$found" ]; do
        found=
        for stat in /proc/[0-9]*/stat; do
          read -r line <"$stat" || continue
          pid=${line%% *}
          case " $$ $all" in *" $pid "*) continue ;; esac
          set -- ${line##*) }
          case " $leader $all" in *" $2 "* | *" $4 "*) ;; *) continue ;; esac
          kill -STOP "$pid"
          all="$all$pid "
          found=yes
        done
      done
    }
    while kill -0 "$leader" 2>/dev/null; do
      bytes=$(($(stat -c %s "$job/out") + $(stat -c %s "$job/err")))
      if [ "$bytes" -gt "$most" ]; then
        stop_all
        # The log has followed the rest, as far as it could.
        truncate -s "<64K" "$job/out" "$job/err"
        printf "\nit was ended: it wrote more than %s MiB\n" "$((most / 1048576))" >>"$job/err"
        echo 125 >"$job/code.new"
        mv "$job/code.new" "$job/code"
        kill -KILL $all
        exit
      fi
      sleep 0.2
    done
  ' sh "$job" "$leader" "$most" </dev/null >/dev/null 2>&1 &
  ;;
esac
if [ "$(id -u)" != 0 ]; then
  # Shells have one of the two options for it.
  ulimit -u "$processes" 2>/dev/null || ulimit -p "$processes" 2>/dev/null
elif [ -d /run/systemd/system ] && systemd-run --quiet --scope --collect true 2>/dev/null; then
  # Newer versions replace variables in arguments, unless they are told not to.
  case $(systemd-run --help 2>/dev/null) in
  *--expand-environment*) literal=--expand-environment=no ;;
  *) literal= ;;
  esac
  exec systemd-run --quiet --scope --collect $literal --property="TasksMax=$processes" -- "$@"
fi
exec "$@"
