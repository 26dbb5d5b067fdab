#!/bin/sh
# postgres.sh FOLDER PORT [SETTING=VALUE...]
#
# Runs a PostgreSQL server on loopback until standard input ends: with the program that started this script, however that one
# ends. The cluster is in FOLDER/cluster and is made if it is missing; its user `postgres` has the password `postgres`. With PORT 0
# a free port is taken. Writes a line `ready PORT` once the server accepts connections. A line `restart` on standard input stops the
# server at once, like a crash, and starts it again on its port; another line `ready PORT` follows.
#
# PostgreSQL refuses to run as root: then it runs as the user `postgres` of Debian's package.
set -eu
folder=$1 port=$2
shift 2
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || { echo "there is no PostgreSQL below /usr/lib/postgresql; install Debian's package postgresql" >&2; exit 1; }
as_user=
mkdir -p "$folder"
if [ "$(id -u)" = 0 ]; then
    as_user='setpriv --reuid=postgres --regid=postgres --clear-groups --'
    chown postgres: "$folder"
fi
cd "$folder"
if [ ! -e cluster/PG_VERSION ]; then
    echo postgres >password
    chmod 644 password
    $as_user "$bin/initdb" --pgdata=cluster --username=postgres --pwfile=password --auth=scram-sha-256 --encoding=UTF8 \
        --locale=C.UTF-8 --no-sync --no-instructions >initdb.log 2>&1 || { cat initdb.log >&2; exit 1; }
fi
options=
for setting in "$@"; do options="$options -c $setting"; done
# Starts the server on the port $chosen. Fails if it ends before it is ready.
start() {
    $as_user "$bin/postgres" -D cluster -p "$chosen" -c listen_addresses=127.0.0.1 -c unix_socket_directories= $options \
        </dev/null >>postgres.log 2>&1 &
    server=$!
    # Its first line is the process, the eighth its state; both may be there from an earlier life.
    until [ "$(sed -n '1p;8p' cluster/postmaster.pid 2>/dev/null | tr -d ' \n')" = "${server}ready" ]; do
        kill -0 $server 2>/dev/null || return 1
        sleep 0.02
    done
}
# Stops the server with this signal.
stop() {
    kill "-$1" $server 2>/dev/null || :
    wait $server || :
}
fail() {
    cat postgres.log >&2
    exit 1
}
: >postgres.log
tries=0
while :; do
    [ "$port" != 0 ] && chosen=$port || chosen=$(shuf -i 20000-32000 -n 1)
    start && break
    tries=$((tries + 1))
    [ $tries -lt 5 ] && [ "$port" = 0 ] || fail
done
# An interrupt of the terminal reaches the owner too, who decides.
trap '' INT HUP
trap 'stop INT; exit 0' TERM
echo "ready $chosen"
while read -r line; do
    if [ "$line" = restart ]; then
        stop QUIT
        start || fail
        echo "ready $chosen"
    fi
done
stop INT
