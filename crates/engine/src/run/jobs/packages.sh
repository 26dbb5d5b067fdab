# packages LOG...
#
# Prints what package managers append to their logs from now on. Each line of input is printed behind all that was appended before
# it came. Ends with its input.
tail -q -s 0.1 -n 0 -F "$@" 2>/dev/null &
while read -r mark; do
  # `tail` may look only every 0.1 s.
  sleep 0.3
  printf '\n%s\n' "$mark"
done
kill "$!"
