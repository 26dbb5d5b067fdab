#!/bin/sh
# ha.sh FOLDER PORT [WEB SERVER...]
#
# Runs a highly available PostgreSQL database on loopback until standard input ends: with the program that started this script,
# however that one ends. It has three members of etcd, three of Patroni, and HAProxy, which passes connections on to the primary.
# With WEB, HAProxy also listens there for browsers, and passes their requests on to the SERVERs in turn. With the variable SIGNALS,
# an address, it takes signals there, and nothing else.
#
# The ports are PORT (the database through HAProxy) and the 12 after it; with PORT 0, free ones are taken. The user `postgres` has
# the password `postgres`. Each process has a folder in FOLDER with its log, its data, and its process id in `pid`. A process that
# ends or is killed starts again after a pause. Writes a line `ready PORT` once the primary accepts connections.
#
# PostgreSQL refuses to run as root: then everything runs as the user `postgres` of Debian's package.
set -eu
folder=$1 port=$2
shift 2
pause=30
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
for program in "${bin:-/usr/lib/postgresql}/postgres" /usr/bin/patroni /usr/bin/etcd /usr/sbin/haproxy; do
    [ -x "$program" ] || {
        echo "there is no $program; install Debian's packages postgresql, patroni, etcd-server and haproxy" >&2
        exit 1
    }
done
as_user=
mkdir -p "$folder"
if [ "$(id -u)" = 0 ]; then
    as_user='setpriv --reuid=postgres --regid=postgres --clear-groups --'
    chown postgres: "$folder"
fi
cd "$folder"
folder=$(pwd)
rm -f stopping
for name in etcd1 etcd2 etcd3 db1 db2 db3 proxy; do
    $as_user mkdir -p $name
    # From an earlier life, in which the machine may have died.
    rm -f $name/pid
done

