"""Clients that others wrote, against a running server: pyhandle and easyhandle."""

import json
from typing import Any

import pytest
from handle_server import DRAFTS, LIVE, HandleServer, value

client_module = pytest.importorskip("pyhandle.handleclient")
errors = pytest.importorskip("pyhandle.handleexceptions")


def connect(api: HandleServer, user: str, secret: str) -> Any:
    return client_module.PyHandleClient("rest").instantiate_with_username_and_password(
        api.server.address.rstrip("/"),
        user,
        secret,
        HTTPS_verify=False,
        REST_API_url_extension="/api/handles/",
    )


@pytest.fixture
def client(api: HandleServer) -> Any:
    return connect(api, f"300:{LIVE}/USER01", api.tokens["USER01"])


def test_pyhandle_does_its_whole_cycle(client: Any) -> None:
    handle = f"{LIVE}/cycle"
    assert client.retrieve_handle_record(handle) is None
    assert client.register_handle(handle, "http://example.org/1", checksum="abc", AUTHOR="Ann") == handle
    record = client.retrieve_handle_record(handle)
    assert (record["URL"], record["CHECKSUM"], record["AUTHOR"]) == ("http://example.org/1", "abc", "Ann")
    assert "'permissions': '011111110011'" in record["HS_ADMIN"]
    client.modify_handle_value(handle, URL="http://example.org/2", EMAIL="ann@example.org")
    assert client.get_value_from_handle(handle, "URL") == "http://example.org/2"
    assert client.get_value_from_handle(handle, "EMAIL") == "ann@example.org"
    client.delete_handle_value(handle, "EMAIL")
    assert client.get_value_from_handle(handle, "EMAIL") is None
    only = client.retrieve_handle_record_json(handle, auth=True, indices=[1, 100])
    assert [one["index"] for one in only["values"]] == [1, 100]
    client.delete_handle(handle)
    assert client.retrieve_handle_record(handle) is None


def test_pyhandle_generates_and_overwrites(client: Any) -> None:
    handle = client.generate_and_register_handle(LIVE, "http://example.org/g")
    assert handle.startswith(f"{LIVE}/")
    assert client.register_handle(handle, "http://example.org/h", overwrite=True) == handle
    assert client.get_value_from_handle(handle, "URL") == "http://example.org/h"
    client.register_handle(f"{LIVE}/forced", "http://example.org/f", overwrite=True)
    assert client.get_value_from_handle(f"{LIVE}/forced", "URL") == "http://example.org/f"


def test_pyhandle_takes_the_errors_for_what_they_are(api: HandleServer, client: Any) -> None:
    handle = f"{LIVE}/errors"
    client.register_handle(handle, "http://example.org/1")
    with pytest.raises(errors.HandleAlreadyExistsException):
        client.register_handle(handle, "http://example.org/2")
    with pytest.raises(errors.HandleNotFoundException):
        client.delete_handle(f"{LIVE}/never")
    with pytest.raises(errors.HandleNotFoundException):
        client.modify_handle_value(f"{LIVE}/never", URL="http://example.org/")
    stranger = connect(api, f"300:{LIVE}/bob", "ids_wrong")
    with pytest.raises(errors.HandleAuthenticationError):
        stranger.register_handle(f"{LIVE}/other", "http://example.org/")
    with pytest.raises(errors.HandleAuthenticationError):
        stranger.delete_handle(handle)
    other = connect(api, f"300:{LIVE}/bob", api.tokens["bob"])
    with pytest.raises(errors.GenericHandleError, match="only its owner"):
        other.delete_handle(handle)
    with pytest.raises(errors.HandleNotFoundException):
        connect(api, f"300:{LIVE}/nobody", api.tokens["bob"])
    client.delete_handle(handle)
    with pytest.raises(errors.GenericHandleError, match="is taken"):
        client.register_handle(handle, "http://example.org/3")


def test_the_owner_of_a_prefix_signs_in_by_its_handle(api: HandleServer) -> None:
    client = connect(api, f"300:0.NA/{LIVE}", api.tokens["alice"])
    assert client.register_handle(f"{LIVE}/owner", "http://example.org/") == f"{LIVE}/owner"


def test_pyhandle_registers_drafts_and_does_not_see_them(api: HandleServer) -> None:
    """It reads without credentials."""
    client = connect(api, f"300:{DRAFTS}/USER01", api.tokens["USER01"])
    handle = f"{DRAFTS}/draft"
    client.register_handle(handle, "http://example.org/")
    assert client.retrieve_handle_record(handle) is None
    assert api.ask("GET", handle, by="USER01").json["responseCode"] == 1


@pytest.fixture
def easy(api: HandleServer) -> Any:
    module = pytest.importorskip("easyhandle.client")
    return module.BasicAuthHandleClient(
        api.server.address,
        LIVE,
        https_verify=True,
        username=f"300:{LIVE}/USER01",
        password=api.tokens["USER01"],
    )


def test_easyhandle_reads_and_writes_with_a_user_name_that_is_not_encoded(
    api: HandleServer, easy: Any
) -> None:
    made = easy.put_handle_for_urls({"URL": "http://example.org/e", "URL.1": "http://example.org/f"})
    assert made.status_code == 201
    handle = made.json()["handle"]
    reader = pytest.importorskip("easyhandle.client").HandleClient(api.server.address, LIVE)
    assert [one["data"]["value"] for one in reader.get_handle(handle).json()["values"]] == [
        "http://example.org/e",
        "http://example.org/f",
    ]
    assert [one["index"] for one in reader.get_handle_by_type(handle, "URL").json()["values"]] == [1]
    assert easy.delete_handle(handle).json() == {"responseCode": 1, "handle": handle}
    assert reader.get_handle(handle).status_code == 404


def test_the_bodies_of_pyhandle_have_text_where_others_have_numbers(api: HandleServer) -> None:
    admin = {
        "value": {"index": "200", "handle": f"0.NA/{LIVE}", "permissions": "011111110011"},
        "format": "admin",
    }
    assert api.put(f"{LIVE}/text", value("100", "HS_ADMIN", admin)).status == 201
    [read] = api.ask("GET", f"{LIVE}/text").json["values"]
    assert json.dumps(read["data"]["value"], sort_keys=True) == json.dumps(
        {"handle": f"0.NA/{LIVE}", "index": 200, "permissions": "011111110011"}
    )
