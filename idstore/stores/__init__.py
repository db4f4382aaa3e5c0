"""Stores: the contract (`contract`), a store in a directory (`store`), and a read-only one (`reader`)."""
