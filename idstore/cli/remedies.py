"""The commands and options behind the remedies of errors.

The library's messages name no command, because programs read them too. On the command line an error ends with
what carries out its remedy: "no namespace 'x' here; list the namespaces for their names (idstore namespace
list)".
"""

from collections.abc import Mapping
from typing import Final

from idstore.remedies import Remedy

COMMANDS: Final[Mapping[Remedy, str]] = {
    Remedy.ACCEPT_HISTORY: "--own-history",
    Remedy.ADD_ADMINISTRATOR: "idstore party add NAME --administrator",
    Remedy.ADD_GROUP: "idstore party add NAME --group",
    Remedy.ADD_NAMESPACE: "idstore namespace add",
    Remedy.ADD_PARTY: "idstore party add",
    Remedy.ADD_PRONOM: "idstore namespace add pronom info:pronom/ --scheme puid",
    Remedy.ALLOW_ALLOCATION: "idstore namespace allow",
    Remedy.ALLOW_BINDING: "idstore grant --bind",
    Remedy.ALLOW_STORAGE: "idstore storage allow",
    Remedy.BIND: "idstore bind",
    Remedy.CREATE_STORE: "idstore init, --store DIR",
    Remedy.DEPRECATE: "idstore deprecate",
    Remedy.GIVE_BASE: "--base subject=IRI",
    Remedy.GIVE_METADATA: "--metadata FILE",
    Remedy.GRANT: "idstore grant",
    Remedy.INITIALISE: "idstore init",
    Remedy.INSIST: "--force",
    Remedy.LIST_IDENTIFIERS: "idstore list",
    Remedy.LIST_NAMESPACES: "idstore namespace list",
    Remedy.LIST_STORAGES: "idstore storage list",
    Remedy.LIST_VALUES: "idstore handle values",
    Remedy.MAP_RELATION: "--relation TEXT=IRI",
    Remedy.MINT: "idstore mint",
    Remedy.MINT_FROM_METADATA: "idstore mint --metadata FILE",
    Remedy.NAME_COLUMN: "--column",
    Remedy.NAME_FOLDER: "as the command's argument",
    Remedy.NAME_FORMAT: "--format",
    Remedy.NAME_INPUT_FORMAT: "--input",
    Remedy.NAME_NAMESPACE: "--namespace",
    Remedy.NAME_STORE: "--store",
    Remedy.NAME_SUCCESSOR: "--by",
    Remedy.OMIT_NAMESPACE: "without --namespace",
    Remedy.OPEN_ONCE: "idstore stats",
    Remedy.RAISE_LIMIT: "--timeout",
    Remedy.READ_LOG: "idstore log --id",
    Remedy.REINSTATE: "idstore reinstate",
    Remedy.RESTORE_BACKUP: "idstore restore BACKUP --store NEW-FOLDER",
    Remedy.SET_BINARY_VALUE: "idstore handle set --hex",
    Remedy.SET_NAME: "idstore name",
    Remedy.SET_TARGET: "idstore target, idstore bind",
    Remedy.SHOW_RECORD: "idstore show",
    Remedy.SIGN_IN: "with a token in IDSTORE_TOKEN",
    Remedy.SUPERSEDE: "idstore supersede",
    Remedy.TRANSFER: "idstore transfer",
    Remedy.UNPACK: "or gunzip -c FILE | idstore import --format F -",
    Remedy.UNSET_VALUE: "idstore handle unset",
    Remedy.USE_VALID_TOKEN: "in IDSTORE_TOKEN",
    Remedy.WAIT_LONGER: "--wait",
}


def with_command(message: str, remedy: Remedy | None) -> str:
    """Return a message of the library with the command that carries out its remedy.

    It stands at the end, in parentheses; an option stands before its value, if the message says that.
    """
    if remedy is Remedy.NAME_COLUMN:
        return message.replace("? Say ", f"? Say {COMMANDS[remedy]} ")
    return message if remedy is None else f"{message} ({COMMANDS[remedy]})"
