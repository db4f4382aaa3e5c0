"""Templates of handles: many handles that are made from one when they are resolved.

A template applies to a handle that is not stored. Its delimiter divides the handle into a base and an
extension; its elements make the values of the handle from those of the base. Elements are ``value``, ``if``
and ``else``, ``foreach``, ``def`` and ``notfound``; ``template ref="INDEX:HANDLE"`` names a value with the
template. Texts contain variables: ``${handle}``, ``${base}``, ``${extension}``, in ``foreach`` also
``${index}``, ``${type}``, ``${data}``, and ``${parameter[1]}`` for a group of the last expression.
Source: Handle.Net technical manual, version 9, chapter 11; the behaviour of the software where the manual is
silent. Differences: expressions are those of RE2, whose time is linear in the text.

>>> url, either = Made(1, "URL", "http://example.org/a"), '<value data="${data}?part=${extension}"/>'
>>> template = parse(f'<namespace><template delimiter="@"><foreach>{either}</foreach></template></namespace>')
>>> template.divide("1234/a@b@c")
('1234/a', 'b@c')
>>> construct(template, Parts("1234/a@b", "1234/a", "b"), [url])
(Made(index=1, type='URL', data='http://example.org/a?part=b'),)
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from idstore.errors import InvalidData
from idstore.schemes.value_types import HIGHEST

DEPTH: Final = 10
"""Most references from one template to the next."""
_MOST: Final = 1000
"""Most values of a handle that a template makes."""
_DEEPEST: Final = 100
"""Most levels of elements."""
_LONGEST: Final = 1 << 16
"""Longest text that a template makes, in characters."""
_VARIABLE: Final = re.compile(r"\\(?P<literal>.)|\$\{(?P<name>[^}]*)\}|\$(?P<group>[0-9]+)", re.DOTALL)
_GROUP: Final = re.compile(r"(?P<name>.*)\[(?P<group>[0-9]+)\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Element:
    """An XML element."""

    name: str
    attributes: Mapping[str, str]
    children: "list[Element]"
    text: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A namespace's template.

    delimiter  the text between base and extension; empty: the template is for reference alone.
    root       the element that holds the template, or the template itself.
    """

    delimiter: str
    root: Element

    def divide(self, handle: str) -> tuple[str, str] | None:
        """Return base and extension of a handle; None: the template does not apply to it."""
        base, found, extension = handle.partition(self.delimiter) if self.delimiter else (handle, "", "")
        return (base, extension) if found else None


@dataclass(frozen=True, slots=True)
class Parts:
    """A handle with its base and its extension."""

    handle: str
    base: str
    extension: str


@dataclass(frozen=True, slots=True)
class Made:
    """A value of a handle: one of the base, or one that a template makes.

    origin  the place of the base's value that it was made from, among the values of the base.
    """

    index: int
    type: str
    data: str
    origin: int | None = field(default=None, compare=False, repr=False)


class NotFound(Exception):
    """The template says that there is no such handle, or it cannot be applied."""


@lru_cache(maxsize=256)
def parse(text: str) -> Template:
    """Read a template, in a ``namespace`` element or alone. Raises InvalidData."""
    from xml.parsers import expat

    top = Element("", {}, [])
    open_elements = [top]

    def start(name: str, attributes: dict[str, str]) -> None:
        element = Element(name, attributes, [])
        open_elements[-1].children.append(element)
        open_elements.append(element)
        if len(open_elements) > _DEEPEST:
            raise InvalidData(
                f"the template is nested too deeply; use at most {_DEEPEST} levels", field="template"
            )

    def end(_: str) -> None:
        open_elements.pop()

    def characters(data: str) -> None:
        parent = open_elements[-2] if len(open_elements) > 1 else top
        present = open_elements.pop()
        merged = replace(present, text=present.text + data)
        parent.children[-1] = merged
        open_elements.append(merged)

    def no_document_type(*_: object) -> None:
        raise InvalidData(
            "the template declares a document type, which is not allowed; remove <!DOCTYPE …>",
            field="template",
        )

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = characters, no_document_type
    try:
        parser.Parse(text.encode(), True)  # noqa: FBT003 expat takes no keyword arguments
    except expat.ExpatError as error:
        raise InvalidData(
            f"the template is not XML: {expat.errors.messages[error.code]} (line {error.lineno})",
            line=error.lineno,
        ) from error
    root = top.children[0]
    first = next(_templates(root), None)
    if first is None:
        raise InvalidData(
            'there is no template; write <namespace><template delimiter="@">…</template></namespace>',
            field="template",
        )
    return Template(first.attributes.get("delimiter", ""), root)


