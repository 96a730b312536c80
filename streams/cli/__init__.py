"""The command `canonry`. Each command is thin: it reads options, calls the part that does it, and shows what came."""

from __future__ import annotations

import os
import sys

import click

from streams import __version__
from streams.cli.output import (
    EXIT_INCOMPLETE,
    EXIT_INTERRUPTED,
    EXIT_UNAVAILABLE,
    fail,
    misused,
    note,
    prepare_streams,
    quiet_clients,
)
from streams.errors import CanonryError

EXIT_STATUS = """\b
Exit status:
  0  done, and every document reached an outcome
  1  done, but not everything is as it should be (the output says what)
  2  the command was called wrongly, or a setting can't be used
  3  something outside is missing or does not answer: the broker, the blob store, a program
  130  stopped by Ctrl-C or SIGTERM before the end
"""


class Commands(click.Group):
    """Loads a command's module only when it is asked for: `canonry --help` must not load a PDF library."""

    LAZY = {
        "run": "run",
        "worker": "run",
        "consumer": "run",
        "inspect": "files",
        "triage": "files",
        "calibrate": "calibrate",
        "status": "documents",
        "lag": "lag",
        "doc": "documents",
        "search": "documents",
        "duplicates": "duplicates",
        "canon": "documents",
        "versions": "history",
        "as-of": "history",
        "deletes": "deletes",
        "erase": "deletes",
        "replay": "replay",
        "quarantine": "quarantine",
        "web": "web",
        "broker": "log",
        "topics": "log",
        "schemas": "log",
        "config": "machine",
        "doctor": "machine",
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.LAZY)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = self.LAZY.get(cmd_name)
        if module is None:
            return None
        import importlib

        command = getattr(importlib.import_module(f"streams.cli.{module}"), cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=EXIT_STATUS
)
@click.version_option(__version__, prog_name="canonry")
def canonry() -> None:
    """Files, and every later change to them, as structured, versioned, screened text.

    \b
    Start here:
      canonry run DIR            the whole way: a folder, the log, a searchable index
      canonry search WORDS       what is in there
      canonry doc PATH           why a document is there, or is not
      canonry inspect FILE       what Canonry makes of one file, without a log
      canonry doctor             what this machine lacks, and the command that mends it

    Settings come from canonry.toml and CANONRY_* variables: `canonry config show`.
    """


def main() -> None:
    """Entry point: errors are said in one line, never as a traceback; ends the process with its exit status."""
    prepare_streams()
    quiet_clients()
    try:
        # Outside standalone mode click returns the status of an Exit instead of raising it.
        status = canonry.main(prog_name="canonry", standalone_mode=False)
    except click.exceptions.Abort:
        note("Stopped.")
        sys.exit(EXIT_INTERRUPTED)
    except click.ClickException as error:
        sys.exit(misused(error))
    except CanonryError as error:
        sys.exit(fail(error))
    except BrokenPipeError:
        # The reader of our output went away (`canonry … | head`): that is its right.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_INCOMPLETE)
    except OSError as error:
        # A full disk, a folder that may not be entered: outside of us, and no traceback tells more.
        note(f"canonry: {error}.")
        sys.exit(EXIT_UNAVAILABLE)
    sys.exit(status if isinstance(status, int) else 0)
