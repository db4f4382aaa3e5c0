"""``idstore replica``."""

from typing import Annotated

import typer

from idstore.cli import session
from idstore.cli.call import Call
from idstore.cli.commands import serve
from idstore.cli.termination import UsageError
from idstore.errors import InvalidData


def replica(
    call: Call,
    source: Annotated[
        str, typer.Option("--from", metavar="URL", help="The address of the server to follow: https://HOST/.")
    ],
    once: Annotated[
        bool, typer.Option("--once", help="Bring the replica up to date, and serve nothing.")
    ] = False,
    host: serve.Host = "127.0.0.1",
    port: serve.Port = serve.PORT,
    prefix: serve.Prefix = "",
    proxies: serve.Proxies = None,
    settings: serve.SettingsFile = None,
) -> None:
    """Copy what another server publishes into a store here (--store), keep it up to date, and serve it.

    A replica is read-only for ever. After an interruption it continues where it stopped. /metrics shows how
    many changes it lacks.
    """
    from idstore import opening, remote
    from idstore.replication import Replication

    if session.is_address(call):
        raise UsageError("a replica needs a folder; name one with --store")
    path = session.folder(call)
    try:
        remote.connect(source).close()
    except InvalidData as error:
        raise UsageError(f"--from: {error.message}") from None
    if not once:
        serve.run(call, host, port, prefix, proxies, settings, source=source)
        return
    with (
        session.store_option_hint(path),
        opening.open_replica(path, source, wait=call.wait) as registry,
        Replication(registry, path, source) as replication,
    ):
        reached = replication.bring_up()
    call.output.info(f"idstore: {path} has the changes of {source} up to {reached}")
