# put, for `. /dev/stdin` in a shell with `folder`, the words of the command, and its standard input as descriptor 3
#
# Takes the options of curl, and leaves the data that curl would send as one file in the folder. Any user can add files to the
# folder; only its owner and root can list it, and only root and the sender can read a file.
umask 077
data=
given=
refuse() {
    echo "stackloom-signal: $1; the signal takes --data, --data-binary, --data-raw and --json, with a text, @file or @-" >&2
    exit 2
}
add() {
    [ -z "$given" ] || data="$data&"
    data=$data$1
    given=1
}
# As curl does: a file's content, standard input, or the text itself.
take() {
    case $1 in
    @-) text=$(cat <&3) ;;
    @*) text=$(cat <"${1#@}") || exit 2 ;;
    *) text=$1 ;;
    esac
    add "$text"
}
while [ $# -gt 0 ]; do
    word=$1
    shift
    case $word in
    --data | --data-ascii | --data-binary | --data-raw | --json | -d | -[XHAmouw] | --request | --header | --user-agent | --output | \
        --user | --write-out | --max-time | --connect-timeout | --retry | --retry-delay | --retry-max-time | --cacert | --url)
        [ $# -gt 0 ] || refuse "\`$word\` needs a value"
        case $word in
        --data-raw) add "$1" ;;
        --data* | --json | -d) take "$1" ;;
        esac
        shift
        ;;
    -d*) take "${word#-d}" ;;
    -[XHAmouw]*) ;;
    --fail | --fail-with-body | --include | --insecure | --location | --silent | --show-error | --verbose | --compressed | \
        --retry-connrefused | --retry-all-errors | --no-progress-meter) ;;
    --*) refuse "\`$word\` is not known" ;;
    -*)
        case ${word#-} in
        '' | *[!46NSLfgikqsv#]*) refuse "\`$word\` is not known" ;;
        esac
        ;;
    *) ;; # An address: there is only one place for the signal.
    esac
done
mkdir -m 1733 "$folder" 2>/dev/null
# The owner of the folder can put a link in the place of a file, so only a new file is written.
file=$(mktemp -u "$folder/.XXXXXXXXXX") || exit 1
set -C
# The engine reads files in the order of their names.
time=$(date +%s%N)
case $time in
*[!0-9]*) time=$(date +%s)000000000 ;;
esac
printf '%s' "$data" >"$file" && mv "$file" "$folder/$time-$$-${file##*.}"
