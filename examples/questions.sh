#!/bin/sh
# Ask in SPARQL which entry has two identifiers, and how many acts of each kind happened on each day.
set -eu
IDSTORE_STORE=${IDSTORE_STORE:-$(mktemp -d)/store} && export IDSTORE_STORE

idstore namespace add rdl http://rdl.example.org/data# --scheme rdswip
for name in 'ball valve' 'Kugelhahn'; do
    identifier=$(idstore mint rdl --name "$name")
    idstore bind "$identifier" http://www.wikidata.org/entity/Q1413223
    idstore fixate "$identifier"
done

idstore query '
    SELECT ?entry (COUNT(?identifier) AS ?claims) { ?identifier skos:exactMatch ?entry }
    GROUP BY ?entry HAVING (COUNT(?identifier) > 1)'

cat <<'END' | idstore query - --format csv
SELECT ?day ?act (COUNT(?event) AS ?times) {
  ?event ids:about/ids:inNamespace ?namespace ; a ?act ; prov:endedAtTime ?at .
  BIND(SUBSTR(STR(?at), 1, 10) AS ?day)
}
GROUP BY ?day ?act ORDER BY ?day ?act
END
