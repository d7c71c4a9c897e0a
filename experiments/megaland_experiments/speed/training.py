"""Measure how fast training is, and how much of its time the game takes.

``python -m megaland_experiments.speed.training`` runs the same learner, network and batch sizes twice: in games
(``megaland train``), and as plain MaskablePPO on an environment that takes no time, which gives the upper bound for any
environment.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from rich.table import Table
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from megaland_env import NUM_ACTIONS
from megaland_env.files import write_json
from megaland_env.observation import NUM_FEATURES
from megaland_experiments.options import Parser, path_name, whole_number
from megaland_experiments.shared.output import check_writable, screen
from megaland_experiments.shared.progress import progress_bar
from megaland_experiments.training.config import TrainConfig
from megaland_experiments.training.train import PARTS, network, start

LONG_AGO = 10**12
"""A number of steps that is never reached, to switch off what happens at intervals."""


class NothingVecEnv(VecEnv):
    """An environment that takes no time: constant random observations, all actions legal, no rewards, no end."""

    def __init__(self, num_envs: int) -> None:
        self.render_mode = None
        super().__init__(num_envs, gym.spaces.Box(-1, 1, (NUM_FEATURES,), np.float32), gym.spaces.Discrete(NUM_ACTIONS))
        self._seen = np.random.default_rng(0).uniform(-1, 1, (num_envs, NUM_FEATURES)).astype(np.float32)
        self._rewards, self._dones = np.zeros(num_envs, np.float32), np.zeros(num_envs, np.bool_)
        self._infos: list[dict[str, Any]] = [{}] * num_envs
        self._masks = np.ones((num_envs, NUM_ACTIONS), np.bool_)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Masks that allow every action."""
        return self._masks

    def reset(self) -> npt.NDArray[np.float32]:
        """The constant observations."""
        return self._seen

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        """Do nothing."""

    def step_wait(self) -> VecEnvStepReturn:
        """The constant observations, rewards and ends."""
        return self._seen, self._rewards, self._dones, self._infos

    def close(self) -> None:
        """Do nothing."""

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The attribute, the same for every environment."""
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set the attribute for all environments."""
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """Call a method once for all environments."""
        return list(getattr(self, method_name)(*args, **kwargs))

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Whether a wrapper is used: never."""
        return [False] * self.num_envs


def in_games(config: TrainConfig) -> dict[str, float]:
    """Train in games; returns the seconds of each part, and the steps per second."""
    model, training = start(config, Path(config.folder))
    model.set_logger(Logger(None, []))
    model.learn(config.total_steps, callback=training)
    return training.seconds | {"steps_per_second": model.num_timesteps / sum(training.seconds.values())}


def on_nothing(config: TrainConfig) -> float:
    """Train on ``NothingVecEnv``; returns the steps per second."""
    num_envs = min(4096, config.rollout)
    model = MaskablePPO(
        "MlpPolicy",
        NothingVecEnv(num_envs),
        n_steps=config.rollout // num_envs,
        batch_size=config.batch_size,
        n_epochs=config.n_epochs,
        policy_kwargs=network(config),
        device="cpu",
        seed=config.seed,
    )
    model.set_logger(Logger(None, []))
    began = time.perf_counter()
    model.learn(config.total_steps)
    return model.num_timesteps / (time.perf_counter() - began)


def main() -> None:
    """Measure, save, and show."""
    parser = Parser(description="Measure how fast training is, and how much of its time the game takes.")
    parser.add_argument("--steps", type=whole_number, default=300_000, help="steps in each round (%(default)s)")
    parser.add_argument(
        "--rounds", type=whole_number, default=3, help="rounds, each of which measures both (%(default)s)"
    )
    parser.add_argument("--json", type=path_name, metavar="FILE", help="write the figures to a JSON file")
    arguments = parser.parse_args()
    for name, least in (("steps", 4), ("rounds", 1)):
        if getattr(arguments, name) < least:
            parser.error(f"--{name} is {getattr(arguments, name)}; it must be at least {least}")
    try:
        if arguments.json:
            check_writable(arguments.json)
    except OSError as error:
        parser.error(str(error))
    rows = []
    with progress_bar("rounds") as progress:
        for number in range(arguments.rounds):
            progress(number, arguments.rounds)
            with tempfile.TemporaryDirectory() as folder:
                config = TrainConfig(
                    folder=folder,
                    total_steps=arguments.steps,
                    anchor_games=0,
                    checkpoint_every=LONG_AGO,
                    snapshot_every=arguments.steps // 4,
                )
                rows.append(in_games(config) | {"on_nothing": on_nothing(config)})
    median = {name: float(np.median([row[name] for row in rows])) for name in rows[0]}
    if arguments.json:
        write_json(arguments.json, {"rounds": rows, "median": median})
    whole = sum(median[part] for part in PARTS)
    table = Table(title="training, medians", title_justify="left")
    table.add_column("what")
    table.add_column("value", justify="right")
    table.add_row("steps/s in games", f"{median['steps_per_second']:,.0f}")
    for part in PARTS:
        table.add_row(f"  {part}", f"{100 * median[part] / whole:.1f} %")
    table.add_row("steps/s on an environment that takes no time", f"{median['on_nothing']:,.0f}")
    screen().print(table)


if __name__ == "__main__":
    main()
