"""Several locations for one handle: the data of ``10320/loc`` values, and the choice of a location.

``chooseby`` names methods. Each keeps some locations. One location left: it is the choice. None
left: the method has no effect. Several left: the next method continues with them. ``weighted``, and the end
of the list, draw one by the weights. A location of weight 0 is never drawn; it can only be selected by an
attribute.
Source: Handle.Net technical manual, version 9, "10320/loc handle type"; the behaviour of the proxy server
where the manual is silent.

>>> first = '<location id="0" href="http://a.example/" weight="0"/>'
>>> second = '<location id="1" href="http://b.example/"/>'
>>> locations = parse(f"<locations>{first}{second}</locations>")
>>> [choose(locations, Client(chosen), lambda: 0.5)["id"] for chosen in (("id:0",), ())]
['0', '1']
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from idstore.characters import ascii_lower
from idstore.errors import InvalidData

METHODS: Final = ("locatt", "address", "country", "score", "weighted")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Client:
    """The known properties of a client.

    locatt   ``attribute:value``, or an attribute alone, that a location must have; several apply in turn.
    country  country code of two letters.
    address  IP address.
    """

    locatt: tuple[str, ...] = ()
    country: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Locations:
    """The content of a value: the methods in order, and the attributes of each location."""

    methods: tuple[str, ...]
    places: tuple[Mapping[str, str], ...]


def parse(text: str) -> Locations:
    """Read the XML of a value.

    Raises InvalidData if it is malformed or has a document type, if it has no location, or if a location has
    no ``href`` or ``href_template``, or an invalid weight.
    """
    from xml.parsers import expat

    elements: list[tuple[int, str, dict[str, str]]] = []
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        elements.append((depth, ascii_lower(name), attributes))
        depth += 1

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = (
        start,
        end,
        _no_document_type,
    )
    try:
        parser.Parse(text.encode(), True)  # noqa: FBT003 expat takes no keyword arguments
    except expat.ExpatError as error:
        raise InvalidData(
            f"the locations are not XML: {expat.errors.messages[error.code]} (line {error.lineno})",
            line=error.lineno,
        ) from error
    places = tuple(attributes for level, name, attributes in elements if (level, name) == (1, "location"))
    if not places:
        raise InvalidData(
            'there is no location; write <locations><location href="http://example.org/"/></locations>',
            field="locations",
        )
    for place in places:
        _check(place)
    return Locations(_methods(elements[0][2]), places)


def _no_document_type(*_: object) -> None:
    raise InvalidData(
        "the locations declare a document type, which is not allowed; remove <!DOCTYPE …>", field="locations"
    )


def _methods(root: Mapping[str, str]) -> tuple[str, ...]:
    methods = root.get("choose_by", root.get("chooseby"))
    return METHODS if methods is None else tuple(method.strip() for method in methods.split(","))


def _check(place: Mapping[str, str]) -> None:
    if not (place.get("href") or place.get("href_template")):
        raise InvalidData("a location has no href; add its address as href", field="href")
    for name in ("weight", "score"):
        if name in place and not _NUMBER.fullmatch(place[name]):
            raise InvalidData(f"the {name} {place[name]!r} of a location must be a number", value=place[name])


def choose(locations: Locations, client: Client, draw: Callable[[], float]) -> Mapping[str, str]:
    """Return the attributes of one location.

    draw  returns a random number from 0 up to, but not including, 1.
    """
    left: Sequence[Mapping[str, str]] = locations.places
    for method in locations.methods:
        if method == "weighted":
            break
        kept = _FILTERS.get(method, _all)(left, client)
        if len(kept) == 1:
            return kept[0]
        left = kept or left
    return _drawn(left, draw)


def address_of(place: Mapping[str, str], handle: str) -> str:
    """Return the address of a location of a handle.

    In ``href_template``, ``{hdl}`` and ``{hdl:path}`` stand for the handle, percent-encoded as a part of a
    query and as a path.

    >>> address_of({"href_template": "http://a.example/{hdl:path}?id={hdl}"}, "10.5072/a b")
    'http://a.example/10.5072/a%20b?id=10.5072%2Fa%20b'
    """
    href = place.get("href")
    if href:
        return href
    from urllib.parse import quote

    template = place["href_template"]
    return template.replace("{hdl}", quote(handle, safe="")).replace("{hdl:path}", quote(handle))


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


def _all(
    places: Sequence[Mapping[str, str]],
    client: Client,  # noqa: ARG001 - all filters have the same signature
) -> Sequence[Mapping[str, str]]:
    return places


def _by_attribute(places: Sequence[Mapping[str, str]], client: Client) -> Sequence[Mapping[str, str]]:
    for wanted in client.locatt:
        name, colon, value = wanted.partition(":")
        name = name.strip()
        kept = [place for place in places if name in place and (not colon or place[name] == value)]
        places = kept or places
    return places


def _by_address(places: Sequence[Mapping[str, str]], client: Client) -> Sequence[Mapping[str, str]]:
    return (
        places
        if client.address is None
        else [place for place in places if _covers(place.get("addresses", ""), client.address)]
    )


def _covers(ranges: str, address: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        client_address = ip_address(address)
    except ValueError as error:
        raise InvalidData(
            f"{address!r} is not an IP address; write 192.0.2.1 or 2001:db8::1",
            text=address,
        ) from error
    for network in filter(None, map(str.strip, ranges.split(","))):
        try:
            if client_address in ip_network(network, strict=False):
                return True
        except ValueError:  # an error in the value, not in the request: the range covers no address
            continue
    return False


def _by_country(places: Sequence[Mapping[str, str]], client: Client) -> Sequence[Mapping[str, str]]:
    if client.country is None:
        return places
    country = ascii_lower(client.country)
    return [place for place in places if ascii_lower(place.get("country", "")) == country]


def _by_score(
    places: Sequence[Mapping[str, str]],
    client: Client,  # noqa: ARG001 - all filters have the same signature
) -> Sequence[Mapping[str, str]]:
    best = max(float(place.get("score", "0")) for place in places)
    return [place for place in places if float(place.get("score", "0")) == best]


_FILTERS: Final = {
    "locatt": _by_attribute,
    "address": _by_address,
    "country": _by_country,
    "score": _by_score,
}
