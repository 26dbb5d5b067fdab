"""Puts the newest snapshot in the place of the keys.

The members of a cluster have one history, so a snapshot cannot be put under one of them. A store of its own is made from
it, without a network, and its keys are written through the cluster: all members get them, and clients stay connected.
Keys of a lease are left alone on both sides: they belong to clients that are there or gone.
"""

import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

BACKUPS = pathlib.Path("/var/backups/stackloom")
PAGE_KEYS = 500
# etcd's own limits for one transaction are 128 operations and 1.5 MiB.
OPERATIONS_MAX = 100
BYTES_MAX = 512 * 1024
START_SECONDS = 60

# Both stores are on this server, whatever proxy its environment names.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def url(port):
    return f"http://127.0.0.1:{port}"


def call(port, path, body):
    request = urllib.request.Request(url(port) + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with DIRECT.open(request, timeout=60) as response:
        return json.load(response)


def keys(port):
    """Keys and values, both in Base64. A key of a lease has no value here."""
    key = b"\0"
    while True:
        body = {"key": base64.b64encode(key).decode(), "range_end": "AA==", "limit": PAGE_KEYS}
        page = call(port, "/v3/kv/range", body)
        entries = page.get("kvs", [])
        for entry in entries:
            is_lasting = entry.get("lease", "0") == "0"
            yield entry["key"], entry.get("value", "") if is_lasting else None
        if not page.get("more") or not entries:
            return
        key = base64.b64decode(entries[-1]["key"]) + b"\0"


def write(port, operations):
    if operations:
        call(port, "/v3/kv/txn", {"success": operations})


def replace(snapshot, live):
    """Writes the keys of one store into another one, and deletes those that are only there. Returns both numbers."""
    wanted = {key: value for key, value in keys(snapshot) if value is not None}
    now = dict(keys(live))
    leased = {key for key, value in now.items() if value is None}
    puts = [
        {"requestPut": {"key": key, "value": value}}
        for key, value in wanted.items()
        if key not in leased and now.get(key) != value
    ]
    stale = [{"requestDeleteRange": {"key": key}} for key in now if key not in leased and key not in wanted]
    batch, size = [], 0
    for operation in puts + stale:
        length = len(json.dumps(operation))
        if len(batch) == OPERATIONS_MAX or (batch and size + length > BYTES_MAX):
            write(live, batch)
            batch, size = [], 0
        batch.append(operation)
        size += length
    write(live, batch)
    return len(puts), len(stale)


def free_ports():
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def started(folder, snapshot):
    """A store made from the snapshot, and its port. It listens on this server only."""
    port, peer_port = free_ports()
    data, log = f"{folder}/data", f"{folder}/log"
    own = [
        "--name=restored",
        f"--data-dir={data}",
        f"--initial-advertise-peer-urls={url(peer_port)}",
        f"--initial-cluster=restored={url(peer_port)}",
    ]
    subprocess.run(["etcdctl", "snapshot", "restore", str(snapshot), *own], check=True, stdout=subprocess.DEVNULL)
    listens = [
        f"--listen-client-urls={url(port)}",
        f"--advertise-client-urls={url(port)}",
        f"--listen-peer-urls={url(peer_port)}",
    ]
    with open(log, "wb") as out:
        store = subprocess.Popen(["etcd", *own, *listens], stdout=out, stderr=out)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and store.poll() is None:
        try:
            call(port, "/v3/kv/range", {"key": "AA=="})
            return store, port
        except OSError:
            time.sleep(0.2)
    store.kill()
    sys.exit(f"no store could be started from {snapshot}:\n{pathlib.Path(log).read_text(errors='replace')[-2000:]}")


def main():
    live = int(sys.argv[1])
    os.umask(0o077)
    # In the order of their times, which are in their names.
    snapshots = sorted(BACKUPS.glob("etcd-*Z.db"))
    if not snapshots:
        sys.exit(f"there is no backup of etcd in {BACKUPS}: run the command backup first")
    newest = snapshots[-1]
    before = BACKUPS / time.strftime("etcd-%Y%m%dT%H%M%SZ-before-restore.db", time.gmtime())
    part = f"{before}.part"
    save = ["etcdctl", f"--endpoints={url(live)}", "snapshot", "save", part]
    subprocess.run(save, check=True, stdout=subprocess.DEVNULL)
    os.rename(part, before)
    with tempfile.TemporaryDirectory(dir=BACKUPS) as folder:
        store, port = started(folder, newest)
        try:
            written, deleted = replace(port, live)
        finally:
            store.terminate()
            store.wait()
    print(f"restored {newest}: {written} keys written, {deleted} deleted; what was there before is in {before}")


main()
