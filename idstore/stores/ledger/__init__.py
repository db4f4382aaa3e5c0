"""The ledger: the record of acknowledged changes. `contract` defines it; each database has its own module."""
