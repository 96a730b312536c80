"""How commands say which held documents they mean."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from streams.errors import UsageError

if TYPE_CHECKING:
    from streams.consumers.catalog_quarantine import Group, HeldFilter
    from streams.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Duration(click.ParamType):
    """A span of time: a number and s, m, h, d or w."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        if isinstance(value, timedelta):
            return value
        found = re.fullmatch(r"(\d{1,6})([smhdw])", str(value).strip())
        if found is None:
            self.fail(f"{value!r} is no span of time. Write it as 90m, 12h, 3d or 2w.", param, ctx)
        return timedelta(seconds=int(found[1]) * _UNITS[found[2]])


class Rate(click.ParamType):
    """Documents a minute: a number, with `/min` or without."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)(?:/min)?", str(value).strip())
        if found is None or float(found[1]) <= 0:
            self.fail(f"{value!r} is no rate. Write it as 30/min.", param, ctx)
        return float(found[1])


_FILTERS = (
    click.option("--code", metavar="CODE", help="Held for this problem, perhaps among others."),
    click.option("--format", "media_type", metavar="TYPE", help="Media type, such as application/pdf."),
    click.option("--tool", metavar="NAME", help="The extractor whose attempt counts."),
    click.option("--version", metavar="V", help="Version of that extractor."),
    click.option("--source", metavar="NAME", help="Registered name of the source."),
    click.option("--owner", metavar="WHO", help="Owner of the document, else of its source; - for those without one."),
    click.option("--older-than", type=Duration(), metavar="SPAN", help="Held for longer than this: 90m, 12h, 3d, 2w."),
    click.option("--overdue", is_flag=True, help="Whose deadline (sources.NAME.decide_within_s) has passed."),
    click.option(
        "--group",
        metavar="GROUP",
        help="CODE:TOOL:VERSION:FORMAT, as `canonry quarantine list --groups` names it.",
    ),
    click.option(
        "--fixed",
        is_flag=True,
        help="Whose format has an extractor now that has not tried them yet: a newer version, or a first one.",
    ),
)


def filters(command: F) -> F:
    """Adds the options that say which held documents are meant; they are given to the command as `chosen`."""

    names = ("code", "media_type", "tool", "version", "source", "owner", "older_than", "overdue", "group", "fixed")

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        return command(chosen=Chosen(**{name: given.pop(name) for name in names}), **given)

    made: Any = wrapped
    for option in reversed(_FILTERS):
        made = option(made)
    found: F = made
    return found


class Chosen:
    """What the options say."""

    def __init__(
        self,
        code: str | None,
        media_type: str | None,
        tool: str | None,
        version: str | None,
        source: str | None,
        owner: str | None,
        older_than: timedelta | None,
        overdue: bool,
        group: str | None,
        fixed: bool,
    ) -> None:
        self.fixed = fixed
        self.source = source
        self._plain = {"code": code, "media_type": media_type, "tool": tool, "version": version, "source": source}
        self._owner = owner
        self._older_than = older_than
        self._overdue = overdue
        self._group = group

    @property
    def group(self) -> Group | None:
        """Raises UsageError when it is none."""
        from streams.consumers.catalog_quarantine import Group

        if self._group is None:
            return None
        try:
            return Group.parse(self._group)
        except ValueError as error:
            raise UsageError(str(error), remedy="`canonry quarantine list --groups` names them.") from None

    def wanted(self, ids: list[str] | None = None) -> HeldFilter:
        """The filter. Raises UsageError when a group is none."""
        from streams.consumers.catalog_quarantine import HeldFilter

        now = datetime.now(UTC)
        return HeldFilter(
            **self._plain,
            ids=ids or None,
            owner=self._owner if self._owner != "-" else None,
            unassigned=self._owner == "-",
            held_before=now - self._older_than if self._older_than is not None else None,
            overdue_at=now if self._overdue else None,
            group=self.group,
        )

    def says_nothing(self) -> bool:
        """Whether everything that is held is meant."""
        return self.wanted().is_empty and not self.fixed

    def says_more_than(self, *names: str) -> list[str]:
        """Options that were given and are none of these."""
        given = {
            **self._plain,
            "owner": self._owner,
            "older-than": self._older_than,
            "overdue": self._overdue,
            "group": self._group,
            "fixed": self.fixed,
        }
        return [f"--{name.replace('media_type', 'format')}" for name, value in given.items()
                if value and name not in names]  # fmt: skip


def ids_of(settings: Settings, names: tuple[str, ...]) -> list[str]:
    """The source_ids that names mean, each once. Raises NotFound, UsageError."""
    from streams.consumers.catalog import Catalog
    from streams.ops.lookup import one_document

    with Catalog(settings) as catalog:
        return list(dict.fromkeys(one_document(catalog, name).source_id for name in names))
