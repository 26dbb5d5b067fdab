# locks SECONDS
#
# Waits until cloud-init has ended and nobody holds a lock of the package manager. Prints for whom, once each.
holder() {
  inode=$(stat -c %i "$1" 2>/dev/null) || return 0
  while read -r _ _ _ _ pid place _; do
    case $place in *":$inode")
      echo "$pid"
      return
      ;;
    esac
  done </proc/locks
}
busy() {
  if [ -e /run/cloud-init/status.json ] && ! [ -e /run/cloud-init/result.json ]; then
    echo "cloud-init has not ended"
    return
  fi
  for lock in /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock /var/lib/rpm/.rpm.lock /usr/lib/sysimage/rpm/.rpm.lock; do
    pid=$(holder "$lock")
    if [ -n "$pid" ]; then
      echo "$(cat "/proc/$pid/comm" 2>/dev/null || echo '?') (process $pid) holds $lock"
      return
    fi
  done
}
until=$(($(date +%s) + $1))
reported=
while [ "$(date +%s)" -le "$until" ]; do
  why=$(busy)
  [ -n "$why" ] || exit 0
  [ "$why" = "$reported" ] || echo "$why"
  reported=$why
  sleep 0.5
done
exit 1
