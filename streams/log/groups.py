"""Consumer groups from outside: who is in one, what it has committed, and marks in the metadata of its commits."""

from __future__ import annotations

import os
import re
import socket
from functools import partial
from typing import Any

import msgspec
from aiokafka.errors import for_code

from streams.log.client import admin, ask_again
from streams.settings import Settings

GROUP_ID_NOT_FOUND = 69  # in newer versions of the response; older ones give a state Dead

_CLIENT_ID = re.compile(r"canonry-(run|worker)\.(\d+)@(.+)")


class ReplayMark(msgspec.Struct, frozen=True):
    """Stands in the metadata of a commit while a replay is under way: what is read below `until` was done before."""

    run_id: str
    until: int
    all: bool = False  # work also on what could not come out otherwise

    def __str__(self) -> str:
        return msgspec.json.encode({"replay": self}).decode()

    @staticmethod
    def of(metadata: str | None) -> ReplayMark | None:
        """The mark in a commit's metadata, which anybody may have written."""
        try:
            return msgspec.json.decode(metadata or "{}", type=dict[str, ReplayMark]).get("replay")
        except msgspec.DecodeError:
            return None


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """One process in a consumer group."""

    client_id: str
    host: str  # as the broker sees it
    kind: str = ""  # run, worker; empty: no process of ours
    pid: int | None = None
    here: bool = False  # on this machine

    def __str__(self) -> str:
        if self.pid is None:
            return f"the client {self.client_id} at {self.host}"
        where = "on this machine" if self.here else f"on {self.client_id.partition('@')[2]}"
        gone = " (it runs no more and leaves the group by itself within seconds)" if self.gone else ""
        return f"the worker of `canonry {self.kind}`, process {self.pid} {where}{gone}"

    @property
    def gone(self) -> bool:
        """Whether it was a process of this machine that has ended without leaving the group."""
        if not self.here or self.pid is None:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False

    @property
    def how_to_stop(self) -> str:
        """What a person does to end it."""
        if self.gone:
            return "wait ten seconds"
        if self.pid is None:
            return f"stop the client {self.client_id}"
        where = "" if self.here else f" on {self.client_id.partition('@')[2]}"
        if self.kind == "run":
            return f"end `canonry run` with Ctrl-C or `kill {self.pid}`{where}; its worker ends with it"
        return f"`kill {self.pid}`{where}, or stop the supervisor that starts it"


def client_id(*, of_run: bool) -> str:
    """The name under which a worker joins groups: what it is, the process to stop, and the machine.

    Args:
        of_run: it is the child of a process that ends it, which is the one to stop.
    """
    kind, pid = ("run", os.getppid()) if of_run else ("worker", os.getpid())
    return f"canonry-{kind}.{pid}@{socket.gethostname()}"


async def members(settings: Settings, broker: str, group: str) -> list[Member]:
    """The members of a group; none when nobody ever joined it.

    Raises:
        BrokerUnavailable: no answer in time.
    """
    async with admin(settings, broker) as client:
        _, found = await ask_again(partial(describe, client, group), f"{broker} does not tell the members of {group}")
    return [_member(name, host.lstrip("/")) for _, name, host, _, _ in found]


async def describe(client: Any, group: str) -> tuple[str, list[Any]]:
    """Kafka's state of a group and its members, as its protocol has them; Dead and none when nobody ever joined it.

    Raises:
        KafkaError: the group's coordinator did not answer; see `ask_again`.
    """
    # One at a time: aiokafka 0.14 reads version 3 of the answer as version 2 and mistakes what follows a group.
    (response,) = await client.describe_consumer_groups([group])
    ((error_code, _, state, _, _, found, *_),) = response.groups
    if error_code == GROUP_ID_NOT_FOUND:
        return "Dead", []
    if error_code:
        raise for_code(error_code)(group)
    return state, found


def _member(name: str, host: str) -> Member:
    match = _CLIENT_ID.fullmatch(name)
    if match is None:
        return Member(client_id=name, host=host)
    kind, pid, machine = match.groups()
    return Member(client_id=name, host=host, kind=kind, pid=int(pid), here=machine == socket.gethostname())
