# spool.sh read FOLDER FILES_MAX BYTES_MAX | spool.sh discard FOLDER NAME..., as root
#
# `read` prints the name and the content, in base64, of the oldest signals in the folder, one a line, and at most one byte more of
# each than is allowed. `discard` removes them.
#
# Any user can make the folder, and its owner can exchange files in it at any time: for a link to a file that only root can read, or
# for a pipe that nobody writes to. So a file is checked and read under a second name, in a folder of root's own.
set -u
if ! cd "$2" 2>/dev/null; then
    if [ -L "$2" ] || { [ -e "$2" ] && [ ! -d "$2" ]; }; then
        echo "$2 is no folder, so no signal can be left in it" >&2
        exit 1
    fi
    exit 0
fi
# The folder can be a link to one in which only root may read and delete.
if [ "$(pwd -P)" != "$(cd "${2%/*}" && pwd -P)/${2##*/}" ]; then
    echo "$2 is a link, so the signals in it are not read" >&2
    exit 1
fi
case $1 in
read)
    left=$3
    own=
    unlinked=
    trap 'rm -rf "$own"' EXIT
    trap 'exit 1' HUP INT PIPE TERM
    for file in [0-9]*; do
        [ "$left" -gt 0 ] || break
        case $file in *[!0-9A-Za-z-]*) continue ;; esac
        [ -f "$file" ] && [ ! -L "$file" ] || continue
        [ -n "$own" ] || own=$(mktemp -d "${2%/*}/.stackloom-XXXXXXXXXX") || exit 1
        if ! ln "$file" "$own/$file" 2>/dev/null; then
            # Its owner may have removed it.
            [ ! -f "$file" ] || unlinked=$file
            continue
        fi
        [ -f "$own/$file" ] && [ ! -L "$own/$file" ] || continue
        # The status of a pipeline is that of its end, so a failure of `head` is told past it.
        body=$({ { head -c "$(($4 + 1))" "$own/$file" || echo '!' >&3; } | base64; } 3>&1) || body='!'
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
    # Only when no other signal is left: these are read and removed first.
    if [ -n "$unlinked" ] && [ "$left" -eq "$3" ]; then
        echo "$2/$unlinked cannot be read: it cannot be linked in ${2%/*}" >&2
        exit 1
    fi
    ;;
discard)
    shift 2
    rm -f -- "$@"
    ;;
esac
