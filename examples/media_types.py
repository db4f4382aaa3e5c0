"""Bind every format of a DROID signature file to its registered media types, and find those that share one.

Usage: media_types.py [SIGNATURE_FILE]. The default is the file of the package opf-fido
(pip install 'idstore[examples]').
"""

import os
import sys
import tempfile
from collections import defaultdict
from importlib.resources import files

import idstore
from idstore.exchange import droid, pronom

IANA = "https://www.iana.org/assignments/media-types/"
BROADER = "http://www.w3.org/2004/02/skos/core#broadMatch"

alice = idstore.Party("alice")
store = os.environ.get("IDSTORE_STORE") or tempfile.mkdtemp()
bundled = next(
    file for file in (files("fido") / "conf").iterdir() if file.name.startswith("DROID_SignatureFile")
)
path = sys.argv[1] if len(sys.argv) > 1 else str(bundled)

with idstore.open(store, administrator=alice) as registry:
    registry.add_namespace("pronom", "info:pronom/", "puid", alice)
    with droid.signatures(path) as signatures:
        report = pronom.import_formats(registry, signatures, alice)
    print(f"registered {len(report.new)} formats of release {signatures.release.version}")

    sharing = defaultdict(list)
    with droid.signatures(path) as signatures:
        for file_format in signatures:
            for media_type in file_format.mimes:
                bare = media_type.partition(";")[0]
                if "/x-" not in bare:  # x- types are not registered
                    registry.bind(file_format.puid, idstore.Statement(IANA + bare, BROADER), alice)
                    sharing[bare].append(file_format.puid)
    for media_type, puids in sorted(sharing.items(), key=lambda pair: -len(pair[1]))[:5]:
        print(f"{media_type} stands for {len(puids)} formats")
    pdf = {f"info:pronom/{puid}" for puid in sharing["application/pdf"]}
    assert {*registry.bound_to(IANA + "application/pdf", alice)} == pdf
