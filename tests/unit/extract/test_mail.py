"""A message as a document: its head decoded, its text once and from the right part, what is attached named."""

from __future__ import annotations

import base64
import time
from pathlib import Path

import pytest

from streams.errors import DocumentError
from streams.extract.finish import body_text
from streams.extract.render import table_rows
from tests.unit.extract.drafts import canon
from tests.unit.extract.mails import head, mail, said

PLAIN = "Content-Type: text/plain; charset=utf-8"
HTML = "Content-Type: text/html; charset=utf-8"


def mixture(kind: str, *parts: tuple[str, ...], boundary: str = "b") -> list[str]:
    """Lines of a multipart, each part a field (or several lines) and its body."""
    lines = [f"Content-Type: multipart/{kind}; boundary={boundary}", ""]
    for part in parts:
        lines += [f"--{boundary}", *part]
    return [*lines, f"--{boundary}--"]


def test_the_head_is_decoded(tmp_path: Path) -> None:
    body = mail(
        tmp_path,
        "From: =?utf-8?Q?M=C3=BCller=2C?= Anna <anna@x.example>",
        'To: "Berg, Tom" <tom@x.example>, Friends: a@y.example, b@y.example;',
        "Cc: undisclosed-recipients:;",
        "To: late@x.example",
        "Subject: =?iso-8859-1?Q?Gr=FC=DFe?=",
        "  =?utf-8?B?8J+YgA==?=",
        "Date:  Sat,  06 May 2023 05:12:09 +0200 (CEST)",
        "Message-ID: <1@x.example>",
        "References: <0@x.example>",
        "  <00@x.example>",
        "In-Reply-To: <00@x.example>",
        "",
        "Hello.",
    )
    assert body.title == "Grüße😀"
    assert body.authors == ["Müller, Anna"]
    assert body.created == "2023-05-06T03:12:09Z"
    assert head(body) == [
        "From: Müller, Anna <anna@x.example>",
        "To: Berg, Tom <tom@x.example>, Friends: a@y.example, b@y.example, late@x.example",
        "Cc: undisclosed-recipients",
        "Date: Sat, 06 May 2023 05:12:09 +0200 (CEST)",
    ]
    assert body.metadata["message_id"] == "1@x.example"
    assert body.metadata["references"] == "0@x.example 00@x.example"
    assert body.metadata["in_reply_to"] == "00@x.example"
    assert body_text(body) == "Grüße😀\n\nHello."


@pytest.mark.parametrize(
    ("date", "created"),
    [
        ("Thu, 31 Feb 2023 10:00:00 +0000", None),
        ("yesterday", None),
        ("Thu, 1 Jun 2023 10:00:00 +9900", None),
        ("Thu, 1 Jun 2023 10:00:00 -0000", "2023-06-01T10:00:00Z"),
        ("Thu, 1 Jun 2023 10:00:00", "2023-06-01"),
        ("1 Jun 23 01:00 EST", "2023-06-01T06:00:00Z"),
    ],
)
def test_dates_are_utc_or_flagged(tmp_path: Path, date: str, created: str | None) -> None:
    body = mail(tmp_path, "From: a@x.example", f"Date: {date}", "", "Hello.")
    assert body.created == created
    assert ("bad_date" in body.warnings) is (created is None)


def test_of_alternatives_the_one_with_markup_once(tmp_path: Path) -> None:
    table = "<table><tr><th>Item<th>Price</tr><tr><td>Pear<td>3</tr></table>"
    body = mail(
        tmp_path,
        *mixture("alternative", (PLAIN, "", "Prices: Item Price Pear 3"), (HTML, "", f"<p>Prices:</p>{table}")),
    )
    assert said(body)[0] == ("paragraph", "Prices:")
    assert table_rows(body.tables[0]) == [["Item", "Price"], ["Pear", "3"]]
    assert body_text(body).count("Prices") == 1


def test_of_alternatives_the_plain_one_where_the_other_is_a_stub(tmp_path: Path) -> None:
    text = "The ferry leaves at eight and comes back at nine, every day but Sunday."
    body = mail(tmp_path, *mixture("alternative", (PLAIN, "", text), (HTML, "", "<p>See the text.</p>")))
    assert said(body) == [("paragraph", text)]


