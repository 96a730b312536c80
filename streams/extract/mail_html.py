"""The HTML of a mail: the blocks that any page gives, with signature and history told by the marks of mail programs."""

from __future__ import annotations

import re

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from streams.extract.html import flatten
from streams.extract.html_hidden import with_hidden
from streams.extract.html_meta import PageMeta, page_meta
from streams.extract.html_styles import Hiding
from streams.extract.html_walk import Frame, Walk, Walker
from streams.extract.mail_history import mark_history
from streams.records import BlockKind

_SIGNATURES = frozenset(
    {
        "gmail_signature", "moz-signature", "signature", "applemailsignature", "protonmail_signature_block",
        "ms-outlook-mobile-signature",
        "yahoo_signature", "zimbra_signature", "x_signature", "mail-signature", "email-signature", "outlooksignature",
    }
)  # fmt: skip
_QUOTES = frozenset(
    {
        "gmail_quote", "gmail_extra_quote", "yahoo_quoted", "moz-cite-prefix", "moz-forward-container",
        "protonmail_quote",
        "divrplyfwdmsg", "x_divrplyfwdmsg", "gmail_attr", "zmail_extra", "tutanota_quote",
    }
)  # fmt: skip
_PREFORMATTED = frozenset({"pre", "xmp", "listing", "plaintext"})
_OWN = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.TABLE, BlockKind.CODE, BlockKind.FORMULA})
_NAMES = re.compile(r"[^\s]+")


class _MailWalker(Walker):
    """Walks a page of a mail: an element that a mail program marked as quote or signature makes its text that."""

    def _open_block(self, node: LexborNode, tag: str, attributes: dict[str, str | None]) -> None:
        before = len(self.frames)
        super()._open_block(node, tag, attributes)
        kind = _kind(tag, attributes)
        if kind is None:
            return
        if len(self.frames) == before:
            self.frames.append(Frame(node.mem_id, tag))
        frame = self.frames[-1]
        if (
            frame.kind not in (None, BlockKind.QUOTE, BlockKind.CODE)
            or frame.table is not None
            or frame.cell is not None
        ):
            return
        frame.kind = kind
        if kind is BlockKind.QUOTE:
            frame.level = min(
                100, 1 + sum(f.kind is BlockKind.QUOTE for f in self.frames[:-1] if f.tag == "blockquote")
            )

    def _close(self, frame: Frame) -> None:
        if frame.tag in _PREFORMATTED and frame.kind is not BlockKind.CODE:
            self.pre -= 1
        super()._close(frame)


def _kind(tag: str, attributes: dict[str, str | None]) -> BlockKind | None:
    if tag == "blockquote":
        return BlockKind.QUOTE
    names = " ".join(attributes.get(key) or "" for key in ("class", "id", "data-smartmail")).lower()
    if not names:
        return None
    found = set(_NAMES.findall(names[:1000]))
    if found & _SIGNATURES:
        return BlockKind.SIGNATURE
    return BlockKind.QUOTE if found & _QUOTES else None


def html_walk(text: str) -> tuple[Walk, PageMeta]:
    """What stands on the page of a mail. `deep_nesting` is among the warnings where tags were too deep."""
    text, flattened = flatten(text)
    tree = LexborHTMLParser(text)
    root = tree.root
    if root is None:
        return Walk(), PageMeta()
    walk = _MailWalker(hiding=Hiding(root)).run(root)
    if flattened:
        walk.warnings.add("deep_nesting")
        walk.dropped["nesting"] += flattened
    if not any(block.kind in _OWN for block in walk.blocks):  # a template: all of the message stands in its signature
        walk.blocks = [
            msgspec.structs.replace(block, kind=BlockKind.PARAGRAPH) if block.kind is BlockKind.SIGNATURE else block
            for block in walk.blocks
        ]
    before = walk.blocks
    walk.blocks, walk.refs = mark_history(before, walk.refs)
    if walk.hidden:
        if len(walk.blocks) > len(before):  # a block was cut in two where the history begins
            cut = next(i for i, (old, new) in enumerate(zip(before, walk.blocks, strict=False)) if old.text != new.text)
            walk.hidden = [(at + (at > cut), text) for at, text in walk.hidden]
        walk.blocks, walk.refs = with_hidden(walk.blocks, walk.refs, walk.hidden)
        walk.dropped["hidden_element"] -= len(walk.hidden)
        walk.warnings.add("hidden_text")
    return walk, page_meta(tree)
