"""Which registries mean the same thing? A real reconciliation, in cells like those of a notebook.

Usage: registries.py [FOLDER]. Writes the figures and the tables into FOLDER. Needs the package bioregistry
(pip install 'idstore[examples]').
"""

# %% [markdown]
# # Which registries mean the same thing?
#
# Bioregistry lists the names of its prefixes in other registries. This script imports the prefixes for which
# Wikidata has an item, with all their statements, finds prefixes that are stated to be the same thing,
# decides as a curator would, and exports the result.
#
# Each cell depends on those above it; editors that support `# %%` run them one by one. With bioregistry
# 0.15.6 there are 313 prefixes, 2,468 statements, and three items that several prefixes claim.

# %%
import os
import sys
import tempfile
from collections import Counter
from html import escape
from pathlib import Path

from bioregistry import manager

import idstore
from idstore.exchange import digest, identifiers, mapping_rows, mappings, rdf, table_export
from idstore.model import times
from idstore.reconciliation import page, report
from idstore.vocabulary import PAV

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
folder.mkdir(exist_ok=True)
store = os.environ.get("IDSTORE_STORE") or str(folder / "store")
alice, visitor = idstore.Party("alice"), idstore.Party("visitor")
registry = idstore.open(store, administrator=alice)

# %% [markdown]
# ## The data, as two tables
# One table lists the prefixes with their names, the other their names elsewhere. Wikidata has items and
# properties: an item is the thing that a prefix names, a property is Wikidata's way to record its
# identifiers. So a property is only related (`rdfs:seeAlso`).

# %%
BASE = "https://hdl.handle.net/20.500.1/"


def plain(text: str | None) -> str:
    """Return a text for a cell of a table."""
    return " ".join((text or "").split())


prefixes = ["subject_id\tname"]
statements = ["subject_id\tpredicate_id\tobject_id"]
mentions: Counter[str] = Counter()
for prefix, resource in sorted(manager.registry.items()):
    if "wikidata.entity" not in resource.get_mappings():
        continue
    prefixes.append(f"{BASE}{prefix}\t{plain(resource.get_name())}")
    for other, entry in sorted(resource.get_mappings().items()):
        page_url = manager.metaregistry[other].get_provider_url(entry)
        address = page_url or f"https://bioregistry.io/metaregistry/{other}/{entry}"
        relation = "rdfs:seeAlso" if other == "wikidata.property" else "skos:exactMatch"
        statements.append(f"{BASE}{prefix}\t{relation}\t{plain(address).replace(' ', '%20')}")
        mentions[other] += 1
for name, lines in (("prefixes.tsv", prefixes), ("statements.tsv", statements)):
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
print(
    f"{len(prefixes) - 1} prefixes and {len(statements) - 1} statements, of {len(mentions)} other registries"
)

# %% [markdown]
# **Figure 1.** The registries that are mentioned most.


# %%
def bars(counts: list[tuple[str, int]]) -> str:
    """Return a bar chart of the counts, as SVG."""
    most = max(many for _, many in counts)
    rows = [
        f'<text x="140" y="{24 * row + 17}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="150" y="{24 * row + 4}" width="{400 * many / most:.0f}" height="16" fill="#0b5cad"/>'
        f'<text x="{156 + 400 * many / most:.0f}" y="{24 * row + 17}">{many}</text>'
        for row, (name, many) in enumerate(counts)
    ]
    style = 'font-family="sans-serif" font-size="12"'
    box = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 {24 * len(counts) + 6}"'
    return f"<svg {box} {style}>{''.join(rows)}</svg>\n"


(folder / "figure-1.svg").write_text(bars(mentions.most_common(12)), encoding="utf-8")
print("figure 1:", ", ".join(f"{name} {many}" for name, many in mentions.most_common(3)))

# %% [markdown]
# ## Import
# Each table is one act: it is imported as a whole or not at all.

# %%
registry.add_namespace("prefixes", BASE, "handle", alice)
with identifiers.read(str(folder / "prefixes.tsv"), "tsv") as reading:
    registry.enrol("prefixes", list(identifiers.valid(reading.rows, [])), alice, reading.name)
with mappings.read(str(folder / "statements.tsv"), "tsv") as reading:
    outcomes = registry.state(mapping_rows.proposals(reading.rows, []), alice)
print("bound:", dict(sorted(Counter(outcome.verdict for outcome in outcomes).items())))

# %% [markdown]
# ## Contradictions
# `reconcile` searches the store. A target that two prefixes claim joins both, with all their other targets,
# in one cluster.
#
# **Figure 2** is the HTML page: pictures of the clusters, with dashed weakest links, and a decision to make
# for each statement.

# %%
with report.reconcile([store], visitor) as result:
    tally: Counter[str] = Counter()
    (folder / "figure-2.html").write_text(page.page(result, tally), encoding="utf-8")
    twice = [finding for finding in result.findings() if finding.kind.slug == "claimed-twice"]
print("found:", dict(tally))
for finding in twice:
    claimants = ", ".join(claim.subject.removeprefix(BASE) for claim in finding.claims)
    print(f"{finding.about} is claimed by {claimants}")


# %% [markdown]
# ## Deciding
# An item that several prefixes claim describes their common subject and is identical with none of them. A
# curator records that, in a table or with the HTML page: unbind the identity, and bind by a weaker relation,
# with the reason.

# %%
before = times.current()
decisions = ["action\tsubject_id\tpredicate_id\tobject_id\tauthor_id\tcomment"]
for finding in twice:
    for claim in finding.claims:
        reason = "the item is about several prefixes"
        decisions.append(f"unbind\t{claim.subject}\tskos:exactMatch\t{claim.target}\tAda Curator\t")
        decisions.append(f"bind\t{claim.subject}\tskos:relatedMatch\t{claim.target}\tAda Curator\t{reason}")
(folder / "decisions.tsv").write_text("\n".join(decisions) + "\n", encoding="utf-8")
with mappings.read(str(folder / "decisions.tsv"), "tsv") as reading:
    outcomes = registry.state(mapping_rows.proposals(reading.rows, []), alice)
print(f"decided: {len(outcomes)} acts, {Counter(outcome.verdict for outcome in outcomes)['refused']} refused")
with report.reconcile([store], visitor) as result:
    remaining = Counter(finding.kind.slug for finding in result.findings())
print("found now:", dict(remaining))
assert "claimed-twice" not in remaining

# %% [markdown]
# ## The changes, and their authors

# %%
for change in registry.differences(before, times.current(), visitor):
    assert change.after is not None
    [new] = [binding for binding in change.after.bindings if binding.note]
    relation = new.relation.rpartition("#")[2]
    author = new.annotation(PAV.authoredBy)
    print(f"~ {change.iri.removeprefix(BASE)}: {relation} {new.target}, {author} by {new.by}")

# %% [markdown]
# ## Export
# As SSSOM, for other tools; and as a copy, whose digest shows that it is complete.

# %%
with (folder / "mappings.sssom.tsv").open("wb") as target:
    table_export.export_sssom(registry, target, visitor, title="Prefixes and their names in other registries")
here = digest.digest(registry, alice)
with (folder / "all.nq").open("wb") as target:
    rdf.export(registry, target, alice, "nquads")
with idstore.open(folder / "copy", administrator=alice) as copy:
    rdf.import_registry(copy, [folder / "all.nq"], alice)
    assert str(digest.digest(copy, alice)) == str(here)
print("the copy has the same digest:", here)
registry.close()
