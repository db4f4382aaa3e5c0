"""The scheme does what every scheme must do."""

from accession import SCHEME

from idstore.testing import SchemeTests


class TestAccessions(SchemeTests):
    """See `SchemeTests`."""

    scheme = SCHEME
    context = SCHEME.context("http://museum.example.org/object/", {})
    valid = ("2026.17", "1789.1")
    invalid = ("", "2026", "2026.", "2026.07", "2026.17\n", "26.17", "http://other.example.org/2026.17")
