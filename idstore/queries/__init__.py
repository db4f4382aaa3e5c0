"""Queries by people who are not trusted: each runs in a process of its own, on a snapshot, with limits.

`process` starts that process and waits for it; `worker` is what runs there; `guard` refuses what reaches out of the store; `confinement`
takes the means away; `dataset` reads FROM; `results` and `table` write the answer.
"""
