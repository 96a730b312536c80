"""One converter of documents, kept warm: run by `bench.peers` as a script, in the environment that has the converter.

It answers lines of JSON. `{"time": [path, …]}` converts the files and gives the seconds, those of CPU, the characters
and what failed; `{"say": path}` gives its answer for one file, `main`, and what else it knows, `more`, in one notation
for all converters: Markdown, tables with spans as HTML, and `[label] ` before a line that the converter labels (a
comment, a page header, a hidden text). `{}` ends it with the peak of memory.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Converter = tuple[Callable[[str], str], Callable[[str], tuple[str, str]]]
"""What gives the plain answer, for the clock, and all that is known, for the comparison."""
MAX_BYTES = 1 << 30


def _canonry() -> Converter:
    decode = importlib.import_module("streams.decode").decode
    extract = importlib.import_module("streams.extract").extract
    render = importlib.import_module("streams.extract.render")
    request = importlib.import_module("streams.extract.outcome").Request

    def canon(path: str) -> Any:
        file = Path(path)
        found = decode(file, declared_media_type=None, http_content_type=None, file_name=file.name, max_bytes=MAX_BYTES)
        if found.failure is not None:
            raise ValueError(found.failure.code)
        return extract(request(path=file, detection=found.detection), content_hash="0" * 64)

    def say(path: str) -> tuple[str, str]:
        body = canon(path)
        lines = [f"[metadata] {name}: {value}" for name, value in body.metadata.items()]
        texts = {block.id: block.text for block in body.blocks}
        titled = any(block.kind.value == "title" for block in body.blocks)  # it stands above the first headings
        for block in body.blocks:
            kind = block.kind.value
            text = block.text
            if block.table is not None:
                text = render.markdown_table(body.tables[block.table])
            elif kind in ("title", "heading"):
                text = "#" * (1 if kind == "title" else (block.level or 1) + titled) + " " + text
            elif kind == "list_item":
                text = "  " * ((block.level or 1) - 1) + f"{block.marker or '-'} {text}"
            elif kind != "paragraph":
                text = f"[{kind}{' ' + block.marker if block.marker else ''}] {text}"
            if block.ref:
                text += f" [of: {texts.get(block.ref, '')[:200]}]"
            text += "".join(f" [{link.text}]({link.target})" for link in block.links)
            lines.append(("[hidden] " if block.hidden else "") + text)
        return render.to_markdown(body), "\n".join(lines)

    return lambda path: render.to_markdown(canon(path)), say


def _kreuzberg() -> Converter:
    kreuzberg = importlib.import_module("kreuzberg")
    plain = kreuzberg.ExtractionConfig(use_cache=False, output_format="markdown")
    full = kreuzberg.ExtractionConfig(use_cache=False, output_format="markdown", include_document_structure=True)
    html = kreuzberg.ExtractionConfig(use_cache=False, output_format="html")

    def say(path: str) -> tuple[str, str]:
        found = kreuzberg.extract_file_sync(path, config=full)
        lines = []
        for node in (found.document or {}).get("nodes", ()):
            layer, content = node.get("content_layer"), node.get("content", {})
            kind = content.get("node_type", "")
            if content.get("text"):
                label = layer if layer not in (None, "body") else kind
                lines.append(f"[{label}] {content['text']}")
            elif kind not in ("table", "group", "list"):
                lines.append(f"[{kind}] " + json.dumps(content, ensure_ascii=False, default=str))
        lines.append("[metadata] " + json.dumps(found.metadata, ensure_ascii=False, default=str))
        rest = (found.children, found.uris, found.annotations)
        lines += [json.dumps(more or [], ensure_ascii=False, default=str) for more in rest]
        page = kreuzberg.extract_file_sync(path, config=html).content
        if "colspan" in page or "rowspan" in page:
            lines.append(page)
        return found.content, "\n".join(lines)

    return lambda path: str(kreuzberg.extract_file_sync(path, config=plain).content), say


def _markitdown() -> Converter:
    convert = importlib.import_module("markitdown").MarkItDown().convert
    return lambda path: str(convert(path).markdown), lambda path: (str(convert(path).markdown), "")


def _unstructured() -> Converter:
    _without_model()
    partition = importlib.import_module("unstructured.partition.auto").partition

    def elements(path: str) -> Iterable[Any]:
        return list(partition(filename=path, strategy="fast", include_slide_notes=True))

    def say(path: str) -> tuple[str, str]:
        lines = []
        for element in elements(path):
            kind, text, more = element.category, element.text, element.metadata.to_dict()
            if kind == "Title":
                text = "#" * (int(more.get("category_depth") or 0) + 1) + " " + text
            elif kind == "ListItem":
                text = f"- {text}"
            elif kind == "Table":
                text = more.get("text_as_html") or text
            elif kind not in ("NarrativeText", "UncategorizedText"):
                text = f"[{kind}] {text}"
            for name, target in zip(more.get("link_texts") or (), more.get("link_urls") or (), strict=False):
                text += f" [{name}]({target})"
            lines.append(text)
            lines += [f"[metadata] {key}: {more[key]}" for key in ("subject", "sent_from", "sent_to") if key in more]
        return "\n".join(line for line in lines if not line.startswith("[metadata]")), "\n".join(lines)

    return lambda path: "\n\n".join(str(element) for element in elements(path)), say


def _without_model() -> None:
    """Where spaCy's English model isn't installed, a tokenizer with rules for sentences takes its place.

    unstructured asks it what is a sentence and what a verb; titles and paragraphs are told apart less well then.
    """
    spacy = importlib.import_module("spacy")
    if spacy.util.is_package("en_core_web_sm"):
        return
    blank = spacy.blank("en")
    blank.add_pipe("sentencizer")
    tokenize = importlib.import_module("unstructured.nlp.tokenize")
    for name in ("_load_spacy_model", "_get_nlp", "_load_model", "get_nlp"):
        if hasattr(tokenize, name):
            setattr(tokenize, name, lambda *_: blank)


def _docling() -> Converter:
    converter = importlib.import_module("docling.document_converter").DocumentConverter()
    layers = set(importlib.import_module("docling_core.types.doc.document").ContentLayer)

    def say(path: str) -> tuple[str, str]:
        document = converter.convert(path).document
        lines = []
        for item, _ in document.iterate_items(included_content_layers=layers):
            label, layer = item.label.value, item.content_layer.value
            text = getattr(item, "text", "")
            if hasattr(item, "export_to_html") and label in ("table", "document_index"):
                text = item.export_to_html(document)
            elif label == "section_header":
                text = "#" * item.level + " " + text
            elif label == "list_item":
                text = f"{item.marker} {text}"
            elif label not in ("text", "paragraph"):
                text = f"[{label}] {text}"
            if getattr(item, "hyperlink", None):
                text += f" [{text}]({item.hyperlink})"
            lines.append(f"[{layer}] {text}" if layer != "body" else text)
        return document.export_to_markdown(), "\n".join(lines)

    return lambda path: str(converter.convert(path).document.export_to_markdown()), say


CONVERTERS: dict[str, Callable[[], Converter]] = {
    "canonry": _canonry,
    "kreuzberg": _kreuzberg,
    "markitdown": _markitdown,
    "unstructured": _unstructured,
    "docling": _docling,
}


def _cpu() -> float:
    """Seconds of CPU of this process and of those it has waited for: some call LibreOffice or pandoc."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _memory() -> float:
    """Peak MiB of this process or of the largest that it has waited for."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024


def _timed(convert: Callable[[str], str], paths: list[str]) -> dict[str, Any]:
    characters, failed = 0, {}
    clock, cpu = time.perf_counter(), _cpu()
    for path in paths:
        try:
            characters += len(convert(path))
        except Exception as error:  # noqa: BLE001 - whatever a converter raises is its answer
            failed[Path(path).name] = f"{type(error).__name__}: {error}"[:200]
    return {
        "seconds": time.perf_counter() - clock,
        "cpu": _cpu() - cpu,
        "characters": characters,
        "failed": failed,
    }


def main() -> None:
    """Argument: the converter."""
    out = os.dup(1)
    os.dup2(2, 1)  # libraries print what they like
    convert, say = CONVERTERS[sys.argv[1]]()
    for line in sys.stdin:
        asked = json.loads(line)
        if "time" in asked:
            answer = _timed(convert, asked["time"])
        elif "say" in asked:
            try:
                answer = dict(zip(("main", "more"), say(asked["say"]), strict=True))
            except Exception as error:  # noqa: BLE001 - whatever a converter raises is its answer
                answer = {"failed": f"{type(error).__name__}: {error}"[:200]}
        else:
            answer = {"memory": _memory()}
        os.write(out, json.dumps(answer).encode() + b"\n")
        if "memory" in answer:
            return


if __name__ == "__main__":
    main()
