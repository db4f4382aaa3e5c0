"""Starts servers fast: each is forked from one process that has imported everything and made the routes.

It reads ``serve FOLDER`` or ``stop NUMBER`` on standard input, and answers each by a line: the number of the
process and its address, or its exit code. With an argument, the name of a file with a certificate and its
key, it also answers HTTPS.
"""

import asyncio
import os
import signal
import ssl
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from idstore.registry import Registry
from idstore.server import run
from idstore.server.admission import Figures, ServerLimits
from idstore.server.site import Site, site


def serve(folder: Path, certificate: str | None, answer: int, served: Registry, app: Site) -> None:
    """Serve a store by the routes that were made for an empty registry."""

    def fill(registry: Registry, *_: object) -> Site:
        served.__dict__.update(registry.__dict__)
        return app

    def ready(address: str) -> None:
        if certificate is not None:
            address = encrypt(urlsplit(address).port or 0, certificate)
        os.write(answer, f"{os.getpid()} {address}\n".encode())

    run.site = fill  # type: ignore[attr-defined, assignment]
    run.serve(folder, "127.0.0.1", 0, log=lambda _: None, ready=ready)


def encrypt(port: int, certificate: str) -> str:
    """Answer HTTPS in a thread, in front of a port of this machine, and return the address."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    address: list[str] = []
    begun = threading.Event()

    async def pass_on(source: asyncio.StreamReader, drain: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(1 << 16):
                drain.write(data)
                await drain.drain()
        except OSError:
            pass
        finally:
            drain.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pass_on(reader, inner_writer), pass_on(inner_reader, writer))

    async def listen() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
        address.append(f"https://localhost:{server.sockets[0].getsockname()[1]}/")
        begun.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(listen()), daemon=True).start()
    assert begun.wait(20)
    return address[0]


def main() -> None:
    certificate = sys.argv[1] if len(sys.argv) > 1 else None
    served = object.__new__(Registry)
    app = site(served, Figures(), ServerLimits())
    for line in sys.stdin:
        order, what = line.rstrip("\n").split(" ", 1)
        if order == "stop":
            os.kill(int(what), signal.SIGTERM)
            print(os.waitstatus_to_exitcode(os.waitpid(int(what), 0)[1]), flush=True)
        elif not os.fork():
            serve(Path(what), certificate, sys.stdout.fileno(), served, app)
            os._exit(0)


if __name__ == "__main__":
    main()
