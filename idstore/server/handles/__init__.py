"""The Handle API: `routes` has its addresses."""
