"""Record the decisions of an agent while it plays, as the columns that ``megaland probe`` measures."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env import Decisions, Kind
from megaland_env.agent import Agent
from megaland_env.cards import NUM_LEVEL_CARDS

_CARD_BITS = np.int16(1) << np.arange(NUM_LEVEL_CARDS, dtype=np.int16)


@dataclass(frozen=True, eq=False)
class Decided:
    """M decisions of one agent, in the order in which they were made. Treasures and buildings are its own.

    Attributes:
        game: (M,) int64, position in the batch.
        seat: (M,) int64, seat of the agent.
        kind: (M,) uint8, the ``Kind`` of the decision.
        round: (M,) int32, round from 1.
        action: (M,) integers, the actions chosen.
        legal: (M,) uint64, the legal actions: bit a for action a.
        unseen: (M,) int16, the level cards yet to come: bit c for card c.
        hearts: (M,) uint8, hearts not yet lost in this level.
        jumps: (M,) uint8, jump tokens.
        carried: (M, 6) uint8, treasures carried, by type.
        home: (M, 6) uint8, treasures at home, by type.
        picked: (M, 6) uint8, treasures chosen to be kept so far, by type.
        buildings: (M, 23) uint8, copies owned of each building.
    """

    game: npt.NDArray[np.int64]
    seat: npt.NDArray[np.int64]
    kind: npt.NDArray[np.uint8]
    round: npt.NDArray[np.int32]
    action: npt.NDArray[np.integer[Any]]
    legal: npt.NDArray[np.uint64]
    unseen: npt.NDArray[np.int16]
    hearts: npt.NDArray[np.uint8]
    jumps: npt.NDArray[np.uint8]
    carried: npt.NDArray[np.uint8]
    home: npt.NDArray[np.uint8]
    picked: npt.NDArray[np.uint8]
    buildings: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return int(self.game.size)

    def __getitem__(self, rows: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Decided:
        """Select decisions by positions or by a mask (M,)."""
        return Decided(*(getattr(self, field.name)[rows] for field in fields(self)))

    def of(self, *kinds: Kind) -> Decided:
        """Select the decisions of some kinds."""
        return self[np.isin(self.kind, kinds)]


class DecisionRecorder:
    """An agent that plays exactly as another one does, and records its decisions.

    Args:
        agent: the agent that plays.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._parts: list[Decided] = []

    def act(self, decisions: Decisions) -> npt.NDArray[np.integer[Any]]:
        """The actions (M,) of the agent that plays."""
        # Copies, because an agent may reuse the array of its answer, or write into its decisions.
        actions = np.array(self._agent.act(decisions[np.arange(len(decisions))]))
        view = decisions.view
        own = (view.hearts, view.jumps, view.carried, view.home, view.picked, view.buildings)
        part = (
            decisions.game,
            decisions.seat,
            decisions.kind,
            view.round,
            actions,
            decisions.legal_bits,
            view.unseen @ _CARD_BITS,
            *(array[:, 0].copy() for array in own),  # copies, so that the arrays of the whole table can be freed
        )
        self._parts.append(Decided(*part))
        return actions

    def decided(self) -> Decided:
        """All decisions so far, at least one. The recorder keeps none of them."""
        parts, self._parts = self._parts, []
        return Decided(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Decided)))
