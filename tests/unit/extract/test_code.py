"""Code stays as it stands, and is not judged as prose."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.screen import screen
from streams.screen.policy import Policy
from tests.unit.extract.drafts import canon, kinds


def test_code_is_one_block(tmp_path: Path) -> None:
    source = "def f():\n\n    # ﬁrst\n\treturn {'a': 1}\n"
    body = canon(tmp_path, source, "text/x-python")
    assert kinds(body) == [("code", source.rstrip())]


def test_a_patch_keeps_its_message_as_prose(tmp_path: Path) -> None:
    body = canon(
        tmp_path,
        "Mend the pump.\n\nIt leaked.\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n",
        "text/x-diff",
    )
    assert [kind for kind, _ in kinds(body)] == ["paragraph", "paragraph", "code"]
    assert body.blocks[2].text.startswith("diff --git")


def test_symbols_do_not_hold_code(tmp_path: Path) -> None:
    source = "\n".join(f"x[{n}]={{{n}:({n}<<2)&~0x{n:x}}};;//--##@@" for n in range(200))
    body = canon(tmp_path, source, "text/x-c")
    assert screen(body, Policy(), size=len(source)).problems == []


def test_encrypted_messages_say_so(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        canon(tmp_path, "-----BEGIN PGP MESSAGE-----\n\nxx\n-----END PGP MESSAGE-----\n", "application/pgp-encrypted")
    assert caught.value.problem == "encrypted"