def _templates(root: Element) -> Iterator[Element]:
    """Yield the templates of an element, which may be one itself."""
    if root.name == "template":
        yield root
    else:
        yield from (child for child in root.children if child.name == "template")


Referenced = Callable[[int, str], str | None]
"""Returns the text of a value by index and handle; None if there is none to be seen."""


def construct(
    template: Template,
    parts: Parts,
    values: Sequence[Made],
    *,
    referenced: Referenced = lambda _, __: None,
    case_sensitive: bool = False,
) -> tuple[Made, ...]:
    """Return the values of the handle that a template makes from those of its base, by index.

    Raises NotFound.
    """
    builder = _Construction(values, referenced, case_sensitive=case_sensitive)
    builder.run(template.root, _Variables.of(parts), 0)
    return tuple(sorted(builder.made, key=lambda value: value.index))


@dataclass(frozen=True, slots=True)
class _Variables:
    """The variables of a template: texts, and the groups of expressions that matched."""

    texts: Mapping[str, str]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, parts: Parts) -> "_Variables":
        return cls({"handle": parts.handle, "base": parts.base, "extension": parts.extension})

    def with_text(self, name: str, text: str) -> "_Variables":
        return _Variables({**self.texts, name: text}, {k: v for k, v in self.groups.items() if k != name})

    def with_groups(self, name: str, groups: tuple[str, ...]) -> "_Variables":
        return _Variables({**self.texts, name: groups[0]}, {**self.groups, name: groups})

    def with_value(self, value: Made) -> "_Variables":
        return _Variables(
            {**self.texts, "index": str(value.index), "type": value.type, "data": value.data}, self.groups
        )

    def get(self, name: str) -> str:
        match = _GROUP.fullmatch(name)
        if match:
            return self.group(match["name"], int(match["group"]))
        return (
            self.group("extension", int(name))
            if name.isascii() and name.isdigit()
            else self.texts.get(name, "")
        )

    def group(self, name: str, number: int) -> str:
        groups = self.groups.get(name) or (self.texts.get(name, ""),)
        return groups[number] if number < len(groups) else ""

    def expand(self, text: str) -> str:
        """Return a text with the values of its variables."""

        def one(match: re.Match[str]) -> str:
            if match["literal"] is not None:
                return match["literal"]
            return (
                self.get(match["name"])
                if match["group"] is None
                else self.group("extension", int(match["group"]))
            )

        expanded = _VARIABLE.sub(one, text)
        if len(expanded) > _LONGEST:
            raise NotFound
        return expanded


