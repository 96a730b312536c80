"""Moments on the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click


class Moment(click.ParamType):
    """An ISO 8601 date or datetime; without a zone it is UTC, and a date is its first instant."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(str(value).strip())
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no time. Write it as 2026-11-30 or 2026-11-30T14:05:00+01:00.", param, ctx)


def utc(moment: datetime | None) -> str:
    """A moment for a person, to the second; the zone is said where it is shown."""
    return "—" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
