#!/bin/sh
# Import PRONOM's PUIDs of file formats from a DROID signature file, and bind one to other URIs.
#
# Usage: formats.sh [SIGNATURE_FILE]. The default is the file of the package opf-fido
# (pip install 'idstore[examples]').
set -eu
IDSTORE_STORE=${IDSTORE_STORE:-$(mktemp -d)/store} && export IDSTORE_STORE

bundled='from importlib.resources import files
print(next((files("fido") / "conf").glob("DROID_SignatureFile-v*.xml")))'
signatures=${1:-$(python3 -c "$bundled")}

idstore namespace add pronom info:pronom/ --scheme puid
idstore import --dry-run "$signatures"
idstore import "$signatures"
idstore import "$signatures" # repeated: nothing changes

idstore bind fmt/353 https://www.iana.org/assignments/media-types/image/tiff --relation skos:broadMatch
idstore bind fmt/353 http://www.wikidata.org/entity/Q27231633 --relation skos:closeMatch \
    --note 'TIFF 6.0; PRONOM does not tell versions apart'
idstore show fmt/353
idstore list --bound-to https://www.iana.org/assignments/media-types/image/tiff
idstore log --id fmt/353
