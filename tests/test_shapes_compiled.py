"""Shapes compiled to SPARQL: each constraint by hand, refusals, and agreement with pySHACL."""

import pytest
from pyoxigraph import Literal
from pyshacl_agreement import compiled, expected, shapes, triples

from idstore.errors import InvalidData, MalformedShapes, UnsupportedShapes
from idstore.validation import Shapes, compiler
from idstore.validation.graph import Graph
from idstore.validation.source import in_memory
from idstore.validation.values import supported

DATA = """
:a a :A ; :p "x", "yy"@en, 3 ; :q :b .
:b a :B ; :p :a, :c ; :q "x"@en, "X"@EN-gb, "x"@de .
:c a :C, :A ; :p "1"^^xsd:integer, "one"^^xsd:integer, _:z ; :q "2026-01-01T00:00:00Z"^^xsd:dateTime .
:d :p 1.5, true, "" ; :q :d, :b ; :r 2, 7 .
:e a :B ; :q "2026-02-30T00:00:00Z"^^xsd:dateTime , "2026-01-02T00:00:00Z"^^xsd:dateTime ;
    :r "2026-01-01T12:00:00Z"^^xsd:dateTime .
_:z :p "x" ; :q _:z .
:B rdfs:subClassOf :A .
"""

ON_VALUES = [
    "sh:class :A", "sh:class :A, :C", "sh:class :Nothing",
    "sh:datatype xsd:string", "sh:datatype xsd:integer", "sh:datatype xsd:boolean", "sh:datatype xsd:decimal",
    "sh:datatype xsd:dateTime", "sh:datatype rdf:langString",
    "sh:nodeKind sh:IRI", "sh:nodeKind sh:Literal", "sh:nodeKind sh:BlankNode",
    "sh:nodeKind sh:BlankNodeOrIRI", "sh:nodeKind sh:BlankNodeOrLiteral", "sh:nodeKind sh:IRIOrLiteral",
    "sh:minLength 2", "sh:maxLength 1", "sh:pattern '^[xy]'", "sh:pattern 'X' ; sh:flags 'i'",
    "sh:pattern '^urn:[ab]$'", "sh:pattern 'x', 'y'",
    "sh:languageIn ( 'en' )", "sh:languageIn ( 'de' 'fr' )",
    "sh:in ( :a )", "sh:in ( :a :b 'x' 3 )", "sh:in ( )", "sh:in ( 'x' 'x'@en )",
    "sh:disjoint :q", "sh:equals :q",
    "sh:not [ sh:nodeKind sh:IRI ]", "sh:not [ sh:path :p ; sh:minCount 1 ]",
    "sh:not [ sh:path :q ; sh:hasValue :b ]", "sh:not [ sh:class :A ; sh:deactivated true ]",
    "sh:node [ sh:class :A ; sh:property [ sh:path :p ; sh:maxCount 1 ] ]",
    "sh:node [ sh:property [ sh:path :q ; sh:minCount 3 ] ]",
    "sh:and ( [ sh:nodeKind sh:IRI ] [ sh:class :B ] )",
    "sh:or ( [ sh:class :B ] [ sh:nodeKind sh:Literal ] )",
    "sh:or ( [ sh:path :p ; sh:minCount 2 ] [ sh:path :q ; sh:hasValue :b ] )",
    "sh:or ( [ sh:path :p ; sh:minCount 1 ] [ sh:path :r ; sh:minCount 1 ] [ sh:class :B ] )",
    "sh:xone ( [ sh:class :A ] [ sh:class :B ] [ sh:nodeKind sh:Literal ] )",
    "sh:property [ sh:path :p ; sh:nodeKind sh:Literal ; sh:minCount 1 ]",
    "sh:property [ sh:path :q ; sh:property [ sh:path :p ; sh:maxCount 1 ] ]",
    "sh:closed true ; sh:ignoredProperties ( :p rdf:type )", "sh:closed true ; sh:property [ sh:path :q ]",
    "sh:closed false", "sh:hasValue :a", "sh:hasValue 'x'@en", "sh:hasValue 3",
]  # fmt: skip
ON_PATHS = [
    "sh:minCount 0", "sh:minCount 1", "sh:minCount 2", "sh:minCount 3", "sh:maxCount 0", "sh:maxCount 1",
    "sh:maxCount 2",
    "sh:uniqueLang true", "sh:uniqueLang false", "sh:uniqueLang '1'^^xsd:boolean",
    "sh:qualifiedValueShape [ sh:nodeKind sh:Literal ] ; sh:qualifiedMinCount 1",
    "sh:qualifiedValueShape [ sh:nodeKind sh:Literal ] ; sh:qualifiedMinCount 2 ; sh:qualifiedMaxCount 2",
    "sh:qualifiedValueShape [ sh:property [ sh:path :p ; sh:minCount 1 ] ] ; sh:qualifiedMaxCount 0",
]  # fmt: skip
PATHS = [
    ":p", "[ sh:inversePath :q ]", "( :q :p )", "( [ sh:inversePath :q ] :p )",
    "[ sh:alternativePath ( :p :q ) ]", "( [ sh:alternativePath ( :p :q ) ] [ sh:inversePath :q ] )",
    "[ sh:oneOrMorePath :q ]",
    "[ sh:inversePath [ sh:oneOrMorePath :q ] ]", "[ sh:inversePath [ sh:inversePath :q ] ]",
    "( :p ( :q :q ) )",
]  # fmt: skip
TARGETS = [
    "sh:targetClass :A",
    "sh:targetSubjectsOf :p, :q",
    "sh:targetObjectsOf :q",
    "sh:targetNode :a, :d, 'x', 3",
    "a rdfs:Class",
]


