"""A directory server of this machine, OpenLDAP's ``slapd``, with users, groups and certificates."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self

import pytest
from serving import wait_until

ldap = pytest.importorskip("ldap", reason="the extra ldap is not installed")
modlist = pytest.importorskip("ldap.modlist", reason="the extra ldap is not installed")

SLAPD: Final = shutil.which("slapd") or "/usr/sbin/slapd"
BASE: Final = "dc=example,dc=org"
PEOPLE: Final = f"ou=people,{BASE}"
GROUPS: Final = f"ou=groups,{BASE}"
ROOT: Final = f"cn=admin,{BASE}"
READER: Final = f"cn=reader,{BASE}"
PASSWORD: Final = "correct horse"
"""The password of each user."""

_CONFIGURATION = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/pid
TLSCACertificateFile {folder}/ca.pem
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.key
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{reader}" read by * none
database mdb
suffix "{base}"
rootdn "{root}"
rootpw "{password}"
directory {folder}/data
maxsize 33554432
"""


def entries() -> str:
    """Return the directory at its start, as LDIF: alice is in the group by another group, dave in none."""
    people = "".join(
        f"dn: uid={name},{PEOPLE}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name}\nsn: {name}\n"
        f"userPassword: {PASSWORD}\n\n"
        for name in ("alice", "bob", "carol", "dave", "eve")
    )
    groups = "".join(
        f"dn: cn={name},{GROUPS}\nobjectClass: groupOfNames\ncn: {name}\n"
        + "".join(f"member: {member}\n" for member in members)
        + "\n"
        for name, members in {
            "rdswip_registry": [f"cn=editors,{GROUPS}", f"uid=bob,{PEOPLE}", f"uid=carol,{PEOPLE}"],
            "editors": [f"uid=alice,{PEOPLE}", f"cn=inner,{GROUPS}"],
            "inner": [f"uid=eve,{PEOPLE}", f"cn=editors,{GROUPS}"],  # a cycle
            "others": [f"uid=dave,{PEOPLE}"],
        }.items()
    )
    return (
        f"dn: {BASE}\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n\n"
        f"dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: people\n\n"
        f"dn: {GROUPS}\nobjectClass: organizationalUnit\nou: groups\n\n"
        f"dn: {READER}\nobjectClass: organizationalRole\nobjectClass: simpleSecurityObject\ncn: reader\n"
        f"userPassword: {PASSWORD}\n\n{people}{groups}"
    )


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def certificates(folder: Path, host: str = "127.0.0.1") -> None:
    """Make ``ca.pem``, and ``server.pem`` of it for a host, in a folder."""
    kind = "DNS" if host[0].isalpha() else "IP"
    if not (folder / "ca.pem").exists():
        openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority"),
            *("-keyout", folder / "ca.key", "-out", folder / "ca.pem"),
        )
    openssl(
        *(
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            f"/CN={host}",
            "-addext",
            f"subjectAltName={kind}:{host}",
        ),
        *("-keyout", folder / "server.key", "-out", folder / "server.csr"),
    )
    openssl(
        *("x509", "-req", "-days", "2", "-in", folder / "server.csr", "-copy_extensions", "copy"),
        *("-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial"),
        *("-out", folder / "server.pem"),
    )


class Slapd:
    """A server on free ports. Use it in a ``with`` block; `stop` and `start` may be called within it."""

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        self.folder = folder
        (folder / "data").mkdir()
        certificates(folder, host=host)
        text = _CONFIGURATION.format(folder=folder, reader=READER, base=BASE, root=ROOT, password=PASSWORD)
        (folder / "slapd.conf").write_text(text)
        command = [SLAPD, "-T", "add", "-f", str(folder / "slapd.conf")]
        subprocess.run(command, input=entries(), text=True, check=True, capture_output=True)
        self.plain, self.secure = free_port(), free_port()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        addresses = f"ldap://127.0.0.1:{self.plain}/ ldaps://127.0.0.1:{self.secure}/"
        command = [SLAPD, "-f", str(self.folder / "slapd.conf"), "-h", addresses, "-d", "0"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._answers)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(30)

    def change(self, group: str, user: str, *, member: bool) -> None:
        """Add a user to a group, or remove it."""
        with self._root() as connection:
            kind = ldap.MOD_ADD if member else ldap.MOD_DELETE
            values = [f"uid={user},{PEOPLE}".encode()]
            connection.modify_s(f"cn={group},{GROUPS}", [(kind, "member", values)])

    def add_user(self, name: str, uids: list[str], password: str = PASSWORD) -> None:
        """Add a user to the directory and to the required group."""
        dn = f"cn={name},{PEOPLE}"
        values = {
            "objectClass": [b"inetOrgPerson"],
            "uid": [uid.encode() for uid in uids],
            "sn": [name.encode()],
            "userPassword": [password.encode()],
        }
        with self._root() as connection:
            connection.add_s(dn, modlist.addModlist(values))
            connection.modify_s(f"cn=rdswip_registry,{GROUPS}", [(ldap.MOD_ADD, "member", [dn.encode()])])

    @contextmanager
    def _root(self) -> Iterator[Any]:
        connection = ldap.initialize(f"ldap://127.0.0.1:{self.plain}")
        connection.simple_bind_s(ROOT, PASSWORD)
        yield connection
        connection.unbind_s()

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.plain)):
            return True
        return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
