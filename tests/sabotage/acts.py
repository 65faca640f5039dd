"""Every act there is."""

from __future__ import annotations

from tests.sabotage import (
    acts_applying,
    acts_bulk,
    acts_fleet,
    acts_judging,
    acts_kinds,
    acts_policies,
    acts_power,
    acts_proofs,
    acts_sharing,
    acts_stages,
    acts_telling,
)

ACTS = (
    *acts_judging.ACTS, *acts_applying.ACTS, *acts_bulk.ACTS, *acts_telling.ACTS, *acts_kinds.ACTS, *acts_fleet.ACTS, *acts_power.ACTS,
    *acts_proofs.ACTS, *acts_stages.ACTS, *acts_policies.ACTS, *acts_sharing.ACTS,
)  # fmt: skip
SAMPLE = tuple(act for act in ACTS if act.is_quick)
