"""The two known kinds of clients of the RDS/WIP service, and the later one, rebuilt from their description.

Each sends its first request without credentials, and sends them when it is asked to.
"""

import base64
import http.client
import re
from dataclasses import dataclass
from urllib.parse import quote_plus, urlsplit
from xml.etree import ElementTree as ET

NAMESPACE = "http://ns.ids-adi.org/registry/schema#"
RESPONSE = "http://www.iringtools.org/common/response"


def encoded(text: str) -> str:
    """Encode as .NET's HttpUtility.UrlEncode: lower-case escapes, ``+`` for a space."""
    return re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quote_plus(text, safe="-_.!*()"))


@dataclass(frozen=True)
class NetworkClient:
    """What the clients share: an address, and credentials that wait for a challenge."""

    server: str
    name: str
    secret: str

    def get(self, path: str) -> bytes:
        """Return the body of a successful answer. Raises OSError, as .NET and Java do, for any other."""
        status, headers, body = self._request(path, {})
        if status == 401 and headers.get("www-authenticate", "").startswith("Basic "):
            sent = base64.b64encode(f"{self.name}:{self.secret}".encode()).decode()
            status, headers, body = self._request(path, {"Authorization": f"Basic {sent}"})
        if not 200 <= status < 300:
            raise OSError(f"the remote server returned an error: {status}")
        return body

    def _request(self, path: str, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        host = urlsplit(self.server).netloc
        connection = http.client.HTTPConnection(host, timeout=20)
        try:
            connection.request("GET", path, headers=headers)
            reply = connection.getresponse()
            return reply.status, {key.lower(): value for key, value in reply.getheaders()}, reply.read()
        finally:
            connection.close()


class StringClient(NetworkClient):
    """Sends its whole address twice in one, and searches the answer for two literal tags."""

    def acquire(self, base: str, comment: str) -> str:
        query = f"registry-op=acquire&registry-base={encoded(base)}&registry-comment={encoded(comment)}"
        body = self.get(f"/registry?{query}{self.server}registry?{query}").decode()
        start, end = body.find("<registry-id>"), body.find("</registry-id>")
        return body[start + len("<registry-id>") : end] if start >= 0 else ""


class DeserialisingClient(NetworkClient):
    """Reads the answer strictly, by the names of elements in their namespace."""

    def acquire(self, base: str, comment: str) -> str:
        query = f"registry-op=acquire&registry-base={encoded(base)}&registry-comment={encoded(comment)}"
        root = ET.fromstring(self.get(f"/registry?{query}"))
        if root.tag != f"{{{NAMESPACE}}}result":
            raise ValueError(f"<{root.tag}> was not expected")
        text = root.findtext(f"{{{NAMESPACE}}}registry-id")
        assert text is not None
        return text


class LaterClient(NetworkClient):
    """Asks the later service: a base without ``#``, and the identifier is the first message of the answer."""

    def acquire(self, base: str, comment: str, service: str = "/services/idgen") -> str:
        uri = base.removesuffix("#")
        body = self.get(f"{service}/acquireId/param?uri={uri}&comment={encoded(comment)}")
        root = ET.fromstring(body)
        assert root.tag == f"{{{RESPONSE}}}response"
        return root.findall(f"{{{RESPONSE}}}messages/{{{RESPONSE}}}message")[0].text or ""
