"""What happens to a container reaches its children, in whatever order and however often (rule 6)."""

from __future__ import annotations

import msgspec

from streams.ledger.bounds import MOST_WITH_MEMBERS
from streams.ledger.transitions import Arrived
from streams.log.producer import MAX_MESSAGE_BYTES
from streams.records import Child, Operation, Outcome, Screened, Status
from streams.records.codec import encode
from tests.unit.ledger.make import ID, Ledger, acl, delete, move, result, seq, up, without_times
from tests.unit.ledger.world import World, child_id

A, B, INNER = child_id(ID, "a.txt"), child_id(ID, "b.txt"), child_id(ID, "inner.zip")
DEEP = child_id(INNER, "a.txt")


def zipped(content: str, **fields: object) -> World:
    world = World()
    world.tell(up(0, content, path="in/z.zip", file_name="z.zip", **fields))
    return world


def path(world: World, source_id: str) -> str | None:
    """Where consumers find a child, None when they do not."""
    canon = world.documents[source_id].ledger.canon
    return None if canon is None else canon[3]


def test_children_live_at_their_path_and_the_container_knows_them() -> None:
    world = zipped("Z3")
    assert path(world, child_id(ID, "c.txt")) == "in/z.zip/c.txt"
    assert path(world, DEEP) == "in/z.zip/inner.zip/a.txt"
    assert world.documents[ID].ledger.state.children == [child_id(ID, "c.txt"), INNER]
    assert world.documents[DEEP].ledger.state.parent_source_id == INNER
    assert world.documents[ID].ledger.told == []


def test_a_deleted_container_takes_all_below_it_along_and_says_why() -> None:
    world = zipped("Z3")
    world.tell(delete(0, source_id=ID))
    for name, document in world.documents.items():
        assert document.ledger.state.status is Status.DELETED, name
        assert document.ledger.canon is None
        assert document.ledger.held is None
    (deletion,) = world.documents[DEEP].ledger.deletions
    assert (deletion.parent_source_id, deletion.actor) == (INNER, "connector")
    assert deletion.reason == "its container was deleted: its container was deleted"
    assert world.documents[ID].ledger.state.children == []


def test_a_child_that_the_new_version_has_no_more_is_deleted_once_that_is_known() -> None:
    world = zipped("Z1")
    world.publish(up(0, "Z2", path="in/z.zip", file_name="z.zip"))
    world.step(ID, "raw")
    assert world.documents[ID].ledger.told == []  # not yet: nobody knows what is in it
    world.drain()
    assert world.documents[B].ledger.state.status is Status.DELETED
    assert [v.sequence for v in world.documents[A].ledger.state.versions] == [seq(0), seq(1)]
    assert path(world, A) == "in/z.zip/a.txt"
    world.tell(up(0, "Z1", path="in/z.zip", file_name="z.zip"))
    assert world.documents[B].ledger.state.status is Status.LIVE


def test_a_version_that_could_not_be_opened_costs_no_child() -> None:
    world = zipped("Z1")
    world.breaks = {"Z5"}
    world.tell(up(0, "Z5", path="in/z.zip", file_name="z.zip"))
    assert world.documents[ID].ledger.state.children == [A, B]
    assert path(world, A) is not None
    world.breaks = set()
    world.extractor = "2"
    world.again(ID, "decode", 1)
    world.drain()
    assert world.documents[ID].ledger.state.children == []
    assert path(world, A) is None


def test_moves_and_rights_reach_the_children() -> None:
    world = zipped("Z3")
    world.tell(move(0, "archive/y.zip"), acl(0, ["board"]))
    canon = world.documents[DEEP].ledger.canon
    assert canon[3:5] == ("archive/y.zip/inner.zip/a.txt", ["board"])
    assert len(world.documents[DEEP].ledger.state.versions) == 1
    world.tell(acl(0, None))
    assert world.documents[DEEP].ledger.canon[4] is None
    world.tell(up(0, "Z3", path="back/z.zip", file_name="z.zip", readers=["staff"]))  # the same bytes, seen elsewhere
    assert world.documents[DEEP].ledger.canon[3:5] == ("back/z.zip/inner.zip/a.txt", ["staff"])


def test_a_child_that_becomes_known_after_its_container_was_moved_or_deleted() -> None:
    for ending in (move(0, "archive/y.zip"), delete(0)):
        world = World()
        world.publish(up(0, "Z1", path="in/z.zip", file_name="z.zip"))
        world.publish(ending)
        world.step(ID, "raw")
        world.step(ID, "raw")  # the ledger is quicker than decode
        world.drain()
        gone = ending.event.operation is Operation.DELETE
        assert path(world, A) == (None if gone else "archive/y.zip/a.txt")
        assert world.documents[A].ledger.state.status is (Status.DELETED if gone else Status.LIVE)


