"""Mailboxes of address fields as mail really has them: groups, comments, names without quotes, nothing but a name.

Read in one pass without recursion: the library's parser nests as deep as its sender likes. Source: RFC 5322 3.4.
"""

from __future__ import annotations

import re

import msgspec

from streams.decode.unpack.mail_headers import decode_words

MAX_MAILBOXES = 10_000
"""Mailboxes of one field that are read."""

_TOKEN = re.compile(
    r'(?P<word>=\?[^?\s]{1,80}\?[bBqQ]\?[^?]*\?=)|"(?P<quoted>(?:[^"\\]|\\.)*)(?:"|\Z)|(?P<sign>[(<,;:])|(?P<text>[^"(<,;:=]+|.)',
    re.DOTALL,
)
_BRACKET = re.compile(r"[()\\]")
_SPACES = re.compile(r"\s+")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Mailbox(msgspec.Struct, frozen=True):
    """One sender or recipient; either part may be empty."""

    name: str = ""
    address: str = ""
    group: str = ""  # that it stands in

    def shown(self) -> str:
        """As a mail reader shows it."""
        if not self.address:
            return self.name
        return f"{self.name} <{self.address}>" if self.name and self.name != self.address else self.address


def mailboxes(text: str) -> tuple[list[Mailbox], bool]:
    """The mailboxes of a field, encoded words decoded, and whether there are more than are read.

    A group without members is a mailbox with its name only: `undisclosed-recipients:;`.
    """
    reader = _Reader(text)
    reader.run()
    return reader.found, reader.full


def shown(found: list[Mailbox]) -> str:
    """A list of mailboxes in one line, groups with their names before their members."""
    parts: list[str] = []
    group = ""
    for mailbox in found:
        text = mailbox.shown()
        if mailbox.group and mailbox.group != group:
            text = f"{mailbox.group}: {text}".rstrip(": ") if text else mailbox.group
        group = mailbox.group
        parts.append(text)
    return ", ".join(part for part in parts if part)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Mailbox] = []
        self.full = False
        self.group = ""
        self.in_group = 0  # mailboxes of the group so far
        self._clear()

    def _clear(self) -> None:
        self.phrase: list[str] = []
        self.comments: list[str] = []
        self.address: str | None = None

    def run(self) -> None:
        at = 0
        while at < len(self.text) and not self.full:
            token = _TOKEN.match(self.text, at)
            if token is None:
                break
            at = token.end()
            if token["sign"]:
                at = self._sign(token["sign"], at)
            elif token["quoted"] is not None:
                self.phrase.append(_ESCAPE.sub(r"\1", token["quoted"]))
            else:
                self.phrase.append(token[0])
        self._flush()
        self._end_group()

    def _sign(self, sign: str, at: int) -> int:
        if sign == "(":
            end = self._comment_end(at)
            self.comments.append(self.text[at:end])
            return end + 1
        if sign == "<":
            end = self.text.find(">", at)
            if end < 0:
                end = self.text.find(",", at)
                end = len(self.text) if end < 0 else end
                self.address = self.text[at:end].strip()
                return end
            self.address = _SPACES.sub("", self.text[at:end]).rpartition(":")[2]  # behind an obsolete route
            return end + 1
        if sign == ":" and self.address is None and not self.group and "@" not in "".join(self.phrase):
            self.group = self._name(self.phrase)
            self.in_group = 0
            self._clear()
        elif sign == ":":
            self.phrase.append(sign)
        else:
            self._flush()
            if sign == ";":
                self._end_group()
        return at

    def _comment_end(self, at: int) -> int:
        depth = 1
        while (match := _BRACKET.search(self.text, at)) is not None:
            at = match.end()
            if match[0] == "\\":
                at += 1
                continue
            depth += 1 if match[0] == "(" else -1
            if not depth:
                return match.start()
        return len(self.text)

    def _end_group(self) -> None:
        if self.group and not self.in_group:
            self._add(Mailbox(group=self.group))
        self.group = ""

    def _name(self, parts: list[str]) -> str:
        return _SPACES.sub(" ", decode_words("".join(parts))).strip().strip("'").strip()

    def _flush(self) -> None:
        name, address = self._name(self.phrase), self.address
        if address is None:
            address = ""
            words = name.split()
            at = next((i for i in range(len(words) - 1, -1, -1) if "@" in words[i]), None)
            if at is not None:
                address, name = words[at].strip(">"), " ".join(words[:at] + words[at + 1 :])
        if not name and self.comments:
            name = self._name(self.comments[:1])
        self._clear()
        if not name and not address:
            return
        before = self.found[-1] if self.found else None
        if (
            before is not None
            and not before.address
            and before.name
            and before.group == self.group
            and address
            and name
        ):
            self.found.pop()  # "Surname, First name <address>", for which quotes were forgotten
            name = f"{before.name}, {name}"
        self._add(Mailbox(name, address, self.group))
        self.in_group += 1

    def _add(self, mailbox: Mailbox) -> None:
        if len(self.found) >= MAX_MAILBOXES:
            self.full = True
        else:
            self.found.append(mailbox)
