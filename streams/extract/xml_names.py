"""Names that elements of documents have in DocBook, TEI, FictionBook, DITA, JATS, OpenDocument, WordprocessingML.

Without their prefixes and in lower case.
"""

from __future__ import annotations

from streams.decode.kinds import words

PARAGRAPHS = words("p para simpara abstract-p v l shortdesc formalpara tp")
HEADINGS = words("h subtitle subhead bridgehead")
TITLES = words("title head heading article-title book-title")
ITEMS = words("li item listitem list-item step")
CODE = words("programlisting screen codeblock literallayout pre verbatim")
TABLES = words("table informaltable simpletable tbl")
ROWS = words("row tr table-row strow sthead")
CELLS = words("cell entry td th tc table-cell stentry")
HEADS = words("thead table-header-rows sthead")
FOOTNOTES = words("footnote fn")
BINARY = words("binary bindata binary-data")
ORDERED = words("orderedlist ol steps")
NO_TEXT = words("script style instrtext fldsimple-data")
SECTIONS = words(
    "section sect1 sect2 sect3 sect4 sect5 chapter article book part preface appendix sec body topic concept task"
)
SURELY_TEXT = (PARAGRAPHS | CODE) - words("v l tp")
"""What only documents have."""
BLOCKS = PARAGRAPHS | HEADINGS | TITLES | ITEMS | CODE | TABLES | SECTIONS
"""What stands on lines of its own; what holds one of these is no paragraph itself."""
FRONT = words(
    "info bookinfo articleinfo title-info title-group titlestmt description front article-meta filedesc teiheader "
    "prolog metadata head header bookmeta"
)
"""Elements that say things about the document; titles, authors and language stand in them."""
AUTHORS = words("author creator")
