"""``AllSeatsPPO``: MaskablePPO that learns from every decision of all its seats, instead of one seat per game.

The policy, the loss and the optimiser are sb3-contrib's; only the collection of decisions is different. A seat is not
asked at every step, so the successor of a decision is not the next row of a table: rewards arrive between two decisions
of a seat, on anybody's move, and values are bootstrapped from the next decision of the same seat. The last decision of
each seat waits for its successor, and is learned from in a later update.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBufferSamples
from stable_baselines3.common.callbacks import BaseCallback
from torch.distributions import Categorical

from megaland_env import NUM_ACTIONS, Kind
from megaland_env.observation import NUM_FEATURES
from megaland_env.seats.self_play import Asked, Moment, SelfPlay

NOTHING = -1
"""Stands for the position of a decision where there is none."""

SMALLEST_LOG_PROBABILITY = -1e6
"""The least log-probability of an action before masks. A network that goes beyond has diverged: float32 cannot tell
such numbers apart, and sb3-contrib's mask, -1e8, would soon exclude nothing."""

LARGEST_VALUE = 1e6
"""The largest value of a decision; a game pays at most some coins."""

CHECKED_ROWS = 1024
"""Number of decisions of the roll-out on which the updated networks are checked."""

COLUMNS = {
    "kinds": ((), np.uint8),
    "observations": ((NUM_FEATURES,), np.float32),
    "masks": ((NUM_ACTIONS,), np.bool_),
    "actions": ((), np.int64),
    "values": ((), np.float32),
    "log_probs": ((), np.float32),
}
"""The columns of a decision: names, shapes and dtypes."""


class DivergedError(ValueError):
    """Raised when training has produced numbers that are not finite, or too large to be of use.

    The message says at which number of decisions (with those of the update that failed), and what was found.
    """


