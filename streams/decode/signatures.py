"""Formats that say what they are in fixed bytes: the same answer on every machine, whichever libmagic it has."""

from __future__ import annotations

import re

from streams.decode.signature_checks import CHECKS

PDF_SEARCH = 1 << 20
"""Bytes that are searched for %PDF-: readers take 1024 (ISO 32000-1, implementation note 13), web servers put more."""

_PREFIXES: dict[bytes, str] = {
    # images
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"II*\x00": "image/tiff",
    b"MM\x00*": "image/tiff",
    b"II+\x00": "image/tiff",
    b"MM\x00+": "image/tiff",
    b"8BPS\x00\x01": "image/vnd.adobe.photoshop",
    b"8BPS\x00\x02": "image/vnd.adobe.photoshop",
    b"\x00\x00\x00\x0cjP  \r\n\x87\n": "image/jp2",
    b"\xff\x4f\xff\x51\x00": "image/j2c",
    b"\x00\x00\x00\x0cJXL \r\n\x87\n": "image/jxl",
    b"AT&TFORM": "image/vnd.djvu",
    b"\xd7\xcd\xc6\x9a\x00\x00": "image/wmf",
    b"gimp xcf": "image/x-xcf",
    b"\x97JB2\r\n\x1a\n": "image/x-jbig2",
    b"\x8aMNG\r\n\x1a\n": "video/x-mng",
    b"\x8bJNG\r\n\x1a\n": "image/x-jng",
    b"SIMPLE  =                    T": "image/fits",
    b"II\xbc\x01": "image/jxr",
    b"BPG\xfb": "image/bpg",
    # archives and compressed files
    b"\x1f\x8b\x08": "application/gzip",
    b"\x1f\x9d": "application/x-compress",
    b"\x1f\xa0": "application/x-compress",
    b"\xfd7zXZ\x00": "application/x-xz",
    b"\x28\xb5\x2f\xfd": "application/zstd",
    b"\x04\x22\x4d\x18": "application/x-lz4",
    b"\x02\x21\x4c\x18": "application/x-lz4",
    b"LZIP\x01": "application/x-lzip",
    b"\x89LZO\x00\r\n\x1a\n": "application/x-lzop",
    b"\xff\x06\x00\x00sNaPpY": "application/x-snappy-framed",
    b"7z\xbc\xaf\x27\x1c": "application/x-7z-compressed",
    b"Rar!\x1a\x07": "application/vnd.rar",
    b"MSCF\x00\x00\x00\x00": "application/vnd.ms-cab-compressed",
    b"!<arch>\ndebian-binary": "application/vnd.debian.binary-package",
    b"!<arch>\n": "application/x-archive",
    b"!<thin>\n": "application/x-archive",
    b"\xed\xab\xee\xdb": "application/x-rpm",
    b"xar!\x00": "application/x-xar",
    b"hsqs": "application/x-squashfs",
    b"StuffIt (c)1997": "application/x-stuffit",
    b"SIT!\x00": "application/x-stuffit",
    b"(This file must be converted with BinHex": "application/mac-binhex40",
    b"Cr24\x02\x00\x00\x00": "application/x-chrome-extension",
    b"Cr24\x03\x00\x00\x00": "application/x-chrome-extension",
    b"WARC/": "application/warc",
    # documents and data
    b"\x78\x9f\x3e\x22": "application/vnd.ms-tnef",
    b"%FDF-": "application/fdf",
    b"%!PS-AdobeFont": "font/type1",
    b"%!FontType": "font/type1",
    b"%!PS": "application/postscript",
    b"\x04%!PS": "application/postscript",
    b"\xc5\xd0\xd3\xc6": "application/postscript",
    b"\xf7\x02\x01\x83\x92\xc0\x1c\x3b": "application/x-dvi",
    b"\xffWPC": "application/vnd.wordperfect",
    b"\xdb\xa5\x2d\x00": "application/msword",  # Word 2.0
    b"\x9b\xa5\x21\x00": "application/msword",  # Word 1.0
    b"\xfe\x37\x00\x1c": "application/msword",  # Word 4.0 for Macintosh
    b"\xfe\x37\x00\x23": "application/msword",  # Word 5.0 for Macintosh
    b"\x31\xbe\x00\x00\x00\xab": "application/msword",  # Word for DOS
    b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3": "application/onenote",
    b"\xa1\x2f\xff\x43\xd9\xef\x76\x4c\x9e\xe2\x10\xea\x57\x22\x76\x5f": "application/onenote",
    b"!BDN": "application/vnd.ms-outlook-pst",
    b"\xcf\xad\x12\xfe": "application/x-outlook-express",
    b"ITSF\x03\x00\x00\x00": "application/vnd.ms-htmlhelp",
    b"?_\x03\x00": "application/winhlp",
    b"\x00\x00\x1a\x00\x00\x10\x04\x00": "application/vnd.lotus-1-2-3",
    b"\x00\x00\x1a\x00\x02\x10\x04\x00": "application/vnd.lotus-1-2-3",
    b"\x00\x00\x1a\x00\x03\x10\x04\x00": "application/vnd.lotus-1-2-3",
    b"\x00\x00\x1a\x00\x05\x10\x04\x00": "application/vnd.lotus-1-2-3",
    b"\x00\x00\x02\x00\x04\x04\x06\x00": "application/vnd.lotus-1-2-3",
    b"\x00\x00\x02\x00\x06\x04\x06\x00": "application/vnd.lotus-1-2-3",
    b"\x00\x00\x02\x00\x20\x51\x06\x00": "application/x-quattro-pro",
    b"HWP Document File": "application/x-hwp",
    b"SQLite format 3\x00": "application/vnd.sqlite3",
    b"\x00\x01\x00\x00Standard Jet DB\x00": "application/x-msaccess",
    b"\x00\x01\x00\x00Standard ACE DB\x00": "application/x-msaccess",
    b"PAR1": "application/vnd.apache.parquet",
    b"Obj\x01\x04": "application/avro",
    b"ARROW1\x00\x00": "application/vnd.apache.arrow.file",
    b"\x89HDF\r\n\x1a\n": "application/x-hdf5",
    b"CDF\x01": "application/x-netcdf",
    b"CDF\x02": "application/x-netcdf",
    b"bplist00": "application/x-bplist",
    b"AC1012\x00": "image/vnd.dwg",
    b"AC1014\x00": "image/vnd.dwg",
    b"AC1015\x00": "image/vnd.dwg",
    b"AC1018\x00": "image/vnd.dwg",
    b"AC1021\x00": "image/vnd.dwg",
    b"AC1024\x00": "image/vnd.dwg",
    b"AC1027\x00": "image/vnd.dwg",
    b"AC1032\x00": "image/vnd.dwg",
    b"\xd4\xc3\xb2\xa1\x02\x00": "application/vnd.tcpdump.pcap",
    b"\xa1\xb2\xc3\xd4\x00\x02": "application/vnd.tcpdump.pcap",
    b"\x1b%-12345X": "application/vnd.hp-pcl",
    # fonts
    b"wOFF": "font/woff",
    b"wOF2": "font/woff2",
    b"OTTO\x00": "font/otf",
    b"ttcf\x00": "font/collection",
    # programs
    b"\x7fELF": "application/x-elf",
    b"\xfe\xed\xfa\xce": "application/x-mach-binary",
    b"\xfe\xed\xfa\xcf": "application/x-mach-binary",
    b"\xce\xfa\xed\xfe": "application/x-mach-binary",
    b"\xcf\xfa\xed\xfe": "application/x-mach-binary",
    b"\x00asm": "application/wasm",
    b"dex\n03": "application/vnd.android.dex",
    b"L\x00\x00\x00\x01\x14\x02\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00F": "application/x-ms-shortcut",
    # audio and video
    b"fLaC": "audio/flac",
    b"MThd\x00\x00\x00\x06": "audio/midi",
    b"#!AMR": "audio/amr",
    b".snd\x00\x00\x00": "audio/basic",
    b"MAC \x96\x0f": "audio/x-ape",
    b"wvpk": "audio/x-wavpack",
    b"MPCK": "audio/x-musepack",
    b"caff\x00\x01": "audio/x-caf",
    b"FLV\x01": "video/x-flv",
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": "video/x-ms-asf",
    b"\x00\x00\x01\xba": "video/mpeg",
    b"\x00\x00\x01\xb3": "video/mpeg",
    b".RMF\x00\x00\x00": "application/vnd.rn-realmedia",
    # what macOS writes for itself
    b"\x00\x00\x00\x01Bud1": "application/x-apple-dsstore",
    b"\x00\x05\x16\x07\x00\x02\x00\x00": "application/applefile",
    b"\x00\x05\x16\x00\x00\x02\x00\x00": "application/applefile",
    b"\x00\x05\x16\x00\x00\x01\x00\x00": "application/applefile",
}
_LENGTHS = sorted({len(prefix) for prefix in _PREFIXES}, reverse=True)

