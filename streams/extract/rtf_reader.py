"""Reads RTF's groups, words and bytes into characters, as Word does (RTF 1.9.1); what they mean is `rtf_document`'s."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from streams.errors import DocumentError
from streams.extract.docx_symbols import symbol
from streams.extract.rtf_charsets import DEFAULT, decode, sign_font
from streams.extract.rtf_state import State
from streams.extract.rtf_tokens import Kind, tokens
from streams.extract.rtf_words import CHARACTERS, MUTED, SKIPPED

MAX_DEPTH = 5000
"""Open groups; deeper ones are read as if their braces were not there. Word itself stops earlier."""
MAX_FALLBACK = 100
"""Bytes that one `\\u` may replace."""


@dataclass(slots=True)
class Font:
    """One entry of the font table."""

    codec: str
    name: str = ""


class Reader:
    """The loop over the tokens. A subclass gives `words` and takes the text by `put`."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.state = State()
        self.words: dict[bytes, Callable[[int | None], None]] = {b"u": self._unicode}
        self.codec = DEFAULT  # of the document
        self.default_font: int | None = None
        self.fonts: dict[int, Font] = {}
        self._stack: list[State] = []
        self._too_deep = self._skipped_groups = 0
        self._star = False
        self._bytes = bytearray()
        self._bytes_codec = DEFAULT
        self._bytes_font = ""
        self._bytes_raw = True
        self._fallback = 0  # bytes still to be passed over after \u
        self._high: int | None = None  # first half of a surrogate pair

    @abstractmethod
    def put(self, text: str) -> None:
        """Takes decoded text."""

    @abstractmethod
    def end_paragraph(self, parameter: int | None = None) -> None:
        """`\\par`."""

    def goes_into(self, word: bytes) -> bool:
        """Whether an ignorable destination that has no rule is read all the same."""
        del word
        return False

    def warn(self, code: str) -> None:
        """Notes a warning once."""
        if code not in self.warnings:
            self.warnings.append(code)

    # --- the loop ------------------------------------------------------------------------------------------------

    def read(self, data: bytes) -> None:
        """Reads the whole file. Errors: DocumentError `corrupt`, `truncated` or `too_large`."""
        began = ended = False
        for kind, value, parameter in tokens(data):
            if kind is Kind.OPEN:
                began = True
                self._open()
            elif kind is Kind.CLOSE:
                self._close()
                if began and not self._stack and not self._too_deep:
                    ended = True
                    break
            elif not began:
                continue
            elif self.state.skip:
                if kind is Kind.WORD and self.state.waits_for == value and not self._skipped_groups:
                    self.state.skip = False
            elif kind is Kind.WORD:
                self._word(value, parameter)
            elif kind is Kind.TEXT:
                self._star = False
                if self._fallback:
                    value = self._without_fallback(value)
                if value:
                    self._take(value, raw=True)
            elif kind is Kind.BYTE:
                if self._fallback:
                    self._fallback -= 1
                else:
                    self._take(value, raw=False)
            else:
                self._symbol(value)
        if not began:
            raise DocumentError("corrupt", "It has no RTF group.")
        self.flush()
        if not ended:
            self.warn("truncated")
            while self._stack:
                self._close()

    def _open(self) -> None:
        self._star = False
        self._fallback = 0
        if self.state.skip and not self.state.holds:
            self._skipped_groups += 1
            return
        if len(self._stack) >= MAX_DEPTH:
            self._too_deep += 1
            self.warn("nesting_too_deep")
            return
        self._stack.append(self.state)
        self.state = self.state.child()

    def _close(self) -> None:
        self._star = False
        self._fallback = 0
        if self._skipped_groups:
            self._skipped_groups -= 1
            return
        if self._too_deep:
            self._too_deep -= 1
            return
        if not self._stack:
            return
        self.flush()
        closing = self.state.on_close
        self.state = self._stack.pop()
        for close in reversed(closing):
            close()

    def _word(self, word: bytes, parameter: int | None) -> None:
        star, self._star = self._star, False
        sign = CHARACTERS.get(word)
        if sign is not None:
            if self._fallback:
                self._fallback -= 1
            else:
                self.emit(sign)
            return
        handler = self.words.get(word)
        if handler is not None:
            if word != b"f":
                self.flush()
            handler(parameter)
        elif word in MUTED:
            self.flush()
            self.state.mute = True
        elif (star and not self.goes_into(word)) or word in SKIPPED:
            self.flush()
            self.state.skip = True
        elif word == b"bin" and self._fallback:
            self._fallback -= 1

    def _symbol(self, sign: bytes) -> None:
        if sign == b"*":
            self._star = True
            return
        if self._fallback:
            self._fallback -= 1
        elif sign in b"\\{}":
            self._take(sign, raw=False)
        elif sign == b"~":
            self.emit("\u00a0")
        elif sign == b"_":
            self.emit("\u2011")
        elif sign == b"-":
            self.emit("\u00ad")
        elif sign in b"\r\n":
            self.flush()
            self.end_paragraph()
        elif sign == b"\t":
            self.emit("\t")

    def _without_fallback(self, text: bytes) -> bytes:
        taken = min(self._fallback, len(text))
        self._fallback -= taken
        return text[taken:]

    # --- text ----------------------------------------------------------------------------------------------------

    def _take(self, data: bytes, *, raw: bool) -> None:
        """Bytes of text: held until their run ends, since one character can be several of them."""
        state = self.state
        if state.mute and state.capture is None:
            return
        font = self.fonts.get(state.font if state.font is not None else self.default_font or 0)
        codec = state.codec or (font.codec if font is not None else self.codec)
        if self._bytes and codec != self._bytes_codec:
            self.flush()
        if not self._bytes:
            self._bytes_codec = codec
            self._bytes_font = font.name if font is not None else ""
            self._bytes_raw = raw
        self._bytes_raw = self._bytes_raw and (raw or data.isascii())
        self._bytes += data

    def flush(self) -> None:
        """Ends the run of bytes that is held: now it is text."""
        if self._bytes:
            data = bytes(self._bytes)
            self._bytes.clear()
            text, errors, misdeclared = decode(data, self._bytes_codec, self._bytes_font, raw=self._bytes_raw)
            if errors and self._bytes_codec != self.codec:  # some writers name fonts that they don't use
                other, others, _ = decode(data, self.codec, self._bytes_font, raw=False)
                text, errors = (other, others) if others < errors else (text, errors)
            if errors and self.state.capture is None:
                self.warn("invalid_bytes")
            if misdeclared:
                self.warn("undeclared_utf8")
            self._put(text)

    def _put(self, text: str) -> None:
        if self._high is not None:
            self._high = None
            text = "\ufffd" + text
        if text:
            self.put(text)

    def emit(self, text: str) -> None:
        """Text that is not in the file as bytes."""
        self.flush()
        self._put(text)

    def _unicode(self, parameter: int | None) -> None:
        """`\\uN`: a UTF-16 unit, negative above 32767; some writers put whole code points."""
        if parameter is None:
            return
        state = self.state
        self._fallback = min(state.fallback, MAX_FALLBACK)
        code = parameter + 0x10000 if -0x8000 <= parameter < 0 else parameter
        if 0xD800 <= code < 0xDC00:
            self._high = code
            return
        if 0xDC00 <= code < 0xE000:
            high, self._high = self._high, None
            self.put("\ufffd" if high is None else chr(0x10000 + ((high - 0xD800) << 10) + code - 0xDC00))
            return
        if not 0 < code <= 0x10FFFF:
            self._put("\ufffd")
            return
        if 0xF020 <= code <= 0xF0FF:
            font = self.fonts.get(state.font if state.font is not None else self.default_font or 0)
            name = sign_font(font.name if font is not None else "")
            self._put(symbol(name, code) or "\ufffd" if name else "\ufffd")
            return
        self._put(chr(code))
