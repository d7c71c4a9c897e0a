"""``SelfPlay``: games in which a learner may have several seats, or all of them, at tables of any sizes.

In the environments with one learner (megaland_env/envs) agents play all other seats. Here the learner can be its own
opponent, and it can learn from the decisions of all its seats. This module is independent of any learning algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.agent import Agent
from megaland_env.config import MegalandConfig
from megaland_env.decisions import Decisions
from megaland_env.engine import rng
from megaland_env.errors import IllegalActionError
from megaland_env.game import MegalandGames
from megaland_env.observation import encode
from megaland_env.rewards import Reward, win_shares
from megaland_env.seats.moments import carry_out
from megaland_env.seats.opponents import LEARNER, Opponents, OpponentSpec
from megaland_env.seats.slots import Slots, blocks_of

Ints = npt.NDArray[np.int64]


class Itself:
    """Stands for the learner itself, as it is now, in a pool of opponents."""

    def act(self, decisions: Decisions) -> Ints:
        """Raise an error: the learner makes these decisions, so this is never called."""
        raise RuntimeError("the learner decides for itself")


@dataclass(frozen=True)
class Asked:
    """Decisions of the learner: M rows.

    Attributes:
        seats: (M,) int64, the numbers of the deciding seats, as in ``SelfPlay``.
        kinds: (M,) uint8, the ``Kind`` of each decision.
        observations: (M, D) float32 from ``observation.encode``.
        masks: (M, 40) bool, the legal actions.
    """

    seats: Ints
    kinds: npt.NDArray[np.uint8]
    observations: npt.NDArray[np.float32]
    masks: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Moment:
    """The results of one decision moment. Seats are given by their numbers, as in ``SelfPlay``.

    Attributes:
        rewards: (S,) float32, the reward of each seat.
        ended: (n,) the learner's seats in games that are over; their next decisions belong to new games.
        cut_off: (m,) the seats of ``ended`` whose games were cut off (D4).
        last_observations: (m, D) float32, the final observations of the seats ``cut_off``.
        results: (n, 3) float64, for each seat of ``ended`` its share of the win, its coins and the number of rounds.
        opponents: for each opponent in games that are over: the agent, the number of its seats there, and its wins in
            units of a fair share (1 / P).
    """

    rewards: npt.NDArray[np.float32]
    ended: Ints
    cut_off: Ints
    last_observations: npt.NDArray[np.float32]
    results: npt.NDArray[np.float64]
    opponents: list[tuple[Agent, int, float]]


class SelfPlay:
    """Games at tables of several sizes, one after the other in each slot, with the learner in some or all seats.

    In each game one seat, drawn at random, is always the learner's. Every other seat is drawn from ``opponents``, where
    ``itself`` stands for the learner. Call ``asked`` and ``play`` in turn. Seats have numbers from 0 to S - 1, ordered
    by configuration, then by seat, then by slot.

    Args:
        configs: configurations of the games; each is played in a block of slots, and the blocks are of nearly equal
            size.
        num_games: total number of slots.
        opponents: a description as in ``Opponents.of``; ``itself`` may be among the agents.
        same_opponent_share: share of the games in which all the other seats have the same opponent.
        reward: as in ``MegalandGames``.
        seed: the base seed. Slot i plays the game of seed i of ``rng.run_seeds``, and then its next episodes.

    Attributes:
        num_seats: number of seats (S).
        seconds: time spent so far in the ``"engine"``, the ``"opponents"`` and in ``"encoding"``.
    """

    itself = Itself()

    def __init__(
        self,
        configs: Sequence[MegalandConfig],
        num_games: int,
        *,
        opponents: OpponentSpec,
        same_opponent_share: float = 0.0,
        reward: str | Reward,
        seed: int,
    ) -> None:
        self._same_opponent_share = same_opponent_share
        drawn = self._drawn_from(opponents)
        self.seconds = {"engine": 0.0, "opponents": 0.0, "encoding": 0.0}
        self._blocks: list[_Tables] = []
        self.num_seats = 0
        for config, slots in zip(configs, blocks_of(num_games, len(configs)), strict=True):
            seeds = rng.run_seeds(seed, np.arange(slots.start, slots.stop), rng.Run.TRAINING)
            self._blocks.append(_Tables(config, seeds, drawn, reward, self.num_seats, self.seconds))
            self.num_seats += config.num_players * seeds.size
        self._pending: list[tuple[Decisions, Ints, Ints]] = []

    def set_opponents(self, opponents: OpponentSpec) -> None:
        """Change the opponents in games that start later."""
        drawn = self._drawn_from(opponents)
        for block in self._blocks:
            block.slots.seating.set_opponents(drawn)
            block.find_learners()

    def _drawn_from(self, opponents: OpponentSpec) -> Opponents:
        return replace(Opponents.of(opponents), same_opponent_share=self._same_opponent_share)

    def asked(self) -> Asked:
        """Return the decisions that the learner must make now."""
        self._pending = [block.asked() for block in self._blocks]
        seats = [block.first_seat + at[own] for block, (_, at, own) in zip(self._blocks, self._pending, strict=True)]
        theirs = [decisions[own] for decisions, _, own in self._pending]
        began = perf_counter()
        observations = np.concatenate([encode(decisions) for decisions in theirs])
        self.seconds["encoding"] += perf_counter() - began
        masks = np.concatenate([decisions.legal for decisions in theirs])
        kinds = np.concatenate([decisions.kind for decisions in theirs])
        return Asked(np.concatenate(seats), kinds, observations, masks)

    def play(self, actions: npt.ArrayLike) -> Moment:
        """Carry out the actions for the last ``asked``, and those of the opponents at the same moment.

        After a game that is over, the next game of its slot starts at once.

        Args:
            actions: (M,) integers, one for each decision.

        Raises:
            IllegalActionError: an action is not legal.
        """
        chosen = np.asarray(actions)
        ends = np.cumsum([own.size for _, _, own in self._pending])
        moments = [
            block.play(*pending, part)
            for block, pending, part in zip(self._blocks, self._pending, np.split(chosen, ends[:-1]), strict=True)
        ]

        def all_of(name: str) -> npt.NDArray[Any]:
            return np.concatenate([getattr(moment, name) for moment in moments])

        return Moment(
            rewards=all_of("rewards"),
            ended=all_of("ended"),
            cut_off=all_of("cut_off"),
            last_observations=all_of("last_observations"),
            results=all_of("results"),
            opponents=[each for moment in moments for each in moment.opponents],
        )

    # ---------------------------------------------------------------------------------------------- saving

    @property
    def agents(self) -> tuple[Agent, ...]:
        """The opponents that have a seat or may get one, each once; ``snapshot`` refers to them by position."""
        agents: list[Agent] = []
        for block in self._blocks:
            agents += [agent for agent in block.slots.seating.agents if not any(agent is other for other in agents)]
        return tuple(agents)

    def snapshot(self) -> dict[str, Any]:
        """Return all games as a dict for ``json.dumps``; call it before ``asked``."""
        numbers = {id(agent): number for number, agent in enumerate(self.agents)}
        return {
            "blocks": [block.snapshot() for block in self._blocks],
            "agents": [[numbers[id(agent)] for agent in block.slots.seating.agents] for block in self._blocks],
        }

    def restore(self, snapshot: Mapping[str, Any], agents: Sequence[Agent]) -> None:
        """Continue exactly as the original would have, except that ``set_opponents`` here decides about later games.

        Args:
            snapshot: a snapshot of the same number of games with the same configurations.
            agents: the agents of the original, in the order of its ``agents``.

        Raises:
            ValueError: the snapshot has another number of games or another configuration.
        """
        for block, part, numbers in zip(self._blocks, snapshot["blocks"], snapshot["agents"], strict=True):
            block.restore(part, [agents[number] for number in numbers])


class _Tables:
    """The games of one configuration."""

    def __init__(
        self,
        config: MegalandConfig,
        seeds: npt.NDArray[np.uint64],
        opponents: Opponents,
        reward: str | Reward,
        first_seat: int,
        seconds: dict[str, float],
    ) -> None:
        self.games = MegalandGames(config, seeds.size, reward=reward)
        self.slots = Slots(config.num_players, seeds.size, opponents)
        self.first_seat = first_seat
        self._reward = reward
        self._seconds = seconds
        everyone = np.arange(seeds.size)
        self._start(everyone, self.slots.reset(everyone, seeds))

    def _start(self, games: Ints, seeds: npt.NDArray[np.uint64]) -> None:
        self.games.reset(seeds, index=games)
        self.find_learners()

    def find_learners(self) -> None:
        """Find the seats of the learner: (P, n), and flattened."""
        player = self.slots.seating.player
        itself = [n for n, agent in enumerate(self.slots.seating.agents) if isinstance(agent, Itself)]
        self._learns = np.isin(player, [LEARNER, *itself])
        self._learns_flat = self._learns.reshape(-1)

    def asked(self) -> tuple[Decisions, Ints, Ints]:
        """Decisions, positions of their seats in a flattened (P, n) array, and indices of the learner's decisions."""
        decisions = self.games.decisions()
        at = decisions.seat * self.games.num_games + decisions.game
        return decisions, at, np.flatnonzero(self._learns_flat[at])

    def play(self, decisions: Decisions, at: Ints, own: Ints, chosen: npt.NDArray[Any]) -> Moment:
        """Play one moment; see ``SelfPlay.play``."""
        actions = np.zeros(len(decisions), np.int64)
        actions[own] = chosen
        others = np.flatnonzero(~self._learns_flat[at])
        began = perf_counter()
        if others.size:
            actions[others] = self.slots.seating.answers(decisions[others], at[others])
        answered = perf_counter()
        try:
            over = carry_out(self.games, decisions, actions)
        except IllegalActionError as error:
            raise self.slots.seating.naming(error) from None
        rewards = self.games.rewards.T.reshape(-1).copy()
        moment = self._after(rewards, over)
        if over.size:
            self._start(over, self.slots.restart(over))
        self._seconds["opponents"] += answered - began
        self._seconds["engine"] += perf_counter() - answered
        return moment

    def _after(self, rewards: npt.NDArray[np.float32], over: Ints) -> Moment:
        shares = win_shares(self.games.winners[over]).T  # (P, games that are over)
        seat, number = np.nonzero(self._learns[:, over])
        game = over[number]
        results = np.column_stack([shares[seat, number], self.games.coins[game, seat], self.games.rounds[game]])
        ended = self.first_seat + seat * self.games.num_games + game
        cut_off = np.flatnonzero(self.games.truncated[game])
        last = encode(self.games.rows(game[cut_off], seat[cut_off]))

        theirs = ~self._learns[:, over]
        player, won = self.slots.seating.player[:, over][theirs], shares[theirs] * self.games.num_players
        seats = np.bincount(player)
        wins = np.bincount(player, won)
        opponents = [(self.slots.seating.agents[k], int(seats[k]), float(wins[k])) for k in np.flatnonzero(seats)]
        return Moment(rewards, ended, ended[cut_off], last, results, opponents)

    def snapshot(self) -> dict[str, Any]:
        return {
            "games": [self.games.snapshot(game) for game in range(self.games.num_games)],
            "margins_seen": self.games.margins_seen.tolist(),
            **self.slots.snapshot(),
        }

    def restore(self, snapshot: Mapping[str, Any], agents: Sequence[Agent]) -> None:
        games = MegalandGames.restore(
            snapshot["games"],
            reward=self._reward,
            margins_seen=snapshot["margins_seen"],
            engine=self.games.engine,
        )
        if games.config != self.games.config or games.num_games != self.games.num_games:
            raise ValueError("the snapshot is of another number of games, or of another configuration")
        self.games = games
        self.slots.restore(snapshot, agents)
        self.find_learners()
