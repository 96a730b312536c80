"""Attachments of mail (RFC 2045 to 2047, 2231), as mailers write it and as it arrives damaged."""

from __future__ import annotations

import base64
import binascii
import resource
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streams.decode.unpack import Limits, unpack
from tests.unit.decode.unpack.opened import Opened, opened, opened_file

DATA = bytes(range(256)) * 5
B64 = base64.encodebytes(DATA).replace(b"\n", b"\r\n")


def mail(*parts: bytes, boundary: str = "b", kind: str = "mixed", head: str = "", close: bool = True) -> bytes:
    """A multipart message of these parts, each with its own header fields."""
    text = f'Subject: s\r\n{head}MIME-Version: 1.0\r\nContent-Type: multipart/{kind}; boundary="{boundary}"\r\n\r\n'
    out = text.encode()
    for part in parts:
        out += b"--" + boundary.encode() + b"\r\n" + part + b"\r\n"
    return out + (b"--" + boundary.encode() + b"--\r\n" if close else b"")


def part(head: str | bytes, body: bytes) -> bytes:
    """One part: fields, a blank line, a body."""
    fields = head.encode() if isinstance(head, str) else head
    return fields.replace(b"\n", b"\r\n") + b"\r\n\r\n" + body


TEXT = part("Content-Type: text/plain", b"hello")
HTML = part("Content-Type: text/html", b"<p>hello")


def attached(name: str, body: bytes = B64, *, kind: str = "application/pdf", coding: str = "base64") -> bytes:
    """A part with a file name as most mailers write it."""
    head = f"Content-Type: {kind}\nContent-Transfer-Encoding: {coding}\nContent-Disposition: attachment; {name}"
    return part(head, body)


def of(folder: Path, data: bytes) -> Opened:
    found = opened(folder, data, "message/rfc822")
    assert found.failure is None
    return found


def test_an_attachment_is_a_member_and_the_text_is_not(tmp_path: Path) -> None:
    alternative = mail(TEXT, HTML, boundary="i", kind="alternative").partition(b"MIME-Version: 1.0\r\n")[2]
    found = of(tmp_path, mail(alternative, attached('filename="a.pdf"')))
    assert found.paths == ["a.pdf"]
    assert found.data["a.pdf"] == DATA
    assert found.members[0].media_type == "application/pdf"
    assert found.warnings == []


@pytest.mark.parametrize(
    ("head", "path"),
    [
        ("Content-Type: application/pdf; name=plain.pdf", "plain.pdf"),
        ("Content-Type: application/pdf; name=two words.pdf", "two words.pdf"),
        ('Content-Type: application/pdf; name="semi;colon.pdf"', "semi;colon.pdf"),
        ('Content-Type: application/pdf; name="never closed.pdf', "never closed.pdf"),
        ('Content-Type: application/pdf; name="a \\"b\\".pdf"', 'a "b".pdf'),
        ('Content-Type: application/pdf; name="=?utf-8?Q?=C3=A4b.pdf?="', "äb.pdf"),
        ("Content-Type: application/pdf; name==?iso-8859-1?B?5GIucGRm?=", "äb.pdf"),
        ('Content-Type: application/pdf;\n name="=?utf-8?B?w6Q=?=\n =?utf-8?B?Yi5wZGY=?="', "äb.pdf"),
        # one character of UTF-8 cut in two by the mailer
        ('Content-Type: application/pdf; name="=?utf-8?B?ww==?= =?utf-8?B?pGIucGRm?="', "äb.pdf"),
        ("Content-Type: application/pdf; name*=utf-8''%C3%A4b.pdf", "äb.pdf"),
        ("Content-Type: application/pdf; name*0*=utf-8'de'%C3; name*1*=%A4b; name*2=.pdf", "äb.pdf"),
        ("Content-Type: application/pdf; name*1=b.pdf; name*0=a", "ab.pdf"),
        ("Content-Type: application/pdf; name=x; name*=iso-8859-2''%B1.pdf", "ą.pdf"),
        ("Content-Type: application/pdf; name*=nonsense''%C3%A4.pdf", "ä.pdf"),
        ("Content-Type: application/pdf\nContent-Disposition: filename=only.pdf", "only.pdf"),
        ("Content-Type: application/pdf; name=a.pdf\nContent-Disposition: attachment; filename=b.pdf", "b.pdf"),
        ("Content-Type: application/pdf\nContent-Description: report.pdf", "report.pdf"),
        ("Content-Type: image/png\nContent-Location: http://h.example/i/a%20b.png?x=1", "a b.png"),
        ("Content-Type: application/pdf", "attachment-1.pdf"),
        ("Content-Type: application/octet-stream", "attachment-1"),
        ("Content-Type: text/calendar", "attachment-1.ics"),
        ("Content-Type: text/plain\nContent-Disposition: attachment", "attachment-1.txt"),
        ("Content-Type: text/plain; name=notes.txt", "notes.txt"),
        ('Content-Type: application/pdf; name="C:\\\\papers\\\\x.pdf"', "papers/x.pdf"),
        ("Content-Type: application/pdf; name=../../etc/passwd", "etc/passwd"),
    ],
)
def test_names(tmp_path: Path, head: str, path: str) -> None:
    assert of(tmp_path, mail(TEXT, part(head, b"x"))).paths == [path]


