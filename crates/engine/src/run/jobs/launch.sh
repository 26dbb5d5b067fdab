# sh launch NAME MODE PROGRAM [ARGUMENT...]
#
# Runs a program once, apart from the connection that asked for it, and waits for its end. Whoever asks again gets the same
# execution: the running one, else its result. MODE has `h` for output that nobody may follow and `i` for input on stdin.
#
# The folder of an execution: `lock` (held while the program runs), `pid` (of its session), `out`, `err`, and in the end `code`.
jobs=${0%/*}
name=$1
mode=$2
shift 2
before=$(umask)
umask 077
case $mode in *h*) job=$jobs/.$name ;; *) job=$jobs/$name ;; esac
mkdir "$job" 2>/dev/null
if ! [ -O "$job" ]; then
  echo "$job belongs to somebody else" >&2
  exit 1
fi
exec 9>>"$job/lock"
if flock -n 9 && ! [ -e "$job/pid" ]; then
  in=/dev/null
  case $mode in
  *i*)
    in=$job/in
    cat >"$in"
    ;;
  esac
  : >"$job/out"
  : >"$job/err"
  setsid sh -c '
    job=$1 mode=$2 before=$3 in=$4
    shift 4
    echo "$$" >"$job/pid"
    case $mode in *h*) ;; *) echo "${job##*/}" >>"${job%/*}/started" ;; esac
    (
      umask "$before"
      exec "$@" <"$in" >>"$job/out" 2>>"$job/err" 9>&-
    )
    echo "$?" >"$job/code.new"
    mv "$job/code.new" "$job/code"
    rm -f "$job/in"
  ' sh "$job" "$mode" "$before" "$in" "$@" </dev/null >/dev/null 2>&1 &
fi
# The session holds the lock by its own copy of the descriptor.
exec 9>&-
exec 9<"$job/lock"
flock -s 9
if ! [ -e "$job/code" ]; then
  echo "the program was ended before it could finish, by a reboot for instance" >&2
  exit 1
fi
cat "$job/out"
cat "$job/err" >&2
exit "$(cat "$job/code")"
