"""Searches over canons and held documents applied to a real index."""

import re
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from streams.consumers import search_tables as tables
from streams.consumers.reader import PartitionFacts
from streams.consumers.received import Partition, Received
from streams.consumers.search import SearchIndex, SearchWriter
from streams.consumers.search_text import PASSAGE_CHARACTERS, indexed, passages, query_words
from streams.records import BlockKind, Canon, CanonBody, CanonSummary
from streams.records.codec import decode
from streams.settings import Settings
from tests.unit.consumers.make import batch, body, canon, held, paragraph, payload, received

TOKENS = "tokenize = \"unicode61 remove_diacritics 2 categories 'L* M* N* Co'\""


class Applied:
    """An index that is given canons and held documents."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.writer = SearchWriter(settings)
        self.index = SearchIndex(settings)
        self._offset = -1

    async def begin(self, log: str = "log", end: int = 0) -> None:
        facts = [PartitionFacts(Partition(topic, 0), 0, end, None, "", 60.0) for topic in ("canon-ready", "quarantine")]
        await self.writer.positions.begin(log, facts)

    def canons(self, *canons: Canon, gone: tuple[str, ...] = ()) -> set[str]:
        """Returns what was loaded."""
        made = [self._received("canon-ready", canon.source_id, canon) for canon in canons]
        made += [self._received("canon-ready", f"s:{name}", None) for name in gone]
        needed = self.writer.needs_text(made)
        bodies: dict[str, CanonBody | None] = {
            c.source_id: decode(CanonBody, c.payload.inline or b"") for c in canons if c.source_id in needed
        }
        self.writer.apply(batch(*made), bodies)
        return needed

    def held(self, name: str, *problems: str, **fields: object) -> None:
        self.writer.apply(batch(self._received("quarantine", f"s:{name}", held(name, *problems, **fields))), {})

    def resolved(self, name: str) -> None:
        self.writer.apply(batch(self._received("quarantine", f"s:{name}", None)), {})

    def found(self, words: str, reader: str | None = None) -> list[str]:
        return [hit.source_id.removeprefix("s:") for hit in self.index.search(words, reader=reader).hits]

    def check(self) -> None:
        """The contentless table holds exactly what the other tables say."""
        with sqlite3.connect(self.settings.search_database) as connection:
            texts = connection.execute(
                "SELECT d.heading, p.text FROM passages p JOIN documents d ON d.id = p.document"
            ).fetchall()
            connection.execute(f"CREATE VIRTUAL TABLE temp.again USING fts5(heading, text, {TOKENS})")
            connection.executemany("INSERT INTO temp.again VALUES (?, ?)", [(indexed(a), indexed(b)) for a, b in texts])
            connection.execute("CREATE VIRTUAL TABLE temp.want USING fts5vocab(temp, again, row)")
            connection.execute("CREATE VIRTUAL TABLE temp.have USING fts5vocab(main, passages_fts, row)")
            count = "SELECT term, doc, cnt FROM "
            assert connection.execute(count + "have").fetchall() == connection.execute(count + "want").fetchall()
            connection.rollback()

    def _received(self, topic: str, key: str, record: object) -> Received:
        self._offset += 1
        return received(topic, self._offset, key, record)  # type: ignore[arg-type]


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[Applied]:
    applied = Applied(Settings(data_dir=tmp_path))
    await applied.begin()
    yield applied
    applied.index.close()
    applied.writer.close()


def of_body(name: str, text: CanonBody) -> Canon:
    return canon(name, payload=payload(text), content_hash=text.content_hash)


def traces(settings: Settings, word: str) -> list[str]:
    """The files of the index that have these bytes."""
    return [file.name for file in settings.data_dir.glob("search.db*") if word.encode() in file.read_bytes()]


async def test_what_was_deleted_is_in_no_file_any_more(index: Applied) -> None:
    """FTS5 stores words without the letters that they share with their neighbours, so the end of one is looked for."""
    index.canons(*(canon(f"{i}", f"pages about xanthippeword and word{i}") for i in range(40)))
    index.canons(canon("secret", "the quuxsecretword is here. " * 3000))
    index.held("heldsecretword.pdf", "bomb")
    with sqlite3.connect(index.settings.search_database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # it has come to the pages of the database itself
    index.canons(gone=("secret",))
    index.resolved("heldsecretword.pdf")
    assert index.found("quuxsecretword") == []
    assert traces(index.settings, "secretword"), "nothing to take out: the test proves nothing"
    index.writer.forget()
    assert traces(index.settings, "secretword") == []
    assert len(index.found("xanthippeword")) == 10
    index.check()


async def test_what_was_deleted_before_a_crash_is_forgotten_after_it(index: Applied) -> None:
    index.canons(canon("kept", "other words"), canon("secret", "the quuxsecretword is here"))
    index.canons(gone=("secret",))
    again = SearchWriter(index.settings)  # the first one ends without a word
    again.forget()
    assert traces(index.settings, "secretword") == []
    again.close()


async def test_forgetting_takes_a_twentieth_of_the_time_at_most(
    index: Applied, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("streams.consumers.search.time.monotonic", lambda: now[0])
    merge = tables.merge

    def slow(connection: sa.Connection) -> None:
        now[0] += 1
        merge(connection)

    monkeypatch.setattr(tables, "merge", slow)
    index.canons(canon("one", "the quuxsecretword is here"), canon("two", "the zyxsecretword is here"))
    index.canons(gone=("one",))
    index.writer.forget()
    assert traces(index.settings, "quuxsecretword") == []
    index.canons(gone=("two",))
    index.writer.forget()
    assert traces(index.settings, "secretword"), "it has just been done, and took a second"
    now[0] += 19
    index.writer.forget()
    assert traces(index.settings, "secretword") == []


async def test_closing_forgets_what_is_left(tmp_path: Path) -> None:
    applied = Applied(Settings(data_dir=tmp_path))
    await applied.begin()
    applied.canons(canon("secret", "the quuxsecretword is here"))
    applied.canons(gone=("secret",))
    applied.index.close()
    applied.writer.close()
    assert traces(applied.settings, "secretword") == []


async def test_a_hit_names_section_and_page(index: Applied) -> None:
    text = body(
        paragraph("Introduction to nothing.", section=["Lease"], page=1),
        paragraph("The rent is 900 euros a month.", section=["Lease", "Payment"], page=3),
    )
    index.canons(of_body("lease.pdf", text))
    [hit] = index.index.search("rent euros").hits
    assert (hit.section, hit.page, hit.snippet) == ("Lease > Payment", 3, "The rent is 900 euros a month.")
    assert hit.path == "folder/lease.pdf"
    assert hit.score > 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Die Straße nach Köln", "STRASSE koln"),
        ("naïve café", "naive cafe"),
        ("ﬁnal oﬀer", "final offer"),
        ("契約書の期限は三月です", "期限"),
        ("契約書の期限は三月です", "契約書"),
        ("契約書の期限は三月です", "約"),
        ("東京都", "京都"),
        ("สัญญาเช่าบ้าน", "เช่า"),
        ("임대차계약서를 보냅니다", "계약서"),
        ("ABC株式会社のinvoice", "株式会社"),
        ("ABC株式会社のinvoice", "abc株式会社"),
        ("مُحَمَّد", "محمد"),
        ("हिन्दी में अनुबंध", "हिन्दी"),
        ("договор аренды", "ДОГОВОР"),
        ("see invoice_2024-17.pdf there", "invoice_2024-17.pdf"),
        ("co\u00adoperate zero\u200bwidth", "cooperate zerowidth"),
        ("contractual matters", "contr"),
    ],
)
async def test_words_are_found_in_every_script(index: Applied, text: str, words: str) -> None:
    index.canons(canon("a", text), canon("b", "Something else. 別の文書です。"))
    assert index.found(words) == ["a"]


async def test_only_the_last_word_may_be_only_begun(index: Applied) -> None:
    index.canons(canon("a", "contractual matters"))
    assert index.found("contr matters") == []
    assert index.found("matters contr") == ["a"]


async def test_words_in_different_passages_find_the_document_after_those_in_one(index: Applied) -> None:
    apart = body(paragraph("alpha stands here", page=1), paragraph("omega stands there", page=9), content="apart")
    index.canons(of_body("apart", apart), canon("together", "alpha and omega"), canon("other", "alpha only"))
    assert index.found("alpha omega") == ["together", "apart"]


async def test_title_and_file_name_are_found_also_without_text(index: Applied) -> None:
    empty = body()
    index.canons(
        canon(
            "lease-2024.pdf", payload=payload(empty), content_hash="x", summary=CanonSummary(title="Rental agreement")
        )
    )
    assert index.found("rental agreement") == ["lease-2024.pdf"]
    assert index.found("lease 2024") == ["lease-2024.pdf"]


async def test_furniture_and_hidden_text_are_not_found(index: Applied) -> None:
    text = body(
        paragraph("Page header words", kind=BlockKind.PAGE_HEADER),
        paragraph("secret words", hidden=True),
        paragraph("shown text"),
    )
    index.canons(of_body("a", text))
    assert (index.found("header"), index.found("secret"), index.found("shown")) == ([], [], ["a"])


async def test_an_update_replaces_and_a_delete_removes(index: Applied) -> None:
    index.canons(canon("a", "old words 旧い"), canon("b", "old words"))
    index.canons(canon("a", "new words"))
    assert (index.found("old"), index.found("new"), index.found("旧い")) == (["b"], ["a"], [])
    index.check()
    index.canons(gone=("a", "b", "never there"))
    assert index.found("words") == []
    index.check()


async def test_a_move_new_rights_and_staleness_need_no_text(index: Applied) -> None:
    first = canon("a", "some text", readers=["anna"])
    assert index.canons(first) == {"s:a"}
    assert index.canons(canon("a", "some text", path="new/a", readers=["bert"], stale=True)) == set()
    [hit] = index.index.search("text").hits
    assert (hit.path, hit.stale) == ("new/a", True)
    assert (index.found("text", "anna"), index.found("text", "bert")) == ([], ["a"])


async def test_unknown_rights_mean_nobody(index: Applied) -> None:
    index.canons(
        canon("open", "text", readers=["anna", "anna"]), canon("unknown", "text"), canon("none", "text", readers=[])
    )
    assert index.found("text", "anna") == ["open"]
    assert sorted(index.found("text")) == ["none", "open", "unknown"]


async def test_a_held_document_is_named_as_held(index: Applied) -> None:
    index.canons(canon("lease.pdf", "old lease text"))
    index.held("lease.pdf", "cid_leak", readers=["anna"])
    index.held("rent.pdf", "needs_recognition")
    result = index.index.search("lease")
    assert [(hit.source_id, hit.problems, hit.serving) for hit in result.held] == [("s:lease.pdf", ["cid_leak"], True)]
    assert [hit.serving for hit in index.index.search("rent").held] == [False]
    assert [hit.source_id for hit in index.index.search("lease", reader="anna").held] == ["s:lease.pdf"]
    assert index.index.search("rent", reader="anna").held == []
    index.resolved("lease.pdf")
    assert index.index.search("lease").held == []


async def test_a_text_that_could_not_be_had_is_asked_for_again(index: Applied) -> None:
    wanted = canon("a", "text")
    message = index._received("canon-ready", "s:a", wanted)
    index.writer.apply(batch(message), {"s:a": None})
    assert (index.found("text"), index.found("a")) == ([], ["a"])
    assert index.canons(wanted) == {"s:a"}
    assert index.found("text") == ["a"]


async def test_another_log_empties_the_index(index: Applied) -> None:
    index.canons(canon("a", "text"))
    index.held("b", "bomb")
    await index.begin("another log")
    result = index.index.search("text b")
    assert (result.hits, result.held, index.index.count()) == ([], [], 0)
    index.check()


@pytest.mark.parametrize(
    "words",
    [
        "",
        " ",
        '"',
        '""',
        "*",
        "a*",
        "(",
        ")",
        "AND",
        "OR",
        "NOT",
        "a AND",
        "NEAR(a b)",
        "text:a",
        "-a",
        "^a",
        "+",
        "{}",
        "'; DROP TABLE passages; --",
        "a\0b",
        "\ud800",
        "🙂",
        "ั",
        "x " * 5000,
        "x" * 100_000,
        "日" * 5000,
        "passages_fts",
    ],
)
async def test_no_input_is_an_error(index: Applied, words: str) -> None:
    index.canons(canon("a", "nothing of it"))
    index.index.search(words)


@hypothesis_settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.text(max_size=30))
def test_no_text_is_an_error(words: str, tmp_path: Path) -> None:
    with SearchIndex(Settings(data_dir=tmp_path)) as index:
        index.search(words)


@given(
    text=st.text(alphabet=st.sampled_from("ab 日本語京都ー。,"), max_size=40),
    start=st.integers(0, 39),
    length=st.integers(1, 5),
)
def test_every_part_of_an_unspaced_run_is_a_phrase_of_what_is_indexed(text: str, start: int, length: int) -> None:
    part = text[start : start + length]
    if not re.fullmatch("[日本語京都]+", part):
        return
    [phrase] = query_words(part)
    tokens = f" {indexed(text)} "
    phrase = phrase.strip('"*')
    assert f" {phrase}" in re.sub(" +", " ", tokens)


def test_passages_are_cut_at_pages_sections_and_length() -> None:
    word = "word "
    found = passages(
        body(
            paragraph("one", page=1),
            paragraph("two", page=1),
            paragraph("three", page=2),
            paragraph(word * 1000, page=2, section=["S"]),
            paragraph("x" * 3000, page=3),
        )
    )
    assert [(p.section, p.page) for p in found[:3]] == [("", 1), ("", 2), ("S", 2)]
    assert found[0].text == "one\ntwo"
    assert all(len(p.text) <= PASSAGE_CHARACTERS for p in found)
    assert " ".join(p.text for p in found if p.section == "S").split() == ["word"] * 1000
    assert "".join(p.text for p in found if p.page == 3) == "x" * 3000
