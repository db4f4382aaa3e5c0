"""What a person can do about an error, as codes: each way to idstore words them in its own terms."""

from enum import StrEnum


class Remedy(StrEnum):
    """What to do about an error.

    The message of the error says it too, but names no command, option or route. `idstore.cli.remedies` has
    the command for each.
    """

    # look it up
    LIST_IDENTIFIERS = "list-identifiers"
    LIST_NAMESPACES = "list-namespaces"
    LIST_STORAGES = "list-storages"
    LIST_VALUES = "list-values"
    READ_LOG = "read-log"
    SHOW_RECORD = "show-record"

    # what its owner or an administrator can allow or add
    ADD_ADMINISTRATOR = "add-administrator"
    ADD_GROUP = "add-group"
    ADD_NAMESPACE = "add-namespace"
    ADD_PARTY = "add-party"
    ADD_PRONOM = "add-pronom"
    ALLOW_ALLOCATION = "allow-allocation"
    ALLOW_BINDING = "allow-binding"
    ALLOW_STORAGE = "allow-storage"
    GRANT = "grant"
    REINSTATE = "reinstate"
    TRANSFER = "transfer"

    # another act
    BIND = "bind"
    DEPRECATE = "deprecate"
    MINT = "mint"
    MINT_FROM_METADATA = "mint-from-metadata"
    SET_BINARY_VALUE = "set-binary-value"
    SET_NAME = "set-name"
    SET_TARGET = "set-target"
    SUPERSEDE = "supersede"
    UNSET_VALUE = "unset-value"

    # the same act, with another argument
    ACCEPT_HISTORY = "accept-history"
    GIVE_BASE = "give-base"
    GIVE_METADATA = "give-metadata"
    INSIST = "insist"
    MAP_RELATION = "map-relation"
    NAME_COLUMN = "name-column"
    NAME_FOLDER = "name-folder"
    NAME_FORMAT = "name-format"
    NAME_INPUT_FORMAT = "name-input-format"
    NAME_NAMESPACE = "name-namespace"
    NAME_STORE = "name-store"
    NAME_SUCCESSOR = "name-successor"
    OMIT_NAMESPACE = "omit-namespace"
    RAISE_LIMIT = "raise-limit"
    UNPACK = "unpack"
    WAIT_LONGER = "wait-longer"

    # the store, and a server
    CREATE_STORE = "create-store"
    INITIALISE = "initialise"
    OPEN_ONCE = "open-once"
    RESTORE_BACKUP = "restore-backup"
    SIGN_IN = "sign-in"
    USE_VALID_TOKEN = "use-valid-token"  # noqa: S105 no password