def agrees(shape: str, data: str = DATA) -> None:
    wanted, found = shapes(shape), triples(data)
    theirs = expected(found, wanted)
    for at_once in (1, 2, None):
        assert compiled(found, wanted, at_once=at_once) == theirs, at_once


@pytest.mark.parametrize("constraint", ON_VALUES)
def test_a_constraint_on_nodes(constraint: str) -> None:
    agrees(f":S a sh:NodeShape ; sh:targetClass :A ; sh:targetObjectsOf :p, :q ; {constraint} .")


@pytest.mark.parametrize("constraint", ON_VALUES + ON_PATHS)
@pytest.mark.parametrize("path", [":p", "( :q :p )"])
def test_a_constraint_on_the_values_of_a_path(constraint: str, path: str) -> None:
    agrees(f":S a sh:PropertyShape ; sh:path {path} ; sh:targetSubjectsOf :p ; {constraint} .")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "constraint", ["sh:minCount 1", "sh:maxCount 1", "sh:nodeKind sh:IRI", "sh:hasValue :a", "sh:class :A"]
)
def test_paths(path: str, constraint: str) -> None:
    agrees(f":S a sh:PropertyShape ; sh:path {path} ; sh:targetSubjectsOf :p, :q ; {constraint} .")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "constraint", ["sh:class :B", "sh:property [ sh:path :p ; sh:minCount 1 ]", "sh:pattern 'a$'"]
)
def test_targets(target: str, constraint: str) -> None:
    agrees(f":A a sh:NodeShape ; {target} ; {constraint} .")


