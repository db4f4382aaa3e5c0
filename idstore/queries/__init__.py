"""SPARQL queries by untrusted users: each query runs in a process of its own, on a snapshot, with limits.

`process` starts the process and waits for it; `worker` is the program of the process; `guard` refuses queries
that reach outside the store; `confinement` limits the process; `dataset` reads FROM clauses; `results` and
`table` write the answer.
"""
