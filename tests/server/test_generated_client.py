"""A client that another program generates from the OpenAPI document does what it says."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from serving import ALICE, Server

GENERATOR: Final = shutil.which("openapi-python-client")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        GENERATOR is None, reason="openapi-python-client is not installed: pipx install openapi-python-client"
    ),
]
SCRIPT: Final = """
import importlib, json, pkgutil, sys
from client import AuthenticatedClient, Client
from client.api.default import fixate, identify, mint, name, show
from client.models import FixateBody, MintBody, NameBody, Problem, Record
import client.api.default as operations

address, token = sys.argv[1:]
modules = [one.name for one in pkgutil.iter_modules(operations.__path__)]
for one in modules:
    importlib.import_module(f"client.api.default.{one}")
signed_in = AuthenticatedClient(base_url=address, token=token, raise_on_unexpected_status=True)
anyone = Client(base_url=address, raise_on_unexpected_status=True)
made = mint.sync("rdl", client=signed_in, body=MintBody(name="valve"), idempotency_key="k-1")
again = mint.sync("rdl", client=signed_in, body=MintBody(name="valve"), idempotency_key="k-1")
hidden = show.sync(client=anyone, id=made.id)
name.sync(client=signed_in, body=NameBody(id=made.id, name="Ventil", lang="de"))
fixate.sync(client=signed_in, body=FixateBody(ids=[made.id]))
public = show.sync(client=anyone, id=made.id)
refused = name.sync_detailed(client=anyone, body=NameBody(id=made.id, name="x"))
print(json.dumps({
    "modules": modules,
    "ids": [made.id, again.id, public.id],
    "stages": [made.stage, public.stage],
    "names": public.names.to_dict(),
    "hidden": hidden.error if isinstance(hidden, Problem) else "shown",
    "refused": [refused.status_code, refused.parsed.error],
    "kinds": [type(made).__name__, type(public).__name__],
}))
"""


def generated(server: Server, folder: Path) -> str:
    """Generate the client in a folder, and return what the generator says."""
    described = folder / "openapi.json"
    described.write_bytes(server.ask("GET", "/api/v1/openapi.json").body)
    command = [str(GENERATOR), "generate", "--path", str(described), "--meta", "none"]
    made = subprocess.run(
        [*command, "--output-path", str(folder / "client")], capture_output=True, text=True, check=True
    )
    return made.stdout + made.stderr


def test_a_generated_client_mints_publishes_and_shows(server: Server, tmp_path: Path) -> None:
    said = generated(server, tmp_path)
    unread = [line for line in said.splitlines() if line.startswith("Cannot parse")]
    assert all("application/x-ndjson" in line for line in unread), said  # it has no streams
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    python = Path(str(GENERATOR)).resolve().with_name("python3")  # it has what clients need
    ran = subprocess.run(
        [python, script, server.address, server.token(ALICE)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    assert len({*found["ids"]}) == 1
    assert found["stages"] == ["created", "fixated"]
    assert found["names"] == {"und": "valve", "de": "Ventil"}
    assert found["hidden"] == "not-registered"
    assert found["refused"] == [401, "sign-in-required"]
    assert found["kinds"] == ["Record", "Record"]
    described = server.ask("GET", "/api/v1/openapi.json").json
    operations = {one["operationId"] for methods in described["paths"].values() for one in methods.values()}
    assert len(found["modules"]) == len(operations)
