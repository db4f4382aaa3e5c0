"""Interfaces for handles: the Handle API (`routes`), and what an address of a handle leads to (`proxy`)."""
