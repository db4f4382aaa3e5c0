"""The SPARQL 1.1 Protocol, saved queries, and the description of the data, over what the caller may see."""
