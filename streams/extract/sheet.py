"""Workbooks (XLSX, XLSM, XLSB, XLS, ODS): every sheet a section, every region a table, values as they are shown."""

from __future__ import annotations

from collections.abc import Iterable

from streams.errors import DocumentError
from streams.extract.ooxml import Package, core_properties, w3c_date
from streams.extract.outcome import Draft, Request
from streams.extract.sheet_blocks import Blocks
from streams.extract.sheet_model import Budget, Sheet
from streams.extract.sheet_xlsx import XlsxWorkbook
from streams.records import Dropped

MAX_NAMES = 100
"""Defined names that the metadata list."""

_COUNTED = (
    "hidden_sheets",
    "very_hidden_sheets",
    "hidden_rows",
    "formulas_without_value",
    "values_not_shown",
    "empty_sheets",
    "charts",
)
"""Counts that the metadata tell."""
_CORE = {
    "dc:subject": "subject",
    "dc:description": "description",
    "cp:keywords": "keywords",
    "cp:category": "category",
    "cp:lastModifiedBy": "last_modified_by",
}


def extract_xlsx(request: Request) -> Draft:
    """An XLSX or XLSM workbook.

    Errors: DocumentError `corrupt`, `truncated`, `encrypted`, `bomb` or `too_large`. A sheet that is damaged gives
    what there is of it, with a warning (`sheet_damaged`).
    """
    budget = Budget()
    with Package(request.path) as package:
        workbook = XlsxWorkbook(request.path, package, budget)
        draft = _draft(workbook.sheets(), budget)
        _core(package, draft)
        names = workbook.defined_names()
        if any(part.endswith("vbaproject.bin") for part in package.parts()):
            draft.metadata["macros"] = "present, not run"
        _warn(draft, package.warnings)
    return _finished(draft, budget, names, request)


def extract_xlsb(request: Request) -> Draft:
    """An XLSB workbook. Errors: DocumentError `corrupt`, `truncated`, `encrypted`, `bomb` or `too_large`."""
    from streams.extract.sheet_xlsb import XlsbWorkbook

    budget = Budget()
    with Package(request.path) as package:
        draft = _draft(XlsbWorkbook(request.path, package, budget).sheets(), budget)
        _core(package, draft)
        _warn(draft, package.warnings)
    return _finished(draft, budget, [], request)


def extract_xls(request: Request) -> Draft:
    """An XLS workbook. Errors: DocumentError `corrupt`, `encrypted` or `too_large`."""
    from streams.extract.sheet_calamine import CalamineSheets
    from streams.extract.sheet_xls import XlsWorkbook

    budget = Budget()
    try:
        workbook = XlsWorkbook(request.path, budget)
        draft = _draft(workbook.sheets(), budget)
    except DocumentError as error:
        if error.problem != "corrupt":
            raise
        budget = Budget()  # another reader may be less strict
        return _finished(_draft(CalamineSheets(request.path, budget).sheets(), budget), budget, [], request)
    author = workbook.author()
    if author:
        draft.metadata["last_modified_by"] = author
    return _finished(draft, budget, workbook.defined_names(), request)


def extract_ods(request: Request) -> Draft:
    """An OpenDocument spreadsheet.

    Errors: DocumentError `corrupt`, `truncated`, `encrypted`, `bomb` or `too_large`.
    """
    from streams.extract.sheet_ods import OdsWorkbook

    budget = Budget()
    with Package(request.path) as package:
        if "META-INF/manifest.xml" in package and b"encryption-data" in package.read("META-INF/manifest.xml"):
            raise DocumentError("encrypted", "The document needs a password.")
        workbook = OdsWorkbook(request.path, package, budget)
        draft = _draft(workbook.sheets(), budget)
        _open_document_info(package, draft)
        _warn(draft, package.warnings)
    return _finished(draft, budget, workbook.names, request)


def _draft(sheets: Iterable[Sheet], budget: Budget) -> Draft:
    blocks = Blocks(budget)
    for sheet in sheets:
        blocks.add(sheet)
    draft = Draft(blocks=blocks.blocks, tables=blocks.tables, refs=blocks.refs)
    if blocks.hidden_columns:
        draft.metadata["hidden_columns"] = "; ".join(blocks.hidden_columns)
    return draft


def _finished(draft: Draft, budget: Budget, names: list[tuple[str, str]], request: Request) -> Draft:
    """Says what was hidden, missing or left out."""
    draft.metadata |= {name: str(budget.counts[name]) for name in _COUNTED if budget.counts[name]}
    if names:
        draft.metadata["defined_names"] = "; ".join(f"{name} = {target}" for name, target in names[:MAX_NAMES])
    if budget.counts["covered_cell_text"]:
        draft.dropped.append(Dropped(what="covered_cell_text", count=budget.counts["covered_cell_text"]))
    _warn(draft, budget.warnings)
    draft.warnings = list(dict.fromkeys([*request.detection.warnings, *draft.warnings]))
    return draft


def _warn(draft: Draft, codes: Iterable[str]) -> None:
    draft.warnings = list(dict.fromkeys([*draft.warnings, *codes]))


def _core(package: Package, draft: Draft) -> None:
    found = core_properties(package, draft)
    draft.metadata |= {key: found[name] for name, key in _CORE.items() if name in found}


def _open_document_info(package: Package, draft: Draft) -> None:
    """Title, author and dates of `meta.xml` (ODF 1.3 part 3, 4.3)."""
    root = package.optional_xml("meta.xml" if "meta.xml" in package else None)
    found: dict[str, str] = {}
    for element in root.iter() if root is not None else ():
        text = " ".join((element.text or "").split())
        if isinstance(element.tag, str) and text:
            found.setdefault(element.tag.rpartition("}")[2], text)
    draft.title = found.get("title")
    author = found.get("initial-creator") or found.get("creator")
    draft.authors = [author] if author else []
    draft.created, bad_created = w3c_date(found.get("creation-date"))
    draft.modified, bad_modified = w3c_date(found.get("date"))
    if bad_created or bad_modified:
        package.warn("bad_date")
    draft.metadata |= {key: found[key] for key in ("subject", "description", "keyword") if key in found}
