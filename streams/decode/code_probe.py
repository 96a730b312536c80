"""Texts with a grammar of their own: source code, patches, calendars, cards, subtitles, TeX, armoured keys.

By what stands in them where that is plain, and by the name where the text does not speak against it: a text called
`.py` that is a letter stays a text.
"""

from __future__ import annotations

import re

from streams.decode.kinds import TextKind

_FIRST: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"BEGIN:VCARD\s*$", re.M | re.I), "text/vcard"),
    (re.compile(r"BEGIN:VCALENDAR\s*$", re.M | re.I), "text/calendar"),
    (re.compile(r"WEBVTT(?:[ \t\r\n]|$)"), "text/vtt"),
    (re.compile(r"\d{1,6}[ \t]*\r?\n\s*\d{1,3}:\d\d:\d\d[,.]\d{1,3}[ \t]*-->[ \t]*\d"), "application/x-subrip"),
    (re.compile(r"\[Script Info\]\s*$", re.M | re.I), "text/x-ssa"),
    (re.compile(r"From [0-9a-f]{40} Mon Sep 17 00:00:00 2001"), "text/x-diff"),
    (re.compile(r"diff (?:--git |-[a-zA-Z]+ |--\w)"), "text/x-diff"),
    (re.compile(r"Index: \S[^\n]*\r?\n=+\r?\n"), "text/x-diff"),
    (re.compile(r"(?:---|\*\*\*) \S[^\n]*\r?\n(?:\+\+\+|---) \S[^\n]*\r?\n(?:@@ -\d|\*{10})"), "text/x-diff"),
    (re.compile(r"-----BEGIN PGP MESSAGE-----"), "application/pgp-encrypted"),
    (re.compile(r"-----BEGIN PGP PUBLIC KEY BLOCK-----"), "application/pgp-keys"),
    (re.compile(r"-----BEGIN PGP PRIVATE KEY BLOCK-----"), "application/pgp-keys"),
    (re.compile(r"-----BEGIN PGP SIGNATURE-----"), "application/pgp-signature"),
    (re.compile(r"begin [0-7]{3,4} \S[^\n]*\r?\n[!-`]{2,62}\r?\n"), "text/x-uuencode"),
    (re.compile(r"<\?php\b|<\?=|<\?\s"), "text/x-php"),
    (re.compile(r"<%@\s*(?:page|taglib|include)\b"), "text/x-jsp"),
    (re.compile(r"\d{1,4}\s+(?:dict|array)\s+begin\b"), "application/postscript"),
    (re.compile(r"\\document(?:class|style)\b"), "text/x-tex"),
    (re.compile(r"@charset \"[^\"]{1,40}\";"), "text/css"),
    (re.compile(r"#!\s*(?:/usr)?/(?:local/)?bin/(?:env\s+(?:-S\s+)?)?python[\d.]*\b"), "text/x-python"),
    (re.compile(r"#!\s*(?:/usr)?/(?:local/)?bin/(?:env\s+(?:-S\s+)?)?(?:ba|da|k|z|c|tc)?sh\b"), "text/x-shellscript"),
    (re.compile(r"#!\s*(?:/usr)?/(?:local/)?bin/(?:env\s+(?:-S\s+)?)?perl\b"), "text/x-perl"),
    (re.compile(r"#!\s*(?:/usr)?/(?:local/)?bin/(?:env\s+(?:-S\s+)?)?ruby\b"), "text/x-ruby"),
    (re.compile(r"#!\s*(?:/usr)?/(?:local/)?bin/(?:env\s+(?:-S\s+)?)?node\b"), "text/javascript"),
)
"""What the first line, or the first two, say."""

_LATER: tuple[tuple[re.Pattern[str], str, int], ...] = (
    (re.compile(r"^[ \t]*\\(?:documentclass|documentstyle|begin\{document\}|usepackage)\b", re.M), "text/x-tex", 1),
    (
        re.compile(r"^[ \t]*\\(?:sub)*section\*?\{|\\(?:begin|end|cite[pt]?|ref|label)\{[\w:*, -]+\}", re.M),
        "text/x-tex",
        3,
    ),
    (re.compile(r"^(?:diff --git a/\S+ b/|@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)", re.M), "text/x-diff", 2),
    (re.compile(r"^[ \t]*#\s*include\s*(?:<[\w./+-]+>|\"[\w./+-]+\")[ \t\r]*$", re.M), "text/x-c", 2),
    (
        re.compile(
            r"^(?:package [\w.]+;|import (?:static )?[\w.]+(?:\.\*)?;|public (?:final |abstract )*class \w+)\s*", re.M
        ),
        "text/x-java",
        2,
    ),
)
"""Pattern, media type, how many matches in the first characters are enough."""

