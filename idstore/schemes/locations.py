"""Several places for one handle: the data of ``10320/loc`` values, and the choice among them.

``chooseby`` names methods that each keep some locations. One is left: it is chosen. None is left: the method is as if it had not been.
Several are left: the next method goes on with them; ``weighted``, and the end, draw one by the weights. A location of weight 0 is never drawn: it is
chosen by name.
Source: Handle.Net technical manual, version 9, "10320/loc handle type"; the behaviour of the proxy server where the manual is silent.

>>> data = '<locations><location id="0" href="http://a.example/" weight="0"/><location id="1" href="http://b.example/"/></locations>'
>>> choose(parse(data), Asked(locatt="id:0"), lambda: 0.5), choose(parse(data), Asked(), lambda: 0.5)
('http://a.example/', 'http://b.example/')
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from idstore.errors import InvalidData
from idstore.frozen import dataclass

METHODS: Final = ("locatt", "address", "country", "score", "weighted")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of who asks.

    locatt   ``attribute:value`` (or the attribute alone) that a location must have.
    country  two letters.
    address  an address of the Internet protocol.
    """

    locatt: str | None = None
    country: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Locations:
    """What a value says: the methods in their order, and the attributes of each location."""

    methods: tuple[str, ...]
    places: tuple[Mapping[str, str], ...]


def parse(text: str) -> Locations:
    """Read the XML of a value. Raises InvalidData: malformed, a document type, no location, one without ``href``, a weight that is none."""
    from xml.parsers import expat

    elements: list[tuple[int, str, dict[str, str]]] = []
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        elements.append((depth, name.lower(), attributes))
        depth += 1

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = start, end, _no_document_type
    try:
        parser.Parse(text.encode(), True)  # noqa: FBT003 expat takes no names
    except expat.ExpatError as error:
        raise InvalidData(
            f"the locations are not XML: {expat.errors.messages[error.code]} (line {error.lineno})", line=error.lineno
        ) from error
    places = tuple(attributes for level, name, attributes in elements if (level, name) == (1, "location"))
    if not places:
        raise InvalidData('the locations name none; write <locations><location href="http://example.org/"/></locations>')
    for place in places:
        _check(place)
    return Locations(_methods(elements[0][2]), places)


def _no_document_type(*_: object) -> None:
    raise InvalidData("the locations declare a document type, which is not read; leave <!DOCTYPE …> out")


def _methods(root: Mapping[str, str]) -> tuple[str, ...]:
    said = root.get("choose_by", root.get("chooseby"))
    return METHODS if said is None else tuple(method.strip() for method in said.split(","))


def _check(place: Mapping[str, str]) -> None:
    if not place.get("href"):
        raise InvalidData("a location has no href, and leads nowhere; give it one")
    for name in ("weight", "score"):
        if name in place and not _NUMBER.fullmatch(place[name]):
            raise InvalidData(f"the {name} {place[name]!r} of a location must be a number", value=place[name])


def choose(found: Locations, asked: Asked, draw: Callable[[], float]) -> str:
    """The address of one location.

    draw  gives a number from 0 up to, but not including, 1.
    """
    left: Sequence[Mapping[str, str]] = found.places
    for method in found.methods:
        if method == "weighted":
            break
        kept = _FILTERS.get(method, _all)(left, asked)
        if len(kept) == 1:
            return kept[0]["href"]
        left = kept or left
    return _drawn(left, draw)["href"]


def _drawn(places: Sequence[Mapping[str, str]], draw: Callable[[], float]) -> Mapping[str, str]:
    weights = [max(0.0, float(place.get("weight", "1"))) for place in places]
    if not any(weights):
        return places[int(draw() * len(places))]
    point = draw() * sum(weights)
    for place, weight in zip(places, weights, strict=True):
        point -= weight
        if point < 0:
            return place
    return next(place for place, weight in zip(reversed(places), reversed(weights), strict=True) if weight)


def _all(places: Sequence[Mapping[str, str]], asked: Asked) -> Sequence[Mapping[str, str]]:  # noqa: ARG001 every filter has the same form
    return places


def _by_attribute(places: Sequence[Mapping[str, str]], asked: Asked) -> Sequence[Mapping[str, str]]:
    if asked.locatt is None:
        return places
    name, colon, value = asked.locatt.partition(":")
    return [place for place in places if name.strip() in place and (not colon or place[name.strip()] == value)]


def _by_address(places: Sequence[Mapping[str, str]], asked: Asked) -> Sequence[Mapping[str, str]]:
    return places if asked.address is None else [place for place in places if _covers(place.get("addresses", ""), asked.address)]


def _covers(ranges: str, address: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        asking = ip_address(address)
    except ValueError as error:
        raise InvalidData(f"{address!r} is no address of the Internet protocol; write 192.0.2.1 or 2001:db8::1", text=address) from error
    for one in filter(None, map(str.strip, ranges.split(","))):
        try:
            if asking in ip_network(one, strict=False):
                return True
        except ValueError:  # somebody's value, not the asker's fault: it covers nothing
            continue
    return False


def _by_country(places: Sequence[Mapping[str, str]], asked: Asked) -> Sequence[Mapping[str, str]]:
    if asked.country is None:
        return places
    return [place for place in places if place.get("country", "").lower() == asked.country.lower()]


def _by_score(places: Sequence[Mapping[str, str]], asked: Asked) -> Sequence[Mapping[str, str]]:  # noqa: ARG001
    best = max(float(place.get("score", "0")) for place in places)
    return [place for place in places if float(place.get("score", "0")) == best]


_FILTERS: Final = {"locatt": _by_attribute, "address": _by_address, "country": _by_country, "score": _by_score}