class _Construction:
    """Makes values by the elements of a template."""

    def __init__(self, values: Sequence[Made], referenced: Referenced, *, case_sensitive: bool) -> None:
        self.made: list[Made] = []
        self._values, self._referenced, self._case_sensitive = values, referenced, case_sensitive

    def run(self, root: Element, variables: _Variables, depth: int) -> None:
        """Apply the templates of an element. Raises NotFound."""
        for template in _templates(root):
            reference = template.attributes.get("ref")
            if reference is None:
                self._apply(template, variables, None, self.made)
                continue
            index, _, handle = reference.partition(":")
            text = self._referenced(int(index), handle) if index.isascii() and index.isdigit() else None
            if text is None or depth >= DEPTH:
                raise NotFound
            try:
                named = parse(text)
            except InvalidData as error:
                raise NotFound from error
            self.run(named.root, variables, depth + 1)

    def _apply(self, parent: Element, variables: _Variables, value: Made | None, made: list[Made]) -> None:
        """Apply the elements inside one, ``value`` being that of a ``foreach``. Raises NotFound."""
        condition = _Condition(None, None)
        for element in parent.children:
            match element.name:
                case "notfound":
                    raise NotFound
                case "value":
                    self._add(element, variables, value, made)
                case "if":
                    condition = _Condition.of(element, variables, case_sensitive=self._case_sensitive)
                    self._enter(element, condition.inside, value, made)
                case "else":
                    self._enter(element, condition.otherwise, value, made)
                case "foreach" if value is None:
                    for one in self._values:
                        self._apply(element, variables.with_value(one), one, made)
                case "def":
                    variables = self._defined(element, variables, value)

    def _enter(
        self, element: Element, variables: _Variables | None, value: Made | None, made: list[Made]
    ) -> None:
        if variables is not None:
            self._apply(element, variables, value, made)

    def _defined(self, element: Element, variables: _Variables, value: Made | None) -> _Variables:
        """Return the variables with the one that a ``def`` defines."""
        made: list[Made] = []
        self._apply(element, variables, value, made)
        name = element.attributes.get("parameter")
        return variables.with_text(name, made[0].data) if made and name else variables

    def _add(self, element: Element, variables: _Variables, value: Made | None, made: list[Made]) -> None:
        """Add the value that an element describes, with the next free index."""
        type = element.attributes.get("type")
        data = element.attributes.get("data", element.text or None)
        if value is None and (type is None or data is None):
            return
        index = (
            int(element.attributes.get("index", "0")) if element.attributes.get("index", "0").isdigit() else 0
        )
        if value is None:
            index = index or 1
            origin, old_type, old_data = None, "", ""
        else:
            index = index or value.index
            origin, old_type, old_data = value.origin, value.type, value.data
        taken = {one.index for one in made}
        while index in taken:
            index += 1
        if len(made) >= _MOST or index > HIGHEST:
            raise NotFound
        made.append(
            Made(
                index,
                old_type if type is None else variables.expand(type),
                old_data if data is None else variables.expand(data),
                origin,
            )
        )


@dataclass(frozen=True, slots=True)
class _Condition:
    """An ``if``: the variables in it and in its ``else``, None where it is not entered."""

    inside: _Variables | None
    otherwise: _Variables | None

    @classmethod
    def of(cls, element: Element, variables: _Variables, *, case_sensitive: bool) -> "_Condition":
        name = element.attributes.get("value", "extension")
        parameter = element.attributes.get("parameter", name)
        expression, test = element.attributes.get("expression"), element.attributes.get("test", "equals")
        negated = element.attributes.get("negate") == "true"
        if expression is None:
            return cls(None, variables) if negated or "test" in element.attributes else cls(variables, None)
        text = variables.get(name)
        plain = variables.with_text(parameter, text)
        if test == "equals":
            met, inside = text == expression, plain
        elif test == "matches":
            groups = _groups(expression, text, case_sensitive=case_sensitive)
            met, inside = (
                groups is not None,
                plain if groups is None else plain.with_groups(parameter, groups),
            )
        else:
            return cls(None, None)
        yes, no = (inside, None) if met else (None, plain)
        return cls(no, yes) if negated else cls(yes, no)


def _groups(expression: str, text: str, *, case_sensitive: bool) -> tuple[str, ...] | None:
    """Return the text and its groups by an expression that matches all of it; None: it does not."""
    match = _compiled(expression, case_sensitive).fullmatch(text)
    return None if match is None else (match.group(0), *(group or "" for group in match.groups()))


@lru_cache(maxsize=256)
def _compiled(expression: str, case_sensitive: bool) -> Any:
    """Return a compiled expression. Raises NotFound: it is not one of RE2, or too large."""
    import re2

    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = case_sensitive, False, 1 << 20
    try:
        return re2.compile(expression, options)
    except re2.error as error:
        raise NotFound from error
