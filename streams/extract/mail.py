"""A message as a document: its head, its text from the right parts, and the names of what is attached (R-FMT, mail)."""

from __future__ import annotations

from streams.decode.unpack.mail import Attachments, charset_of, opened
from streams.decode.unpack.mail_parts import parse
from streams.decode.unpack.model import TooMuchError
from streams.errors import DocumentError
from streams.extract.mail_body import BodyReader, Content
from streams.extract.mail_envelope import Envelope, read_envelope
from streams.extract.mail_listing import Listing
from streams.extract.outcome import Draft, Request


def extract(request: Request) -> Draft:
    """The blocks of a message in Internet form (RFC 5322, MIME).

    Errors: DocumentError `encrypted` when its text is (S/MIME, PGP).
    Warnings: those of its parts' bytes (`streams.extract.mail_charset`), of its structure
    (`streams.decode.unpack.mail_parts`), `encrypted_part`, `bad_date`, `participants_left_out`, `text_left_out`,
    `members_left_out`, `deep_nesting`.
    """
    with opened(request.path) as (file, start, end):
        warnings: list[str] = []
        root = parse(file, start, end, warnings)
        charset = charset_of(root)
        envelope = read_envelope(file, start, end, charset)
        content = BodyReader(file).read(root)
        if content.encrypted:
            raise DocumentError("encrypted", "The text of the message is encrypted (S/MIME or PGP).")
        listing = Listing()
        try:
            Attachments(file, listing, root).take()
        except TooMuchError:
            warnings.append("members_left_out")
    return message_draft(envelope, content, listing.names(), warnings)


def message_draft(envelope: Envelope, content: Content, attachments: list[str], warnings: list[str]) -> Draft:
    """The draft of a message of any format: its head, then its text.

    Args:
        attachments: names of the files that came with it; each is a document of its own.
        warnings: more of them.
    """
    whole = Content(blocks=envelope.blocks(attachments))
    whole.add(content)
    whole.warn(*envelope.warnings, *warnings)
    metadata = envelope.metadata()
    if attachments:
        metadata["attachments"] = str(len(attachments))
    return Draft(
        blocks=whole.blocks,
        tables=whole.tables,
        refs=whole.refs,
        title=envelope.subject or None,
        authors=envelope.authors(),
        created=envelope.created,
        language=whole.language,
        metadata=metadata,
        warnings=whole.warnings,
        dropped=whole.dropped_list(),
    )