def test_a_plain_stub_loses(tmp_path: Path) -> None:
    stub = (PLAIN, "", "Your program shows no HTML: https://x.example/a/very/long/address/of/a/page?with=many&words=in")
    body = mail(tmp_path, *mixture("alternative", stub, (HTML, "", "<p>The ferry leaves at eight, as always.</p>")))
    assert said(body) == [("paragraph", "The ferry leaves at eight, as always.")]


def test_attachments_are_named_and_not_read(tmp_path: Path) -> None:
    body = mail(
        tmp_path,
        *mixture(
            "mixed",
            (PLAIN, "", "Two files."),
            ("Content-Type: application/pdf; name=a.pdf", "Content-Transfer-Encoding: base64", "", "JVBERi0="),
            (
                "Content-Type: text/plain; charset=utf-8",
                "Content-Disposition: attachment; filename=b.txt",
                "",
                "inside",
            ),
            ("Content-Type: message/rfc822", "", "Subject: Old news", "", "nested"),
            (PLAIN, "", "Below the files."),
        ),
    )
    assert said(body) == [("paragraph", "Two files."), ("paragraph", "Below the files.")]
    assert head(body) == ["Attachments: a.pdf, b.txt, Old news.eml"]


def test_an_image_of_the_text_is_no_text(tmp_path: Path) -> None:
    inner = mixture("related", (HTML, "", '<p>A sketch <img src="cid:1"></p>'), ("Content-Type: image/png", "", "x"))
    body = mail(tmp_path, *inner)
    assert said(body) == [("paragraph", "A sketch")]


def test_a_file_in_uuencode_is_no_text(tmp_path: Path) -> None:
    body = mail(tmp_path, "Subject: x", "", "Before.", "begin 644 a.bin", "#86)C", "`", "end", "", "After.")
    assert said(body) == [("paragraph", "Before."), ("paragraph", "After.")]
    assert head(body) == ["Attachments: a.bin"]


def test_flowed_lines_are_joined(tmp_path: Path) -> None:
    flowed = "Content-Type: text/plain; format=flowed"
    body = mail(tmp_path, flowed, "", "One line ", "goes on.", " > not quoted", "> a quote ", "> goes on", "-- ", "Tom")
    assert said(body) == [
        ("paragraph", "One line goes on.\n> not quoted"),
        ("quote", "a quote goes on"),
        ("signature", "Tom"),
    ]


def test_deleted_spaces(tmp_path: Path) -> None:
    body = mail(tmp_path, "Content-Type: text/plain; charset=utf-8; format=flowed; delsp=yes", "", "日本 ", "語です。")
    assert said(body) == [("paragraph", "日本語です。")]


def test_history_and_signature_of_a_reply(tmp_path: Path) -> None:
    body = mail(
        tmp_path,
        "Subject: Re: Crane",
        "",
        "The crane is free on Tuesday.",
        "",
        "-- ",
        "Ada Quill",
        "Harbour Works",
        "",
        "On Mon, 15 Apr 2024 at 10:00, Tom Berg",
        "<tom@x.example> wrote:",
        "> When is it free?",
        ">> We need it.",
    )
    assert [(b.kind.value, b.level, b.text) for b in body.blocks[1:]] == [
        ("paragraph", None, "The crane is free on Tuesday."),
        ("signature", None, "Ada Quill\nHarbour Works"),
        ("quote", 1, "On Mon, 15 Apr 2024 at 10:00, Tom Berg\n<tom@x.example> wrote:"),
        ("quote", 1, "When is it free?"),
        ("quote", 2, "We need it."),
    ]


def test_history_without_marks(tmp_path: Path) -> None:
    original = ["-----Ursprüngliche Nachricht-----", "Von: Tom", "Gesendet: Montag", "An: Ada", "", "Wann ist er frei?"]
    body = mail(tmp_path, PLAIN, "", "Am Dienstag.", "", *original)
    assert said(body)[0] == ("paragraph", "Am Dienstag.")
    assert {kind for kind, _ in said(body)[1:]} == {"quote"}


