"""What a file's name or its source says it is, and whether that agrees with the bytes."""

from __future__ import annotations

_OOXML = "application/vnd.openxmlformats-officedocument."
_ODF = "application/vnd.oasis.opendocument."
_PROTECTED = "application/x-ooxml-encrypted"

_LINES = """
pdf application/pdf
doc dot application/msword
xls xlt xla application/vnd.ms-excel
ppt pps pot application/vnd.ms-powerpoint
msg oft application/vnd.ms-outlook
vsd vst vss application/vnd.visio
pub application/x-mspublisher
mpp application/vnd.ms-project
one application/onenote
pst ost application/vnd.ms-outlook-pst
docx {w}wordprocessingml.document {p}
dotx {w}wordprocessingml.template {p}
docm application/vnd.ms-word.document.macroEnabled.12 {p}
dotm application/vnd.ms-word.template.macroEnabled.12 {p}
xlsx {w}spreadsheetml.sheet {p}
xltx {w}spreadsheetml.template {p}
xlsm application/vnd.ms-excel.sheet.macroEnabled.12 {p}
xltm application/vnd.ms-excel.template.macroEnabled.12 {p}
xlam application/vnd.ms-excel.addin.macroEnabled.12 {p}
xlsb application/vnd.ms-excel.sheet.binary.macroEnabled.12 {p}
pptx {w}presentationml.presentation {p}
potx {w}presentationml.template {p}
ppsx {w}presentationml.slideshow {p}
pptm application/vnd.ms-powerpoint.presentation.macroEnabled.12 {p}
potm application/vnd.ms-powerpoint.template.macroEnabled.12 {p}
ppsm application/vnd.ms-powerpoint.slideshow.macroEnabled.12 {p}
ppam application/vnd.ms-powerpoint.addin.macroEnabled.12 {p}
sldx {w}presentationml.slide {p}
vsdx application/vnd.ms-visio.drawing
vsdm application/vnd.ms-visio.drawing.macroEnabled
vstx application/vnd.ms-visio.template
vstm application/vnd.ms-visio.template.macroEnabled
vssx application/vnd.ms-visio.stencil
vssm application/vnd.ms-visio.stencil.macroEnabled
xps application/vnd.ms-xpsdocument
oxps application/oxps application/vnd.ms-xpsdocument
odt {o}text
ott {o}text-template
odm {o}text-master
ods {o}spreadsheet
ots {o}spreadsheet-template
odp {o}presentation
otp {o}presentation-template
odg {o}graphics
otg {o}graphics-template
odc {o}chart
odf {o}formula
odb {o}base {o}database
fodt {o}text-flat-xml
fods {o}spreadsheet-flat-xml
fodp {o}presentation-flat-xml
fodg {o}graphics-flat-xml
sxw application/vnd.sun.xml.writer
sxc application/vnd.sun.xml.calc
sxi application/vnd.sun.xml.impress
pages application/vnd.apple.pages
numbers application/vnd.apple.numbers
key application/vnd.apple.keynote text/plain
hwp application/x-hwp
hwpx application/hwp+zip
wpd application/vnd.wordperfect
epub application/epub+zip
fb2 application/x-fictionbook+xml
mobi azw application/x-mobipocket-ebook
djvu djv image/vnd.djvu
rtf text/rtf
html htm xhtml xht text/html application/xhtml+xml
mht mhtml multipart/related message/rfc822
eml emlx message/rfc822
mbox mbx application/mbox
tnef application/vnd.ms-tnef
vcf text/vcard
ics ifb text/calendar
json geojson ipynb application/json application/x-ndjson
jsonl ndjson application/x-ndjson application/json
xml application/xml
svg image/svg+xml
rss application/rss+xml application/rdf+xml
atom application/atom+xml
kml application/vnd.google-earth.kml+xml
kmz application/vnd.google-earth.kmz
gpx application/gpx+xml
xfdf application/xfdf
fdf application/fdf
csv text/csv text/tab-separated-values
tsv tab text/tab-separated-values text/csv
md markdown text/markdown
txt text/plain text/markdown text/csv text/tab-separated-values application/json application/x-ndjson
srt application/x-subrip
vtt text/vtt
tex latex text/x-tex
diff patch text/x-diff
py text/x-python
java text/x-java
c h text/x-c text/x-c++
cpp hpp cc cxx text/x-c++
js mjs text/javascript
css text/css
sh bash text/x-shellscript
sql application/sql
zip application/zip
jar war ear application/java-archive
apk application/vnd.android.package-archive
gz tgz application/gzip
tar application/x-tar
bz2 tbz2 application/x-bzip2
xz txz application/x-xz
lzma application/x-lzma
lz4 application/x-lz4
z application/x-compress
zst application/zstd
7z application/x-7z-compressed
rar application/vnd.rar
cpio application/x-cpio
a ar application/x-archive
deb application/vnd.debian.binary-package
rpm application/x-rpm
cab application/vnd.ms-cab-compressed
iso application/x-iso9660-image
sqlite application/vnd.sqlite3
mdb accdb application/x-msaccess
ps eps application/postscript
png image/png
jpg jpeg image/jpeg
gif image/gif
tif tiff image/tiff
bmp dib image/bmp
webp image/webp
heic heif image/heic image/heif image/heic-sequence image/heif-sequence
avif image/avif
ico image/vnd.microsoft.icon
jp2 j2k image/jp2
jpx jpf image/jpx image/jp2
psd psb image/vnd.adobe.photoshop
wmf image/wmf
emf image/emf
mp3 audio/mpeg
wav audio/wav
flac audio/flac
ogg oga audio/ogg application/ogg video/ogg
mid midi audio/midi
aac audio/aac
m4a audio/mp4 video/mp4
mp4 m4v video/mp4
mov video/quicktime
avi video/x-msvideo
mkv video/x-matroska
webm video/webm
wmv wma asf video/x-ms-asf
flv video/x-flv
exe dll sys application/vnd.microsoft.portable-executable
elf so o application/x-elf
class application/java-vm
wasm application/wasm
ttf font/ttf
otf font/otf font/ttf
woff font/woff
woff2 font/woff2
"""


