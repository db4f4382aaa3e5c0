"""Ctrl-C while changes are written for several: nobody waits for ever, and nothing that was acknowledged is lost."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import idstore
from idstore import Party

ALICE = Party("alice")


def interrupted(act: Callable[..., Any], *, before: bool, gate: Callable[[], None]) -> Callable[..., Any]:
    """A function that is interrupted once, before it begins or when it is done."""
    left = [True]

    def carried_out(*arguments: Any) -> Any:
        once, left[:] = left[:], []
        if not once:
            return act(*arguments)
        gate()
        if not before:
            act(*arguments)
        raise KeyboardInterrupt

    return carried_out


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("step", ["append", "hand_on", "put"])
def test_an_interrupted_leader(tmp_path: Path, step: str, before: bool) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE, durability="process") as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        registry.counts(ALICE)
        store: Any = registry.store
        owner, name = {"append": (store._journal, "append"), "hand_on": (store._commits, "_hand_on"), "put": (store._applier, "put")}[step]
        minted: list[str] = []
        leading, others = threading.Event(), threading.Event()

        def gate() -> None:
            leading.set()
            assert others.wait(60)

        def lead() -> None:
            with pytest.raises(KeyboardInterrupt):
                registry.mint("rdl", ALICE)
            minted.append("")

        def follow() -> None:
            minted.append(registry.mint("rdl", ALICE).iri.value)

        setattr(owner, name, interrupted(getattr(owner, name), before=before, gate=gate))
        threads = [threading.Thread(target=lead, daemon=True)]
        threads[0].start()
        assert leading.wait(60)
        threads += [threading.Thread(target=follow, daemon=True) for _ in range(3)]
        for thread in threads[1:]:
            thread.start()
        while len(store._commits._enlisted) + (step == "put" and not before) < 3:
            pass
        others.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        acknowledged = {iri for iri in minted if iri}
        assert len(minted) == 4
        assert len(acknowledged) == 3
        last = registry.mint("rdl", ALICE).iri.value
        listed = {record.iri.value for record in registry.list(ALICE)}
        assert acknowledged | {last} <= listed
        assert len(listed) == 5
    with idstore.open(tmp_path / "store") as registry:
        assert {record.iri.value for record in registry.list(ALICE)} == listed
        assert list(registry.verify(ALICE)) == []
