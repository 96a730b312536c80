"""Texts with a grammar of their own, by their first lines, by several lines, or by a name that they do not belie."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from streams.decode.code_probe import by_content, by_lines, by_name
from streams.decode.text_probe import probe
from tests.unit.decode.files import detected


@pytest.mark.parametrize(
    ("text", "name", "media_type"),
    [
        ("BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Anna\r\nEND:VCARD\r\n", "a", "text/vcard"),
        ("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n", "a.txt", "text/calendar"),
        ("WEBVTT\n\n00:00.000 --> 00:01.000\nhello\n", "a", "text/vtt"),
        ("1\n00:00:01,000 --> 00:00:02,000\nhello\n", "a.txt", "application/x-subrip"),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "a", "text/x-diff"),
        ("--- a/x 2024\n+++ b/x 2024\n@@ -1 +1 @@\n-a\n+b\n", "a", "text/x-diff"),
        ("#!/usr/bin/env python3\nprint(1)\n", "run", "text/x-python"),
        ("#!/bin/sh\nset -e\n", "run", "text/x-shellscript"),
        ("<?php echo 1;\n", "a", "text/x-php"),
        ("% a thesis\n\\documentclass{article}\n\\begin{document}\nx\n", "a", "text/x-tex"),
        ("/* x */\n#include <stdio.h>\n#include <string.h>\nint main(void) { return 0; }\n", "a", "text/x-c"),
        ("import os\nprint(os.name)\n", "a.py", "text/x-python"),
        ("Dear Anna\nI hope that you are well\n", "a.java", "text/plain"),
        ("body { color: red }\n", "a.css", "text/css"),
        ("SELECT * FROM t;\n", "a.sql", "application/sql"),
        ("2024-04-19 10:00:00 INFO a=1, b=2\n" * 9, "a.log", "text/plain"),
        ("Use it so:\n\n#include <stdio.h>\n#include <string.h>\n\nThat is all.\n", "howto.txt", "text/plain"),
        ("{\"type\": \"FeatureCollection\", \"features\": []}", "a.geojson", "application/json"),
        ("{\"a\": 1}\n{\"a\": 2}\n", "a", "application/x-ndjson"),
        ("[1, 2]\n[3, 4]\n", "a", "application/x-ndjson"),
        ("\"one string\"", "a.json", "application/json"),
        ("\"one string\" and more", "a.json", "text/plain"),
        ('{"rows": [{"a": "first"}, {"a": "sec', "a.json", "application/json"),
        ('[\n {"a": "first"},\n {\n  "a": tr', "a.txt", "application/json"),
        ('[1] See the notes, they say "no', "a.txt", "text/plain"),
        ("[main]\nname = x\n", "a.ini", "text/plain"),
        ("{name} says: [", "a.txt", "text/plain"),
        ('{"a": 1}\nbroken\n{"a": 2}\n', "a.jsonl", "application/x-ndjson"),
        ('broken\n{"a": 1}\n', "a.jsonl", "application/x-ndjson"),
        ('{"a": 1}\n' * 20 + '{"a": ', "a.txt", "application/x-ndjson"),
        ('{"a": 1}\nSome words on it.\n{"a": 2}\n', "a.txt", "text/plain"),
    ],
)  # fmt: skip
def test_kinds(tmp_path: Path, text: str, name: str, media_type: str) -> None:
    assert detected(tmp_path, text.encode(), name).media_type == media_type


@pytest.mark.parametrize(
    "text",
    ["\n" * 100_000, " " * 100_000, "\\begin{" * 20_000, "1\n" + "\n" * 100_000, "#include " * 10_000, "#" * 100_000],
)
def test_hostile_texts_cost_no_time(text: str) -> None:
    started = time.perf_counter()
    by_content(text)
    by_lines(text)
    for name in ("a.py", "a.c", "a.yaml", "a.toml", "a.sql", "a.tex", "a.diff", "a.rb"):
        by_name(text, name)
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("text", "media_type"),
    [
        ('{"a": 1}\n{"a": 2}\n', "application/x-ndjson"),
        ('{"a": 1,\n"b": [2]}\n', "application/json"),
        ('{"a": [1, 2]}', "application/json"),
    ],
)
def test_only_the_beginning_of_a_large_file_is_at_hand(text: str, media_type: str) -> None:
    assert probe(text, whole=False, tail=text[-9:], file_name="a").media_type == media_type