def test_a_container_that_is_decoded_again_brings_no_child_back() -> None:
    world = zipped("Z3")
    world.tell(up(0, "Z4", path="in/z.zip", file_name="z.zip"), move(0, "in/y.zip"), delete(0))
    before = {name: without_times(doc.ledger.state) for name, doc in world.documents.items()}
    seen = {name: list(doc.ledger.visible) for name, doc in world.documents.items()}
    for name in list(world.documents):
        world.again(name, "decode", 99)
    world.drain()
    for name, doc in world.documents.items():
        assert doc.ledger.visible == seen[name], name
        end = without_times(doc.ledger.state)
        # Kept are the place in the log, and that an inner container was told of once more.
        assert before[name] == msgspec.structs.replace(
            end, high_water=before[name].high_water, changes=before[name].changes
        )


def test_what_was_published_before_a_crash_counts_once() -> None:
    world = zipped("Z3")
    world.publish(delete(0))
    for _ in range(3):
        world.step(ID, "raw", crash=True)
    world.drain()
    for document in world.documents.values():
        assert document.ledger.state.status is Status.DELETED
        assert len(document.ledger.deletions) == 1
        assert len([c for c in document.ledger.state.changes if c.operation is Operation.DELETE]) == 1


def test_a_container_that_is_created_again_has_its_children_again() -> None:
    world = zipped("Z3")
    world.tell(delete(0), up(0, "Z3", path="in/z.zip", file_name="z.zip"))
    assert path(world, DEEP) == "in/z.zip/inner.zip/a.txt"
    assert len(world.documents[DEEP].ledger.state.versions) == 2


def test_a_late_revision_of_the_container_leaves_the_children_of_the_newest() -> None:
    world = zipped("Z2", native_revision="8", revision_order=8)
    world.tell(up(0, "Z1", path="in/z.zip", file_name="z.zip", native_revision="7", revision_order=7))
    assert world.documents[ID].ledger.state.children == [A]
    assert world.documents[B].ledger.state.status is Status.DELETED
    assert world.documents[A].ledger.published == 0
    world.again(ID, "decode", 9)
    world.drain()
    assert world.documents[B].ledger.state.status is Status.DELETED


def of_child(arrived: Arrived, parent: int) -> Arrived:
    """A fact of a child that an event of its container brought about."""
    manifest = msgspec.structs.replace(arrived.event.manifest, parent_order=[seq(parent)])
    return Arrived(msgspec.structs.replace(arrived.event, manifest=manifest), arrived.sequence)


def test_a_delete_that_is_told_late_leaves_what_a_later_container_brought() -> None:
    first, again = of_child(up(0, "A"), 0), of_child(up(1, "A", path="in/new.txt"), 5)
    ledger = Ledger()
    ledger.take(first, result(first), again)
    assert len(ledger.state.versions) == 1
    ledger.take(of_child(delete(2), 1))
    assert (ledger.state.status, ledger.published, ledger.state.path) == (Status.LIVE, 1, "in/new.txt")
    ledger.take(result(again), first, again)
    assert [version.sequence for version in ledger.state.versions] == [seq(0), seq(1)]


def test_which_of_two_tellings_is_kept_does_not_depend_on_results() -> None:
    first, told, again = of_child(up(0, "A"), 0), of_child(up(1, "A"), 5), of_child(up(2, "A"), 5)
    ledger, disturbed = Ledger(), Ledger()
    ledger.take(first, told, again, result(first), result(told), result(again))
    disturbed.take(first, result(again), told, again, result(first), result(told))
    assert without_times(ledger.state) == without_times(disturbed.state)


def test_other_content_that_is_told_late_does_not_become_the_newest() -> None:
    first, again, between = of_child(up(0, "A"), 0), of_child(up(1, "A"), 5), of_child(up(2, "B"), 3)
    ledger = Ledger()
    ledger.take(first, result(first), again, between, result(between))
    assert ledger.published == 1


def test_every_delete_of_a_child_counts_also_for_what_is_told_later() -> None:
    first, late = of_child(up(0, "A"), 0), of_child(up(3, "B"), 5)
    ledger = Ledger()
    ledger.take(first, result(first), of_child(delete(1), 1), of_child(delete(2), 6), late, result(late))
    assert (ledger.state.status, ledger.canon) == (Status.DELETED, None)
    assert len(ledger.deletions) == 1


def listing(arrived: Arrived, count: int, work: float) -> Screened:
    children = [Child(source_id=f"{ID}!{'x' * 60}/{n}", path=f"{'x' * 60}/{n}") for n in range(count)]
    return msgspec.structs.replace(result(arrived, Outcome.SKIPPED, work=work), children=children)


def test_a_container_with_very_many_members_stays_one_record_and_forgets_nobody() -> None:
    ledger = Ledger()
    for offset, count in ((0, 10_000), (1, 9900), (2, 9800)):
        arrived = up(offset, f"content {offset}")
        ledger.take(arrived, listing(arrived, count, 10 + offset))
    assert len([told for told in ledger.told if told.operation is Operation.DELETE]) == 200
    assert len(ledger.state.children) == 9800
    assert len(encode(ledger.state)) <= MOST_WITH_MEMBERS < MAX_MESSAGE_BYTES
