"""Which registries mean the same thing? A walk through a real reconciliation, in cells as notebooks have them.

Usage: registries.py [FOLDER], which takes the figures and the tables. Needs the package bioregistry (pip install 'idstore[examples]').
"""

# %% [markdown]
# # Which registries mean the same thing?
#
# Bioregistry says of its prefixes what other registries call them. We take in those that Wikidata has an item for, with everything that
# is said of them, look where prefixes are said to be one and the same thing, decide as a curator would, and hand on what became of it.
#
# Each cell follows from those above it; editors that know `# %%` run them one by one. With bioregistry 0.15.6 there are 313 prefixes and
# 2,468 statements, and three items that several prefixes claim.

# %%
import os
import sys
import tempfile
from collections import Counter
from html import escape
from pathlib import Path

from bioregistry import manager

import idstore
from idstore.exchange import digest, identifiers, listing, mappings, rdf
from idstore.model import times
from idstore.reconciliation import page, report
from idstore.vocabulary import PAV

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
folder.mkdir(exist_ok=True)
store = os.environ.get("IDSTORE_STORE") or str(folder / "store")
alice, visitor = idstore.Party("alice"), idstore.Party("visitor")
registry = idstore.open(store, administrator=alice)

# %% [markdown]
# ## The material, as two tables
# One lists the prefixes with their names, the other what each is called elsewhere. Wikidata has items and properties: an item is what a
# prefix names, a property is how Wikidata writes its identifiers down, so that is but something to see also.

# %%
BASE = "https://hdl.handle.net/20.500.1/"


def plain(text: str | None) -> str:
    """A text for a cell of a table."""
    return " ".join((text or "").split())


prefixes = ["subject_id\tname"]
statements = ["subject_id\tpredicate_id\tobject_id"]
drawn: Counter[str] = Counter()
for prefix, resource in sorted(manager.registry.items()):
    if "wikidata.entity" not in resource.get_mappings():
        continue
    prefixes.append(f"{BASE}{prefix}\t{plain(resource.get_name())}")
    for other, entry in sorted(resource.get_mappings().items()):
        address = manager.metaregistry[other].get_provider_url(entry) or f"https://bioregistry.io/metaregistry/{other}/{entry}"
        relation = "rdfs:seeAlso" if other == "wikidata.property" else "skos:exactMatch"
        statements.append(f"{BASE}{prefix}\t{relation}\t{plain(address).replace(' ', '%20')}")
        drawn[other] += 1
for name, lines in (("prefixes.tsv", prefixes), ("statements.tsv", statements)):
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
print(f"{len(prefixes) - 1} prefixes and {len(statements) - 1} statements, of {len(drawn)} other registries")

# %% [markdown]
# **Figure 1.** Who is spoken of most.


# %%
def bars(counts: list[tuple[str, int]]) -> str:
    """A bar for each count, as SVG."""
    most = max(many for _, many in counts)
    rows = [
        f'<text x="140" y="{24 * row + 17}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="150" y="{24 * row + 4}" width="{400 * many / most:.0f}" height="16" fill="#0b5cad"/>'
        f'<text x="{156 + 400 * many / most:.0f}" y="{24 * row + 17}">{many}</text>'
        for row, (name, many) in enumerate(counts)
    ]
    style = 'font-family="sans-serif" font-size="12"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 {24 * len(counts) + 6}" {style}>{"".join(rows)}</svg>\n'


(folder / "figure-1.svg").write_text(bars(drawn.most_common(12)), encoding="utf-8")
print("figure 1:", ", ".join(f"{name} {many}" for name, many in drawn.most_common(3)))

# %% [markdown]
# ## Taking it in
# Each table is one act: all of it, or nothing.

# %%
registry.add_namespace("prefixes", BASE, "handle", alice)
with identifiers.read(str(folder / "prefixes.tsv"), "tsv") as reading:
    registry.enrol("prefixes", list(identifiers.sound(reading.rows, [])), alice, reading.name)
with mappings.read(str(folder / "statements.tsv"), "tsv") as reading:
    outcomes = registry.state(mappings.proposals(reading.rows, []), alice)
print("bound:", dict(sorted(Counter(outcome.verdict for outcome in outcomes).items())))

# %% [markdown]
# ## Where it is contradictory
# `reconcile` searches the store. A target that two prefixes claim joins them, and whatever else they are bound to, in one cluster.
#
# **Figure 2** is the page: the clusters as pictures, their weakest links dashed, a decision to take at each statement.

# %%
with report.reconcile([store], visitor) as found:
    tally: Counter[str] = Counter()
    (folder / "figure-2.html").write_text(page.page(found, tally), encoding="utf-8")
    twice = [finding for finding in found.findings() if finding.kind.slug == "claimed-twice"]
print("found:", dict(tally))
for finding in twice:
    print(f"{finding.about} is claimed by {', '.join(claim.subject.removeprefix(BASE) for claim in finding.claims)}")


# %% [markdown]
# ## Deciding
# An item that several prefixes claim is about what they have in common: none of them is it. A curator writes that down, or has the page
# write it: unbind the identity, and bind by a weaker relation, with the reason.

# %%
before = times.now()
decisions = ["action\tsubject_id\tpredicate_id\tobject_id\tauthor_id\tcomment"]
for finding in twice:
    for claim in finding.claims:
        decisions.append(f"unbind\t{claim.subject}\tskos:exactMatch\t{claim.target}\tAda Curator\t")
        decisions.append(f"bind\t{claim.subject}\tskos:relatedMatch\t{claim.target}\tAda Curator\tthe item is about several prefixes")
(folder / "decisions.tsv").write_text("\n".join(decisions) + "\n", encoding="utf-8")
with mappings.read(str(folder / "decisions.tsv"), "tsv") as reading:
    outcomes = registry.state(mappings.proposals(reading.rows, []), alice)
print(f"decided: {len(outcomes)} acts, {Counter(outcome.verdict for outcome in outcomes)['refused']} refused")
with report.reconcile([store], visitor) as found:
    left = Counter(finding.kind.slug for finding in found.findings())
print("found now:", dict(left))
assert "claimed-twice" not in left

# %% [markdown]
# ## What became different, and who said so

# %%
for one in registry.differences(before, times.now(), visitor):
    assert one.after is not None
    [new] = [binding for binding in one.after.bindings if binding.note]
    print(
        f"~ {one.iri.removeprefix(BASE)}: {new.relation.value.rpartition('#')[2]} {new.target.value}, {new.said(PAV.authoredBy)} by {new.by}"
    )

# %% [markdown]
# ## Handing it on
# As SSSOM, which other tools read; and as a copy, whose one line tells that nothing was lost.

# %%
with (folder / "mappings.sssom.tsv").open("wb") as target:
    listing.export_sssom(registry, target, visitor, title="Prefixes and what others call them")
here = digest.digest(registry, alice)
with (folder / "all.nq").open("wb") as target:
    rdf.export(registry, target, alice, "nquads")
with idstore.open(folder / "copy", administrator=alice) as copy:
    rdf.import_registry(copy, [folder / "all.nq"], alice)
    assert str(digest.digest(copy, alice)) == str(here)
print("the copy says the same:", here)
registry.close()