def test_a_name_in_raw_bytes_is_read_in_the_charset_of_the_message(tmp_path: Path) -> None:
    name = "отчёт.doc".encode("koi8-r")
    head = b'Content-Type: application/msword\nContent-Disposition: attachment; filename="' + name + b'"'
    text = part("Content-Type: text/plain; charset=koi8-r", "да".encode("koi8-r"))
    assert of(tmp_path, mail(text, part(head, b"x"))).paths == ["отчёт.doc"]
    head = b'Content-Type: application/msword; name="' + "ä.doc".encode() + b'"'
    assert of(tmp_path, mail(text, part(head, b"x"))).paths == ["ä.doc"]


@pytest.mark.parametrize(
    ("coding", "body", "warnings"),
    [
        ("base64", B64, []),
        ("BASE64", B64, []),
        ("base64 (a comment)", B64, []),
        ("base64", B64.rstrip(b"=\r\n"), []),
        ("base64", b"!!\r\n".join(B64.splitlines(keepends=True)), []),
        ("base64", base64.b64encode(DATA[:256]) + b"\r\n" + base64.b64encode(DATA[256:]), []),
        ("base64", B64 + b"_____________\r\nlist mailing list\r\n", ["text_after_base64"]),
        ("base64", DATA.replace(b"\r\n", b""), ["wrong_transfer_encoding"]),
        ("quoted-printable", binascii.b2a_qp(DATA, istext=False), []),
        ("8bit", DATA, []),
        ("binary", DATA, []),
        ("sevenbit", DATA, ["unknown_transfer_encoding"]),
    ],
)
def test_transfer_encodings(tmp_path: Path, coding: str, body: bytes, warnings: list[str]) -> None:
    found = of(tmp_path, mail(TEXT, attached("filename=a.bin", body, coding=coding)))
    expected = DATA.replace(b"\r\n", b"") if warnings == ["wrong_transfer_encoding"] else DATA
    assert found.data["a.bin"] == expected
    assert found.members[0].warnings == warnings


def test_quoted_printable_with_blanks_behind_soft_breaks_and_with_bare_carriage_returns(tmp_path: Path) -> None:
    found = of(tmp_path, mail(attached("filename=a", b"one=  \r\ntwo=3D", coding="quoted-printable")))
    assert found.data["a"] == b"onetwo="
    found = of(tmp_path, mail(attached("filename=a", b"one=\rtwo=3D", coding="quoted-printable")))
    assert found.data["a"] == b"onetwo="


def uuencoded(data: bytes, name: str) -> bytes:
    body = b"".join(binascii.b2a_uu(data[at : at + 45]) for at in range(0, len(data), 45))
    return f"begin 644 {name}\n".encode() + body + b"`\nend\n"


