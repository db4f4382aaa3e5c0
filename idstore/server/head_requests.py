"""HEAD: the head of the answer that GET would get."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadRequests:
    """An ASGI application that answers HEAD by the GET of another one, which then need not end its answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})  # the application's client has gone

        scope.setdefault("state", {})["is_head"] = True  # for a GET that changes something
        asked = {**scope, "method": "GET"}
        try:
            await self._app(asked, receive, send_head)
        finally:
            scope["route"] = asked.get("route")