_NAMED: dict[str, tuple[str, re.Pattern[str] | None]] = {
    "py": ("text/x-python", re.compile(r"^[ \t]*(?:import|from|def|class|print|if|for|@|#|\"\"\"|\w+ ?[=(.])", re.M)),
    "pyi": ("text/x-python", None),
    "java": ("text/x-java", re.compile(r"[{};]")),
    "c": ("text/x-c", re.compile(r"[{};]|^[ \t]*#", re.M)),
    "h": ("text/x-c", re.compile(r"[{};]|^[ \t]*#", re.M)),
    "cpp": ("text/x-c++", re.compile(r"[{};]|^[ \t]*#", re.M)),
    "cc": ("text/x-c++", re.compile(r"[{};]|^[ \t]*#", re.M)),
    "cxx": ("text/x-c++", re.compile(r"[{};]|^[ \t]*#", re.M)),
    "hpp": ("text/x-c++", re.compile(r"[{};]|^[ \t]*#", re.M)),
    "cs": ("text/x-csharp", re.compile(r"[{};]")),
    "go": ("text/x-go", re.compile(r"^package \w+", re.M)),
    "rs": ("text/x-rust", re.compile(r"[{};]")),
    "rb": ("text/x-ruby", re.compile(r"^[ \t]*(?:def|class|module|require|end|#)\b", re.M)),
    "pl": ("text/x-perl", re.compile(r"[;{}]|^#", re.M)),
    "php": ("text/x-php", re.compile(r"<\?")),
    "js": ("text/javascript", re.compile(r"[{};()]")),
    "mjs": ("text/javascript", re.compile(r"[{};()]")),
    "ts": ("text/x-typescript", re.compile(r"[{};()]")),
    "css": ("text/css", re.compile(r"[{}@]|/\*")),
    "sh": ("text/x-shellscript", None),
    "bash": ("text/x-shellscript", None),
    "sql": ("application/sql", re.compile(r"\b(?:select|insert|create|update|delete|drop|alter|set|begin)\b", re.I)),
    "tex": ("text/x-tex", re.compile(r"\\[a-zA-Z@]+|^%", re.M)),
    "ltx": ("text/x-tex", re.compile(r"\\[a-zA-Z@]+")),
    "sty": ("text/x-tex", re.compile(r"\\[a-zA-Z@]+")),
    "diff": ("text/x-diff", re.compile(r"^(?:[-+]|@@|[<>] |\d+(?:,\d+)?[acd]\d)", re.M)),
    "patch": ("text/x-diff", re.compile(r"^(?:[-+]|@@|[<>] )", re.M)),
    "yaml": ("application/yaml", re.compile(r"^[ \t]*(?:-\s|[\w\"'./-]+[ \t]*:|---)", re.M)),
    "yml": ("application/yaml", re.compile(r"^[ \t]*(?:-\s|[\w\"'./-]+[ \t]*:|---)", re.M)),
    "toml": ("application/toml", re.compile(r"^[ \t]*(?:\[|[\w\"'.-]+[ \t]*=)", re.M)),
}
"""Extension -> media type, and what must stand in the text for the name to be believed."""
_PLAIN_NAMES = (".log", ".ini", ".conf", ".cfg", ".properties", ".txt", ".rst", ".org", ".adoc", ".asciidoc")


def by_content(start: str) -> TextKind | None:
    """A format that its first lines or several of its lines give away, under whatever name."""
    for pattern, media_type in _FIRST:
        if pattern.match(start):
            return TextKind(media_type, "text:first_line")
    return None


def by_lines(start: str) -> TextKind | None:
    """A format that lines further down give away: comments and licences stand above."""
    sample = start[:20_000]
    for pattern, media_type, enough in _LATER:
        matches = pattern.finditer(sample)
        if all(next(matches, None) is not None for _ in range(enough)):
            return TextKind(media_type, "text:lines")
    return None


def by_name(start: str, name: str) -> TextKind | None:
    """Source code by the file's name (in lower case), where the text does not speak against it."""
    media_type, needed = _NAMED.get(name.rsplit(".", 1)[-1], ("", None)) if "." in name else ("", None)
    if media_type and (needed is None or needed.search(start[:20_000])):
        return TextKind(media_type, "name:source")
    return None


def is_named_plain(name: str) -> bool:
    """Whether the name says that lines are lines, however much they look like a table."""
    return name.endswith(_PLAIN_NAMES)