@pytest.mark.parametrize("number", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("kind", ["minCount", "maxCount"])
def test_counting_inside_another_shape(kind: str, number: int) -> None:
    agrees(
        f":S sh:targetSubjectsOf :p ; sh:node [ a sh:NodeShape ;"
        f" sh:property [ sh:path :p ; sh:{kind} {number} ] ] ."
    )


@pytest.mark.parametrize(
    "constraint",
    [
        "sh:property [ sh:path :p ; sh:deactivated true ; sh:maxCount 0 ]", "sh:deactivated true ; sh:in ( )",
        "sh:or ( [ sh:deactivated true ; sh:in ( ) ] [ sh:class :Nothing ] )",
        "sh:node [ a sh:NodeShape ; sh:deactivated true ; sh:in ( ) ]",
        "sh:not [ sh:property [ sh:path :p ; sh:deactivated true ; sh:minCount 1 ] ]",
    ],
)  # fmt: skip
def test_shapes_that_are_switched_off(constraint: str) -> None:
    agrees(f":S a sh:NodeShape ; sh:targetSubjectsOf :p ; {constraint} .")


def test_data_without_anything_to_check() -> None:
    agrees(":S sh:targetClass :Nothing ; sh:in ( ) .")
    assert compiled([], shapes(":S sh:targetClass :A ; sh:in ( ) .")) == set()
    assert compiled(triples(DATA), Shapes()) == set()


def test_a_path_backwards() -> None:
    """pySHACL inverts the steps of a sequence but keeps their order."""
    wanted = shapes(":S sh:targetNode :a, :b, :c ; sh:path [ sh:inversePath ( :q :p ) ] ; sh:minCount 1 .")
    assert {focus for focus, *_ in compiled(triples(":a :q :b . :b :p :c ."), wanted)} == {
        "<urn:a>",
        "<urn:b>",
    }


def test_an_incomplete_constraint_has_no_effect() -> None:
    assert (
        compiled(triples(DATA), shapes(":S sh:targetSubjectsOf :p ; sh:path :p ; sh:qualifiedMaxCount 0 ."))
        == set()
    )


# pySHACL compares values that SPARQL, and thus SHACL, calls incomparable: the specification decides


@pytest.mark.parametrize(
    ("constraint", "offending"),
    [
        ("sh:minInclusive 3", {"1", "one"}), ("sh:minExclusive 3", {"1", "3", "one"}),
        ("sh:maxInclusive 3", {"5", "one"}), ("sh:maxExclusive 3", {"3", "5", "one"}),
        ("sh:minInclusive '2026-01-01T00:00:00Z'^^xsd:dateTime", {"1", "3", "5", "one"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("at_once", [1, 1000])
def test_bounds(constraint: str, offending: set[str], at_once: int) -> None:
    data = triples(':s :p 1, 3, 5.0, "one" .')
    found = compiled(
        data, shapes(f":S sh:targetSubjectsOf :p ; sh:path :p ; {constraint} ."), at_once=at_once
    )
    assert {value.split('"')[1] for _, _, value, _, _ in found} == offending


@pytest.mark.parametrize(
    ("kind", "offending"), [("lessThan", {"2", "3", "x", "urn:y"}), ("lessThanOrEquals", {"3", "x", "urn:y"})]
)
@pytest.mark.parametrize("at_once", [1, 1000])
def test_less_than(kind: str, offending: set[str], at_once: int) -> None:
    data = triples(':s :p 1, 2, 3, "x", :y ; :q 2, 4 . :t :p 9 .')
    found = compiled(
        data, shapes(f":S sh:targetSubjectsOf :p ; sh:path :p ; sh:{kind} :q ."), at_once=at_once
    )
    assert {value.strip('"<>').split('"')[0] for _, _, value, _, _ in found} == offending


@pytest.mark.parametrize("constraint", ["sh:datatype xsd:string", "sh:nodeKind sh:IRI", "sh:in ( :a )"])
@pytest.mark.parametrize("at_once", [1, 1000])
def test_a_triple_as_a_value_is_examined(constraint: str, at_once: int) -> None:
    found = compiled(
        triples(':s :p <<( :a :b "x" )>> .' + "".join(f':n{number} :p "y" .' for number in range(1001))),
        shapes(f":S sh:targetSubjectsOf :p ; sh:path :p ; {constraint} ."),
        at_once=at_once,
    )
    assert "urn:s" in {focus.strip("<>") for focus, _, _, _, _ in found}


@pytest.mark.parametrize("constraint", ["sh:minLength 0", "sh:maxLength 9", "sh:pattern ''"])
@pytest.mark.parametrize("at_once", [1, 1000])
def test_a_blank_node_has_no_text(constraint: str, at_once: int) -> None:
    found = compiled(
        triples(":s :p _:z, 'x' ."),
        shapes(f":S sh:targetSubjectsOf :p ; sh:path :p ; {constraint} ."),
        at_once=at_once,
    )
    assert [value[:2] for _, _, value, _, _ in found] == ["_:"]


@pytest.mark.parametrize("text", ["99999999999999999999999999", "-7", "+7"])
def test_integers_have_no_maximum(text: str) -> None:
    wanted = shapes(":S sh:targetSubjectsOf :p ; sh:path :p ; sh:datatype xsd:integer .")
    assert compiled(triples(f':s :p "{text}"^^xsd:integer .'), wanted) == set()


def test_a_pattern_ends_where_the_text_ends() -> None:
    """Python's ``$`` also matches before a last line break; that of XPath, which SHACL uses, does not."""
    found = compiled(
        triples('<urn:s> <urn:p> "x\\n" .'),
        shapes(":S sh:targetSubjectsOf :p ; sh:path :p ; sh:pattern '^x$' ."),
    )
    assert len(found) == 1


# refusals


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ("sh:sparql [ sh:select 'SELECT' ]", "sh:sparql"), ("sh:expression true", "sh:expression"),
        ("sh:rule [ ]", "sh:rule"),
        ("sh:pattern '(?=x)'", r"pattern '\(\?=x\)'"), (r"sh:pattern '(x)\\1'", "pattern"),
        ("sh:pattern '('", "pattern"), ("sh:pattern 'x' ; sh:flags 'k'", "flags 'k'"),
        ("sh:datatype xsd:byte", "xsd|byte"), ("sh:datatype :own", "urn:own"),
        ("sh:datatype xsd:duration", "duration"),
        ("sh:nodeKind sh:Nothing", "nodeKind"), ("sh:nodeKind 5", "nodeKind"),
        ("sh:property [ sh:path [ sh:zeroOrMorePath :p ] ; sh:minCount 1 ]", "length zero"),
        ("sh:property [ sh:path ( :q [ sh:zeroOrOnePath :p ] ) ; sh:minCount 1 ]", "length zero"),
        ("sh:node [ sh:property [ sh:path :p ; sh:maxCount 8 ] ]", "a count of 9"),
        ("sh:node :S", "refers to itself"),
        (
            ("sh:property [ sh:path :p ; sh:qualifiedValueShape [ ] ; sh:qualifiedMinCount 1 ;"
             " sh:qualifiedValueShapesDisjoint true ]"),
            "Dis",
        ),
    ],
)  # fmt: skip
def test_an_unsupported_constraint_is_refused(shape: str, reason: str) -> None:
    wanted = shapes(f":S sh:targetSubjectsOf :p ; {shape} .")
    assert not compiler.covers(wanted)
    with pytest.raises(UnsupportedShapes, match=reason):
        compiler.run(in_memory([]), wanted, 1)


@pytest.mark.parametrize(
    "extra", [":S sh:target [ ] .", ":C sh:parameter [ sh:path :own ] .", "<> sh:entailment <urn:e> ."]
)
def test_a_constraint_beyond_a_shape_is_refused(extra: str) -> None:
    assert not compiler.covers(
        shapes(f":S sh:targetSubjectsOf :p ; sh:nodeKind sh:IRI . {extra}".replace("<>", ":g"))
    )


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ("sh:minCount 1", "no sh:path"), ("sh:path 5", "not a property path"),
        ("sh:path [ ]", "not a property path"),
        ("sh:path :p, :q", "2 values"), ("sh:path :p ; sh:minCount 1, 2", "2 values"),
        ("sh:path :p ; sh:minCount 'x'", "not a whole number"),
        ("sh:path :p ; sh:maxCount -1", "not a whole number"), ("sh:or :p", "not a list"),
        ("sh:in [ rdf:first 1 ]", "not a proper list"),
        ("sh:node 'x'", "a literal where a shape"), ("sh:datatype xsd:string, xsd:integer", "2 values"),
    ],
)  # fmt: skip
def test_malformed_shapes_are_refused(shape: str, reason: str) -> None:
    with pytest.raises(InvalidData, match=reason):
        compiler.covers(shapes(f":S sh:targetSubjectsOf :p ; {shape} ."))


def test_an_endless_list_is_refused() -> None:
    with pytest.raises(MalformedShapes, match="not a proper list"):
        compiler.covers(shapes(":S sh:targetSubjectsOf :p ; sh:in _:l . _:l rdf:first 1 ; rdf:rest _:l ."))


@pytest.mark.parametrize("text", ["(?=a)", "(?<!a)b", r"(a)\1", "(", "[", "a{2,1}"])
def test_patterns_that_the_engine_does_not_know(text: str) -> None:
    assert not supported(text)


@pytest.mark.parametrize(("text", "flags"), [("", ""), ("^a+$", "i"), ('"\\\\\n', "s"), (r"\d\s\w", "x")])
def test_patterns_that_the_engine_knows(text: str, flags: str) -> None:
    assert supported(text, flags)


def test_shapes_without_targets_may_be_unsupported() -> None:
    assert compiler.covers(shapes(":S a sh:NodeShape ; sh:sparql [ ] ."))


def test_a_message_in_several_languages_is_shown_in_english() -> None:
    wanted = shapes(
        ":S sh:targetSubjectsOf :p ; sh:nodeKind sh:Literal ; sh:message 'nein'@de, 'no'@en-gb ;"
        " sh:name 'Gestalt'@de ."
    )
    (finding,) = compiler.run(in_memory(triples(":s :p 1 .")), wanted, 1).results
    assert (finding.message, finding.name) == ("no", "Gestalt")


def test_cyclic_lists_and_classes_terminate() -> None:
    data = ":s a :A . :A rdfs:subClassOf :B . :B rdfs:subClassOf :A ."
    assert compiled(triples(data), shapes(":S sh:targetClass :B ; sh:class :A .")) == set()


def test_values_of_one_property_are_refused_where_one_is_allowed() -> None:
    graph = Graph(triples(":s :p 1, 2 ."))
    node = triples(":s :p 1 .")[0].subject
    with pytest.raises(MalformedShapes, match="2 values"):
        graph.value(node, triples(":s :p 1 .")[0].predicate)
    assert graph.values(node, triples(":s :p 1 .")[0].predicate) == [Literal(1), Literal(2)]
