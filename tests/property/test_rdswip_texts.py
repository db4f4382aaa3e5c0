"""Any text goes through the RDS/WIP interface: into a query, once or twice, and out in XML."""

import re

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree  # type: ignore[import-untyped]
from rdswip_clients import NAMESPACE, encoded

from idstore.server.rdswip import answers
from idstore.server.rdswip.parameters import Parameters

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@given(TEXTS)
@example("https://h/registry?registry-op=acquire")
def test_a_comment_is_read_from_a_query_and_from_one_that_arrives_twice(comment: str) -> None:
    query = f"registry-op=acquire&registry-base=b%23&registry-comment={encoded(comment)}"
    for sent in (query, f"{query}https://secure.example.org/registry?{query}"):
        read = Parameters.parse(sent.encode())
        assert read.get("registry-comment") == (comment if comment.strip() else None)
        assert read.base == "b#"


@given(TEXTS)
@example("]]>\r\n\t\x00\uffff</registry-id>")
def test_a_text_comes_back_from_xml(text: str) -> None:
    body = answers.result([("registry-id", text)]).body
    assert bytes(body).count(b"<registry-id>") == 1
    root = etree.fromstring(body)
    assert (root.findtext(f"{{{NAMESPACE}}}registry-id") or "") == ILLEGAL.sub("\ufffd", text)
