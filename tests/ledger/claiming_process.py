"""Open a ledger, wait for a line on standard input, and compete with other processes for labels.

Prints the labels that it claimed. Arguments: the kind of ledger, its address, the number of labels.
"""

import json
import sys
from contextlib import closing
from pathlib import Path

from ledger_contract import claim_all

from idstore.stores.ledger.contract import Ledger
from idstore.stores.ledger.sqlite import SqliteLedger


def opened(kind: str, *place: str) -> Ledger:
    if kind == "sqlite":
        return SqliteLedger(Path(*place))
    from postgres_ledger import PostgresLedger

    return PostgresLedger(*place)


def main() -> None:
    *place, many = sys.argv[1:]
    with closing(opened(*place)) as ledger:
        print("open", flush=True)
        sys.stdin.readline()
        print(json.dumps(claim_all(ledger, int(many))))


if __name__ == "__main__":
    main()
