# begin PLACE GENERATION LAUNCH APT_CONFIG
#
# Makes the folder of a step's programs, and prints `again` if it is there already. What other generations of the same place left
# is ended and removed, and so is everything that is a week old.
set -e
umask 022
for program in flock setsid tail; do
  command -v "$program" >/dev/null || {
    echo "it has no program \`$program\`" >&2
    exit 1
  }
done
root=/var/lib/stackloom/jobs
folder=$root/$1-$2
mkdir -p "$root"
chmod 0711 "$root"
printf '%s' "$4" >"${root%/*}/apt.conf"
for other in "$root/$1"-*; do
  [ "$other" = "$folder" ] || end "$other"
done
find "$root" -mindepth 1 -maxdepth 1 -mtime +7 | while read -r other; do
  [ "$other" = "$folder" ] || end "$other"
done
if [ -d "$folder" ]; then
  echo again
else
  mkdir "$folder"
fi
printf '%s' "$3" >"$folder/launch"
[ -e "$folder/started" ] || : >"$folder/started"
# Tasks run as any user: each adds executions of its own, and sees no other's.
chmod 0622 "$folder/started"
chmod 1733 "$folder"
