"""Conformance kits for plug-in authors; idstore's own schemes and stores pass the same tests.

Subclass a kit in a test module and set its attributes::

    from idstore.testing import SchemeTests

    class TestMyScheme(SchemeTests):
        scheme = SCHEME
        context = SCHEME.context("http://example.org/things/", {})
        valid = ("a1", "b2")
        invalid = ("", "A1")

A store is tested the same way::

    from my_stores import open_or_create

    from idstore.testing import StoreTests

    class TestMyStore(StoreTests):
        opener = staticmethod(open_or_create)
"""

import pytest

# before their import, so that a failed assert shows its values
pytest.register_assert_rewrite(f"{__name__}.schemes", f"{__name__}.stores")

from idstore.testing.schemes import SchemeTests, SimulatedAllocation, obeys  # noqa: E402
from idstore.testing.stores import StoreTests  # noqa: E402

__all__ = ["SchemeTests", "SimulatedAllocation", "StoreTests", "obeys"]
