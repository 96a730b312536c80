"""What stands before the text of RTF: code pages, font table, style sheet, and what the file says of itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from streams.extract.rtf_body import Style
from streams.extract.rtf_charsets import DEFAULT, charset_codec, page_codec
from streams.extract.rtf_reader import Font, Reader
from streams.extract.rtf_words import INFO_TEXTS, INFO_TIMES, TIME_PARTS


class RtfHeader(Reader):
    """Reads the header into `codec`, `fonts`, `styles`, `texts` (title, author and so on) and `times`."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self.times: dict[str, dict[bytes, int]] = {}
        self.styles: dict[int, Style] = {}
        self._time: dict[bytes, int] = {}
        self._font: int | None = None  # that the font table is at
        self._font_charset: tuple[bool, int] = (False, 1)
        self._font_parts: list[str] | None = None
        self._style_parts: list[str] | None = None
        self._style = (0, Style())
        self._add_header_words()

    def _add_header_words(self) -> None:
        self.words |= {
            b"plain": lambda _: self.state.plain(),
            b"uc": self._set_fallback,
            b"f": self._set_font,
            b"fcharset": self._set_charset,
            b"cpg": self._set_page,
            b"deff": self._set_default_font,
            b"ansicpg": self._set_document_page,
            b"mac": lambda _: self._set_document_page(10000),
            b"pc": lambda _: self._set_document_page(437),
            b"pca": lambda _: self._set_document_page(850),
            b"fonttbl": self._font_table,
            b"stylesheet": self._style_sheet,
            b"s": self._set_style,
            b"cs": self._other_style,
            b"ds": self._other_style,
            b"ts": self._other_style,
            b"sbasedon": self._based_on,
            b"outlinelevel": self._outline,
            b"info": self._mute,
            b"upr": self._unicode_pair,
        }
        for word, name in INFO_TEXTS.items():
            self.words[word] = self._information(name)
        for word, name in INFO_TIMES.items():
            self.words[word] = self._begin_time(name)
        for word in TIME_PARTS:
            self.words[word] = self._time_part(word)

    def put(self, text: str) -> None:
        """Text goes to whatever captures it; else it is text of a story."""
        capture = self.state.capture
        if capture is None:
            if not self.state.mute:
                self.show(text)
            return
        capture.append(text)
        if capture is self._style_parts and ";" in text:
            self._end_style(capture)

    @abstractmethod
    def show(self, text: str) -> None:
        """Takes text of a story."""

    def _mute(self, _: int | None) -> None:
        self.state.mute = True

    def _unicode_pair(self, _: int | None) -> None:
        """`\\upr`: the same twice, the second time in Unicode; only that is read."""
        self.state.skip = self.state.holds = True

    def _set_fallback(self, parameter: int | None) -> None:
        self.state.fallback = 1 if parameter is None else max(0, parameter)

    def _set_default_font(self, parameter: int | None) -> None:
        self.default_font = parameter

    def captured(self, done: Callable[[str], None], into: list[str] | None = None) -> None:
        """From here to the end of the group text goes to `done`, not to the story."""
        parts: list[str] = [] if into is None else into
        self.state.capture = parts
        self.state.mute = False
        self.state.on_close.append(lambda: done("".join(parts)))

    def _font_table(self, _: int | None) -> None:
        parts: list[str] = []
        self._font_parts = parts
        self.state.on_close.append(self._leave_tables)
        self.captured(lambda _: self._end_font(), parts)

    def _leave_tables(self) -> None:
        self._font_parts = self._style_parts = None

    def _set_font(self, parameter: int | None) -> None:
        if self._font_parts is None:
            self.state.font = parameter or 0
            return
        self.flush()
        self._end_font()
        self._font = parameter or 0

    def _end_font(self) -> None:
        if self._font is not None and self._font_parts is not None:
            name = "".join(self._font_parts).partition(";")[0].strip()
            is_page, number = self._font_charset
            codec = page_codec(number) or self.codec if is_page else charset_codec(number, self.codec)
            self.fonts[self._font] = Font(codec, name)
            self._font_parts.clear()
        self._font, self._font_charset = None, (False, 1)

    def _set_charset(self, parameter: int | None) -> None:
        if self._font_parts is not None and not self._font_charset[0]:
            self._font_charset = (False, parameter or 0)

    def _set_page(self, parameter: int | None) -> None:
        if self._font_parts is not None and page_codec(parameter) is not None:
            self._font_charset = (True, parameter or 0)

    def _set_document_page(self, parameter: int | None) -> None:
        self.codec = page_codec(parameter) or DEFAULT

    def _style_sheet(self, _: int | None) -> None:
        parts: list[str] = []
        self._style_parts = parts
        self.state.on_close.append(self._leave_tables)
        self.captured(lambda _: None, parts)

    def _set_style(self, parameter: int | None) -> None:
        if self._style_parts is None:
            self.state.paragraph.style = parameter or 0
        else:
            self._style = (parameter or 0, Style())

    def _other_style(self, _: int | None) -> None:
        if self._style_parts is not None:
            self.state.skip = True

    def _based_on(self, parameter: int | None) -> None:
        self._style[1].based_on = parameter

    def _outline(self, parameter: int | None) -> None:
        if self._style_parts is None:
            self.state.paragraph.outline = parameter
        else:
            self._style[1].outline = parameter

    def _end_style(self, parts: list[str]) -> None:
        """A style's name ends with a semicolon."""
        number, style = self._style
        style.name = "".join(parts).partition(";")[0].strip()
        self.styles[number] = style
        self._style = (0, Style())
        parts.clear()

    def _information(self, name: str) -> Callable[[int | None], None]:
        def begin(_: int | None) -> None:
            self.captured(keep)

        def keep(text: str) -> None:
            self.texts.setdefault(name, " ".join(text.split()))

        return begin

    def _begin_time(self, name: str) -> Callable[[int | None], None]:
        def begin(_: int | None) -> None:
            self._time = {}
            self.times.setdefault(name, self._time)

        return begin

    def _time_part(self, part: bytes) -> Callable[[int | None], None]:
        def take(parameter: int | None) -> None:
            self._time[part] = parameter or 0

        return take
