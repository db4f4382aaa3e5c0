"""The floor of the rows over HTTP: a server of the same framework whose endpoints do nothing.

``python -m benchmarks.empty_server``
"""

import socket
import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Body(BaseModel):
    """The body of a request."""

    name: str


app = FastAPI()


@app.post("/", status_code=201)
async def create(body: Body) -> Body:
    """Return what was sent."""
    return body


@app.get("/")
async def read(id: str) -> str:
    """Return what was asked for."""
    return id


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="warning")).run([listening])
