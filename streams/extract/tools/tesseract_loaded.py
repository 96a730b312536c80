"""A process with tesseract's models loaded, which forks for each image: what a run costs before its first pixel, once.

The fork reads, not the process itself: libtesseract keeps more from page to page than its interface tells, and then
reads some pages differently. A fork knows of no other page, so it reads as the program does in a run of its own, and
its crash or its end by the clock costs one image.

Run as a script, without any package, for little memory:

    tesseract_loaded.py LIBRARIES MODELS LANGUAGES

with the folder where the program's library may be, that of the models, and their names joined by `+`. Standard output
then has the library's version as one frame, or nothing where there is none. Each `Head` on standard input, and its
pixels after it, is answered by one frame of hOCR. A frame is its length and its bytes; instead of a length it may say
why there is no answer.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import sys
from typing import BinaryIO, NamedTuple

CRASHED, TOO_SLOW = -1, -2
"""Instead of a length."""

NAMES = ("libtesseract.so.5", "libtesseract.5.dylib", "libtesseract.so.4", "libtesseract.4.dylib")

LENGTH = struct.Struct("<q")
HEAD = struct.Struct("<IIIId")


class Head(NamedTuple):
    """What comes before the pixels of a grey image, one byte each."""

    width: int
    height: int
    layout: int  # tesseract's page segmentation mode
    dpi: int  # 0: the engine guesses
    seconds: float  # on the clock


class _Engine:
    """The part of tesseract's C interface (tesseract/capi.h) that reads one image."""

    def __init__(self, libraries: str, models: str, languages: str) -> None:
        api = self._api = _library(libraries)
        handle, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
        api.TessVersion.restype = text
        api.TessBaseAPICreate.restype = handle
        api.TessBaseAPIInit3.argtypes = [handle, text, text]
        api.TessBaseAPISetVariable.argtypes = [handle, text, text]
        api.TessBaseAPISetPageSegMode.argtypes = [handle, number]
        api.TessBaseAPISetImage.argtypes = [handle, text, number, number, number, number]
        api.TessBaseAPIRecognize.argtypes = [handle, handle]
        api.TessBaseAPIGetHOCRText.argtypes = [handle, number]
        api.TessBaseAPIGetHOCRText.restype = text
        self._handle = api.TessBaseAPICreate()
        if api.TessBaseAPIInit3(self._handle, os.fsencode(models), languages.encode()) != 0:
            raise OSError("the models can't be loaded")

    @property
    def version(self) -> bytes:
        found: bytes = self._api.TessVersion()
        return found

    def read(self, head: Head, pixels: bytes) -> bytes | None:
        """The hOCR of the image; None where the engine gives none."""
        api, handle = self._api, self._handle
        api.TessBaseAPISetPageSegMode(handle, head.layout)
        if head.dpi:
            api.TessBaseAPISetVariable(handle, b"user_defined_dpi", str(head.dpi).encode())
        api.TessBaseAPISetImage(handle, pixels, head.width, head.height, 1, head.width)
        if api.TessBaseAPIRecognize(handle, None) != 0:
            return None
        found: bytes | None = api.TessBaseAPIGetHOCRText(handle, 0)
        return found


def _library(folder: str) -> ctypes.CDLL:
    for name in [os.path.join(folder, name) for name in NAMES] + list(NAMES):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("there is no library")


def main(libraries: str, models: str, languages: str) -> int:
    """Answers until standard input ends. Gives an exit status."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    try:
        engine = _Engine(libraries, models, languages)
    except (OSError, AttributeError):
        return 1
    _answer(sink, engine.version)
    while len(raw := source.read(HEAD.size)) == HEAD.size:
        head = Head(*HEAD.unpack(raw))
        pixels = source.read(head.width * head.height)
        if len(pixels) < head.width * head.height:
            break
        _answer(sink, _in_a_fork(engine, head, pixels))
    return 0


def _in_a_fork(engine: _Engine, head: Head, pixels: bytes) -> bytes | int:
    """The hOCR of an image, or why there is none."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(here)
        most = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))  # what was set when the process began is no limit of now
        signal.setitimer(signal.ITIMER_REAL, max(head.seconds, 1e-6))
        found = engine.read(head, pixels)
        if found is None:
            os._exit(1)
        with os.fdopen(there, "wb") as out:
            out.write(found)
        os._exit(0)
    os.close(there)
    with os.fdopen(here, "rb") as answers:
        found = answers.read()
    _, status = os.waitpid(child, 0)
    if status == 0:
        return found
    return TOO_SLOW if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM else CRASHED


def _answer(sink: BinaryIO, answer: bytes | int) -> None:
    if isinstance(answer, int):
        sink.write(LENGTH.pack(answer))
    else:
        sink.write(LENGTH.pack(len(answer)) + answer)
    sink.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
