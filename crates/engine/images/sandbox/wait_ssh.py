"""Tries to log in until it works or time is up: wait_ssh.py HOST SECONDS.

One container for the whole wait, because a container costs more than a try. Tells what it sees as JSON lines, each
kind of refusal once, so that the log shows a server coming up and not a hundred times the same line.
Ends with 0: logged in; 75: time is up; 76: the server showed another host key than the one that we gave it.
"""
import json
import subprocess
import sys
import time

CHANGED = ("REMOTE HOST IDENTIFICATION HAS CHANGED", "Host key verification failed", "No ED25519 host key is known")


def say(level, text):
    print(json.dumps({"event": "ssh", "level": level, "text": text}), flush=True)


def attempt(host, seconds):
    command = ["ssh", "-F", "/work/ssh_config", "-o", "ConnectTimeout=5", host, "true"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=max(1.0, min(12.0, seconds)))
    except subprocess.TimeoutExpired:
        return 255, "no answer"
    lines = [line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return done.returncode, lines


def main():
    host, seconds = sys.argv[1], float(sys.argv[2])
    deadline = time.monotonic() + seconds
    last = None
    pause = 0.3
    while True:
        code, lines = attempt(host, deadline - time.monotonic())
        if code == 0:
            say("info", "logged in")
            return 0
        text = lines if isinstance(lines, str) else " / ".join(
            line for line in lines if not line.startswith("@")) or "no answer"
        if any(mark in text for mark in CHANGED):
            say("error", text)
            return 76
        if text != last:
            say("info", "not yet: " + text)
            last = text
        if time.monotonic() + pause >= deadline:
            say("error", last)
            return 75
        time.sleep(pause)
        pause = min(pause * 1.5, 3.0)


if __name__ == "__main__":
    sys.exit(main())
