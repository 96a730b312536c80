"""Frames between a slot and its parent."""

from __future__ import annotations

import io

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from streams.runtime.frames import LENGTHS, Answer, Call, pack, read_exactly


class Dribble(io.RawIOBase):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data, self._size = io.BytesIO(data), size

    def read(self, size: int = -1) -> bytes:
        return self._data.read(min(size, self._size))


@given(st.binary(max_size=2000), st.text(), st.integers(1, 50))
def test_what_is_packed_is_read_again_however_the_pipe_cuts_it(body: bytes, text: str, size: int) -> None:
    data = pack(Call("extract", msgspec.Raw(msgspec.json.encode(text)), 1.5), body)
    stream = Dribble(data + pack(Answer(seconds=0.5)), size)
    for number, expected_body in enumerate((body, b"")):
        lengths = read_exactly(stream, LENGTHS.size)  # type: ignore[arg-type]
        assert lengths is not None
        head_size, body_size = LENGTHS.unpack(lengths)
        head = read_exactly(stream, head_size)  # type: ignore[arg-type]
        assert head is not None
        assert read_exactly(stream, body_size) == expected_body  # type: ignore[arg-type]
        if number == 0:
            call = msgspec.json.decode(head, type=Call)
            assert (call.job, call.cpu_seconds, msgspec.json.decode(call.args)) == ("extract", 1.5, text)


def test_a_frame_that_is_cut_off_reads_as_the_end() -> None:
    data = pack(Answer(seconds=0.5), b"body")
    for size in range(len(data)):
        assert read_exactly(io.BytesIO(data[:size]), len(data)) is None
