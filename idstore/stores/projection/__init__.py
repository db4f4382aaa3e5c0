"""The projection of the ledger: the engine and the catalogue."""