def test_history_and_signature_in_html(tmp_path: Path) -> None:
    page = (
        '<div>Yes.</div><div class="gmail_signature"><div>Ada</div></div>'
        '<div class="gmail_quote"><div class="gmail_attr">On Monday Tom wrote:</div>'
        "<blockquote><p>When?</p><blockquote>Deeper</blockquote></blockquote></div>"
    )
    assert said(mail(tmp_path, HTML, "", page)) == [
        ("paragraph", "Yes."),
        ("signature", "Ada"),
        ("quote", "On Monday Tom wrote:"),
        ("quote", "When?"),
        ("quote", "Deeper"),
    ]
    outlook = "<p>Yes.</p><div><p><b>From:</b> Tom<br><b>Sent:</b> Monday<br><b>To:</b> Ada</p></div><p>When?</p>"
    assert [kind for kind, _ in said(mail(tmp_path, HTML, "", outlook))] == ["paragraph", "quote", "quote"]


def test_a_message_that_is_all_signature_is_its_text(tmp_path: Path) -> None:
    page = '<div class="gmail_signature"><div>The ferry leaves at eight.</div><ul><li>daily</ul></div>'
    assert said(mail(tmp_path, HTML, "", page)) == [("paragraph", "The ferry leaves at eight."), ("list_item", "daily")]


def test_history_within_a_paragraph_and_a_signature_below_hyphens(tmp_path: Path) -> None:
    page = (
        "<p>Yes.</p><p>--</p><p>Ada</p><p>Harbour<br>-----Original Message-----<br>From: Tom</p>"
        "<table><caption>Prices</caption><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table>"
    )
    body = mail(tmp_path, HTML, "", page)
    assert said(body)[:5] == [
        ("paragraph", "Yes."),
        ("signature", "--"),
        ("signature", "Ada"),
        ("signature", "Harbour"),
        ("quote", "-----Original Message-----\nFrom: Tom"),
    ]
    caption, table = body.blocks[-2:]
    assert (caption.kind.value, caption.ref) == ("caption", table.id)


@pytest.mark.parametrize("boundary", ["", "; boundary=other"])
def test_parts_without_delimiters_are_read_as_they_stand(tmp_path: Path, boundary: str) -> None:
    body = mail(tmp_path, f"Content-Type: multipart/mixed{boundary}", "", "Here is your fish.")
    assert said(body) == [("paragraph", "Here is your fish.")]
    assert "boundary_missing" in body.warnings


def test_headers_are_found_where_mail_files_have_them(tmp_path: Path) -> None:
    text = "Subject: Hello\nthis is no field\nMessage-ID: <1@x.example>\n\nText.\n"
    for before, after in (("", ""), ("\n\n", ""), (f"{len(text)}\n", "<plist/>"), ("\ufeff", "")):
        body = mail(tmp_path, before + text + after)
        assert (body.title, body.metadata["message_id"]) == ("Hello", "1@x.example")
        assert said(body) == [("paragraph", "Text.")]
    body = mail(tmp_path, "Subject: Hello", "Text: without", "a blank line.", "", "More.")
    assert [t for _, t in said(body)] == ["a blank line.", "More."]


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("windows-1252", "cp1252"),
        ("iso-8859-1", "cp1252"),
        ("us-ascii", "cp1252"),
        ("x-unknown", "cp1252"),
        ("ks_c_5601-1987", "cp949"),
        ("x-gbk", "gb18030"),
        ("cp-850", "cp850"),
        ("x-mac-ce", "mac-latin2"),
        ("'utf-8'", "utf-8"),
        ("unicode-1-1-utf-7", "utf-7"),
        ("iso-2022-kr", "iso2022_kr"),
        ("windows-1251", "utf-8"),  # a lie
    ],
)
def test_labels(tmp_path: Path, label: str, codec: str) -> None:
    texts = {"cp949": "회의는 화요일에 열립니다. 자료를 읽어 주세요.", "gb18030": "会议在星期二举行。请阅读材料。"}
    texts |= {"iso2022_kr": texts["cp949"], "mac-latin2": "Schůze je v úterý, přečtěte si prosím podklady."}
    text = texts.get(codec, "Die Fähre fährt täglich außer sonntags, für Gäste übrigens kostenlos.")
    body = mail(tmp_path, f"Content-Type: text/plain; charset={label}", "", text.encode(codec))
    assert said(body) == [("paragraph", text)]


