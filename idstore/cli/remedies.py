"""The commands and options behind the remedies in the library's messages.

The library's messages name no command, because programs read them too. On the command line each remedy is
followed by what carries it out: "list the namespaces for their names (idstore namespace list)".
"""

import re
from typing import Final

COMMANDS: Final = {
    # identifiers, namespaces and parties that are missing
    r"list the identifiers that you may see": "idstore list",
    r"list the namespaces for their names": "idstore namespace list",
    r"no party .+; an administrator can add it": "idstore party add",
    r"has the base \S+; add one of the scheme \S+": "idstore namespace add pronom info:pronom/ --scheme puid",
    r"has the prefix \S+; add one": "idstore namespace add",
    r"belongs to no namespace here; add one": "idstore namespace add",
    r"add a namespace for each": "idstore namespace add",
    r"its record lists its bindings": "idstore show",
    r"its log tells what happened": "idstore log --id",
    r"use the index of an existing value": "idstore handle values",
    r"that you may read; list its values": "idstore handle values",
    r"no storage \S+; use an existing one": "idstore storage list",
    # permissions
    r"ask its owner \S+ for permission": "idstore namespace allow",
    r"ask its owner \S+ for the right to bind": "idstore grant --bind",
    r"may not place .+; ask an administrator for permission": "idstore storage allow",
    r"may not see; grant that first": "idstore grant",
    r"ask an administrator to add other administrators": "idstore party add NAME --administrator",
    r"an administrator can reinstate the party": "idstore reinstate",
    r"not a group; use a group": "idstore party add NAME --group",
    # allocation and lifecycle
    r"mint an identifier for each thing when the thing needs one": "idstore mint",
    r"mint one instead": "idstore mint",
    r"mint one from metadata instead": "idstore mint --metadata FILE",
    r"provide the metadata": "--metadata FILE",
    r"relate identifiers by bindings": "idstore bind",
    r"it can be deprecated instead": "idstore deprecate",
    r"supersede this one by it": "idstore supersede",
    r"at least one successor; name one": "--by",
    r"transfer the version to \S+(?=,)": "idstore transfer",
    r"ask its owner to name it": "idstore name",
    r"allowed in a file name; use another name": "idstore name",
    r"ask its owner \S+ to set one": "idstore target",
    r"ask the owner to unset one of them": "idstore handle unset",
    r"set a target or a binding": "idstore target, idstore bind",
    r"set a binary value by itself": "idstore handle set --hex",
    # files
    r"accept its own history": "--own-history",
    r"or insist": "--force",
    r"name that column, as in \S+": "with --column",
    r"map \S+ to the IRI of a relation": "--relation TEXT=IRI",
    r"name the format of the (?:file|table)": "--format",
    r"for identifiers issued elsewhere name their namespace": "--namespace",
    r"import it without a namespace": "without --namespace",
    r"name the format sssom, tsv or csv": "--format",
    r"its name tells no format; name one of [^;]+": "--input",
    r"and name the format": "idstore import --format F -",
    # the store
    r"create one there": "idstore init",
    r"initialise it again": "idstore init",
    r"must open it once": "idstore stats",
    r"or wait longer": "--wait",
    r"or raise the limit": "--timeout",
    # a server
    r"; sign in\b": "with a token in IDSTORE_TOKEN",
    r"use a valid token": "in IDSTORE_TOKEN",
}


def with_commands(message: str) -> str:
    """Return a message of the library with the commands that carry out its remedies, in parentheses."""
    for remedy, command in COMMANDS.items():
        message = re.sub(remedy, rf"\g<0> ({command})", message, count=1)
    return message