_FIRST_OBJECT = re.compile(rb"\s{0,1000}(?:%[^\r\n]{0,200}[\r\n]+\s*){0,3}\d{1,10} \d{1,5} obj\b")
_PDF_END = re.compile(rb"startxref\s+\d+\s+%%EOF")
_PDF_OBJECT = re.compile(rb"(?<!\d)\d{1,10}\s+\d{1,5}\s+obj\b|startxref|%%EOF|\bendobj\b")
_PRINTABLE = bytes(range(32, 127)) + b"\t\n\r\f"
_PRINTABLE_WORD = re.compile(rb"[ -~]+")
_TEXTUAL = (b"%", b"!<", b"(This", b"WARC/", b"HWP", b"SIMPLE", b"StuffIt")
"""Signatures of formats that are text, or so long that no text begins with them by chance."""
_POSTSCRIPT = re.compile(rb"%!\s*[\r\n]|@PJL[^\x00]{0,2000}?%!PS")


def by_signature(head: bytes) -> str | None:
    """Media type by fixed bytes at fixed places; None when there are none of these."""
    for length in _LENGTHS:
        found = _PREFIXES.get(head[:length])
        # Letters alone can be the first word of a text.
        if found and not (
            _PRINTABLE_WORD.fullmatch(head[:length]) and not head.startswith(_TEXTUAL) and _is_ascii_text(head)
        ):
            return found
    for check in CHECKS:
        if found := check(head):
            return found
    return "application/postscript" if _POSTSCRIPT.match(head) else None


