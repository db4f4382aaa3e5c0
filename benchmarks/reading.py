"""Lookups, lists and counts."""

import random
import statistics
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from pyoxigraph import NamedNode

from benchmarks.filling import ADMINISTRATOR, NAMESPACE, OWNERS, Bench, picked, target
from benchmarks.measure import Row, judged, percentile, seconds
from idstore import Filter
from idstore import open as open_registry
from idstore.registry import Registry

_P99_MS, _LIST_MS, _GROWTH = 1.0, 50.0, 2.0
_SMALL, _LARGE = 100_000, 10_000_000
"""Sizes between which the targets limit growth."""


def lookups(bench: Bench) -> Iterable[Row]:
    """Look up records by IRI and label, identifiers by target. Floor: the engine's read of a subject."""
    measured: list[Row] = []
    for size in bench.sizes:
        with open_registry(bench.store(size)) as registry:
            measured += _lookups(registry, size, bench.amount(2000))
    yield from measured
    kinds = len(measured) // len(bench.sizes)
    if len(bench.sizes) > 1:
        for first, last in zip(measured[:kinds], measured[-kinds:], strict=True):
            yield _grown(first, last)


def _grown(first: Row, last: Row) -> Row:
    """Return the growth of a lookup's cost from the first store to the last."""
    assert first.measured and last.measured and first.size and last.size
    ratio = last.measured / first.measured
    reached = ratio <= _GROWTH
    return Row(
        f"{first.name.partition(',')[0]}, growth", last.size, "µs", last.measured, first.measured,
        f"at {first.size:,}", ratio, "≤ 2 from 100k to 10M",
        judged(reached, last.size, _LARGE) if first.size <= _SMALL else None,
    )  # fmt: skip


def _lookups(registry: Registry, size: int, number: int) -> Iterator[Row]:
    """Measure each kind with its own identifiers, all of them twice.

    First reads may come from the disk; the note reports them.
    """
    uris: list[tuple[object, ...]] = [
        (target(place), OWNERS[place % len(OWNERS)]) for place in random.choices(range(size), k=number)
    ]
    iris: list[tuple[object, ...]] = [(iri,) for iri, _, _ in picked(registry, size, number)]
    _, floor = registry.store.read(lambda view: _twice(lambda iri: list(view.quads(NamedNode(iri))), iris))
    kinds = {
        "by IRI": _twice(registry.show, [(iri, owner) for iri, _, owner in picked(registry, size, number)]),
        "by label": _twice(
            registry.show,
            [(f"{NAMESPACE}:{label}", owner) for _, label, owner in picked(registry, size, number)],
        ),
        "by target URI": _twice(registry.bound_to, uris),
    }
    for kind, (first, again) in kinds.items():
        middle, worst = statistics.median(again), _tail(again)
        yield Row(
            f"lookup {kind}, p50 (p99 in the note)", size, "µs",
            1000 * middle, 1000 * statistics.median(floor), "engine: quads of one subject",
            middle / statistics.median(floor), "p99 < 1 ms", worst < _P99_MS,
            f"p99 {1000 * worst:,.0f} µs; of the engine's read {1000 * _tail(floor):,.0f} µs; "
            f"asked for the first time: {1000 * statistics.median(first):,.0f} µs, "
            f"p99 {1000 * _tail(first):,.0f} µs",
        )  # fmt: skip


def _twice(
    act: Callable[..., object], arguments: list[tuple[object, ...]]
) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each call in a first pass, and in a second pass over the same arguments."""
    first, again = ([1000 * seconds(partial(act, *each)) for each in arguments] for _ in range(2))
    return first, again


def _tail(values: list[float]) -> float:
    """Return the p99: the median of each tenth's p99, because another process may disturb one tenth."""
    length = max(1, len(values) // 10)
    return statistics.median(
        percentile(values[start : start + length], 0.99) for start in range(0, len(values), length)
    )


def lists(bench: Bench) -> Iterable[Row]:
    """List the newest hundred and a page of one owner, and count."""
    for size in bench.sizes:
        with open_registry(bench.store(size)) as registry:
            for name, act in _listings(registry).items():
                values = [1000 * seconds(act) for _ in range(bench.amount(100))]
                middle = statistics.median(values)
                reached = judged(middle < _LIST_MS, size, _LARGE)
                note = f"p99 {percentile(values, 0.99):.2f} ms"
                yield Row(
                    name,
                    size,
                    "ms",
                    middle,
                    _LIST_MS,
                    "the target itself",
                    middle / _LIST_MS,
                    "< 50 ms at 10M",
                    reached,
                    note,
                )


def _listings(registry: Registry) -> dict[str, Callable[[], object]]:
    owner = OWNERS[0]
    page = Filter(party=owner.name)
    return {
        "newest 100, administrator": lambda: registry.list(ADMINISTRATOR, limit=100),
        "newest 100, an owner": lambda: registry.list(owner, limit=100),
        "page of an owner": lambda: registry.list(owner, page, limit=100),
        "counts (stats), administrator": lambda: registry.counts(ADMINISTRATOR),
    }
