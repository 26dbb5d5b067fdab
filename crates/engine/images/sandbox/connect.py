"""ssh's ProxyCommand in a sandbox: connect.py NUMBER.

Asks the engine, through entry.py, for a connection to a server of this step, and hands its socket over to ssh
(`ProxyUseFdpass`), so that no process stands in between.
"""
import socket
import sys


def main():
    gate = socket.socket(socket.AF_UNIX)
    gate.connect("/tmp/gate")
    gate.sendall(sys.argv[1].encode() + b"\n")
    answer = b""
    # Byte by byte: what follows the line is ssh's.
    while not answer.endswith(b"\n"):
        byte = gate.recv(1)
        if not byte:
            break
        answer += byte
    if answer != b"ok\n":
        sys.exit(answer.decode("utf-8", "replace").strip() or "the engine ended the connection")
    with socket.socket(fileno=1) as ssh:
        socket.send_fds(ssh, [b"\0"], [gate.fileno()])


if __name__ == "__main__":
    main()
