#!/bin/sh
# Mint PILIN handles: opaque suffixes made from the clock, under your own prefix.
set -eu
IDSTORE_STORE=${IDSTORE_STORE:-$(mktemp -d)/store} && export IDSTORE_STORE

idstore check hdl:102.100.272/Y35XYS0QH --scheme pilin
idstore namespace add pilin 102.100.272 --scheme pilin

handle=$(idstore mint pilin --name 'PILIN Glossary' \
    --target http://pilin.net.au/Project_Documents/Glossary.htm)
idstore cite "$handle"
idstore fixate "$handle"
idstore resolve "hdl:${handle#https://hdl.handle.net/}"

# A fixated identifier is permanent: this fails, with exit code 8.
idstore release "$handle" || test $? -eq 8
