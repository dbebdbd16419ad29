"""The gate before the HTTP API: host, origin, token, and how much a request may bring."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from typing import Any

from breathcast.live.access import Access, bearer
from breathcast.live.messages import LINE_BYTES, Budget

BODY_S = 10.0  # s in which a body must be there
REQUESTS_PER_S = 500.0  # of one address
_REMEMBERED = 1000  # addresses


class Gate:
    """ASGI middleware. What is under /api/ needs the token; the page alone does not, since it holds nothing."""

    def __init__(self, app: Any, access: Access) -> None:
        """`app` is what is behind the gate."""
        self._app, self._access = app, access
        self._budgets: OrderedDict[str, Budget] = OrderedDict()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if scope["type"] == "http":
            send = _with_headers(send)
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, receive, send, *refusal)
            return
        scope.setdefault("state", {})["authorized"] = self._access.token_fits(bearer(headers.get("authorization")))
        await self._app(scope, _bounded(receive) if scope["type"] == "http" else receive, send)

    def _refusal(self, scope: Any, headers: dict[str, str]) -> tuple[int, str, str] | None:
        host, access = headers.get("host"), self._access
        if not access.host_fits(host):
            return 421, "this server does not go by that name", "use 127.0.0.1, or allow the name with --name"
        if not access.origin_fits(headers.get("origin"), host):
            return 403, "a page from elsewhere may not talk to this server", "allow its address with --origin"
        if scope["type"] == "websocket":
            return None
        if not self._within_budget(scope):
            return 429, "too many requests", f"send at most {REQUESTS_PER_S:g} a second"
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > LINE_BYTES:
            return 413, "the request is too large", f"send at most {LINE_BYTES} bytes"
        fits = access.token_fits(bearer(headers.get("authorization")))
        if scope["path"].startswith("/api/") and not fits:
            return 401, "a token is needed", "send the header Authorization: Bearer TOKEN"
        return None

    def _within_budget(self, scope: Any) -> bool:
        client = (scope.get("client") or ("",))[0]
        budget = self._budgets.setdefault(client, Budget(REQUESTS_PER_S))
        self._budgets.move_to_end(client)
        if len(self._budgets) > _REMEMBERED:
            self._budgets.popitem(last=False)
        return budget.spend()


_HEADERS = (
    (b"content-security-policy", b"frame-ancestors 'none'"),  # a page of another server cannot show ours as its own
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),  # a newer server never runs with the scripts of an older one
)


def _with_headers(send: Any) -> Any:
    """What every answer says to a browser."""

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = message | {"headers": [*message.get("headers", ()), *_HEADERS]}
        await send(message)

    return sending


def _bounded(receive: Any) -> Any:
    """A body that is too long or too slow ends as if the sender had gone."""
    taken = 0
    deadline = asyncio.get_running_loop().time() + BODY_S
    whole = False

    async def bounded() -> Any:
        nonlocal taken, whole
        if whole:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        taken += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        return {"type": "http.disconnect"} if taken > LINE_BYTES else message

    return bounded


async def _refuse(scope: Any, receive: Any, send: Any, status: int, problem: str, cure: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": problem})
        return
    body = json.dumps({"problem": problem, "cure": cure}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status in (401, 413):
        headers.append((b"connection", b"close"))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