def test_japanese_with_characters_of_windows(tmp_path: Path) -> None:
    # ① is row 13 of NEC, which ISO-2022-JP does not have and mailers write
    data = "会議".encode("iso2022_jp")[:-3] + b"\x2d\x21\x1b(B"
    body = mail(tmp_path, "Content-Type: text/plain; charset=iso-2022-jp", "", data)
    assert said(body) == [("paragraph", "会議①")]


def test_what_is_encrypted_says_so(tmp_path: Path) -> None:
    armour = ["-----BEGIN PGP MESSAGE-----", "", "hQEMA", "-----END PGP MESSAGE-----"]
    version = ("Content-Type: application/pgp-encrypted", "", "Version: 1")
    whole = mixture("encrypted", version, ("Content-Type: application/octet-stream", "", *armour))
    smime = ["Content-Type: application/pkcs7-mime; smime-type=enveloped-data", "", "AAAA"]
    named = ["Content-Type: application/octet-stream; name=smime.p7m", "Content-Transfer-Encoding: base64", ""]
    named.append(base64.b64encode(bytes.fromhex("308006092a864886f70d010703a080")).decode())
    for lines in (["Subject: x", "", *armour], whole, smime, named):
        with pytest.raises(DocumentError) as caught:
            mail(tmp_path, *lines)
        assert caught.value.problem == "encrypted"
    some = mail(tmp_path, "Subject: x", "", "Read this:", *armour)
    assert said(some) == [("paragraph", "Read this:")]
    assert "encrypted_part" in some.warnings


def test_what_is_signed_is_read(tmp_path: Path) -> None:
    clear = mail(
        tmp_path, "Subject: x", "", "-----BEGIN PGP SIGNED MESSAGE-----", "Hash: SHA256", "", "Hello.", "- -- dash",
        "-----BEGIN PGP SIGNATURE-----", "", "iQEz", "-----END PGP SIGNATURE-----",
    )  # fmt: skip
    assert said(clear) == [("paragraph", "Hello.\n-- dash")]
    inner = b"Content-Type: multipart/mixed; boundary=i\r\n\r\n--i\r\n\r\nSigned text.\r\n--i\r\n"
    inner += b"Content-Disposition: attachment; filename=c.txt\r\n\r\nx\r\n--i--\r\n"
    encoded = base64.b64encode(signed_data(inner)).decode()
    wrapped = ["Content-Type: application/pkcs7-mime; smime-type=signed-data", "Content-Transfer-Encoding: base64"]
    body = mail(tmp_path, *wrapped, "", encoded)
    assert said(body) == [("paragraph", "Signed text.")]
    assert head(body) == ["Attachments: c.txt"]


def signed_data(content: bytes) -> bytes:
    """The beginning of a CMS SignedData in BER, its content in two pieces."""

    def value(tag: int, data: bytes) -> bytes:
        size = len(data)
        length = bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")
        return bytes([tag]) + length + data

    oid = bytes.fromhex("06092a864886f70d0107")
    pieces = value(4, content[:50]) + value(4, content[50:])
    info = b"\x30\x80" + oid + b"\x01" + b"\xa0\x80\x24\x80" + pieces + bytes(6)
    return b"\x30\x80" + oid + b"\x02" + b"\xa0\x80\x30\x80\x02\x01\x01\x31\x00" + info + bytes(6)


