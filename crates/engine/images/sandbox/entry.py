"""The first program of a sandbox. It unpacks the order, runs its program, and carries bytes.

The container has no network. Its standard streams are its only way out, and Yamux (github.com/hashicorp/yamux, spec.md)
makes many streams of them, each with a window of its own: one for the program's standard output, one for its standard
error, and one for each SSH connection, which the engine makes and this program asks for.

Standard input begins with the order: ten digits and a line end, then as many bytes of JSON,
{"files": {path: base64}, "argv": [...], "programs": digest}. Nothing is taken from arguments or the environment, because both
can be read from outside with `docker inspect`. The first line of a stream says what it is: "out", "err" or "connect NUMBER".
"""
import asyncio
import base64
import glob
import hashlib
import json
import os
import struct
import sys

WORK = "/work"
GATE = "/tmp/gate"
# The engine ends a session that opens more.
CONNECTIONS = 5

HEADER = struct.Struct("!BBHII")
DATA, WINDOW, PING, GO_AWAY = range(4)
SYN, ACK, FIN, RST = 1, 2, 4, 8
CREDIT = 256 * 1024
PIECE = 16 * 1024


class Stream:
    """One stream: what it may still send, and what came in."""

    def __init__(self, mux, number):
        self.mux, self.number = mux, number
        self.credit = CREDIT
        self.room = asyncio.Event()
        self.pieces = asyncio.Queue()
        self.is_reset = False

    async def send(self, data):
        view = memoryview(data)
        while view:
            while not self.credit and not self.is_reset:
                self.room.clear()
                await self.room.wait()
            if self.is_reset:
                raise ConnectionResetError
            size = min(len(view), self.credit, PIECE)
            self.credit -= size
            await self.mux.write(DATA, 0, self.number, size, view[:size])
            view = view[size:]

    async def receive(self):
        """The next piece; empty at the end."""
        return await self.pieces.get()

    async def consumed(self, size):
        await self.mux.write(WINDOW, 0, self.number, size)

    async def finish(self):
        if not self.is_reset:
            await self.mux.write(DATA, FIN, self.number, 0)


class Mux:
    """The client's side of Yamux: all streams are opened here."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.streams = {}
        self.next = 1
        self.turn = asyncio.Lock()

    async def write(self, kind, flags, number, length, body=b""):
        async with self.turn:
            self.writer.write(HEADER.pack(0, kind, flags, number, length) + bytes(body))
            await self.writer.drain()

    async def open(self, purpose):
        stream = Stream(self, self.next)
        self.next += 2
        self.streams[stream.number] = stream
        await self.write(WINDOW, SYN, stream.number, 0)
        await stream.send(purpose.encode() + b"\n")
        return stream

    def forget(self, stream):
        self.streams.pop(stream.number, None)

    async def run(self):
        while True:
            _, kind, flags, number, length = HEADER.unpack(await self.reader.readexactly(HEADER.size))
            body = await self.reader.readexactly(length) if kind == DATA and length else b""
            if kind == PING and flags & SYN:
                await self.write(PING, ACK, 0, length)
            if kind == GO_AWAY:
                return
            stream = self.streams.get(number)
            if stream is None or kind == PING:
                continue
            if kind == WINDOW:
                stream.credit += length
            if body:
                stream.pieces.put_nowait(body)
            if flags & RST:
                stream.is_reset = True
            if flags & (FIN | RST):
                stream.pieces.put_nowait(b"")
            stream.room.set()


async def carry_out(stream, fd, ended):
    """A program's output. Its children may keep the pipe open, so the program's end is the end when the pipe is empty."""
    loop = asyncio.get_running_loop()
    os.set_blocking(fd, False)
    while True:
        is_over = ended.is_set()
        try:
            data = os.read(fd, 64 * 1024)
        except BlockingIOError:
            if is_over:
                break
            readable = asyncio.Event()
            loop.add_reader(fd, readable.set)
            waits = [asyncio.ensure_future(event.wait()) for event in (readable, ended)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()
            loop.remove_reader(fd)
            continue
        if not data:
            break
        await stream.send(data)
    await stream.finish()


async def connect(mux, free, reader, writer):
    """One SSH connection: from connect.py's socket to the engine."""
    async with free:
        stream = await mux.open("connect " + (await reader.readline()).decode("ascii", "replace").strip())

        async def inwards():
            while data := await stream.receive():
                writer.write(data)
                await writer.drain()
                await stream.consumed(len(data))
            if writer.can_write_eof():
                writer.write_eof()

        async def outwards():
            while data := await reader.read(64 * 1024):
                await stream.send(data)
            await stream.finish()

        try:
            await asyncio.gather(inwards(), outwards())
        except OSError:
            # One end is gone: so is the connection.
            if not stream.is_reset:
                await mux.write(DATA, RST, stream.number, 0)
        finally:
            mux.forget(stream)
            writer.close()


async def main(argv):
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    # A frame is written when `drain` returns; so is the last one.
    transport.set_write_buffer_limits(high=0)
    mux = Mux(reader, asyncio.StreamWriter(transport, protocol, None, loop))
    asyncio.ensure_future(mux.run())
    free = asyncio.Semaphore(CONNECTIONS)
    await asyncio.start_unix_server(lambda reader, writer: connect(mux, free, reader, writer), GATE)

    ended = asyncio.Event()
    pumps, ends = [], []
    for purpose in ("out", "err"):
        fd, end = os.pipe()
        pumps.append(carry_out(await mux.open(purpose), fd, ended))
        ends.append(end)
    pumps = asyncio.gather(*pumps)
    # Ansible and ssh shall not wait for an answer that nobody gives.
    program = await asyncio.create_subprocess_exec(*argv, stdin=asyncio.subprocess.DEVNULL, stdout=ends[0], stderr=ends[1])
    for end in ends:
        os.close(end)
    code = await program.wait()
    ended.set()
    await pumps
    await mux.write(GO_AWAY, 0, 0, 0)
    transport.close()
    # As a shell has it.
    return code if code >= 0 else 128 - code


def read(size):
    pieces = []
    while size:
        piece = os.read(0, min(size, 1 << 20))
        if not piece:
            sys.exit("entry: the order ends too early")
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def programs_digest():
    """The digest of this image's programs, as the engine has it in its module `sandbox::image`."""
    folder = os.path.dirname(os.path.abspath(__file__))
    digest = hashlib.sha256()
    for path in sorted(glob.glob("**/*.py", root_dir=folder, recursive=True)):
        digest.update(path.encode())
        with open(os.path.join(folder, path), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def unpack():
    order = json.loads(read(int(read(11))))
    if order.get("programs") != programs_digest():
        print("[WARNING]: The sandbox image was not built from the files of this version of Stackloom. Build it again:"
              " `Upgrade` in docs/production.md.", file=sys.stderr)
    os.umask(0o077)
    for path, content in order["files"].items():
        target = os.path.normpath(os.path.join(WORK, path))
        if not target.startswith(WORK + "/"):
            sys.exit("entry: %r leads out of the work folder" % path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(base64.b64decode(content))
    os.chdir(WORK)
    return order["argv"]


if __name__ == "__main__":
    sys.exit(asyncio.run(main(unpack())))