def test_uuencoded_attachment_and_files_in_the_text_of_old_mail(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        mail(
            TEXT,
            part("Content-Transfer-Encoding: x-uuencode\nContent-Type: application/msword", uuencoded(DATA, "u.doc")),
        ),
    )
    assert found.data == {"u.doc": DATA}
    old = b"Subject: files\n\nHere they are.\n\n" + uuencoded(DATA, "one.doc") + b"\nbegin 644 of all things\n\n"
    found = of(tmp_path, old + uuencoded(b"two", "two.txt"))
    assert found.data == {"one.doc": DATA, "two.txt": b"two"}
    cut = of(tmp_path, old[: len(old) // 2])
    assert cut.members[0].warnings[-1] == "end_missing"
    bad = of(tmp_path, mail(attached("filename=a", b"no such line", coding="uuencode")))
    assert bad.members[0].failure is not None
    assert bad.members[0].failure.code == "corrupt"


def test_yenc(tmp_path: Path) -> None:
    coded = b"".join(
        b"=" + bytes([(b + 42 + 64) % 256]) if (b + 42) % 256 in (0, 10, 13, 61) else bytes([(b + 42) % 256])
        for b in DATA
    )
    body = b"Subject: y\n\n=ybegin line=999999 size=1280 name=y.bin\n" + coded + b"\n=yend size=1280\n"
    assert of(tmp_path, body).data == {"y.bin": DATA}


def test_nested_messages_are_members_named_by_their_subject(tmp_path: Path) -> None:
    inner = mail(TEXT, attached("filename=deep.pdf"), boundary="inner").replace(
        b"Subject: s", b"Subject: =?utf-8?Q?a/b_=C3=A4?="
    )
    found = of(tmp_path, mail(TEXT, part("Content-Type: message/rfc822", inner)))
    assert found.paths == ["a b ä.eml"]
    assert of(tmp_path, found.data["a b ä.eml"]).paths == ["deep.pdf"]
    coded = part(
        "Content-Type: message/rfc822; name=f.eml\nContent-Transfer-Encoding: base64", base64.encodebytes(inner)
    )
    assert of(tmp_path, mail(TEXT, coded)).data["f.eml"] == inner
    digest = of(tmp_path, mail(b"\r\n" + inner, b"\r\n" + inner, kind="digest"))
    assert digest.paths == ["a b ä.eml", "a b ä (2).eml"]


def test_images_that_the_html_shows_are_inline_members(tmp_path: Path) -> None:
    image = part("Content-Type: image/png; name=p.png\nContent-ID: <1>\nContent-Transfer-Encoding: base64", B64)
    style = part("Content-Type: text/css\nContent-ID: <2>", b"p {}")
    found = of(tmp_path, mail(HTML, image, style, kind="related"))
    assert [(m.path, m.warnings) for m in found.members] == [("p.png", ["inline"]), ("attachment-2.css", ["inline"])]
    between = part("Content-Type: image/png\nContent-Disposition: inline; filename=q.png", b"x")
    found = of(tmp_path, mail(TEXT, between, TEXT, attached("filename=r.png", kind="image/png")))
    assert [(m.path, m.warnings) for m in found.members] == [("q.png", ["inline"]), ("r.png", [])]


def test_a_message_that_is_nothing_but_a_file(tmp_path: Path) -> None:
    found = of(tmp_path, b"Content-Type: application/pdf\nContent-Transfer-Encoding: base64\n\n" + B64)
    assert found.data == {"attachment-1.pdf": DATA}
    assert of(tmp_path, b"Content-Type: text/html; name=body.html\n\n<p>x").paths == []


def test_a_signature_is_left_out_and_what_it_signs_is_read(tmp_path: Path) -> None:
    signature = part("Content-Type: application/pkcs7-signature; name=smime.p7s", b"x")
    inner = mail(TEXT, attached("filename=a.pdf"), boundary="i").partition(b"MIME-Version: 1.0\r\n")[2]
    found = of(tmp_path, mail(inner, signature, kind="signed"))
    assert found.paths == ["a.pdf"]
    assert found.warnings == ["signature_left_out"]


def test_what_is_encrypted_says_so(tmp_path: Path) -> None:
    control = part("Content-Type: application/pgp-encrypted", b"Version: 1")
    body = part("Content-Type: application/octet-stream; name=encrypted.asc", b"-----BEGIN PGP MESSAGE-----")
    found = of(tmp_path, mail(control, body, kind="encrypted"))
    assert [(m.path, m.failure and m.failure.code) for m in found.members] == [("encrypted.asc", "encrypted")]
    enveloped = bytes.fromhex("3080") + bytes.fromhex("06092a864886f70d010703") + b"\xa0\x80"
    signed = bytes.fromhex("3080") + bytes.fromhex("06092a864886f70d010702") + b"\xa0\x80"
    for data, said, code in (
        (enveloped, "", "encrypted"),
        (signed, "", None),
        (signed, "; smime-type=enveloped-data", "encrypted"),
    ):
        head = f"Content-Type: application/pkcs7-mime{said}; name=smime.p7m\nContent-Transfer-Encoding: base64\n\n"
        member = of(tmp_path, head.encode() + base64.encodebytes(data)).members[0]
        assert (member.failure.code if member.failure else None) == code


def test_a_part_that_stands_elsewhere_says_so(tmp_path: Path) -> None:
    head = 'Content-Type: message/external-body; access-type=URL; url="http://files.example/x.pdf"; name=x.pdf'
    found = of(tmp_path, mail(TEXT, part(head, b"")))
    assert found.members[0].failure is not None
    assert found.members[0].failure.code == "broken_link"
    assert "files.example" in found.members[0].failure.message


def test_damaged_structure_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = mail(TEXT, attached("filename=a.pdf"), attached("filename=b.pdf"))
    cut = of(tmp_path, whole[: -len(b"--b--\r\n")])
    assert cut.data == {"a.pdf": DATA, "b.pdf": DATA}
    assert cut.warnings == ["end_boundary_missing"]
    wrong = of(tmp_path, whole.replace(b'boundary="b"', b'boundary="other"'))
    assert wrong.data == {"a.pdf": DATA, "b.pdf": DATA}
    assert wrong.warnings == ["boundary_guessed"]
    none = of(tmp_path, whole.replace(b'; boundary="b"', b""))
    assert none.paths == ["a.pdf", "b.pdf"]
    assert of(tmp_path, mail().replace(b"--b--", b"no parts")).warnings == ["boundary_missing"]
    no_blank = of(
        tmp_path, mail(part("Content-Type: text/plain", b"x"), b"Content-Type: application/pdf\r\n(body at once)")
    )
    assert no_blank.data == {"attachment-1.pdf": b"(body at once)"}
    inner_open = mail(TEXT, boundary="i", close=False).partition(b"MIME-Version: 1.0\r\n")[2]
    assert of(tmp_path, mail(inner_open, attached("filename=a.pdf"))).data == {"a.pdf": DATA}


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n", b"\r\r\n"])
def test_line_ends(tmp_path: Path, line_end: bytes) -> None:
    found = of(tmp_path, mail(TEXT, attached("filename=a.pdf")).replace(b"\r\n", line_end))
    assert found.data == {"a.pdf": DATA}


def test_a_delimiter_is_the_whole_line(tmp_path: Path) -> None:
    body = b"--bb\r\n--b -- x\r\n-- b\r\n text --b"
    found = of(tmp_path, mail(attached("filename=a", body, coding="8bit")))
    assert found.data == {"a": body}


def test_a_boundary_that_ends_in_hyphens_and_one_that_has_a_colon(tmp_path: Path) -> None:
    for boundary in ("x--", "=:odd'()+_,-./:?"):
        found = of(tmp_path, mail(TEXT, attached("filename=a.pdf"), boundary=boundary))
        assert found.data == {"a.pdf": DATA}, boundary


def test_dates_of_an_attachment(tmp_path: Path) -> None:
    named = 'filename=a; modification-date="Wed, 12 Feb 1997 16:29:51 -0500"'
    assert of(tmp_path, mail(attached(named))).members[0].modified_at == datetime(1997, 2, 12, 21, 29, 51, tzinfo=UTC)
    assert of(tmp_path, mail(attached('filename=a; modification-date="soon"'))).members[0].modified_at is None


def test_ten_thousand_parts_and_one_more(tmp_path: Path) -> None:
    parts = [part(f"Content-Type: application/x; name={n}", b"x") for n in range(10_000)]
    assert len(of(tmp_path, mail(*parts)).members) == 10_000
    failure = opened(tmp_path, mail(*parts, parts[0]), "message/rfc822").failure
    assert failure is not None
    assert failure.code == "bomb"


def test_depth_costs_nothing(tmp_path: Path) -> None:
    open_parts = b"".join(b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (n, n) for n in range(5000))
    found = of(tmp_path, open_parts + b"Content-Type: application/pdf\n\nx")
    assert found.data == {"attachment-1.pdf": b"x"}


@pytest.mark.parametrize(
    "data",
    [
        b"Subject: " + b"x" * 10_000_000 + b"\n" + mail(TEXT, attached("filename=a.pdf")),
        b"X-A: y\n" * 1_500_000 + mail(TEXT, attached("filename=a.pdf")),
        b"X: " + b"\n folded" * 1_200_000 + b"\n" + mail(TEXT, attached("filename=a.pdf")),
        mail(TEXT, b"Content-Type: text/plain; " + b"x" * 3_000_000, attached("filename=a.pdf")),
        mail(TEXT, b'Content-Type: text/plain; name="' + b'\\"' * 30_000, attached("filename=a.pdf")),
        mail(TEXT, b"Content-Type: text/plain; " + b'a="' * 20_000, attached("filename=a.pdf")),
        mail(TEXT, b"Content-Type: text/plain; " + b"=" * 60_000, attached("filename=a.pdf")),
        mail(TEXT, b"Subject: " + b"=?utf-8?q?" * 6_000, attached("filename=a.pdf")),
        mail(TEXT, part("Content-Type: text/plain", b"--b \x00\r\n" * 200_000), attached("filename=a.pdf")),
        mail(TEXT, part("Content-Type: text/plain", b"begin 644 a\n" * 200_000), attached("filename=a.pdf")),
        mail(part("", b"\r" * 2_000_000), attached("filename=a.pdf")),
        mail(attached("filename=q", b"=" * 3_000_000), attached("filename=a.pdf")),
        mail(attached("filename=q", b"=" * 3_000_000, coding="quoted-printable"), attached("filename=a.pdf")),
    ],
    ids=lambda data: f"{len(data)}-bytes",
)
def test_hostile_sizes_take_no_time(tmp_path: Path, data: bytes) -> None:
    began = time.process_time()
    found = of(tmp_path, data)
    assert found.data["a.pdf"] == DATA
    assert time.process_time() - began < 5


def test_a_mail_of_fifty_megabytes_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.eml"
    line = base64.b64encode(bytes(57)) + b"\r\n"
    with path.open("wb") as file:
        file.write(
            mail(
                TEXT, b"Content-Type: application/zip; name=a.zip\r\nContent-Transfer-Encoding: base64\r\n"
            ).rpartition(b"--b--")[0]
        )
        for _ in range(50 << 4):
            file.write(line * (65536 // len(line)))
        file.write(b"\r\n--b--\r\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    into = tmp_path / "members"
    into.mkdir()
    members = unpack(path, "message/rfc822", into, Limits(depth=1)).members
    assert members[0].size == (65536 // len(line)) * 57 * (50 << 4)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 << 10  # kilobytes


def test_bytes_of_all_kinds_are_no_traceback(tmp_path: Path) -> None:
    good = mail(
        TEXT, attached("filename*0*=utf-8''%C3; filename*1=a"), part("Content-Type: message/rfc822", mail(TEXT))
    )
    for cut in range(0, len(good), 7):
        of(tmp_path, good[:cut] + b"\xff\x00=?x?b?" + good[cut + 3 :])
        of(tmp_path, good[:cut])


CORPUS = Path(__file__).parents[5] / "shared/corpus/files/mail"


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
def test_real_mail(tmp_path: Path) -> None:
    assert opened_file(tmp_path, CORPUS / "rfc2047-attachment.eml", "message/rfc822").paths == ["てすと.txt"]
    empty = opened_file(tmp_path, CORPUS / "uuencode.eml", "message/rfc822")
    assert [(m.path, m.size) for m in empty.members] == [("PGP_Cmts_on_12-14-01_Pkg.doc", 0)]


def test_attachments_inside_a_signature(tmp_path: Path) -> None:
    from tests.unit.extract.test_mail import signed_data

    inner = b"Content-Type: multipart/mixed; boundary=i\r\n\r\n--i\r\n\r\nText.\r\n--i\r\n"
    inner += b"Content-Disposition: attachment; filename=c.txt\r\n\r\nx\r\n--i--\r\n"
    head = b"Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n"
    found = of(tmp_path, head + b"Content-Transfer-Encoding: base64\n\n" + base64.b64encode(signed_data(inner)))
    assert found.data == {"c.txt": b"x"}
    assert found.warnings == ["signature_left_out"]
    cut = of(tmp_path, head + b"\n" + signed_data(inner)[:9])
    assert cut.paths == ["smime.p7m"]


def test_the_fields_of_a_report_are_its_text(tmp_path: Path) -> None:
    status = b"--b\n\nIt came back.\n--b\nContent-Type: message/delivery-status\n\nAction: failed\n--b--\n"
    assert of(tmp_path, b"Content-Type: multipart/report; boundary=b\n\n" + status).paths == []
    assert of(tmp_path, b"Content-Type: multipart/mixed; boundary=b\n\n" + status).paths == ["attachment-1.txt"]


def test_a_mail_stored_as_utf16(tmp_path: Path) -> None:
    text = "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: image/png; name=é.png\n\nx\n--b--\n"
    for codec in ("utf-16", "utf-16-le", "utf-16-be"):
        assert of(tmp_path, text.encode(codec)).data == {"é.png": b"x"}
