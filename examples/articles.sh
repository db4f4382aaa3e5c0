#!/bin/sh
# Derive Scholars Portal URIs from articles' metadata, with examples of the policy.
set -eu
IDSTORE_STORE=${IDSTORE_STORE:-$(mktemp -d)/store} && export IDSTORE_STORE

idstore namespace add articles http://journals.example.org/ --scheme scholars-portal

# Two reviews begin on the same page and give the same label; the second one minted gets _1.
articles() {
    cat <<'END'
{"issn": "0305-4179", "volume": "31", "issue": "4", "page": "530-531", "title": "A possible chemical burn to the scalp following hair highlights"}
{"issn": "0016-0032", "volume": "238", "issue": "3", "page": "224-224", "title": "Book Review"}
{"issn": "0016-0032", "volume": "238", "issue": "3", "page": "224-224", "title": "Book Review"}
END
}
articles | idstore derive articles --metadata - --json
articles | idstore mint articles --metadata -

idstore mint articles --parent /03054179/v31i0004/530_apcbttsfhh --kind pdf
idstore show http://journals2.scholarsportal.info/details.xqy?uri=/03054179/v31i0004/530_apcbttsfhh.xml
