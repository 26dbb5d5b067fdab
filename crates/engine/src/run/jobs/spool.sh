# spool.sh read FOLDER FILES_MAX BYTES_MAX | spool.sh discard FOLDER NAME..., as root
#
# `read` prints the name and the content, in base64, of the oldest signals in the folder, one a line, and at most one byte more of
# each than is allowed. `discard` removes them.
set -u
cd "$2" 2>/dev/null || exit 0
# Any user can make the folder, also as a link to a folder in which only root may read and delete.
if [ "$(pwd -P)" != "$(cd "${2%/*}" && pwd -P)/${2##*/}" ]; then
    echo "$2 is a link, so the signals in it are not read" >&2
    exit 1
fi
case $1 in
read)
    left=$3
    for file in [0-9]*; do
        [ "$left" -gt 0 ] || break
        case $file in *[!0-9A-Za-z-]*) continue ;; esac
        [ -f "$file" ] && [ ! -L "$file" ] || continue
        printf '%s ' "$file"
        head -c "$(($4 + 1))" "$file" | base64 | tr -d '\n'
        echo
        left=$((left - 1))
    done
    ;;
discard)
    shift 2
    rm -f -- "$@"
    ;;
esac
