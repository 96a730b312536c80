"""Control words of RTF 1.9.1 that need no code of their own: characters, and destinations that hold no text."""

from __future__ import annotations

CHARACTERS: dict[bytes, str] = {
    b"tab": "\t",
    b"line": "\n",
    b"page": "\n",
    b"column": "\n",
    b"softline": " ",
    b"lbr": "\n",
    b"emdash": "—",
    b"endash": "–",
    b"emspace": "\u2003",
    b"enspace": "\u2002",
    b"qmspace": "\u2005",
    b"bullet": "•",
    b"lquote": "‘",
    b"rquote": "’",
    b"ldblquote": "“",
    b"rdblquote": "”",
    b"zwj": "\u200d",
    b"zwnj": "\u200c",
    b"zwbo": "\u200b",
    b"zwnbo": "\u2060",
    b"ltrmark": "\u200e",
    b"rtlmark": "\u200f",
}

SKIPPED = frozenset(
    b"""colortbl filetbl listtable listoverridetable revtbl rsidtbl generator pgptbl themedata colorschememapping
    latentstyles datastore xmlnstbl wgrffmtfilter mmathPr objdata objclass objname objtime objalias objsect
    bkmkstart bkmkend xe tc tcn rxe txe ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn nonshppict nonesttables
    shprslt pntxtb pntxta pn pnseclvl listname listpicture listlevel template private background docvar userprops
    datafield formfieldraw atnid atnref atrfstart atrfend atntime atndate atnparent atnicn panose falt fontemb
    fontfile mhtmltag nextfile passwordhash protusertbl fldtype ebcstart ebcend comment
    keycode blipuid bliptag mmathPict gridtbl
    printim buptim hlinkbase linkval staticval propname
    mailmerge ffdeftext ffformat ffhelptext ffstattext ffentrymcr ffexitmcr ffname
    """.split()
)
"""Destinations without text for a reader, where a writer left out `\\*`. With it, every unknown one is skipped."""

MUTED = frozenset(b"shpgrp shpinst do picprop sp info formfield".split())
"""Destinations whose own text is none, but which hold groups that are looked at."""

INFO_TEXTS: dict[bytes, str] = {
    b"title": "title",
    b"author": "author",
    b"subject": "subject",
    b"keywords": "keywords",
    b"doccomm": "description",
    b"category": "category",
    b"company": "company",
    b"manager": "manager",
    b"operator": "last_modified_by",
}
INFO_TIMES: dict[bytes, str] = {b"creatim": "created", b"revtim": "modified"}
TIME_PARTS = (b"yr", b"mo", b"dy", b"hr", b"min", b"sec")
