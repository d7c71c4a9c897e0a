"""Train PPO on the two small tasks, and compare the learned policy with optimal play.

``python -m megaland_experiments.training.tasks run`` learns a level run, whose optimal value is computed exactly.
``python -m megaland_experiments.training.tasks buy`` learns one turn of the buy phase, and is compared with brute force
on unseen hands. Either takes a few minutes on two CPU cores. The module can be read from top to bottom.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import AutoresetMode
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from megaland_env import MegalandGames
from megaland_env.actions import PASS
from megaland_env.cards import LEVEL_CARDS, LevelCard
from megaland_env.engine import rng
from megaland_env.envs.gymnasium_vector import MegalandBuyVectorEnv, MegalandRunVectorEnv, OneLearnerVectorEnv
from megaland_env.observation import encode
from megaland_env.seats.scenarios import LEARNER_SEAT, BuyTask, RunTask, TaskGames
from megaland_env.seats.single_learner import SingleLearnerGames
from megaland_experiments.options import Parser, whole_number
from megaland_experiments.shared.output import percent
from megaland_experiments.shared.progress import progress_bar

Floats = npt.NDArray[np.float64]

HELD_OUT = 2**40
"""The first seed of the evaluation. The seeds of training are 64-bit hashes, which are hardly ever near it."""


@dataclass(frozen=True)
class Settings:
    """Settings of PPO; those of each task are below."""

    total_steps: int
    seed: int = 0
    num_envs: int = 256
    n_steps: int = 16
    batch_size: int = 1024
    n_epochs: int = 4
    learning_rate: float = 1e-3
    gamma: float = 1.0
    gae_lambda: float = 0.95
    ent_coef: float = 0.01
    clip_obs: float = 5.0
    hidden: tuple[int, ...] = (64, 64)
    threads: int = 1


RUN = Settings(total_steps=400_000)
BUY = Settings(total_steps=600_000, hidden=(256, 128), ent_coef=0.02)


# ------------------------------------------------------------------------------------------------------------- training


def train(env: OneLearnerVectorEnv, settings: Settings) -> MaskablePPO:
    """Train a policy for the task of ``env``."""
    torch.set_num_threads(settings.threads)
    # Most features are nearly always 0. Scaling by their standard deviations lets the policy learn from the rare ones:
    # without it the result is a plain greedy buyer.
    games_seed = int(rng.run_seeds(settings.seed, [0], rng.Run.TRAINING)[0])
    scaled = VecNormalize(SameStepVecEnv(env, games_seed), norm_reward=False, clip_obs=settings.clip_obs)
    model = MaskablePPO(
        "MlpPolicy",
        scaled,
        learning_rate=lambda progress_remaining: settings.learning_rate * max(progress_remaining, 0.0),
        n_steps=settings.n_steps,
        batch_size=settings.batch_size,
        n_epochs=settings.n_epochs,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        ent_coef=settings.ent_coef,
        policy_kwargs={"net_arch": {"pi": list(settings.hidden), "vf": list(settings.hidden)}},
        device="cpu",
        seed=settings.seed,
    )
    with progress_bar("steps") as progress:

        def tell(of_the_learner: dict[str, Any], _: dict[str, Any]) -> bool:
            progress(model.num_timesteps, settings.total_steps)
            return True

        return model.learn(settings.total_steps, callback=tell)


class SameStepVecEnv(VecEnv):
    """A Gymnasium vector environment that resets in the same step, as Stable-Baselines3 requires."""

    def __init__(self, env: OneLearnerVectorEnv, seed: int) -> None:
        if env.metadata["autoreset_mode"] != AutoresetMode.SAME_STEP:
            raise ValueError("the environment must reset in the same step: autoreset_mode=AutoresetMode.SAME_STEP")
        self.env = env
        self.render_mode = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)
        self.seed(seed)

    def reset(self) -> npt.NDArray[np.float32]:
        """Reset all environments; return the first observations (E, D)."""
        observations, _ = self.env.reset(seed=None if self._seeds[0] is None else self._seeds)
        self._reset_seeds()
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Keep the actions (E,) for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Carry out the actions of ``step_async``."""
        observations, rewards, terminations, truncations, infos = self.env.step(self._actions)
        dones = terminations | truncations
        said: list[dict[str, Any]] = [{}] * self.num_envs
        for game in np.flatnonzero(dones):
            last = infos["final_info"]
            episode = {"r": last["episode_return"][game], "l": last["episode_length"][game]}
            said[game] = {"terminal_observation": infos["final_obs"][game], "episode": episode}
            if truncations[game]:
                said[game]["TimeLimit.truncated"] = True
        return observations, rewards, dones, said

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """Call a method; return its row for each environment."""
        rows = getattr(self.env, method_name)(*args, **kwargs)
        return [rows[game] for game in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return the attribute, once for each environment."""
        return [getattr(self.env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Not supported."""
        raise NotImplementedError

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Return False for each environment: they have no wrappers."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Close the environments."""
        self.env.close()


# ----------------------------------------------------------------------------------------------------------- evaluation


def returns(games: SingleLearnerGames, model: MaskablePPO, first_seed: int = HELD_OUT) -> Floats:
    """Play games with the most likely actions; return the return (N,) of each."""
    scaled = model.get_vec_normalize_env()
    assert scaled is not None
    games.reset(first_seed + np.arange(games.num_games))
    total = np.zeros(games.num_games)
    while (playing := np.flatnonzero(~games.over)).size:
        decisions = games.decisions(playing)
        observations = scaled.normalize_obs(np.ascontiguousarray(encode(decisions)))
        actions, _ = model.predict(observations, action_masks=decisions.legal, deterministic=True)
        games.step(actions, playing)
        total[playing] += games.rewards[playing]
    return total


# ---------------------------------------------------------------------------------------------------- the best there is


def best_run(hearts: int, jumps: int = 0) -> float:
    """Mean number of treasures that optimal play brings home from a level run.

    Every treasure is worth 1, so only their number matters, and the Rabbit's trade has no effect. The state consists of
    the remaining level cards, the hearts, the number of treasures carried and the jump tokens.
    """

    @cache
    def before_card(cards: frozenset[LevelCard], hearts: int, carried: int, jumps: int) -> float:
        without = after_reveal(cards, hearts, carried, jumps, False)
        return max(without, after_reveal(cards, hearts, carried, jumps - 1, True)) if jumps else without

    def after_reveal(cards: frozenset[LevelCard], hearts: int, carried: int, jumps: int, jumping: bool) -> float:
        total = 0.0
        for card in cards:
            facts = LEVEL_CARDS[card]
            left = hearts - (0 if jumping and facts.jump_symbol else facts.skulls)
            if left > 0:
                total += stay_or_leave(cards - {card}, left, carried + (card == LevelCard.TREASURE_BOX), jumps)
        return total / len(cards)

    def stay_or_leave(cards: frozenset[LevelCard], hearts: int, carried: int, jumps: int) -> float:
        return max(float(carried), before_card(cards, hearts, carried + 1, jumps)) if cards else float(carried)

    return before_card(frozenset(LevelCard), hearts, 1, jumps)


def best_turns(games: MegalandGames) -> npt.NDArray[np.int64]:
    """Largest number of coins (N,) that the learner of each game can have after its turn, by brute force.

    The games are those of ``BuyTask``, at any decision of ``LEARNER_SEAT``; they are not changed.
    """
    return np.array([_best_turn(games.copy([game])) for game in range(games.num_games)])


def _best_turn(states: MegalandGames) -> int:
    """Find it for a batch of one game.

    The search goes choice by choice through all states that can be reached. A turn has no randomness and coins buy
    nothing, so of all ways to the same state only one with the most coins is continued.
    """
    best = 0
    while True:
        rows = states.rows(np.arange(states.num_games), np.full(states.num_games, LEARNER_SEAT))
        best = max(best, int(rows.view.coins[:, 0].max()))
        parent, action = np.nonzero(rows.legal[:, PASS + 1 :])  # passing gains nothing
        if not parent.size:
            return best
        actions = np.full((parent.size, states.num_players), PASS)
        actions[:, LEARNER_SEAT] = action + PASS + 1
        states = states.copy(parent)
        states.step(actions)
        states = states.copy(_richest(states))


def _richest(states: MegalandGames) -> npt.NDArray[np.int64]:
    """Positions of the states to keep: of those that differ only in coins, one with the most."""
    view = states.rows(np.arange(states.num_games), np.full(states.num_games, LEARNER_SEAT)).view
    richest_first = np.argsort(-view.coins[:, 0])
    own = (view.home, view.active, view.max_hearts, view.fish_used, view.carrots_used)
    shared = (view.paid, np.packbits(view.bought, axis=1), view.buying, view.heart_treasure)
    columns = [
        *(part[:, 0].reshape(states.num_games, -1) for part in own),
        *(part.reshape(states.num_games, -1) for part in shared),
    ]
    keys = np.concatenate([column.astype(np.uint8) for column in columns], axis=1)[richest_first]
    _, first = np.unique(keys.view(f"V{keys.shape[1]}")[:, 0], return_index=True)
    chosen: npt.NDArray[np.int64] = richest_first[first]
    return chosen


# --------------------------------------------------------------------------------------------------------- command line


def learn_run(settings: Settings, hearts: int, jumps: int, tasks: int) -> None:
    """Learn the level run, and print the share of the optimal value that the policy brings home."""
    began = time.perf_counter()
    env = MegalandRunVectorEnv(settings.num_envs, hearts=hearts, jumps=jumps, autoreset_mode=AutoresetMode.SAME_STEP)
    model = train(env, settings)
    trained = time.perf_counter() - began
    print(f"trained for {settings.total_steps:,} steps in {trained:.0f} s")
    brought = returns(TaskGames(RunTask(hearts, jumps), tasks), model)
    best = best_run(hearts, jumps)
    error = brought.std() / np.sqrt(tasks)
    print(f"brings home {brought.mean():.4f} ± {error:.4f} treasures in {tasks:,} runs; the best play {best:.4f}")
    print(f"that is {percent(brought.mean() / best, 2)} ± {100 * error / best:.2f} of the best")


def learn_buy(settings: Settings, tasks: int) -> None:
    """Learn the buy turn, and print the share of the optimal gain that the policy makes on unseen hands."""
    began = time.perf_counter()
    model = train(MegalandBuyVectorEnv(settings.num_envs, autoreset_mode=AutoresetMode.SAME_STEP), settings)
    trained = time.perf_counter() - began
    print(f"trained for {settings.total_steps:,} steps in {trained:.0f} s")
    games = TaskGames(BuyTask(), tasks)
    games.reset(HELD_OUT + np.arange(tasks))
    best = best_turns(games.games)
    gained = returns(games, model)
    print(f"gains {gained.mean():.3f} coins with {tasks:,} hands; brute force {best.mean():.3f}")
    as_well = percent((gained == best).mean())
    print(f"that is {percent(gained.sum() / best.sum(), 2)} of the best; {as_well} of the hands go as well")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = Parser(prog="python -m megaland_experiments.training.tasks", description="Train PPO on a small task.")
    tasks = parser.add_subparsers(dest="task", required=True)
    run = tasks.add_parser("run", help="a single level run")
    run.add_argument("--hearts", type=whole_number, default=4, help="hearts at the entrance (default: 4)")
    run.add_argument("--jumps", type=whole_number, default=0, help="number of jump tokens (default: 0)")
    buy = tasks.add_parser("buy", help="a single turn of the buy phase")
    for task, settings, number in ((run, RUN, 200_000), (buy, BUY, 500)):
        task.add_argument(
            "--steps",
            type=whole_number,
            default=settings.total_steps,
            help="number of training steps (default: %(default)s)",
        )
        task.add_argument(
            "--seed", type=whole_number, default=settings.seed, help="seed of networks and games (default: %(default)s)"
        )
        task.add_argument(
            "--tasks",
            type=whole_number,
            default=number,
            help="number of tasks in the evaluation (default: %(default)s)",
        )
    given = parser.parse_args(argv)
    chosen = replace(RUN if given.task == "run" else BUY, total_steps=given.steps, seed=given.seed)
    if given.task == "run":
        learn_run(chosen, given.hearts, given.jumps, given.tasks)
    else:
        learn_buy(chosen, given.tasks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
