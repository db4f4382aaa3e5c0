"""The scheme does what every scheme must do."""

from typing import ClassVar

from accession import SCHEME

from idstore.testing import SchemeTests


class TestAccessions(SchemeTests):
    """See `SchemeTests`."""

    scheme = SCHEME
    context = SCHEME.context("http://museum.example.org/object/", {"code": "mvh"})
    valid = ("MVH.2026.17", "MVH.1789.1")
    invalid = (
        "",
        "2026.17",
        "MVH.2026",
        "MVH.2026.07",
        "MVH.2026.17\n",
        "M.2026.17",
        "http://a.org/MVH.2026.17",
    )
    same = (("MVH.2026.17", "mvh.2026.17"), ("MVH.1789.1", "http://museum.example.org/object/Mvh.1789.1"))
    full: ClassVar = {"2027": 999_999}  # the year of the simulated clock
