#!/bin/sh
# Export a registry as Turtle, the log included, and import it unchanged into a new store.
set -eu
IDSTORE_STORE=${IDSTORE_STORE:-$(mktemp -d)/store} && export IDSTORE_STORE
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT

idstore namespace add rdl http://rdl.example.org/data# --scheme rdswip
idstore fixate "$(idstore mint rdl --name 'ball valve')"
idstore release "$(idstore mint rdl --name 'a mistake')" # released; its number is never drawn again
idstore mint rdl --name 'work in progress'

idstore export -o "$work/registry.ttl"
idstore --store "$work/copy" import "$work/registry.ttl"
idstore --store "$work/copy" export -o "$work/copy.ttl"
cmp "$work/registry.ttl" "$work/copy.ttl"

idstore --store "$work/copy" validate
idstore --store "$work/copy" verify
