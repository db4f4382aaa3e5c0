"""The registry's frozen values and their RDF serialization."""
