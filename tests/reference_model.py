"""A plain reference model of a registry: dicts and lists, no triples, no stores.

Written from the table of stages and rights in `docs/security.md` alone. Each act first computes its answer
(`Refusal`, or None) and then takes effect. Visibility is computed from the whole model and never stored.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from idstore.vocabulary import SKOS

Refusal: TypeAlias = str | None
"""Slug of the error that refuses an act; None if the act is done."""

HIDDEN = "not-registered"
FORBIDDEN = "not-permitted"
CONFLICT = "wrong-stage"


@dataclass(slots=True, eq=False)
class Thing:
    """An identifier."""

    iri: str
    namespace: str
    owner: str
    stage: str = "created"
    grants: dict[str, bool] = field(default_factory=dict)
    offered: str | None = None
    names: dict[str, str] = field(default_factory=dict)
    target: str | None = None
    bindings: list[tuple[str, str, str]] = field(default_factory=list)
    values: dict[int, tuple[str, bool]] = field(default_factory=dict)
    deprecated: bool = False
    reason: str | None = None
    successors: set[str] = field(default_factory=set)
    work: str | None = None
    version: str | None = None

    @property
    def audience(self) -> set[str]:
        return {self.owner, *self.grants, *([self.offered] if self.offered else [])}

    @property
    def public(self) -> bool:
        return self.stage in ("fixated", "tombstone")


@dataclass(slots=True, eq=False)
class Deed:
    """An act by a party, and its audience: an identifier, a party in private, or (neither) everyone."""

    act: str
    about: str
    by: str
    text: str | None = None
    remark: str | None = None
    thing: Thing | None = None
    party: str | None = None
    internal: bool = False
    confined: bool = False
    publication: int | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A record as a party sees it."""

    iri: str
    stage: str
    owner: str
    grants: tuple[tuple[str, bool], ...]
    offered: str | None
    names: tuple[tuple[str, str], ...]
    target: str | None
    bindings: tuple[tuple[str, str, str], ...]
    values: tuple[tuple[int, str], ...]
    deprecated: bool
    reason: str | None
    successors: tuple[str, ...]
    work: str | None
    version: str | None


Line: TypeAlias = tuple[str, str, str, str | None, str | None, int | None]
"""An event as a party sees it: act, about, by, content, remark, number in the public feed."""