def _is_ascii_text(head: bytes) -> bool:
    return not head[:1024].translate(None, _PRINTABLE)


def pdf_offset(data: bytes) -> int | None:
    """Where a PDF begins in the first bytes of a file: at 0, or after junk when objects follow; None when nowhere."""
    at = data.find(b"%PDF-", 0, PDF_SEARCH)
    objects = -1
    while at > 0:
        if objects < at:
            found = _PDF_OBJECT.search(data, at)
            if found is None:
                return None
            objects = found.start()
        # In source code an escape follows the version, in a file the end of the line.
        if re.match(rb"%PDF-\d\.\d[\s\0%]", data[at : at + 9]) and not _is_quoted(data, at):
            return at
        at = data.find(b"%PDF-", at + 5, PDF_SEARCH)
    return 0 if at == 0 else None


def pdf_without_header(head: bytes, tail: bytes) -> bool:
    """Whether objects, and a pointer to their table at the end, make a PDF whose first line is broken or gone."""
    return bool(_FIRST_OBJECT.match(head) and _PDF_END.search(tail))


def _is_quoted(data: bytes, at: int) -> bool:
    """Whether the header stands in the middle of a line of text: source code and articles write about PDF."""
    before = data[max(0, at - 200) : at]
    if len(before.translate(None, _PRINTABLE)) > 0:
        return False
    line = before[max(before.rfind(b"\n"), before.rfind(b"\r")) + 1 :]
    return (bool(line.strip(b" \t\xef\xbb\xbf")) and at > 1024) or line.rstrip().endswith(
        (b'"', b"'", b"+", b"-", b">")
    )
