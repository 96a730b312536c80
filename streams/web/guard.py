"""Who may ask: loopback or a login, no foreign host names, no forged forms; and headers that every answer carries."""

from __future__ import annotations

import asyncio
import base64
import hmac
import ipaddress
import secrets
import time
from collections.abc import Awaitable, Callable
from urllib.parse import quote, urlsplit

import msgspec
from aiohttp import web

from streams.errors import SettingsError
from streams.settings import WebSettings

SESSION_S = 12 * 3600
WRONG_TOKEN_S = 0.5
"""How long a wrong token is thought about, one at a time."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
OPEN = ("/login", "/static/")
MOST_NAME = 80

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Visitor(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, and what a form of theirs must carry."""

    name: str
    form_token: str
    logged_in: bool = False


VISITOR = web.RequestKey("visitor", Visitor)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Lets requests through, or not.

    Args:
        actor: whose name decisions carry where nobody logs in.

    Raises:
        SettingsError: an address that others can reach, and no token.
    """

    def __init__(self, settings: WebSettings, actor: str) -> None:
        if not settings.token and not is_loopback(settings.host):
            raise SettingsError(
                f"web.host {settings.host} can be reached from other machines, and there is no token.",
                remedy="Set CANONRY_WEB__TOKEN to 16 characters or more, or listen on 127.0.0.1.",
            )
        self._settings = settings
        self._actor = actor
        self._secret = secrets.token_bytes(32)  # of this process: a restart logs everybody out
        self._thinking = asyncio.Lock()

    @property
    def asks_for_login(self) -> bool:
        return bool(self._settings.token)

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The middleware."""
        response = await self._answer(request, handler)
        for name, value in HEADERS.items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not self._is_our_name(request.host):
            return web.Response(status=403, text="This host name is not among web.names.\n")
        by_bearer = self._has_bearer(request)
        visitor = self._visitor(request, by_bearer=by_bearer)
        if visitor is None and not request.path.startswith(OPEN):
            if request.method != "GET":
                return web.Response(status=401, text="Log in first.\n")
            return web.Response(status=303, headers={"Location": f"/login?next={quote(request.path_qs, safe='')}"})
        visitor = visitor or Visitor(name="", form_token=self._sign("form", ""))
        if request.method not in ("GET", "HEAD", "POST"):
            return web.Response(status=405, text="GET and POST only.\n")
        if request.method == "POST" and not by_bearer and not await self._is_our_form(request, visitor):
            return web.Response(status=403, text="This form is not from this site, or too old: load the page again.\n")
        request[VISITOR] = visitor
        return await handler(request)

    def _is_our_name(self, host: str) -> bool:
        """A foreign page whose name was made to point here (DNS rebinding) has that name; addresses are safe."""
        name = (urlsplit(f"//{host}").hostname or "") if host.isascii() else ""
        try:
            ipaddress.ip_address(name)
            return True
        except ValueError:
            return name == "localhost" or name in {
                each.lower() for each in (self._settings.host, *self._settings.names)
            }

    def _visitor(self, request: web.Request, *, by_bearer: bool) -> Visitor | None:
        if not self.asks_for_login:
            return Visitor(name=self._actor, form_token=self._sign("form", ""))
        cookie = request.cookies.get(self._cookie(request), "")
        if (name := self._name_in(cookie)) is not None:
            return Visitor(name=name, form_token=self._sign("form", cookie), logged_in=True)
        return Visitor(name=self._actor, form_token="") if by_bearer else None

    def _has_bearer(self, request: web.Request) -> bool:
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        return self.asks_for_login and kind.lower() == "bearer" and self._is_token(given.strip())

    def _is_token(self, given: str) -> bool:
        """In the same time whatever is wrong with it."""
        return hmac.compare_digest(self._sign("token", given), self._sign("token", self._settings.token))

    async def _is_our_form(self, request: web.Request, visitor: Visitor) -> bool:
        origin = request.headers.get("Origin", "null")  # which is what forms of pages without referrer send, too
        if origin != "null" and urlsplit(origin).netloc != request.host:
            return False
        if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            return False
        given = (await request.post()).get("form_token", "")
        return isinstance(given, str) and hmac.compare_digest(given.encode(), visitor.form_token.encode())

    async def log_in(self, name: str, token: str) -> str | None:
        """The cookie of a new session; None: the token is wrong, or nobody is named."""
        name = name.strip()[:MOST_NAME]
        if not self.asks_for_login or not self._is_token(token) or not name:
            async with self._thinking:
                await asyncio.sleep(WRONG_TOKEN_S)
            return None
        said = f"{base64.urlsafe_b64encode(name.encode()).decode()}.{int(time.time()) + SESSION_S}"
        return f"{said}.{self._sign('session', said)}"

    def set_cookie(self, request: web.Request, response: web.StreamResponse, value: str) -> None:
        """Keeps a session in the browser; an empty value ends it."""
        response.set_cookie(
            self._cookie(request),
            value,
            max_age=SESSION_S if value else 0,
            httponly=True,
            samesite="Strict",
            secure=request.secure or request.headers.get("X-Forwarded-Proto") == "https",
            path="/",
        )

    def _name_in(self, cookie: str) -> str | None:
        said, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign("session", said).encode()):
            return None
        name, _, until = said.partition(".")
        return base64.urlsafe_b64decode(name).decode() if time.time() < int(until) else None

    def _sign(self, what: str, text: str) -> str:
        return hmac.digest(self._secret, f"{what}\0{text}".encode("utf-8", "surrogatepass"), "sha256").hex()

    @staticmethod
    def _cookie(request: web.Request) -> str:
        """Browsers do not tell ports of one host apart."""
        return f"canonry_{urlsplit(f'//{request.host}').port or 80}"
