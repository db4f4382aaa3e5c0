#!/bin/sh
# File formats: PRONOM's PUIDs come from a DROID signature file, and are bound to other URIs.
#
# Usage: formats.sh [SIGNATURE_FILE]. Without one, that of the package opf-fido is taken (pip install 'idstore[examples]').
set -eu
IDSTORE_STORE=${IDSTORE_STORE:-$(mktemp -d)/store} && export IDSTORE_STORE

carried='from importlib.resources import files; print(next((files("fido") / "conf").glob("DROID_SignatureFile-v*.xml")))'
signatures=${1:-$(python3 -c "$carried")}

idstore namespace add pronom info:pronom/ --scheme puid
idstore import --dry-run "$signatures"
idstore import "$signatures"
idstore import "$signatures" # the same again: nothing changes

idstore bind fmt/353 https://www.iana.org/assignments/media-types/image/tiff --relation skos:broadMatch
idstore bind fmt/353 http://www.wikidata.org/entity/Q27231633 --relation skos:closeMatch --note 'TIFF 6.0; PRONOM does not tell versions apart'
idstore show fmt/353
idstore list --bound-to https://www.iana.org/assignments/media-types/image/tiff
idstore log --id fmt/353
