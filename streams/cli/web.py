"""`canonry web`: the review and status pages on this machine."""

from __future__ import annotations

import asyncio
import getpass

import click

from streams.cli.output import note
from streams.settings import Settings


@click.command()
@click.option("--host", metavar="ADDRESS", help="Listen on this address instead of web.host.")
@click.option("--port", type=click.IntRange(0, 65535), help="Listen on this port instead of web.port; 0: a free one.")
@click.option(
    "--actor", default=getpass.getuser, metavar="WHO", help="Who decides where no login says so; default: this user."
)
def web(host: str | None, port: int | None, actor: str) -> None:
    """Review held documents in the browser, and see how things stand; docs/review.md.

    Serves pages until Ctrl-C. On loopback nobody is asked who they are; any other address needs a token, which browsers
    log in with. Decisions are events: a worker's ledger carries them out, a consumer's catalog shows it.

    \b
    Examples:
      canonry web
      CANONRY_WEB__TOKEN=$(openssl rand -hex 16) canonry web --host 0.0.0.0
    """
    from streams.web.server import serve

    settings = Settings.load()
    changed = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    settings = settings.model_copy(update={"web": settings.web.model_copy(update=changed)})
    asyncio.run(serve(settings, actor, lambda url: note(f"Review pages: {url}")))
