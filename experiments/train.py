"""Train a PPO agent on the full game, with action masks, against a league; then measure how strong it is.

``train`` can be read from top to bottom. A run is a folder::

    config.json      what was asked for
    progress.csv     the learning curve, a row for each update; tensorboard/ has the same and more
    league/          earlier snapshots of the policy, which it plays against
    checkpoints/     to go on from when the run was stopped (--resume)
    policy/          the trained policy, for the agent ppo:path=.../policy
    report.json      how long it took and on what, and the evaluation
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter, Logger, TensorBoardOutputFormat

from agents.ppo import ACTIVATIONS, Layer, PPOAgent, save_policy
from experiments.checkpoints import checkpoints, load_checkpoint, save_checkpoint
from experiments.evaluate import CONFIDENCE, evaluate
from experiments.league import League
from experiments.output import screen, versions, write_json, write_text
from megaland_env import MegalandConfig
from megaland_env.envs.sb3_vec_env import MegalandVecEnv
from megaland_env.rewards import Reward, Shaped, make_reward

RECENT_GAMES = 1000
"""The win share that is shown while training is that of so many last games."""

YARDSTICKS = ("random", "threshold", "planner")
"""The agents that the trained policy is measured against, each in all the other seats."""


def _option(default: Any, help: str) -> Any:
    """A field of the configuration, with the help of its command line option."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class TrainConfig:
    """What ``train`` is asked for; each field says what it is, and is an option of ``megaland train``."""

    folder: str = field(
        metadata={"help": "of the run; it must not exist (the first free of runs/ppo-1, runs/ppo-2, ...)"}
    )
    total_steps: int = _option(2_000_000, "decisions of the learner in all")
    players: tuple[int, ...] = _option((4,), "at the table; several numbers train at tables of each size at once")
    seed: int = _option(0, "of the networks, the games and the luck of the learner")
    threads: int = _option(2, "of PyTorch, one for each core that is free")

    num_envs: int = _option(4096, "games at once; the engine is the faster the more there are")
    n_steps: int = _option(8, "decisions in each game between two updates")
    batch_size: int = _option(1024, "decisions in each gradient step")
    n_epochs: int = _option(4, "passes over the decisions in each update")
    learning_rate: float = _option(1e-3, "at the beginning; it falls linearly to 0")
    gamma: float = _option(1.0, "discount per decision")
    gae_lambda: float = _option(0.95, "of the generalised advantage estimate")
    clip_range: float = _option(0.2, "of the probability ratio")
    ent_coef: float = _option(0.005, "weight of the entropy bonus at the beginning; it falls linearly to 0")
    vf_coef: float = _option(0.5, "weight of the value loss")
    max_grad_norm: float = _option(0.5, "longest gradient")
    hidden: tuple[int, ...] = _option((128, 128), "hidden layers of the policy network, and of the value network")
    activation: str = _option("relu", "between the layers: tanh or relu")
    reward: str = _option("shaped", "win, coins or shaped (with the same discount)")

    random_weight: float = _option(0.1, "how often an opponent is the random agent, compared with the other weights")
    threshold_weight: float = _option(0.4, "the same for the threshold agent")
    planner_weight: float = _option(0.0, "the same for the planner, which plays well and takes longer")
    snapshot_weight: float = _option(0.5, "the same for an earlier snapshot of the learner, whichever of them")
    snapshot_every: int = _option(200_000, "decisions between two snapshots")
    snapshots_kept: int = _option(5, "in the league; the oldest leaves")

    checkpoint_every: int = _option(500_000, "decisions between two checkpoints")
    eval_games: int = _option(4000, "in each evaluation at the end; 0 for none")
    eval_sampled: bool = _option(False, "evaluate actions drawn by their probabilities, not the most likely ones")

    def __post_init__(self) -> None:
        for name in ("total_steps", "threads", "num_envs", "n_steps", "batch_size", "n_epochs", "snapshot_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"activation is {self.activation!r}; it must be one of {', '.join(ACTIVATIONS)}")
        self.game_configs()
        self.reward_function()

    def game_configs(self) -> list[MegalandConfig]:
        """The full game at each size of table."""
        return [MegalandConfig(num_players=players) for players in self.players]

    def reward_function(self) -> Reward:
        """The reward, with the learner's discount if it has one."""
        return Shaped(self.gamma) if self.reward == "shaped" else make_reward(self.reward)

    def to_dict(self) -> dict[str, Any]:
        """The fields as ``json.dumps`` takes them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainConfig:
        """The reverse of ``to_dict``.

        Raises:
            ValueError: a field is unknown or has no meaning.
        """
        unknown = set(values) - {each.name for each in fields(cls)}
        if unknown:
            raise ValueError(f"a training run has no field {sorted(unknown)[0]!r}")
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


_ALL_TABLES: dict[str, Any] = {
    "players": (2, 3, 4, 5),
    "random_weight": 0.05,
    "threshold_weight": 0.15,
    "planner_weight": 0.3,
    "snapshot_every": 1_000_000,
    "checkpoint_every": 1_000_000,
}

PRESETS: dict[str, dict[str, Any]] = {
    "quick": {},
    "standard": _ALL_TABLES | {"total_steps": 10_000_000},
    "long": _ALL_TABLES | {"total_steps": 40_000_000},
}
"""What each preset changes of the defaults of ``TrainConfig``. On two cores ``quick`` takes some six minutes."""


def train(config: TrainConfig) -> Path:
    """Train from the beginning.

    Returns:
        The folder of the trained policy.

    Raises:
        FileExistsError: the run's folder is there already.
    """
    folder = Path(config.folder)
    if folder.exists():
        raise FileExistsError(17, "there is a run already; name another folder, or go on with --resume", str(folder))
    folder.mkdir(parents=True)
    write_json(folder / "config.json", config.to_dict())
    return _train(config, folder)


def resume(folder: str | Path) -> Path:
    """Go on with a run that was stopped, from its last checkpoint, exactly as it would have gone on.

    Returns:
        The folder of the trained policy.

    Raises:
        ValueError: there is no such run, or it cannot be read.
    """
    folder = Path(folder)
    try:
        config = TrainConfig.from_dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise ValueError(f"{folder} is no training run to go on with: {error}") from error
    return _train(config, folder)


def _train(config: TrainConfig, folder: Path) -> Path:
    torch.set_num_threads(config.threads)
    env = MegalandVecEnv(config.game_configs(), config.num_envs, reward=config.reward_function(), seed=config.seed)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=lambda progress_remaining: config.learning_rate * progress_remaining,
        n_steps=config.n_steps,
        batch_size=config.batch_size,
        n_epochs=config.n_epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip_range,
        ent_coef=config.ent_coef,
        vf_coef=config.vf_coef,
        max_grad_norm=config.max_grad_norm,
        policy_kwargs={
            "net_arch": {"pi": list(config.hidden), "vf": list(config.hidden)},
            "activation_fn": ACTIVATIONS[config.activation],
        },
        device="cpu",
        seed=config.seed,
    )
    league = League(
        {"random": config.random_weight, "threshold": config.threshold_weight, "planner": config.planner_weight},
        config.snapshot_weight,
        config.snapshots_kept,
        folder / "league",
    )
    training = Training(config, folder, env, league)

    saved = checkpoints(folder / "checkpoints")
    if saved:
        training.take_up(load_checkpoint(saved[-1], model, env, league))
    else:
        if not league.pool():
            training.add_snapshot(model, 0)  # it begins against itself
        env.set_opponents(league.pool())
    curve = LearningCurve(folder / "progress.csv", model.num_timesteps)
    logger = Logger(None, [TensorBoardOutputFormat(str(folder / "tensorboard")), curve])
    model.set_logger(logger)

    with closing(logger), training.shown():
        model.learn(config.total_steps - model.num_timesteps, callback=training, reset_num_timesteps=not saved)

    training.save(model)

    policy = training.save_policy(model, folder / "policy")
    agent = PPOAgent(policy, greedy=not config.eval_sampled)
    began = time.perf_counter()
    evaluations = [
        evaluate(agent, yardstick, num_players=players, games=config.eval_games).to_dict()
        for yardstick in YARDSTICKS
        for players in config.players
        if config.eval_games
    ]
    training.save_policy(model, policy, evaluations=evaluations)  # the same, with a word on how strong it is
    report = training.report(model, evaluations, time.perf_counter() - began)
    write_json(folder / "report.json", report)
    console = screen()
    console.print(report_table(report))
    spec = f"ppo:path={policy}{',greedy=True' if agent.greedy else ''}"
    console.print(f"the policy is at {policy}; as an agent it is {spec}", style="dim", highlight=False)
    return policy


def policy_layers(model: MaskablePPO) -> list[Layer]:
    """The linear layers from the observation to the logits of the actions."""
    policy = model.policy
    linear = [module for module in policy.mlp_extractor.policy_net if isinstance(module, torch.nn.Linear)]
    return [(layer.weight, layer.bias) for layer in (*linear, policy.action_net)]


class Training(BaseCallback):
    """What goes on beside the learning: the league grows, checkpoints are saved, and somebody may be watching.

    Everything that changes what is learned goes by the number of steps, so a run can be repeated and resumed exactly.
    """

    def __init__(self, config: TrainConfig, folder: Path, env: MegalandVecEnv, league: League) -> None:
        super().__init__()
        self._config = config
        self._folder = folder
        self._env = env
        self._league = league
        self._next_snapshot = config.snapshot_every
        self._next_checkpoint = config.checkpoint_every
        self._recent: deque[list[float]] = deque(maxlen=RECENT_GAMES)  # win share, coins and rounds of a game
        self._games = 0
        self._seconds = dict.fromkeys(("engine", "opponents", "encoding", "roll-out", "update", "saving"), 0.0)
        self._logged: dict[str, float] = {}  # of the last update before the checkpoint, for the next row of the curve
        self._steps_begun = 0
        self._bar = Progress(disable=True)
        self._console = screen()

    # ------------------------------------------------------------------------------------------ called by the learner

    def _on_training_start(self) -> None:
        self._clock = time.perf_counter()
        self._env_seconds = self._env.seconds
        self._began = self._clock
        self._steps_begun = self.num_timesteps
        for name, value in self._logged.items():
            self.logger.record(name, value)

    def _on_rollout_start(self) -> None:
        """Between two updates: whoever stops here can go on exactly."""
        self._lap("update")
        progress_remaining = 1 - self.num_timesteps / self._config.total_steps
        self.model.ent_coef = self._config.ent_coef * progress_remaining
        if self.num_timesteps >= self._next_snapshot:
            self._next_snapshot += self._config.snapshot_every
            self.add_snapshot(self.model, self.num_timesteps)
            self._env.set_opponents(self._league.pool())
        if self.num_timesteps >= self._next_checkpoint:
            self._next_checkpoint += self._config.checkpoint_every
            self.save(self.model)
            self._tell()
        self._lap("saving")

    def _on_step(self) -> bool:
        for game in np.flatnonzero(self.locals["dones"]):
            info = self.locals["infos"][game]
            self._recent.append([info["win_share"], info["coins"], info["rounds"]])
            self._games += 1
        if not self._bar.disable:
            self._bar.update(self._bar.task_ids[0], completed=self.num_timesteps, **self._shown_now())
        return True

    def _on_rollout_end(self) -> None:
        seconds = self._env.seconds
        for part, spent in seconds.items():
            self._seconds[part] += spent - self._env_seconds[part]
            self._seconds["roll-out"] -= spent - self._env_seconds[part]  # what follows counts it once more
        self._env_seconds = seconds
        self._lap("roll-out")
        if self._recent:
            win_share, coins, rounds = np.mean(self._recent, axis=0)
            self.logger.record("rollout/win_share", win_share)
            self.logger.record("rollout/coins", coins)
            self.logger.record("rollout/rounds", rounds)
        self.logger.record("rollout/games", self._games)
        self.logger.record("league/snapshots", len(self._league.snapshots))

    def _on_training_end(self) -> None:
        self._lap("update")

    def _lap(self, part: str) -> None:
        now = time.perf_counter()
        self._seconds[part] += now - self._clock
        self._clock = now

    # ------------------------------------------------------------------------------------------ league and checkpoints

    def add_snapshot(self, model: MaskablePPO, steps: int) -> None:
        """Let the policy as it is now into the league."""
        name = f"{steps:012d}"
        self.save_policy(model, self._league.path(name))
        self._league.add(name)

    def save_policy(self, model: MaskablePPO, path: Path, **provenance: Any) -> Path:
        """Save the policy as it is now, for ``PPOAgent``."""
        provenance |= {"made by": "megaland train", "config": self._config.to_dict(), "versions": versions()}
        return save_policy(
            path,
            policy_layers(model),
            activation=self._config.activation,
            provenance=provenance | {"steps": model.num_timesteps},
        )

    def save(self, model: MaskablePPO) -> None:
        """Save a checkpoint."""
        extra = {
            "next_snapshot": self._next_snapshot,
            "next_checkpoint": self._next_checkpoint,
            "recent": list(self._recent),
            "games": self._games,
            "seconds": self._seconds,
            "logged": {name: float(value) for name, value in self.logger.name_to_value.items()},
        }
        save_checkpoint(self._folder / "checkpoints", model, self._env, self._league, extra)

    def take_up(self, extra: Mapping[str, Any]) -> None:
        """Go on from what ``save`` saved."""
        self._next_snapshot = extra["next_snapshot"]
        self._next_checkpoint = extra["next_checkpoint"]
        self._recent.extend(extra["recent"])
        self._games = extra["games"]
        self._seconds = dict(extra["seconds"])
        self._logged = dict(extra["logged"])

    # ------------------------------------------------------------------------------------------ for who is watching

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show a progress bar on a terminal, and lines at the checkpoints elsewhere."""
        self._bar = Progress(
            TextColumn("{task.completed:,} of {task.total:,} steps"),
            BarColumn(),
            TextColumn("{task.fields[speed]} steps/s"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("win share {task.fields[win_share]} against {task.fields[opponents]}"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._began = time.perf_counter()
        self._bar.add_task("", total=self._config.total_steps, **self._shown_now())
        with self._bar:
            yield

    def _shown_now(self) -> dict[str, str]:
        elapsed = time.perf_counter() - self._began
        return {
            "speed": f"{(self.num_timesteps - self._steps_begun) / max(elapsed, 1e-9):,.0f}",
            "win_share": f"{np.mean([game[0] for game in self._recent]):.3f}" if self._recent else "-",
            "opponents": self._league.describe(),
        }

    def _tell(self) -> None:
        if not self._console.is_terminal:
            now = self._shown_now()
            self._console.print(
                f"{self.num_timesteps:,} steps, {now['speed']} steps/s, "
                f"win share {now['win_share']} against {now['opponents']}",
                highlight=False,
            )

    def report(
        self, model: MaskablePPO, evaluations: list[dict[str, Any]], evaluation_seconds: float
    ) -> dict[str, Any]:
        """What ``report.json`` holds."""
        seconds = sum(self._seconds.values())
        return {
            "config": self._config.to_dict(),
            "steps": model.num_timesteps,
            "games": self._games,
            "illegal_actions": self._env.illegal_actions,
            "seconds": seconds,
            "steps_per_second": model.num_timesteps / seconds,
            "seconds_by_part": self._seconds,
            "evaluations": evaluations,
            "evaluation_seconds": evaluation_seconds,
            "versions": versions(),
        }


class LearningCurve(KVWriter):
    """Writes what the learner logs as a CSV file, a row for each update; a run that is resumed goes on with it.

    Args:
        path: of the file.
        steps: rows after so many steps are dropped; they belong to what was lost when the run was stopped.
    """

    COLUMNS = {  # noqa: RUF012
        "steps": "time/total_timesteps",
        "games": "rollout/games",
        "win_share": "rollout/win_share",
        "coins": "rollout/coins",
        "rounds": "rollout/rounds",
        "snapshots": "league/snapshots",
        "policy_loss": "train/policy_gradient_loss",
        "value_loss": "train/value_loss",
        "entropy_loss": "train/entropy_loss",
        "approx_kl": "train/approx_kl",
        "clip_fraction": "train/clip_fraction",
        "explained_variance": "train/explained_variance",
    }

    def __init__(self, path: Path, steps: int) -> None:
        header = ",".join(self.COLUMNS)
        lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
        kept = [line for line in lines if int(line.partition(",")[0]) <= steps]
        write_text(path, "\n".join([header, *kept]) + "\n")
        self._file = path.open("a", newline="", encoding="utf-8")
        self._rows = csv.DictWriter(self._file, list(self.COLUMNS), lineterminator="\n")

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Write a row."""
        values = {column: key_values.get(key, "") for column, key in self.COLUMNS.items()}
        # Of NumPy's float32 too all digits, so that a run that was resumed has the same.
        self._rows.writerow({c: float(v) if isinstance(v, np.floating) else v for c, v in values.items()})
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def report_table(report: Mapping[str, Any]) -> Table:
    """A report for the screen."""
    table = Table(title="training", title_justify="left")
    table.add_column("what")
    table.add_column("value", justify="right")
    table.add_row("steps", f"{report['steps']:,}")
    table.add_row("games", f"{report['games']:,}")
    table.add_row("illegal actions", f"{report['illegal_actions']}")
    table.add_row("time", f"{report['seconds']:.0f} s")
    for part, seconds in report["seconds_by_part"].items():
        name = "roll-out, the rest" if part == "roll-out" else part
        table.add_row(f"  {name}", f"{seconds:.0f} s, {seconds / report['seconds']:.0%}")
    table.add_row("steps/s", f"{report['steps_per_second']:,.0f}")
    table.add_row("time of the evaluation", f"{report['evaluation_seconds']:.0f} s")
    for evaluation in report["evaluations"]:
        settings, results = evaluation["settings"], evaluation["results"]
        low, high = results["interval"]
        table.add_row(
            f"win share against {settings['config']['num_players'] - 1} {settings['opponents'][0]}",
            f"{results['win_share']:.4f} ({CONFIDENCE:.0%}: {low:.4f} to {high:.4f}; par {results['par']:.2f})",
        )
    return table


# ------------------------------------------------------------------------------------------------------ the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``megaland train``: one for each field of ``TrainConfig``, ``--preset`` and ``--resume``."""
    parser.add_argument(
        "--resume", metavar="RUN", help="go on with the run in this folder; no other option may be given"
    )
    parser.add_argument(
        "--preset",
        choices=PRESETS,
        help="quick: the defaults; standard and long: one policy for 2 to 5 players, against the planner, too",
    )
    for each in fields(TrainConfig):
        option, default = f"--{each.name.replace('_', '-')}", each.default
        text = each.metadata["help"].replace("%", "%%")
        if each.name == "folder":
            parser.add_argument(option, help=text)
        elif isinstance(default, bool):
            parser.add_argument(option, action="store_true", default=None, help=text)
        elif isinstance(default, tuple):
            shown = ",".join(map(str, default))
            parser.add_argument(option, type=_numbers, metavar="N,...", help=f"{text} ({shown})")
        else:
            parser.add_argument(option, type=type(default), help=f"{text} ({default})")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def run(arguments: argparse.Namespace) -> int:
    """Train, or go on training."""
    given = {each.name: getattr(arguments, each.name) for each in fields(TrainConfig)}
    given = {name: value for name, value in given.items() if value is not None}
    if arguments.resume is not None:
        if arguments.preset is not None:
            raise ValueError("--preset cannot be changed when a run is resumed")
        if given:
            raise ValueError(f"--{next(iter(given)).replace('_', '-')} cannot be changed when a run is resumed")
        folder = arguments.resume
    else:
        folder = given.setdefault("folder", _free_folder())
    try:
        if arguments.resume is not None:
            resume(folder)
        else:
            train(TrainConfig(**PRESETS.get(arguments.preset, {}) | given))
    except KeyboardInterrupt:
        print(f"to go on: megaland train --resume {folder}", file=sys.stderr)
        raise
    return 0


def _free_folder() -> str:
    number = 1
    while (folder := Path("runs", f"ppo-{number}")).exists():
        number += 1
    return str(folder)
