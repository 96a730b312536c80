"""A slot with jobs that misbehave, run through the same main as the real one."""

from __future__ import annotations

import base64
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from streams.extract import progress
from streams.runtime import slot_main
from streams.runtime.jobs import JOBS


def echo(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    return msgspec.json.decode(args), body


def pid(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    return os.getpid(), b""


def sleep(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    mark, seconds = msgspec.json.decode(args)
    Path(mark).touch()
    time.sleep(seconds)
    return "slept", b""


def spin(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    slot_main.limit_cpu(msgspec.json.decode(args))
    while True:
        pass


def die(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    os.kill(os.getpid(), signal.Signals[msgspec.json.decode(args)])
    return "", b""


def segfault(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    return ctypes.string_at(0).decode(), b""


def leave(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    sys.exit(3)


def eat(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    return len(bytearray(msgspec.json.decode(args) << 20)), b""


def fail(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    raise KeyError("no such thing")


def dive(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    return dive(args, body)


def chatter(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    print("a library's banner", flush=True)  # noqa: T201 - what libraries do
    os.write(1, b"\x00\x00\x00\x01\x00\x00\x00\x00x")
    subprocess.run(["/bin/sh", "-c", "echo from a child; cat"], check=True)
    return sys.stdin.read(), b""


def dial(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    try:
        socket.create_connection(("127.0.0.1", msgspec.json.decode(args)), timeout=5).close()
    except OSError as error:
        return type(error).__name__, b""
    return "connected", b""


def child(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    """Starts a process of its own, tells its id, and hangs."""
    process = subprocess.Popen(["sleep", "600"])
    Path(msgspec.json.decode(args)).write_text(str(process.pid))
    time.sleep(600)
    return "", b""


def write(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    path, megabytes = msgspec.json.decode(args)
    with open(path, "wb") as file:
        file.truncate(megabytes << 20)
    return "written", b""


def pages(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    """Reads so many pages, each in so many seconds."""
    count, seconds = msgspec.json.decode(args)
    for page in range(count):
        progress.tell(page, count)
        time.sleep(seconds)
    return "read", b""


def forge(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    """Has the pipe, as code that got hold of the process would, and writes what no slot writes."""
    frame, times = msgspec.json.decode(args)
    teller = progress._listener
    assert isinstance(teller, slot_main.Teller)
    for _ in range(times):
        teller._sink.write(base64.b64decode(frame))
        teller._sink.flush()
    return "written", b""


def space(args: msgspec.Raw, body: bytes) -> tuple[Any, bytes]:
    return slot_main._address_space(), b""


JOBS.update(
    {
        function.__name__: function
        for function in (
            echo,
            pid,
            sleep,
            spin,
            die,
            segfault,
            leave,
            eat,
            fail,
            dive,
            chatter,
            dial,
            child,
            write,
            space,
            pages,
            forge,
        )
    }
)

if __name__ == "__main__":
    sys.exit(slot_main.main())
