"""``AllSeatsPPO``: MaskablePPO that learns from every decision of all its seats, instead of one seat a game.

The policy, the loss and the optimiser are sb3-contrib's; what is different is how decisions are collected. Seats are
asked when the game wants it and not once a step, so what follows a decision is not the next row of a table: a seat is
paid between two of its decisions, on whosever move, and the next of its own decisions is what a value is carried back
from. The last decision of each seat waits for its sequel, and is learned from in a later update.
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

from experiments.self_play import Moment, SelfPlay
from megaland_env import NUM_ACTIONS, Kind
from megaland_env.observation import NUM_FEATURES

NOTHING = -1
"""In the place of a decision's position: there is none."""

COLUMNS = {
    "kinds": ((), np.uint8),
    "observations": ((NUM_FEATURES,), np.float32),
    "masks": ((NUM_ACTIONS,), np.bool_),
    "actions": ((), np.int64),
    "values": ((), np.float32),
    "log_probs": ((), np.float32),
}
"""What is kept of a decision: names, shapes and types."""


class DecisionBuffer:
    """Decisions with what followed them, in the place of sb3-contrib's roll-out buffer.

    Attributes:
        values: (B,) what the policy expected at each decision.
        returns: (B,) what it shall expect: the values with the advantages.
    """

    def __init__(self) -> None:
        self.values = np.zeros(0, np.float32)
        self.returns = np.zeros(0, np.float32)

    def fill(self, columns: Mapping[str, npt.NDArray[Any]], advantages: npt.NDArray[np.float32]) -> None:
        """Put in a roll-out."""
        self._columns = {name: torch.from_numpy(column) for name, column in columns.items()}
        self.values = columns["values"]
        self.returns = columns["values"] + advantages
        self._advantages = torch.from_numpy(advantages)
        self._returns = torch.from_numpy(self.returns)

    def get(self, batch_size: int) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """All decisions in a new order, in as many batches as there are whole ones, all of one size within 1."""
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
        games: with the learner's seats.
        decisions: collected between two updates; the first time fewer are learned from, since the last of each seat
            waits.
        **settings: of MaskablePPO, but for those of its roll-outs.

    Attributes:
        games: as given.
        illegal_actions: how many actions were chosen that are not legal; the games would refuse them.
        moment: what the last decision moment brought; for callbacks, in ``on_step``.
        surprise: for each kind of decision (by its label), the mean of -log p of what was chosen in the last roll-out:
            the entropy of the policy there, but for the luck of the draw.
    """

    def __init__(self, games: SelfPlay, decisions: int, **settings: Any) -> None:
        super().__init__("MlpPolicy", None, n_steps=2, _init_setup_model=False, **settings)  # type: ignore[arg-type]
        self.games = games
        self.decisions = decisions
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (NUM_FEATURES,), np.float32)
        self.action_space = gym.spaces.Discrete(NUM_ACTIONS)
        self.n_envs = 1
        self._setup_model()
        self.rollout_buffer = DecisionBuffer()  # type: ignore[assignment]
        self.illegal_actions = 0
        self.moment: Moment | None = None
        self.surprise: dict[str, float] = {}
        # What waits for its sequel: the last decision of each seat, and what each seat was paid since.
        self._waiting = {name: np.zeros((0, *shape), dtype) for name, (shape, dtype) in COLUMNS.items()}
        self._waiting_seats = np.zeros(0, np.int64)
        self._paid = np.zeros(games.num_seats, np.float32)

    def waiting(self) -> dict[str, torch.Tensor]:
        """What waits for the next roll-out, for a checkpoint between two updates."""
        arrays = {**self._waiting, "seats": self._waiting_seats, "paid": self._paid}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def wait(self, waiting: Mapping[str, torch.Tensor]) -> None:
        """The reverse of ``waiting``."""
        self._waiting = {name: waiting[name].numpy() for name in COLUMNS}
        self._waiting_seats, self._paid = waiting["seats"].numpy(), waiting["paid"].numpy()

    def learn(self, total_timesteps: int, callback: BaseCallback, reset_num_timesteps: bool = True) -> AllSeatsPPO:  # type: ignore[override]
        """As MaskablePPO's; so many decisions are learned from."""
        if reset_num_timesteps:
            self.num_timesteps = 0
        total = self.num_timesteps + total_timesteps
        self._total_timesteps = total
        callback.init_callback(self)
        callback.on_training_start(locals(), globals())
        while self.num_timesteps < total:
            # Before the decisions are collected: with the last of them more than the total may have been learned from,
            # and less than nothing would remain; a rate that falls to 0 would then be below it.
            self._update_current_progress_remaining(self.num_timesteps, total)
            if not self._collect(callback):
                break
            self.logger.record("time/total_timesteps", self.num_timesteps)
            self.logger.dump(self.num_timesteps)
            self.train()
        callback.on_training_end()
        return self

    def _collect(self, callback: BaseCallback) -> bool:
        """Play until there is enough to learn from."""
        self.policy.set_training_mode(False)
        callback.on_rollout_start()
        parts = {name: [column] for name, column in self._waiting.items()}
        bounds = [self._waiting_seats.size]  # where the decisions of each moment end
        last = np.full(self.games.num_seats, NOTHING)  # the position of each seat's last decision
        last[self._waiting_seats] = np.arange(self._waiting_seats.size)
        sequels = []  # for some decisions: what was paid after them, the seat's next decision, and the value if none
        while bounds[-1] < self.decisions + bounds[0]:
            asked = self.games.asked()
            seats = asked.seats
            with torch.no_grad():
                actions, values, log_probs = self.policy(torch.from_numpy(asked.observations), action_masks=asked.masks)
            made = np.arange(bounds[-1], bounds[-1] + seats.size)
            known = last[seats] != NOTHING
            sequels.append((last[seats][known], self._paid[seats][known], made[known], 0.0))
            self._paid[seats] = 0
            last[seats] = made
            bounds.append(bounds[-1] + seats.size)
            self.illegal_actions += int(np.count_nonzero(~asked.masks[np.arange(seats.size), actions]))
            parts["kinds"].append(asked.kinds)
            parts["observations"].append(asked.observations)
            parts["masks"].append(asked.masks)
            parts["actions"].append(actions.numpy())
            parts["values"].append(values.numpy().reshape(-1))
            parts["log_probs"].append(log_probs.numpy())

            self.moment = self.games.play(actions.numpy())
            self._paid += self.moment.rewards
            ended = self.moment.ended
            sequels.append((last[ended], self._paid[ended], NOTHING, self._values_at_cut_off(self.moment)[ended]))
            self._paid[ended] = 0
            last[ended] = NOTHING
            if not callback.on_step():
                return False

        columns = {name: np.concatenate(part) for name, part in parts.items()}
        number = bounds[-1]
        paid, following, rest = np.zeros(number, np.float32), np.full(number, NOTHING), np.zeros(number, np.float32)
        learned = np.zeros(number, np.bool_)
        for position, amount, sequel, value in sequels:
            paid[position], following[position], rest[position], learned[position] = amount, sequel, value, True
        advantages = self._advantages(columns["values"], paid, following, rest, learned, bounds)
        self.rollout_buffer.fill({name: column[learned] for name, column in columns.items()}, advantages[learned])
        self._waiting_seats = np.flatnonzero(last != NOTHING)
        waiting = last[self._waiting_seats]
        self._waiting = {name: column[waiting] for name, column in columns.items()}
        self.num_timesteps += int(learned.sum())
        new = {name: column[bounds[0] :] for name, column in columns.items()}
        number, total = np.bincount(new["kinds"]), np.bincount(new["kinds"], -new["log_probs"])
        self.surprise = {Kind(kind).label: total[kind] / number[kind] for kind in np.flatnonzero(number)}
        callback.on_rollout_end()
        return True

    def _values_at_cut_off(self, moment: Moment) -> npt.NDArray[np.float32]:
        """(S,) what a seat could have expected where its game was cut off (D4), as SB3 has it; 0 for all others."""
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
