"""Blocks in the order in which a reader of markup writes them; an index names each for captions, notes and comments."""

from __future__ import annotations

from streams.records import Block, BlockKind, BlockSource, Link


class BlockList:
    """What readers of DOCX, PPTX, OpenDocument, RTF and sheets have in common."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def _add(
        self,
        kind: BlockKind,
        text: str,
        *,
        level: int | None = None,
        marker: str | None = None,
        links: list[Link] | None = None,
        table: int | None = None,
        hidden: bool = False,
        page: int | None = None,
        bbox: tuple[float, float, float, float] | None = None,
    ) -> int:
        """Its index."""
        self.blocks.append(
            Block(
                kind=kind,
                text=text,
                level=level,
                marker=marker,
                source=BlockSource.MARKUP,
                links=links or [],
                table=table,
                hidden=hidden,
                page=page,
                bbox=bbox,
            )
        )
        return len(self.blocks) - 1
