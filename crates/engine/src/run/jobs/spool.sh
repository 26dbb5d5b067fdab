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
        # The status of a pipeline is that of its end, so a failure of `head` is told past it.
        body=$({ { head -c "$(($4 + 1))" "$file" || echo '!' >&3; } | base64; } 3>&1) || body='!'
        case $body in
        *!*)
            echo "$2/$file cannot be read" >&2
            exit 1
            ;;
        esac
        printf '%s ' "$file"
        # Without quotes, so that the line breaks are left out.
        printf '%s' $body
        echo
        left=$((left - 1))
    done
    ;;
discard)
    shift 2
    rm -f -- "$@"
    ;;
esac