class DecisionBuffer:
    """Decisions with their advantages. It replaces sb3-contrib's roll-out buffer.

    Attributes:
        values: (B,) value of each decision, by the policy that made it.
        returns: (B,) targets of the values: the values plus the advantages.
    """

    def __init__(self) -> None:
        self.values = np.zeros(0, np.float32)
        self.returns = np.zeros(0, np.float32)

    def fill(self, columns: Mapping[str, npt.NDArray[Any]], advantages: npt.NDArray[np.float32]) -> None:
        """Replace the content by a roll-out."""
        self._columns = {name: torch.from_numpy(column) for name, column in columns.items()}
        self.values = columns["values"]
        self.returns = columns["values"] + advantages
        self._advantages = torch.from_numpy(advantages)
        self._returns = torch.from_numpy(self.returns)

    def some_observations(self, number: int) -> torch.Tensor:
        """Observations, at most ``number`` rows (., D), of decisions spread over the roll-out."""
        observations = self._columns["observations"]
        return observations[:: -(-len(observations) // number)]

    def get(self, batch_size: int) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Yield all decisions in random order, in ``size // batch_size`` batches whose sizes differ by at most 1."""
        order = torch.randperm(self.values.size)
        for rows in order.tensor_split(max(1, self.values.size // batch_size)):
            part = {name: column[rows] for name, column in self._columns.items()}
            yield MaskableRolloutBufferSamples(
                observations=part["observations"],
                actions=part["actions"],
                old_values=part["values"],
                old_log_prob=part["log_probs"],
                advantages=self._advantages[rows],
                returns=self._returns[rows],
                action_masks=part["masks"],
            )


class AllSeatsPPO(MaskablePPO):
    """MaskablePPO on ``SelfPlay``.

    Args:
        games: the games with the learner's seats.
        decisions: number of decisions collected between two updates; the first update learns from fewer, since the last
            decision of each seat waits.
        **settings: settings of MaskablePPO, except for those of its roll-outs.

    Attributes:
        games: as given.
        illegal_actions: number of illegal actions chosen. The first one ends the training (``DivergedError``), so it is
            0 in every run that goes on.
        collected: number of decisions collected so far in this roll-out.
        moment: result of the last decision moment, for callbacks in ``on_step``.
        entropy_by_kind: for each kind of decision (by its label), the mean of -log p of the chosen actions in the last
            roll-out: an unbiased estimate of the policy's entropy there.
    """

    def __init__(self, games: SelfPlay, decisions: int, **settings: Any) -> None:
        super().__init__("MlpPolicy", None, n_steps=2, _init_setup_model=False, **settings)  # type: ignore[arg-type]
        self.games = games
        self.decisions = decisions
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (NUM_FEATURES,), np.float32)
        self.action_space = gym.spaces.Discrete(NUM_ACTIONS)
        self.n_envs = 1
        self._setup_model()
        self._buffer = DecisionBuffer()
        self.rollout_buffer = self._buffer  # type: ignore[assignment]
        self.illegal_actions = 0
        self.collected = 0
        self.moment: Moment | None = None
        self.entropy_by_kind: dict[str, float] = {}
        # Waiting for their successors: the last decision of each seat, with the rewards of the seat since then.
        self._waiting: dict[str, npt.NDArray[Any]] = {
            name: np.zeros((0, *shape), dtype) for name, (shape, dtype) in COLUMNS.items()
        }
        self._waiting_seats = np.zeros(0, np.int64)
        self._paid = np.zeros(games.num_seats, np.float32)

    def waiting(self) -> dict[str, torch.Tensor]:
        """Return the decisions that wait for the next roll-out, for a checkpoint between two updates."""
        arrays = {**self._waiting, "seats": self._waiting_seats, "paid": self._paid}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def wait(self, waiting: Mapping[str, torch.Tensor]) -> None:
        """Restore what ``waiting`` returned."""
        self._waiting = {name: waiting[name].numpy() for name in COLUMNS}
        self._waiting_seats, self._paid = waiting["seats"].numpy(), waiting["paid"].numpy()

    def learn(self, total_timesteps: int, callback: BaseCallback, reset_num_timesteps: bool = True) -> AllSeatsPPO:  # type: ignore[override]
        """Learn from ``total_timesteps`` decisions, as MaskablePPO's method does.

        Raises:
            DivergedError: the networks are unusable; nothing has been saved since they are.
        """
        if reset_num_timesteps:
            self.num_timesteps = 0
        total = self.num_timesteps + total_timesteps
        self._total_timesteps = total
        callback.init_callback(self)
        callback.on_training_start(locals(), globals())
        while self.num_timesteps < total:
            # Before the decisions are collected: the last of them may exceed the total, so that the progress remaining
            # would be negative, and with it a learning rate that falls to 0.
            self._update_current_progress_remaining(self.num_timesteps, total)
            if not self._collect(callback):
                break
            self.logger.record("time/total_timesteps", self.num_timesteps)
            self.logger.dump(self.num_timesteps)
            self.train()
            self.check()
        callback.on_training_end()
        return self

    def check(self) -> None:
        """Check the last update: its losses, the parameters, and the networks' answers to some of its decisions.

        Raises:
            DivergedError: a number is not finite, or beyond ``SMALLEST_LOG_PROBABILITY`` or ``LARGEST_VALUE``.
        """
        for name, value in self.logger.name_to_value.items():
            if name.startswith("train/") and name.endswith("loss") and not np.isfinite(value):
                raise self._diverged(f"its {name.removeprefix('train/').replace('_', ' ')} is {value}")
        for name, parameter in self.policy.named_parameters():
            if not bool(torch.isfinite(parameter).all()):
                raise self._diverged(f"{name} has numbers that are not finite")
        with torch.no_grad():
            observations = self._buffer.some_observations(CHECKED_ROWS)
            distribution = self.policy.get_distribution(observations).distribution
            assert isinstance(distribution, Categorical)
            log_probabilities = distribution.logits
            values = self.policy.predict_values(observations)
        largest = float(values.abs().max())
        if not largest < LARGEST_VALUE:  # NaN is not either
            raise self._diverged(f"the value of a decision is {largest:.3g}")
        least = float(log_probabilities.min())
        if not least > SMALLEST_LOG_PROBABILITY:  # NaN is not either
            raise self._diverged(f"the log-probability of an action is {least:.3g}")

    def _diverged(self, reason: str) -> DivergedError:
        return DivergedError(f"the policy has diverged at {self.num_timesteps:,} decisions: {reason}")

    def _collect(self, callback: BaseCallback) -> bool:
        """Play until there are enough decisions to learn from; return False if the callback ends the training."""
        self.policy.set_training_mode(False)
        callback.on_rollout_start()
        parts = {name: [column] for name, column in self._waiting.items()}
        bounds = [self._waiting_seats.size]  # where the decisions of each moment end
        last = np.full(self.games.num_seats, NOTHING)  # the position of each seat's last decision
        last[self._waiting_seats] = np.arange(self._waiting_seats.size)
        sequels = []  # for some decisions: the reward after them, the seat's next decision, and the value if none
        followed = 0  # decisions whose successor is known; advantages are normalised, so an update needs two of them
        while bounds[-1] < self.decisions + bounds[0] or followed < 2:
            asked = self.games.asked()
            seats = asked.seats
            actions, values, log_probs = self._choose(asked)
            made = np.arange(bounds[-1], bounds[-1] + seats.size)
            known = last[seats] != NOTHING
            sequels.append((last[seats][known], self._paid[seats][known], made[known], 0.0))
            followed += int(np.count_nonzero(known))
            self._paid[seats] = 0
            last[seats] = made
            bounds.append(bounds[-1] + seats.size)
            parts["kinds"].append(asked.kinds)
            parts["observations"].append(asked.observations)
            parts["masks"].append(asked.masks)
            parts["actions"].append(actions)
            parts["values"].append(values)
            parts["log_probs"].append(log_probs)

            self.moment = self.games.play(actions)
            self._paid += self.moment.rewards
            # A seat that the learner took over in the middle of a game (league.py) may end it without any decision.
            ended = self.moment.ended[last[self.moment.ended] != NOTHING]
            followed += ended.size
            sequels.append((last[ended], self._paid[ended], NOTHING, self._values_at_cut_off(self.moment)[ended]))
            self._paid[ended] = 0
            last[ended] = NOTHING
            self.collected = bounds[-1] - bounds[0]
            if not callback.on_step():
                return False

        columns = {name: np.concatenate(part) for name, part in parts.items()}
        number = bounds[-1]
        paid, following, rest = np.zeros(number, np.float32), np.full(number, NOTHING), np.zeros(number, np.float32)
        learned = np.zeros(number, np.bool_)
        for position, amount, sequel, value in sequels:
            paid[position], following[position], rest[position], learned[position] = amount, sequel, value, True
        advantages = self._advantages(columns["values"], paid, following, rest, learned, bounds)
        self._buffer.fill({name: column[learned] for name, column in columns.items()}, advantages[learned])
        self._waiting_seats = np.flatnonzero(last != NOTHING)
        waiting = last[self._waiting_seats]
        self._waiting = {name: column[waiting] for name, column in columns.items()}
        self.num_timesteps += int(learned.sum())
        self.collected = 0
        new = {name: column[bounds[0] :] for name, column in columns.items()}
        made_of_kind = np.bincount(new["kinds"])
        total = np.bincount(new["kinds"], -new["log_probs"])
        self.entropy_by_kind = {
            Kind(kind).label: total[kind] / made_of_kind[kind] for kind in np.flatnonzero(made_of_kind).tolist()
        }
        callback.on_rollout_end()
        return True

    def _choose(self, asked: Asked) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Draw actions (M,) from the policy; return them with the values and the actions' log-probabilities.

        Raises:
            DivergedError: the networks' answers are not finite, or an illegal action was chosen.
        """
        try:
            with torch.no_grad():
                chosen, valued, logged = self.policy(torch.from_numpy(asked.observations), action_masks=asked.masks)
        except (RuntimeError, ValueError) as error:  # PyTorch refuses to draw from invalid probabilities
            if not any(word in str(error) for word in ("probability tensor", "constraint")):
                raise
            raise self._diverged(f"no action can be drawn: {str(error).splitlines()[0]}") from error
        actions, values, log_probs = chosen.numpy(), valued.numpy().reshape(-1), logged.numpy()
        if not (np.isfinite(values).all() and np.isfinite(log_probs).all()):
            raise self._diverged("the networks' answers are not finite")
        illegal = int(np.count_nonzero(~asked.masks[np.arange(actions.size), actions]))
        self.illegal_actions += illegal
        if illegal:
            raise self._diverged("its answers are so large that illegal actions are not masked out")
        return actions, values, log_probs

    def _values_at_cut_off(self, moment: Moment) -> npt.NDArray[np.float32]:
        """Values (S,) of the last observations of games that were cut off (D4), as in SB3; 0 for all other seats."""
        values = np.zeros(self.games.num_seats, np.float32)
        if moment.cut_off.size:
            with torch.no_grad():
                values[moment.cut_off] = self.policy.predict_values(torch.from_numpy(moment.last_observations))[:, 0]
        return values

    def _advantages(
        self,
        values: npt.NDArray[np.float32],
        paid: npt.NDArray[np.float32],
        following: npt.NDArray[np.int64],
        rest: npt.NDArray[np.float32],
        learned: npt.NDArray[np.bool_],
        bounds: list[int],
    ) -> npt.NDArray[np.float32]:
        """Generalised advantages (Schulman et al., 2016), from the last moment to the first; 0 where a sequel waits."""
        advantages = np.zeros_like(values)
        goes_on = following != NOTHING
        for begin, end in reversed(list(pairwise([0, *bounds]))):
            at = slice(begin, end)
            next_value = np.where(goes_on[at], values[following[at]], rest[at])  # NOTHING finds some entry
            next_advantage = np.where(goes_on[at], advantages[following[at]], 0)
            gain = paid[at] + self.gamma * next_value - values[at] + self.gamma * self.gae_lambda * next_advantage
            advantages[at] = np.where(learned[at], gain, 0)
        return advantages