is_taken() { # FIRST LAST
    tail -qn +2 /proc/net/tcp /proc/net/tcp6 2>/dev/null | while read -r _ address _ state _; do
        taken=$((0x${address##*:}))
        [ "$state" != 0A ] || [ $taken -lt "$1" ] || [ $taken -gt "$2" ] || echo $taken
    done | grep -q .
}
while [ "$port" = 0 ]; do
    port=$(shuf -i 20000-31900 -n 1)
    ! is_taken "$port" $((port + 12)) || port=0
done

put() { # FILE, with the content on standard input
    $as_user tee "$1" >/dev/null
}

etcd_port() { echo $((port + $1)); }
peer_port() { echo $((port + 3 + $1)); }
db_port() { echo $((port + 6 + $1)); }
patroni_port() { echo $((port + 9 + $1)); }

peers=
hosts=
members=
for n in 1 2 3; do
    peers="$peers${peers:+,}etcd$n=http://127.0.0.1:$(peer_port $n)"
    hosts="$hosts${hosts:+, }127.0.0.1:$(etcd_port $n)"
    members="$members
    server db$n 127.0.0.1:$(db_port $n) check port $(patroni_port $n)"
done

for n in 1 2 3; do
    # A killed primary is replaced after `ttl`, the shortest that Patroni accepts.
    put db$n/patroni.yml <<END
scope: stackloom
name: db$n
restapi:
  listen: 127.0.0.1:$(patroni_port $n)
  connect_address: 127.0.0.1:$(patroni_port $n)
etcd3:
  hosts: [$hosts]
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 5
    retry_timeout: 7
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters:
        max_connections: 200
        shared_buffers: 32MB
  initdb:
    - encoding: UTF8
    - locale: C.UTF-8
    - data-checksums
postgresql:
  listen: 127.0.0.1:$(db_port $n)
  connect_address: 127.0.0.1:$(db_port $n)
  data_dir: $folder/db$n/data
  bin_dir: $bin
  pgpass: $folder/db$n/pgpass
  parameters:
    unix_socket_directories: ''
  authentication:
    superuser: {username: postgres, password: postgres}
    replication: {username: replicator, password: replicator}
    rewind: {username: rewind, password: rewind}
  pg_hba:
    - host all all 127.0.0.1/32 scram-sha-256
    - host replication replicator 127.0.0.1/32 scram-sha-256
END
done

put proxy/haproxy.cfg <<END
global
    maxconn 2000
defaults
    mode http
    timeout connect 5s
    timeout check 5s
    timeout client 1h
    timeout server 1h
    timeout tunnel 1h
    option redispatch
    default-server inter 1s fall 3 rise 1 on-marked-down shutdown-sessions

# Only the primary answers 200. Connections to a former primary are cut. A Patroni that has hung says for a second that its server
# is still the primary, hence three checks.
listen database
    mode tcp
    default-server rise 3
    bind 127.0.0.1:$port
    option httpchk GET /primary
    http-check expect status 200$members
END
if [ $# -gt 0 ]; then
    web=$1
    shift
    servers=
    n=0
    for server in "$@"; do
        n=$((n + 1))
        servers="$servers
    server stackloom$n $server check"
    done
    $as_user tee -a proxy/haproxy.cfg >/dev/null <<END

# Any server answers any request. A websocket is a connection to one of them, and its page reconnects to another one.
listen web
    bind $web
    option forwardfor
    option httpchk GET /readyz
    http-check expect status 200$servers
END
    [ -z "${SIGNALS:-}" ] || $as_user tee -a proxy/haproxy.cfg >/dev/null <<END

listen signals
    bind $SIGNALS
    http-request deny deny_status 404 unless { path_beg /signal/ }
    option forwardfor
    option httpchk GET /readyz
    http-check expect status 200$servers
END
fi

# Runs a command, and runs it again when it has ended.
supervise() { # NAME COMMAND...
    name=$1
    shift
    while :; do
        $as_user "$@" </dev/null >>"$name/log" 2>&1 &
        echo $! >"$name/pid"
        wait $! || :
        waited=0
        while [ $waited -lt $pause ]; do
            [ ! -e stopping ] || return 0
            sleep 1
            waited=$((waited + 1))
        done
    done
}

# Ctrl-C in a terminal reaches the owner too, who decides.
trap '' INT HUP
for n in 1 2 3; do
    supervise etcd$n etcd --name etcd$n --data-dir etcd$n/data --logger zap \
        --listen-client-urls "http://127.0.0.1:$(etcd_port $n)" --advertise-client-urls "http://127.0.0.1:$(etcd_port $n)" \
        --listen-peer-urls "http://127.0.0.1:$(peer_port $n)" --initial-advertise-peer-urls "http://127.0.0.1:$(peer_port $n)" \
        --initial-cluster "$peers" --initial-cluster-token stackloom --heartbeat-interval 300 --election-timeout 3000 &
done
for n in 1 2 3; do
    supervise db$n patroni db$n/patroni.yml &
done
supervise proxy haproxy -db -f proxy/haproxy.cfg &

# Stops the databases before etcd, which they need for that.
stop() {
    : >stopping
    kill -TERM $(cat db?/pid) 2>/dev/null || :
    for n in 1 2 3; do
        waited=0
        while [ $waited -lt 150 ] && kill -0 "$(cat db$n/pid)" 2>/dev/null; do
            sleep 0.1
            waited=$((waited + 1))
        done
        # Of a member whose Patroni was killed.
        postmaster=$(sed -n 1p db$n/data/postmaster.pid 2>/dev/null) && kill -INT "$postmaster" 2>/dev/null || :
    done
    # At a TERM, etcd looks for a new leader for ten seconds.
    kill -KILL $(cat etcd?/pid proxy/pid) 2>/dev/null || :
    wait
}
trap 'stop; exit 0' TERM

# A login shows that the way through HAProxy leads to a primary; with strict synchronous mode, a write that it has a standby.
waited=0
until PGPASSWORD=postgres PGCONNECT_TIMEOUT=5 timeout 10 psql --no-psqlrc --quiet --host 127.0.0.1 --port "$port" --username postgres \
    --command 'CREATE TABLE IF NOT EXISTS ready ()' --command 'DROP TABLE ready' >probe.log 2>&1; do
    sleep 0.5
    waited=$((waited + 1))
    [ $waited -lt 240 ] || { cat probe.log >&2; stop; exit 1; }
done
echo "ready $port"
while read -r _; do :; done
stop
