"""The HTTP and WebSocket API; docs/live-api.md describes it for those who use it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount, Route

from breathcast.errors import BreathcastError
from breathcast.live.access import Access
from breathcast.live.engine import Engine, TooManyError, UnknownSessionError
from breathcast.live.guarding import Gate
from breathcast.live.messages import (
    Budget,
    HelloMessage,
    RearmMessage,
    SampleMessage,
    act,
    complaint,
    decode,
)
from breathcast.live.model import Output, Summary, Transition, to_json
from breathcast.live.settings import NAME, SessionSettings, explained
from breathcast.live.subscription import Subscription
from breathcast.live.transports.base import TransportReport
from breathcast.version import NOTICE, __version__

HELLO_S = 5.0  # s in which a WebSocket must say who it is
Name = Annotated[str, Path(pattern=NAME)]


class Problem(BaseModel):
    """What is wrong, and what to do."""

    problem: str
    cure: str | None = None


@dataclass(frozen=True)
class About:
    """What this server is."""

    name: str
    version: str
    notice: str
    up_s: float
    sessions: int
    max_sessions: int
    journals: bool
    token_needed: bool
    transports: list[TransportReport]


_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "the request cannot be read"},
    401: {"model": Problem, "description": "a token is needed"},
    403: {"model": Problem, "description": "a page from elsewhere"},
    404: {"model": Problem, "description": "there is no such session"},
    409: {"model": Problem, "description": "not in this state"},
    413: {"model": Problem, "description": "too large"},
    421: {"model": Problem, "description": "not this server's name"},
    422: {"model": Problem, "description": "a value is not allowed"},
    429: {"model": Problem, "description": "a limit is reached"},
}


def make_app(engine: Engine, access: Access, reports: Callable[[], list[TransportReport]]) -> Gate:
    """The whole of HTTP: the API, its OpenAPI page and the dashboard, behind the gate."""
    app = FastAPI(
        title="breathcast",
        version=__version__,
        summary=NOTICE,
        description=f"**{NOTICE}** Positions of breathing markers in, forecasts out.",
        responses=_PROBLEMS,
        docs_url=None,  # FastAPI's own page loads scripts from elsewhere; ours is beside the dashboard
        redoc_url=None,
    )
    _say_problems(app)
    _sessions(app, engine)
    _streams(app, engine, access)
    began = time.monotonic()

    @app.get("/api/about")
    async def about() -> About:
        """Name, version, and where else the server listens."""
        return About(
            "breathcast",
            __version__,
            NOTICE,
            time.monotonic() - began,
            len(engine.names()),
            engine.max_sessions,
            engine.data is not None,
            access.token is not None,
            reports(),
        )

    page = str(files("breathcast") / "dashboard")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return FileResponse(f"{page}/api.html")

    return Gate(_beside(app, _pages(page)), access)


def _pages(folder: str) -> Starlette:
    """The files of the page, and a plain word where there is none."""

    async def missing(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        return JSONResponse({"problem": "there is no such page", "cure": "/docs lists the addresses there are"}, status)

    files_of_page = Mount("/", StaticFiles(directory=folder, html=True))
    return Starlette(routes=[files_of_page], exception_handlers={HTTPException: missing})


def _beside(api: FastAPI, page: Starlette) -> Any:
    """The page has every address that the API has not; mounted in it, it would answer for wrong methods too."""

    async def either(scope: Any, receive: Any, send: Any) -> None:
        ours = scope["type"] != "http" or scope["path"].startswith("/api/")
        await (api if ours or scope["path"] in ("/docs", "/openapi.json") else page)(scope, receive, send)

    return either


def _say_problems(app: FastAPI) -> None:
    def answer(status: int, error: BreathcastError) -> JSONResponse:
        return JSONResponse({"problem": error.problem, "cure": error.cure}, status)

    @app.exception_handler(BreathcastError)
    async def mendable(request: Request, error: BreathcastError) -> Response:
        known = {UnknownSessionError: 404, TooManyError: 429}
        return answer(known.get(type(error), 409), error)

    @app.exception_handler(HTTPException)
    async def elsewhere(request: Request, error: HTTPException) -> Response:
        told = answer(error.status_code, BreathcastError(str(error.detail), cure="/docs lists the addresses there are"))
        if error.status_code == 405:
            told.headers["Allow"] = ", ".join(sorted(_methods(app, request)))
        return told

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return answer(422, explained(error))


def _methods(app: FastAPI, request: Request) -> set[str]:
    """What can be done at an address: Starlette tells the methods of its first route alone."""
    found: set[str] = set()
    for route in app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            found |= (route.methods or set()) - {"HEAD"}
    return found


def _sessions(app: FastAPI, engine: Engine) -> None:
    @app.get("/api/sessions")
    async def sessions() -> list[Summary]:
        """All sessions."""
        return [engine.session(name).summary() for name in engine.names()]

    @app.post("/api/sessions", status_code=201)
    async def create(settings: SessionSettings) -> Summary:
        """Begin a session. The first of a method may take seconds, in which it is compiled."""
        return await asyncio.to_thread(engine.create, settings)

    @app.get("/api/sessions/{name}")
    async def session(name: Name) -> Summary:
        """One session."""
        return engine.session(name).summary()

    @app.delete("/api/sessions/{name}", status_code=204)
    async def end(name: Name) -> None:
        """End a session; its journal stays."""
        engine.end(name)

    @app.post("/api/sessions/{name}/samples", response_model=Output)
    async def push(name: Name, sample: SampleMessage, request: Request) -> Response:
        """A sample; its output."""
        client = request.client
        source = f"http {client.host if client else ''}"
        return Response(to_json(act(engine, sample, source, name)), media_type="application/json")

    @app.post("/api/sessions/{name}/rearm", response_model=Output)
    async def rearm(name: Name, message: RearmMessage) -> Response:
        """The operator has looked: a latched HOLD ends, unless its cause is still there."""
        return Response(to_json(act(engine, message, "", name)), media_type="application/json")

    @app.post("/api/sessions/{name}/resume")
    async def resume(name: Name) -> Summary:
        """Go on from the journal, after a restart, a FAULT or a broken journal."""
        engine.set_aside(name)
        return await asyncio.to_thread(engine.resume, name)

    @app.get("/api/sessions/{name}/recent", response_model=list[Output])
    async def recent(name: Name, limit: Annotated[int, Query(ge=1, le=3000)] = 900) -> Response:
        """The newest outputs, oldest first."""
        newest = list(engine.session(name).recent)[-limit:]
        return Response(b"[" + b",".join(map(to_json, newest)) + b"]", media_type="application/json")

    @app.get("/api/sessions/{name}/transitions")
    async def transitions(name: Name, limit: Annotated[int, Query(ge=1, le=1000)] = 200) -> list[Transition]:
        """The newest changes of state, oldest first."""
        return list(engine.session(name).transitions)[-limit:]

    @app.get("/api/journals")
    async def journals() -> list[str]:
        """The sessions that have a journal here, open or not."""
        return engine.journals()


def _streams(app: FastAPI, engine: Engine, access: Access) -> None:
    @app.websocket("/api/sessions/{name}/stream")
    async def one(websocket: WebSocket, name: str) -> None:
        await _talk(websocket, engine, access, name)

    @app.websocket("/api/stream")
    async def everything(websocket: WebSocket) -> None:
        await _talk(websocket, engine, access, None)


async def _talk(websocket: WebSocket, engine: Engine, access: Access, name: str | None) -> None:
    """Outputs out, samples and re-arming in, until either side has enough."""
    await websocket.accept()
    with suppress(WebSocketDisconnect, RuntimeError):  # RuntimeError: sent after the other side had gone
        if not (websocket.scope["state"]["authorized"] or await _introduced(websocket, access)):
            await websocket.close(1008, "a token is needed")
            return
        try:
            subscription = engine.subscribe(name)
        except BreathcastError as error:
            await websocket.send_text(complaint(error).decode())
            await websocket.close(1008, error.problem[:120])
            return
        try:
            await _first_done(_tell(websocket, subscription), _hear(websocket, engine, name))
            await websocket.close(1001, "the session has ended")
        finally:
            engine.unsubscribe(subscription)


async def _introduced(websocket: WebSocket, access: Access) -> bool:
    """Whether the first message brings the token: a browser cannot send it in a header."""
    try:
        async with asyncio.timeout(HELLO_S):
            message = decode(await websocket.receive_text())
    except (TimeoutError, BreathcastError, KeyError):
        return False
    return isinstance(message, HelloMessage) and access.token_fits(message.token)


async def _first_done(*work: Awaitable[None]) -> None:
    """Wait for one to end, and end the others."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


async def _tell(websocket: WebSocket, subscription: Subscription) -> None:
    told = 0
    async for output in subscription:
        if subscription.dropped > told:
            await websocket.send_json({"type": "dropped", "count": subscription.dropped - told})
            told = subscription.dropped
        await websocket.send_text(to_json(output).decode())


async def _hear(websocket: WebSocket, engine: Engine, name: str | None) -> None:
    client, budget = websocket.client, Budget()
    source = f"ws {client.host}:{client.port}" if client else "ws"
    while True:
        try:
            text = await websocket.receive_text()
        except KeyError:
            await websocket.close(1003, "send text")
            return
        if not budget.spend():
            continue
        try:
            message = decode(text)
            if isinstance(message, SampleMessage | RearmMessage):
                act(engine, message, source, name)
        except BreathcastError as error:
            await websocket.send_text(complaint(error).decode())