def _table(lines: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in lines.strip().splitlines():
        words = line.format(w=_OOXML, o=_ODF, p=_PROTECTED).split()
        media_types = tuple(word for word in words if "/" in word)
        found.update((word, media_types) for word in words if "/" not in word)
    return found


_BY_EXTENSION: dict[str, tuple[str, ...]] = _table(_LINES)
"""Extension -> what it promises; the first is the usual one. An extension that means many things is not here."""

_SAME: dict[str, str] = {
    "application/rtf": "text/rtf",
    "text/xml": "application/xml",
    "text/x-markdown": "text/markdown",
    "application/csv": "text/csv",
    "application/x-zip-compressed": "application/zip",
    "application/x-gzip": "application/gzip",
    "image/jpg": "image/jpeg",
    "image/x-icon": "image/vnd.microsoft.icon",
    "image/x-ms-bmp": "image/bmp",
    "image/x-wmf": "image/wmf",
    "image/x-emf": "image/emf",
    "audio/x-wav": "audio/wav",
    "audio/mp3": "audio/mpeg",
    "application/x-pdf": "application/pdf",
    "application/xhtml+xml": "text/html",
    "application/x-mimearchive": "multipart/related",
    "message/rfc2822": "message/rfc822",
    "application/excel": "application/vnd.ms-excel",
    "application/ms-tnef": "application/vnd.ms-tnef",
    "application/x-rar-compressed": "application/vnd.rar",
    "application/x-rar": "application/vnd.rar",
    "application/x-javascript": "text/javascript",
    "application/javascript": "text/javascript",
    "text/x-vcard": "text/vcard",
    "application/jsonl": "application/x-ndjson",
    "application/x-msdownload": "application/vnd.microsoft.portable-executable",
    "application/x-sqlite3": "application/vnd.sqlite3",
}
_SAYS_NOTHING = frozenset({"application/octet-stream", "binary/octet-stream", "application/x-download", "*/*", ""})
_XML_BY_ANOTHER_NAME = frozenset(
    {
        "application/vnd.ms-spreadsheetml",
        "application/vnd.ms-word2006ml",
        "application/vnd.ms-wordml",
        "application/x-java-jnlp-file",
        "application/x-plist",
        "application/xfdf",
        "text/x-opml",
    }
)
_TABLES = frozenset({"text/csv", "text/tab-separated-values"})


def essence(content_type: str | None) -> str | None:
    """The media type of a Content-Type without its parameters, in lower case; None when it is none."""
    value = (content_type or "").split(";", 1)[0].strip().lower()
    return value if value.count("/") == 1 and not any(c.isspace() for c in value) else None


def promised(file_name: str) -> tuple[str, ...]:
    """The media types that a name's extension promises; empty when it promises nothing."""
    extension = file_name.rsplit(".", 1)[-1].lower() if "." in file_name else ""
    return _BY_EXTENSION.get(extension, ())


def mismatch(media_type: str, declared: str | None, file_name: str) -> bool:
    """Whether the declared type, or else the extension, promises something else than the bytes are."""
    if declared is not None and declared not in _SAYS_NOTHING and not agree(declared, media_type):
        return True
    expected = promised(file_name)
    return bool(expected) and not any(agree(one, media_type) for one in expected)


def agree(promise: str, found: str) -> bool:
    """Whether bytes of the media type `found` keep the promise: the same type, another name of it, or a kind of it."""
    promise, found = promise.lower(), found.lower()
    if _SAME.get(promise, promise) == _SAME.get(found, found):
        return True
    if _SAME.get(promise, promise) == "application/xml":
        return found.endswith(("+xml", "-flat-xml")) or found in _XML_BY_ANOTHER_NAME
    if promise == "text/plain":
        return (
            found in ("text/markdown", "text/vtt", "application/x-subrip")
            or found in _TABLES
            or (found.startswith("text/x-"))
        )
    return False