@dataclass(slots=True)
class Model:
    """The whole registry."""

    administrators: set[str]
    groups: dict[str, set[str]]
    things: list[Thing] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    suspended: dict[str, str] = field(default_factory=dict)
    frozen: set[str] = field(default_factory=set)
    keys: dict[tuple[str, str, str], tuple[Thing, str]] = field(default_factory=dict)
    feed: list[Deed] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)

    # who sees what

    def names(self, party: str) -> set[str]:
        return {party} | {group for group, members in self.groups.items() if party in members}

    def sees(self, party: str, thing: Thing) -> bool:
        if thing.stage == "released":
            return False
        return thing.public or self.close_to(party, thing)

    def close_to(self, party: str, thing: Thing) -> bool:
        """Whether the party sees what only the grant list sees."""
        return party in self.administrators or bool(self.names(party) & thing.audience)

    def sees_deed(self, party: str, deed: Deed) -> bool:
        if deed.publication is not None or party in self.administrators:
            return True
        if deed.thing is None or deed.thing.stage == "released" or deed.confined:
            return party == (deed.party if deed.thing is None else deed.thing.owner)
        return self.close_to(party, deed.thing)

    def owns(self, party: str, thing: Thing) -> bool:
        """Whether the party sees what only the owner sees."""
        return party == thing.owner or party in self.administrators

    def visible(self, party: str) -> list[Thing]:
        return [thing for thing in self.things if self.sees(party, thing)]

    def shown(self, party: str, thing: Thing) -> Shown:
        close = self.close_to(party, thing)
        return Shown(
            thing.iri,
            thing.stage,
            thing.owner,
            tuple(sorted(thing.grants.items())) if close else (),
            thing.offered if close else None,
            tuple(sorted(thing.names.items())),
            thing.target,
            tuple(sorted(thing.bindings)),
            tuple(
                sorted(
                    (index, text)
                    for index, (text, public) in thing.values.items()
                    if public or self.owns(party, thing)
                )
            ),
            thing.deprecated,
            thing.reason,
            tuple(sorted(thing.successors)),
            thing.work,
            thing.version,
        )

    def trail(self, party: str, keep: Callable[[Deed], bool] = lambda _: True) -> list[Line]:
        return [line(deed) for deed in self.deeds if keep(deed) and self.sees_deed(party, deed)]

    def remarks(self, party: str, thing: Thing) -> list[tuple[str, str, bool]]:
        return [
            (deed.remark, deed.by, deed.internal)
            for deed in self.deeds
            if deed.thing is thing and deed.remark is not None and self.sees_deed(party, deed)
        ]

    def leads_to(self, party: str, thing: Thing) -> str | None:
        """Return where it leads.

        A tombstone leads to its reason; an identifier without a target leads to its only successor, else to
        its owner's first binding by skos:exactMatch, or else to the last of all successors.
        """
        last = [other.iri for other in self.successors(thing) if not other.successors]
        path: list[Thing] = []
        while True:
            path.append(thing)
            if thing.stage == "tombstone":
                return f"tombstone: {thing.reason}"
            newest = self.newest(thing)
            if newest is not None and newest not in path:
                thing = newest
                continue
            if thing.target:
                return thing.target
            following = [other for other in self.visible(party) if other.iri in thing.successors]
            if len(thing.successors) == len(following) == 1 and following[0] not in path:
                thing = following[0]
                continue
            if stands_in(thing):
                return stands_in(thing)[0]
            break
        return f"replaced by {', '.join(sorted(last))}" if last else None

    def successors(self, thing: Thing) -> list[Thing]:
        """Return its successors, their successors, and so on."""
        found: list[Thing] = []
        waiting = [thing]
        while waiting:
            names = waiting.pop().successors
            waiting += [other for other in self.things if other.iri in names and other not in found]
            found += [other for other in self.things if other.iri in names and other not in found]
        return found

    def newest(self, work: Thing) -> Thing | None:
        """Return the version that a work leads to, the same for every party.

        It is the newest published version that leads anywhere; versions that are not outdated take
        precedence.
        """
        leading = [
            one for one in self.things if one.work == work.iri and one.stage == "fixated" and leads(one)
        ]
        return max(leading, key=lambda one: (not one.deprecated, number(one)), default=None)

    # acts

    def log(self, deed: Deed) -> None:
        self.deeds.append(deed)
        self.texts.update(text for text in (deed.text, deed.remark) if text is not None)
        if (
            deed.party is None
            and (deed.thing is None or deed.thing.public)
            and not (deed.internal or deed.confined)
        ):
            self.publish([deed])

    def publish(self, deeds: Iterable[Deed]) -> None:
        for deed in deeds:
            self.feed.append(deed)
            deed.publication = len(self.feed)

    def say(
        self,
        act: str,
        thing: Thing,
        by: str,
        text: str | None = None,
        remark: str | None = None,
        *,
        internal: bool = False,
        confined: bool = False,
    ) -> None:
        self.log(Deed(act, thing.iri, by, text, remark, thing=thing, internal=internal, confined=confined))

    def barred(self, party: str) -> Refusal:
        """Return why the party may not act at all, or None."""
        return FORBIDDEN if party in self.suspended else None

    def may(self, party: str, thing: Thing, *, owner: bool = True) -> Refusal:
        """Return why the party may not act on an identifier (as its owner, if ``owner``), or None."""
        if party in self.suspended:
            return FORBIDDEN
        if not self.sees(party, thing):
            return HIDDEN
        return FORBIDDEN if owner and party != thing.owner else None

    def may_allocate(self, party: str, namespace: str) -> Refusal:
        return self.barred(party) or (CONFLICT if namespace in self.frozen else None)

    def repeated(self, party: str, namespace: str, key: str, arguments: str) -> tuple[Refusal, Thing | None]:
        """Return the result of a request key: nothing, an error, or the earlier result."""
        found = self.keys.get((party, namespace, key))
        if found is None:
            return None, None
        thing, before = found
        return ("request-key", None) if before != arguments or not self.sees(party, thing) else (None, thing)

    def begin(self, act: str, thing: Thing, name: str | None, remark: str | None) -> None:
        self.things.append(thing)
        self.texts.add(thing.iri)
        if name is not None:
            thing.names["und"] = name
        self.say(act, thing, thing.owner, name, remark)

    def change(self, party: str, thing: Thing) -> Refusal:
        """Return why the owner may not change it now, or None: a tombstone is final."""
        return self.may(party, thing) or (CONFLICT if thing.stage == "tombstone" else None)

    def name(self, party: str, thing: Thing, lang: str, text: str) -> Refusal:
        refused = self.change(party, thing)
        if refused is None:
            thing.names[lang] = text
            self.say("Naming", thing, party, text)
        return refused

    def aim(self, party: str, thing: Thing, target: str | None) -> Refusal:
        refused = self.change(party, thing)
        if refused is None:
            thing.target = target
            self.say("Targeting", thing, party)
        return refused

    def put(self, party: str, thing: Thing, index: int, text: str, *, public: bool, handles: str) -> Refusal:
        """Set a value of a handle; ``handles`` is the namespace of handles."""
        refused = self.change(party, thing) or (None if thing.namespace == handles else "invalid-data")
        if refused is None:
            if thing.values.get(index, ("", False))[1] and not public:
                self.say("ValueUnsetting", thing, party)
            thing.values[index] = text, public
            self.say("ValueSetting", thing, party, text, confined=not public)
        return refused

    def take(self, party: str, thing: Thing, index: int, *, handles: str) -> Refusal:
        refused = self.may(party, thing) or (None if thing.namespace == handles else "invalid-data")
        refused = (
            refused
            or (None if index in thing.values else "unknown-value")
            or (CONFLICT if thing.stage == "tombstone" else None)
        )
        if refused is None:
            _, public = thing.values.pop(index)
            self.say("ValueUnsetting", thing, party, confined=not public)
        return refused

    def may_bind(self, party: str, thing: Thing) -> Refusal:
        refused = self.may(party, thing, owner=False)
        if refused or thing.stage == "tombstone":
            return refused or CONFLICT
        binders = {name for name, binds in thing.grants.items() if binds}
        allowed = thing.stage == "fixated" or party == thing.owner or binds_for(self.names(party), binders)
        return None if allowed else FORBIDDEN

    def bind(self, party: str, thing: Thing, relation: str, target: str, note: str) -> Refusal:
        refused = self.may_bind(party, thing)
        if refused is None and (relation, target, party) not in thing.bindings:
            thing.bindings.append((relation, target, party))
            self.say("Bind", thing, party, note)
        return refused

    def unbind(self, party: str, thing: Thing, relation: str, target: str) -> Refusal:
        refused = self.may(party, thing, owner=False)
        if refused:
            return refused
        makers = [by for one, other, by in thing.bindings if (one, other) == (relation, target)]
        gone = [party] if party in makers else makers if party == thing.owner else []
        if not gone:
            return FORBIDDEN if makers else HIDDEN
        if thing.stage == "tombstone":
            return CONFLICT
        for maker in gone:
            thing.bindings.remove((relation, target, maker))
            self.say("Unbind", thing, party)
        return None

    def comment(self, party: str, thing: Thing, text: str, *, internal: bool) -> Refusal:
        refused = self.may(party, thing, owner=False)
        if refused is None and not self.names(party) & thing.audience:
            refused = FORBIDDEN
        if refused is None and thing.stage == "tombstone":
            refused = CONFLICT
        if refused is None:
            self.say("Comment", thing, party, None, text, internal=internal)
        return refused

    def vet(self, party: str, thing: Thing, note: str) -> Refusal:
        refused = self.may(party, thing, owner=False) or (CONFLICT if thing.stage == "tombstone" else None)
        if refused is None:
            self.say("Vetting", thing, party, note)
        return refused

    def add_version(self, party: str, work: Thing, version: str, thing: Thing) -> Refusal:
        refused = self.may(party, work) or (CONFLICT if work.stage == "tombstone" else None)
        refused = (
            refused
            or ("invalid-data" if work.work else None)
            or (None if work.public else CONFLICT)
            or self.may(party, thing)
        )
        if refused is None and (
            thing.work or thing is work or any(one.work == thing.iri for one in self.visible(party))
        ):
            refused = "invalid-data"
        if refused is None and thing.stage == "tombstone":
            refused = CONFLICT
        if refused is None:
            thing.work, thing.version = work.iri, version
            self.say("Versioning", thing, party)
        return refused

    def list_grant(self, party: str, thing: Thing, grantee: str) -> Refusal:
        """Return why the grant list may not be changed so, or None."""
        refused = self.may(party, thing) or ("invalid-data" if grantee == thing.owner else None)
        return refused or (CONFLICT if thing.stage == "tombstone" else None)

    def grant(self, party: str, thing: Thing, grantee: str, *, bind: bool) -> Refusal:
        refused = self.list_grant(party, thing, grantee)
        if refused is None:
            thing.grants[grantee] = bind
            self.say("Grant", thing, party)
        return refused

    def ungrant(self, party: str, thing: Thing, grantee: str) -> Refusal:
        refused = self.list_grant(party, thing, grantee) or (
            None if grantee in {*thing.grants, thing.offered} else HIDDEN
        )
        if refused is None:
            thing.grants.pop(grantee, None)
            thing.offered = None if thing.offered == grantee else thing.offered
            self.say("Ungrant", thing, party)
        return refused

    def fixate(self, party: str, thing: Thing) -> Refusal:
        refused = self.may(party, thing) or (CONFLICT if thing.stage != "created" else None)
        if refused is None and any(
            one.iri == thing.work and one.public and one.owner != party for one in self.things
        ):
            refused = FORBIDDEN  # a published work would lead to another party's version
        if refused is None:
            thing.stage = "fixated"
            self.publish(
                deed for deed in self.deeds if deed.thing is thing and not (deed.internal or deed.confined)
            )
            self.say("Fixation", thing, party)
        return refused

    def release(self, party: str, thing: Thing) -> Refusal:
        refused = self.may(party, thing) or (CONFLICT if thing.stage != "created" else None)
        if refused is None:
            thing.stage = "released"
            self.say("Release", thing, party)
        return refused

    def revoke(self, party: str, thing: Thing, reason: str) -> Refusal:
        refused = self.may(party, thing, owner=False) or (None if party in self.administrators else FORBIDDEN)
        if refused is None and thing.stage == "tombstone":
            refused = CONFLICT
        if refused is None:
            fixated = thing.stage == "fixated"
            thing.stage = "tombstone" if fixated else "released"
            thing.reason = reason if fixated else thing.reason
            self.say("Revocation", thing, party, reason)
        return refused

    def outdate(self, party: str, thing: Thing, successors: list[Thing], reason: str | None) -> Refusal:
        """Deprecate, if there is a reason, or else supersede."""
        refused = self.may(party, thing)
        if refused is None and reason is not None and thing.stage == "created":
            refused = CONFLICT
        for successor in successors:
            refused = (
                refused or self.may(party, successor, owner=False) or (None if successor.public else CONFLICT)
            )
        if refused is None and any(
            thing in (successor, *self.successors(successor)) for successor in successors
        ):
            refused = "invalid-data"
        if refused is None and thing.stage == "tombstone":
            refused = CONFLICT
        if refused is None:
            thing.deprecated = True
            thing.reason = thing.reason if reason is None else reason
            thing.successors |= {successor.iri for successor in successors}
            self.say("Supersession" if reason is None else "Deprecation", thing, party, reason)
        return refused

    def transfer(self, party: str, thing: Thing, receiver: str) -> Refusal:
        accepts = party == receiver == thing.offered
        refused = self.may(party, thing, owner=not accepts) or (
            "invalid-data" if receiver in self.groups else None
        )
        withdraws = receiver == thing.owner and thing.offered is not None
        if refused is None and ((receiver == thing.owner and not withdraws) or thing.stage == "tombstone"):
            refused = CONFLICT
        if refused is None:
            if accepts:
                thing.owner, thing.offered = receiver, None
                thing.grants.pop(receiver, None)
            else:
                thing.offered = None if withdraws else receiver
            self.say("Transfer", thing, party)
        return refused

    # parties and namespaces

    def administer(self, party: str) -> Refusal:
        return self.barred(party) or (None if party in self.administrators else FORBIDDEN)

    def membership(self, party: str, member: str, group: str, *, joins: bool) -> Refusal:
        refused = self.administer(party) or (CONFLICT if (member in self.groups[group]) == joins else None)
        if refused is None:
            (self.groups[group].add if joins else self.groups[group].discard)(member)
            self.log(Deed("Joining" if joins else "Leaving", member, party))
        return refused

    def suspend(self, party: str, other: str, reason: str) -> Refusal:
        refused = self.administer(party) or (
            CONFLICT if other in self.suspended else FORBIDDEN if other == party else None
        )
        if refused is None:
            self.suspended[other] = reason
            self.log(Deed("Suspension", other, party, reason, party=other))
        return refused

    def reinstate(self, party: str, other: str) -> Refusal:
        refused = self.administer(party) or (None if other in self.suspended else CONFLICT)
        if refused is None:
            del self.suspended[other]
            self.log(Deed("Reinstatement", other, party, party=other))
        return refused

    def freeze(self, party: str, namespace: str, owner: str, *, frozen: bool) -> Refusal:
        refused = self.barred(party) or (None if party == owner else FORBIDDEN)
        if refused is None:
            (self.frozen.add if frozen else self.frozen.discard)(namespace)
            self.log(Deed("NamespaceFreeze", namespace, party))
        return refused


def binds_for(names: set[str], binders: set[str]) -> bool:
    return bool(names & binders)


def line(deed: Deed) -> Line:
    return (deed.act, deed.about, deed.by, deed.text, deed.remark, deed.publication)


def leads(thing: Thing) -> bool:
    """Return whether it leads anywhere by itself."""
    return bool(thing.target) or bool(stands_in(thing))


def stands_in(thing: Thing) -> list[str]:
    """Return its owner's bindings that say what the identified thing is, the first one first."""
    return [
        target
        for relation, target, by in thing.bindings
        if by == thing.owner and relation == SKOS.exactMatch.value
    ]


def number(version: Thing) -> tuple[int, ...]:
    """Return the number of a version."""
    return tuple(int(part) for part in (version.version or "V0.0")[1:].split("."))
