"""What in a mail is not new: where the messages it answers or forwards begin, and where its signature does.

Nothing marks these parts for certain; the patterns are those that the common mail programs write, in the languages
they write them in. A text that is taken for none of them stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from streams.records import Block, BlockKind

MAX_ATTRIBUTION = 500
"""Characters of "On … wrote:", line breaks included."""
MAX_SIGNATURE_LINES = 30
MAX_LOOKED = 2000
"""Lines of one paragraph in which the head of an earlier message is looked for."""
MAX_FIELDS = 12
"""Lines of the head that some programs put above the message they answer."""

_WROTE = re.compile(
    r"""(?:
      .{3,400}?(?:wrote|writes|schrieb|schreef|geschreven|a\sécrit|écrivait|escribió|escreveu|ha\sscritto|scrisse|skrev
        |skrifaði|kirjoitti|napisał(?:\(a\)|a)?|napsal(?:\(a\)|a)?|napísal(?:\(a\)|a)?|пишет|(?:на)?писал(?:\(а\)|а)?
        |írta|έγραψε|đã\sviết|menulis|a\sscris|yazdı)(?!\w).{0,80}?:
    | .{3,300}?(?:写道|寫道|のメール|さんは書きました|のメッセージ|님이\s작성).{0,20}?[:：]?
    )\s*\Z""",
    re.VERBOSE | re.DOTALL,
)
_ORIGINAL = re.compile(
    r"""[>\s]*(?:[-_*]{2,}\s*(?:Original\s(?:Message|Appointment)|Forwarded\s(?:message|by\b[^\n]{0,80})|Forward(?:ed)?
      |Ursprüngliche\s(?:Nachricht|E-?Mail|Mitteilung)|Weitergeleitete\sNachricht|Urspr(?:\.|üngliche)\s?Mail
      |Message\sd['’]origine|Message\soriginal|Message\stransféré|Mensaje\soriginal|Mensaje\sreenviado
      |Messaggio\soriginale|Messaggio\sinoltrato|Oorspronkelijk\s[Bb]ericht|Doorgestuurd\sbericht
      |Mensagem\s(?:original|encaminhada)|Oprindelig\smeddelelse|Ursprungligt\smeddelande|Alkuperäinen\sviesti
      |Oryginalna\swiadomość|Původní\szpráva|Исходное\sсообщение|Пересылаемое\sсообщение|原始邮件|原始郵件|转发邮件
      |元のメッセージ|원본\s메시지)\s*[-_*]{0,}
      | Begin\sforwarded\smessage:|Anfang\sder\sweitergeleiteten\s(?:Nachricht|E-?Mail):
      | Début\sdu\smessage\s(?:réexpédié|transféré)\s?:
      | Inicio\sdel\smensaje\sreenviado:|Inizio\smessaggio\sinoltrato:)[^\n]{0,20}""",
    re.VERBOSE | re.IGNORECASE,
)
_FROM = r"From|Von|De|Da|Van|Från|Fra|Lähettäjä|Od|От|发件人|寄件者|差出人|보낸\s?사람"
_SENT = r"Sent|Date|Gesendet|Datum|Envoyé(?:e)?|Enviado(?:\sel)?|Enviada\sem|Data|Inviato|Verzonden|Skickat|Sendt"
_SENT += r"|Dato|Fecha|Lähetetty|Wysłano|Odesláno|Отправлено|Дата|发送时间|傳送時間|送信日時|日時|보낸\s?날짜"
_TO = r"To|An|À|A|Para|Aan|Till|Til|Vastaanottaja|Do|Komu|Кому|收件人|收件者|宛先|받는\s?사람"
_SUBJECT = (
    r"Subject|Betreff|Objet|Asunto|Assunto|Oggetto|Onderwerp|Ämne|Emne|Aihe|Temat|Předmět|Тема|主题|主旨|件名|제목"
)
_HEAD_FIELD = re.compile(
    rf"[>*\s]*(?:(?P<from>{_FROM})|(?P<sent>{_SENT})|(?P<to>{_TO}|Cc|CC|Kopie)|(?P<subject>{_SUBJECT}))\s?\*?\s?[:：]\*?\s*\S?",
    re.IGNORECASE,
)
_SENT_FROM = re.compile(
    r"""\s*(?:Sent\s(?:from|via|with)\s(?:my|the|Outlook|Mail|Yahoo|Samsung|ProtonMail|Proton|Gmail|BlackBerry|Windows|a\s)
      |Get\sOutlook\sfor|Von\smeinem\s[^\n]{2,40}\sgesendet|Gesendet\s(?:von|mit)\s(?:meinem|der|Mail|Outlook)|Envoyé\s(?:de|depuis)\smon
      |Enviado\s(?:desde|do)\s(?:mi|meu)|Inviato\sda(?:l\smio)?\s|Verstuurd\svanaf\smijn|Skickat\sfrån\smin|Diese\sNachricht\swurde\svon\smeinem
      |Отправлено\sс|从我的|iPhoneから送信)[^\n]{0,80}""",
    re.VERBOSE | re.IGNORECASE,
)
_SEPARATORS_BEGIN = tuple("-_*BbAaDdIi")
_NEAR = 60  # characters in which a separator begins and the first field of a head ends
_RULE = re.compile(r"\s*_{20,}\s*")


class Line(msgspec.Struct, frozen=True):
    """A line of a text body: how deep it is quoted, and what it says."""

    depth: int
    text: str


def is_attribution(text: str) -> bool:
    """Whether a text is the line above a quote: "On Monday, … wrote:"."""
    text = text.strip()
    return len(text) <= MAX_ATTRIBUTION and _WROTE.match(text) is not None


def is_separator(line: str) -> bool:
    """Whether a line says that an earlier message begins."""
    return len(line) <= 200 and _ORIGINAL.fullmatch(line.strip()) is not None


def is_sent_from(line: str) -> bool:
    """Whether a line is what a telephone adds by itself."""
    return len(line) <= 200 and _SENT_FROM.fullmatch(line.rstrip()) is not None


def begins_head(lines: Sequence[str]) -> bool:
    """Whether lines are the head of a message: the sender first, then two of date, recipients and subject."""
    found: set[str] = set()
    for index, line in enumerate(lines[:MAX_FIELDS]):
        match = _HEAD_FIELD.match(line[:400])
        if match is not None and match.lastgroup:
            found.add(match.lastgroup)
        if index == 0 and found != {"from"}:
            return False
        if not line.strip() and index > 1:
            break
    return len(found) >= 3


def history_start(lines: Sequence[str]) -> int | None:
    """Index of the line where an earlier message begins that is not quoted; None where there is none."""
    for index, line in enumerate(lines):
        start = line[:_NEAR].lstrip("> \t\xa0")
        if start[:1] in _SEPARATORS_BEGIN and is_separator(line):
            return index
        if (":" in start or "：" in start) and begins_head(lines[index : index + MAX_FIELDS]):
            return index - 1 if index and _RULE.fullmatch(lines[index - 1]) else index
    return None


def mark_history(blocks: list[Block], refs: dict[int, int]) -> tuple[list[Block], dict[int, int]]:
    """Blocks of a mail with markup, those of an earlier message as quotes: from its head to the end; and signatures.

    Only paragraphs change their kind: a table of an earlier message is one still. A paragraph in which the earlier
    message begins is cut in two there.

    Args:
        refs: index of a block -> index of the block it belongs to; comes back for the new indexes.
    """
    marked = list(blocks)
    for index, block in enumerate(blocks):
        if block.kind is not BlockKind.PARAGRAPH:
            continue
        lines = block.text.split("\n")
        nearby = lines if len(lines) > 2 else [b.text for b in blocks[index : index + 6]]
        at = history_start(lines[:MAX_LOOKED])
        if at is not None or begins_head(nearby):
            marked = _as_history(marked, index)
            if at:
                before, after = _cut(block, lines, at)
                marked[index : index + 1] = [before, after]
                refs = {_moved(source, index): _moved(target, index) for source, target in refs.items()}
            break
        following = blocks[index + 1] if index + 1 < len(blocks) else None
        if following is not None and following.kind is BlockKind.QUOTE and is_attribution(block.text):
            marked[index] = msgspec.structs.replace(block, kind=BlockKind.QUOTE, level=following.level)
        elif is_sent_from(block.text):
            marked[index] = msgspec.structs.replace(block, kind=BlockKind.SIGNATURE)
    _mark_signature(marked)
    return marked, refs


def _as_history(blocks: list[Block], start: int) -> list[Block]:
    return [
        msgspec.structs.replace(block, kind=BlockKind.QUOTE, level=1)
        if index >= start and block.kind is BlockKind.PARAGRAPH
        else block
        for index, block in enumerate(blocks)
    ]


def _cut(block: Block, lines: list[str], at: int) -> tuple[Block, Block]:
    texts = "\n".join(lines[:at]), "\n".join(lines[at:])
    links = [link for link in block.links if link.text in texts[0]]
    rest = [link for link in block.links if link.text not in texts[0]]
    before = msgspec.structs.replace(block, text=texts[0], links=links)
    return before, msgspec.structs.replace(block, text=texts[1], links=rest, kind=BlockKind.QUOTE, level=1)


def _moved(index: int, cut: int) -> int:
    return index + 1 if index > cut else index


def _mark_signature(blocks: list[Block]) -> None:
    """What stands below a line of two hyphens, to the end or to what is quoted."""
    for index, block in enumerate(blocks):
        if block.kind is not BlockKind.PARAGRAPH or block.text.partition("\n")[0].strip() not in ("--", "-- "):
            continue
        end = index + 1
        while end < len(blocks) and blocks[end].kind in (BlockKind.PARAGRAPH, BlockKind.FIGURE):
            end += 1
        if end - index > MAX_SIGNATURE_LINES or (end < len(blocks) and blocks[end].kind is not BlockKind.QUOTE):
            continue
        for place in range(index, end):
            if blocks[place].kind is BlockKind.PARAGRAPH:
                blocks[place] = msgspec.structs.replace(blocks[place], kind=BlockKind.SIGNATURE)
        return
