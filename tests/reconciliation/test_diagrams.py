"""The order in which a drawing shows the members of a cluster."""

from hypothesis import given
from hypothesis import strategies as st

from idstore.reconciliation.diagrams import in_order

pairs = st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1)


@given(pairs)
def test_each_member_appears_once_at_a_place_decided_by_the_links_alone(
    links: set[tuple[int, int]],
) -> None:
    beside: dict[str, set[str]] = {}
    for one, other in links:
        beside.setdefault(str(one), set()).add(str(other))
        beside.setdefault(str(other), set()).add(str(one))
    forward = {one: frozenset(others - {one}) for one, others in beside.items()}
    found = in_order(forward)
    assert sorted(found) == sorted(beside)
    assert in_order(dict(reversed(forward.items()))) == found


@given(st.integers(1, 30))
def test_a_hub_stands_in_the_middle_of_its_spokes(many: int) -> None:
    spokes = [f"spoke {number}" for number in range(many)]
    found = in_order({"hub": frozenset(spokes), **{spoke: frozenset(["hub"]) for spoke in spokes}})
    if many > 1:
        assert abs(found.index("hub") - many / 2) <= 1