def test_an_invitation_is_readable(tmp_path: Path) -> None:
    event = [
        "BEGIN:VCALENDAR", "METHOD:REQUEST", "BEGIN:VEVENT", "SUMMARY:Crane\\, once", " more",
        "DTSTART;TZID=Europe/Berlin:20240416T090000", "LOCATION:Pier 4", "ORGANIZER;CN=Ada:mailto:ada@x.example",
        "BEGIN:VALARM", "DESCRIPTION:no", "END:VALARM", "END:VEVENT", "END:VCALENDAR",
    ]  # fmt: skip
    calendar = ("Content-Type: text/calendar; method=REQUEST", "", *event)
    body = mail(tmp_path, *mixture("alternative", (PLAIN, "", "You are invited."), calendar))
    assert said(body) == [
        ("paragraph", "You are invited."),
        (
            "paragraph",
            "Calendar: request\nCrane, oncemore\nStart: 2024-04-16 09:00 Europe/Berlin\nLocation: Pier 4\n"
            "Organizer: Ada <ada@x.example>",
        ),
    ]


def test_a_report_is_readable(tmp_path: Path) -> None:
    status = ("Content-Type: message/delivery-status", "", "Reporting-MTA: dns; x", "", "Action: failed")
    body = mail(
        tmp_path,
        *mixture("report", (PLAIN, "", "It came back."), status, ("Content-Type: message/rfc822", "", "To: a")),
    )
    assert [text for _, text in said(body)] == ["It came back.", "Reporting-MTA: dns; x", "Action: failed"]
    assert head(body) == ["Attachments: attachment-1.eml"]


def test_a_message_stored_as_utf16(tmp_path: Path) -> None:
    data = "Subject: Straße\r\n\r\nGrüße aus Köln.\r\n".encode("utf-16-le")
    body = mail(tmp_path, data)
    assert (body.title, said(body)) == ("Straße", [("paragraph", "Grüße aus Köln.")])


@pytest.mark.parametrize(
    "lines",
    [
        ["To: " + "(" * 100_000, "", "Hello."],
        ["To: " + '"' * 100_000 + "<" * 100_000, "", "Hello."],
        ["To: " + ", ".join(f"a{n}@x.example" for n in range(30_000)), "", "Hello."],
        [*["To: a"] * 100_000, "", "Hello."],
        ["Subject: " + "=?utf-8?q?a?= " * 20_000, "", "Hello."],
        ["Content-Type: " + "; a=b" * 20_000, "", "Hello."],
        ["Subject: x", "", "Hello.", *["\n" * 100_000], *["-- "] * 10_000, *["On wrote:"] * 50_000],
        ["Subject: x", "", "Hello.", *["-----BEGIN PGP SIGNED MESSAGE-----"] * 50_000],
        ["Subject: x", "", "Hello.", *["-----BEGIN PGP MESSAGE-----"] * 50_000],
        ["Subject: x", "", "Hello.", "On " + "wrote " * 50_000, "> a"],
        ["Subject: x", "", "Hello.", *["From: a"] * 100_000],
        ["Subject: x", "", "Hello.", *["begin 644 a", "#86)C"] * 20_000],
        [line for n in range(3000) for line in [*mixture("mixed", boundary=f"b{n}")[:2], f"--b{n}"]] + ["", "Hello."],
        mixture("mixed", *[(PLAIN, "", "Hello.")] * 5000),
    ],
    ids=lambda lines: f"{lines[0][:20]}-{len(lines)}",
)
def test_hostile_messages_cost_little(tmp_path: Path, lines: list[str]) -> None:
    began = time.process_time()
    body = mail(tmp_path, *lines)
    assert time.process_time() - began < 10
    assert "Hello." in body_text(body)


def test_hidden_text_of_a_mail_is_kept_and_marked(tmp_path: Path) -> None:
    page = (
        "<div style='display:none'>preheader</div><p>The offer.<br>-----Original Message-----<br>old</p>"
        "<p style='font-size:0'>ignore all else</p><p>older</p>"
    )
    source = f"From: a@example.org\nSubject: s\nMIME-Version: 1.0\nContent-Type: text/html\n\n<body>{page}</body>\n"
    body = canon(tmp_path, source, "message/rfc822")
    assert [(b.kind.value, b.text, b.hidden) for b in body.blocks if b.kind.value not in ("title", "metadata")] == [
        ("paragraph", "preheader", True),
        ("paragraph", "The offer.", False),
        ("quote", "-----Original Message-----\nold", False),
        ("paragraph", "ignore all else", True),
        ("quote", "older", False),
    ]
    assert "hidden_text" in body.warnings
