"""Train a PPO agent on the full game, with action masks, against itself and a league; then measure how strong it is.

``train`` can be read from top to bottom. A run is a folder::

    config.json      what was asked for
    networks.pt      what it begins with, if it does not begin at random (--warm-start)
    progress.csv     a row for each update; tensorboard/ has the same and more
    anchors.csv      the learning curve: how often it wins against fixed agents, on the same luck each time
    curve.png        the same as a picture
    league/          earlier snapshots of the policy, which it plays against
    checkpoints/     to go on from when the run was stopped (--resume)
    policy/          the trained policy, for the agent ppo:path=.../policy; from the first measurement on
    report.json      how long it took and on what, and the evaluation
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn, track
from rich.table import Table
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, TensorBoardOutputFormat

from agents.ppo import ACTIVATIONS, CHAMPION, Layer, PPOAgent, save_policy
from experiments.all_seats import AllSeatsPPO
from experiments.checkpoints import checkpoints, last_networks, load_checkpoint, remove_unfinished, save_checkpoint
from experiments.evaluate import CONFIDENCE, evaluate
from experiments.league import League
from experiments.learning_curves import ANCHOR_COLUMNS, CurveFile, UpdateRows, write_curve
from experiments.output import say, screen, versions, write_json
from experiments.self_play import SelfPlay
from experiments.train_config import ITSELF, PRESETS, SNAPSHOTS, TrainConfig, shares_text

RECENT_GAMES = 1000
"""The win share that is shown while training is that of the learner's seats in so many last games or more."""

ANCHORS = ("threshold", "planner")
"""The agents that the policy is measured against while it learns, each in all the other seats."""

YARDSTICKS = ("random", *ANCHORS)
"""The same at the end, and the policy that comes with this package."""

NETWORKS = "networks.pt"

PARTS = ("engine", "opponents", "encoding", "roll-out", "update", "saving", "measuring")


def train(config: TrainConfig) -> Path:
    """Train from the beginning.

    Returns:
        The folder of the trained policy.

    Raises:
        FileExistsError: the run's folder is there already.
        ValueError: the run to begin with (``warm_start``) cannot be read, or has other networks.
    """
    folder = Path(config.folder)
    if folder.exists():
        raise FileExistsError(17, "there is a run already; name another folder, or go on with --resume", str(folder))
    try:  # no folder for agents that are none
        League(config.opponents, config.snapshots_kept, folder / "league").pool()
    except ValueError as error:
        raise ValueError(f"opponents: {error}; beside agents there are {ITSELF} and {SNAPSHOTS}") from error
    networks = _networks_of(Path(config.warm_start), config) if config.warm_start else None
    beside = folder.with_name(f".{folder.name}.part")  # where there is a run, it can be resumed
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    write_json(beside / "config.json", config.to_dict())
    if networks is not None:
        torch.save(networks, beside / NETWORKS)
    beside.rename(folder)
    return _train(config, folder)


def resume(folder: str | Path) -> Path:
    """Go on with a run that was stopped, from its last checkpoint, exactly as it would have gone on.

    Returns:
        The folder of the trained policy.

    Raises:
        ValueError: there is no such run, or it cannot be read.
    """
    folder = Path(folder)
    return _train(_config_of(folder), folder)


def _config_of(folder: Path) -> TrainConfig:
    try:
        return TrainConfig.from_dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except OSError as error:
        raise ValueError(f"{folder} is no training run: its config.json cannot be read ({error.strerror})") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{folder} is no training run to go on with: {error}") from error


def _networks_of(folder: Path, config: TrainConfig) -> dict[str, torch.Tensor]:
    """The last networks of another run, for one with this configuration."""
    theirs = _config_of(folder)
    if (theirs.hidden, theirs.activation) != (config.hidden, config.activation):
        raise ValueError(
            f"warm_start is {folder}, a run with hidden layers {theirs.hidden} and {theirs.activation}; "
            f"this run must have the same, and not {config.hidden} and {config.activation}"
        )
    return last_networks(folder)


def _train(config: TrainConfig, folder: Path) -> Path:
    try:
        with FileLock(folder / ".lock", timeout=0):
            return _train_alone(config, folder)
    except Timeout as error:
        raise ValueError(f"another process is training in {folder}") from error


def _train_alone(config: TrainConfig, folder: Path) -> Path:
    remove_unfinished(folder)
    model, training = start(config, folder)
    saved = checkpoints(folder / "checkpoints")
    if saved:
        training.take_up(load_checkpoint(saved[-1], model, training.league), model)
    elif config.warm_start:
        model.policy.load_state_dict(torch.load(folder / NETWORKS, weights_only=True))
    rows = UpdateRows(folder / "progress.csv", model.num_timesteps)
    console = screen()
    console.print(f"{folder} {f'goes on at {model.num_timesteps:,} steps' if saved else 'begins'}", highlight=False)
    console.print(settings_text(config), style="dim", highlight=False)
    logger = Logger(None, [TensorBoardOutputFormat(str(folder / "tensorboard")), rows])
    model.set_logger(logger)

    with closing(logger), closing(training.open_curve(model.num_timesteps)), training.shown():
        model.learn(config.total_steps - model.num_timesteps, callback=training, reset_num_timesteps=not saved)

    training.save(model)
    if config.anchor_games:
        write_curve(folder / "curve.png", [("this run", folder)])

    policy = training.save_policy(model, folder / "policy")
    agent = PPOAgent(policy, greedy=not config.eval_sampled)
    began = time.perf_counter()
    yardsticks = (*YARDSTICKS, "ppo") if CHAMPION.exists() else YARDSTICKS
    asked = [(yardstick, players) for yardstick in yardsticks for players in config.players if config.eval_games]
    if asked:
        console.print(f"learned; {len(asked)} evaluations of {config.eval_games:,} games follow", highlight=False)
    hidden = not console.is_terminal
    evaluations = [
        evaluate(agent, yardstick, num_players=players, games=config.eval_games).to_dict()
        for yardstick, players in track(asked, "evaluations", console=console, transient=True, disable=hidden)
    ]
    training.save_policy(model, policy, evaluations=evaluations)  # the same, with a word on how strong it is
    report = training.report(model, evaluations, time.perf_counter() - began)
    write_json(folder / "report.json", report)
    console.print(report_table(report))
    spec = f"ppo:path={policy}{',greedy=False' if not agent.greedy else ''}"
    console.print(f"the policy is at {policy}; as an agent it is {spec}", style="dim", highlight=False)
    pictures = " and curve.png" if config.anchor_games else ""
    console.print(f"all that is above is in {folder}: report.json{pictures}", style="dim", highlight=False)
    return policy


def start(config: TrainConfig, folder: Path) -> tuple[AllSeatsPPO, Training]:
    """A learner with its games, and what goes on beside the learning."""
    torch.set_num_threads(config.threads)
    # Masked probabilities sum to 1 but for rounding; torch's check of its arguments takes that for an error at times.
    torch.distributions.Distribution.set_default_validate_args(False)
    league = League(config.opponents, config.snapshots_kept, folder / "league")
    games = SelfPlay(
        config.game_configs(),
        config.num_envs,
        opponents=league.pool(),
        alike=config.alike,
        reward=config.reward_function(),
        seed=config.seed,
    )
    model = AllSeatsPPO(
        games,
        config.rollout,
        learning_rate=lambda progress_remaining: config.learning_rate * progress_remaining,
        batch_size=config.batch_size,
        n_epochs=config.n_epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip_range,
        ent_coef=config.ent_coef,
        vf_coef=config.vf_coef,
        max_grad_norm=config.max_grad_norm,
        policy_kwargs=network(config),
        device="cpu",
        seed=config.seed,
    )
    return model, Training(config, folder, league)


def network(config: TrainConfig) -> dict[str, Any]:
    """The networks and their optimiser, as Stable-Baselines3's ``policy_kwargs``."""
    return {
        "net_arch": {"pi": list(config.hidden), "vf": list(config.hidden)},
        "activation_fn": ACTIVATIONS[config.activation],
        "optimizer_kwargs": {"fused": True},
    }


def policy_layers(model: AllSeatsPPO) -> list[Layer]:
    """The linear layers from the observation to the logits of the actions."""
    policy = model.policy
    linear = [module for module in policy.mlp_extractor.policy_net if isinstance(module, torch.nn.Linear)]
    return [(layer.weight, layer.bias) for layer in (*linear, policy.action_net)]


class Training(BaseCallback):
    """What goes on beside the learning: the league grows, checkpoints are saved, and somebody may be watching.

    Everything that changes what is learned goes by the number of steps, so a run can be repeated and resumed exactly.

    Attributes:
        league: who the learner plays against.
        seconds: what was spent so far, by ``PARTS``.
    """

    def __init__(self, config: TrainConfig, folder: Path, league: League) -> None:
        super().__init__()
        self._config = config
        self._folder = folder
        self.league = league
        self._next_snapshot = config.snapshot_every
        self._next_checkpoint = config.checkpoint_every
        self._next_anchor = config.anchor_every
        self._recent: deque[list[float]] = deque(maxlen=RECENT_GAMES)  # win share, coins and rounds of a seat's game
        self._played = 0
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._cpu_seconds = 0.0  # of all threads, without the measuring
        self._logged: dict[str, float] = {}  # of the last update before the checkpoint, for the next row of the curve
        self._steps_begun = 0
        self._bar = Progress(disable=True)
        self._console = screen()

    # ------------------------------------------------------------------------------------------ called by the learner

    def _on_training_start(self) -> None:
        self._clock, self._cpu_clock = time.perf_counter(), time.process_time()
        self._games_seconds = dict(self.model.games.seconds)
        self._began = self._clock
        self._steps_begun = self.model.num_timesteps
        for name, value in self._logged.items():
            self.logger.record(name, value)

    def _on_rollout_start(self) -> None:
        """Between two updates: whoever stops here can go on exactly."""
        self._lap("update")
        steps, config = self.model.num_timesteps, self._config
        self.model.ent_coef = config.ent_coef * (1 - steps / config.total_steps)
        if steps >= self._next_snapshot:
            self._next_snapshot += config.snapshot_every
            self.add_snapshot(self.model, steps)
        self.model.games.set_opponents(self.league.pool())
        if steps >= self._next_anchor:
            self._next_anchor += config.anchor_every
            self._lap("saving")
            self.measure(self.model)
            self._lap("measuring")
        if steps >= self._next_checkpoint:
            self._next_checkpoint += config.checkpoint_every
            self.save(self.model)
            self._tell()
        self._lap("saving")

    def _on_step(self) -> bool:
        moment = self.model.moment
        self._recent.extend(moment.results.tolist())
        self._played += len(moment.results)
        for opponent in moment.opponents:
            self.league.note(*opponent)
        if not self._bar.disable:
            self._bar.update(self._bar.task_ids[0], completed=self.model.num_timesteps, **self._shown_now())
        return True

    def _on_rollout_end(self) -> None:
        seconds = dict(self.model.games.seconds)
        for part, spent in seconds.items():
            self.seconds[part] += spent - self._games_seconds[part]
            self.seconds["roll-out"] -= spent - self._games_seconds[part]  # what follows counts it once more
        self._games_seconds = seconds
        self._lap("roll-out")
        if self._recent:
            win_share, coins, rounds = np.mean(self._recent, axis=0)
            self.logger.record("rollout/win_share", win_share)
            self.logger.record("rollout/coins", coins)
            self.logger.record("rollout/rounds", rounds)
        self.logger.record("rollout/played", self._played)
        self.logger.record("rollout/illegal_actions", self.model.illegal_actions)
        for kind, surprise in self.model.surprise.items():
            self.logger.record(f"entropy/{kind}", surprise)
        self.logger.record("league/snapshots", len(self.league.strengths))
        self.logger.record("league/hardest", max(self.league.strengths.values(), default=0.0))
        spent = self._learning_seconds()
        self.logger.record("speed/steps_per_second", self.model.num_timesteps / spent)
        for part, own in self.seconds.items():
            self.logger.record(f"speed/{part}", own / spent)

    def _on_training_end(self) -> None:
        self._lap("update")
        if self._config.anchor_games and self._next_anchor <= self._config.total_steps:
            self.measure(self.model)
            self._next_anchor = self._config.total_steps + 1  # not once more if a run that is over is resumed
            self._lap("measuring")

    def _lap(self, part: str) -> None:
        now, cpu_now = time.perf_counter(), time.process_time()
        self.seconds[part] += now - self._clock
        if part != "measuring":
            self._cpu_seconds += cpu_now - self._cpu_clock
        self._clock, self._cpu_clock = now, cpu_now

    def _learning_seconds(self) -> float:
        """What was spent on all parts but the measuring."""
        return sum(spent for part, spent in self.seconds.items() if part != "measuring")

    # ------------------------------------------------------------------------------------------ how strong it is

    def open_curve(self, steps: int) -> CurveFile:
        """The file of the learning curve, without what was lost after so many steps."""
        self._curve = CurveFile(self._folder / "anchors.csv", ANCHOR_COLUMNS, steps)
        return self._curve

    def measure(self, model: AllSeatsPPO) -> None:
        """Let the policy as it is now, greedy, play against the fixed agents, on the same luck each time."""
        if not self._config.anchor_games:
            return
        agent = PPOAgent(self.save_policy(model, self._folder / "policy"), greedy=True)
        now = [model.num_timesteps, self._learning_seconds(), self._cpu_seconds]
        for anchor in ANCHORS:
            for players in self._config.players:
                found = evaluate(agent, anchor, num_players=players, games=self._config.anchor_games)
                low, high = found.interval
                self._curve.write([*now, players, anchor, found.win_share, low, high])
                self.logger.record(f"anchors/{anchor}_{players}", found.win_share)

    # ------------------------------------------------------------------------------------------ league and checkpoints

    def add_snapshot(self, model: AllSeatsPPO, steps: int) -> None:
        """Let the policy as it is now into the league."""
        name = f"{steps:012d}"
        self.save_policy(model, self.league.path(name))
        self.league.add(name)

    def save_policy(self, model: AllSeatsPPO, path: Path, **provenance: Any) -> Path:
        """Save the policy as it is now, for ``PPOAgent``."""
        config = self._config.to_dict()
        del config["folder"]  # says nothing about the policy
        provenance |= {"made by": "megaland train", "config": config, "versions": versions()}
        return save_policy(
            path,
            policy_layers(model),
            activation=self._config.activation,
            provenance=provenance | {"steps": model.num_timesteps},
        )

    def save(self, model: AllSeatsPPO) -> None:
        """Save a checkpoint."""
        extra = {
            "next_snapshot": self._next_snapshot,
            "next_checkpoint": self._next_checkpoint,
            "next_anchor": self._next_anchor,
            "recent": list(self._recent),
            "played": self._played,
            "illegal_actions": model.illegal_actions,
            "seconds": self.seconds,
            "cpu_seconds": self._cpu_seconds,
            "logged": {name: float(value) for name, value in self.logger.name_to_value.items()},
        }
        save_checkpoint(self._folder / "checkpoints", model, self.league, extra)

    def take_up(self, extra: Mapping[str, Any], model: AllSeatsPPO) -> None:
        """Go on from what ``save`` saved."""
        model.illegal_actions = extra["illegal_actions"]
        self._next_snapshot = extra["next_snapshot"]
        self._next_checkpoint = extra["next_checkpoint"]
        self._next_anchor = extra["next_anchor"]
        self._recent.extend(extra["recent"])
        self._played = extra["played"]
        self.seconds = dict(extra["seconds"])
        self._cpu_seconds = extra["cpu_seconds"]
        self._logged = dict(extra["logged"])

    # ------------------------------------------------------------------------------------------ for who is watching

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show a progress bar on a terminal, and lines at the checkpoints elsewhere."""
        self._bar = Progress(
            TextColumn("{task.completed:,} of {task.total:,} steps"),
            BarColumn(bar_width=10),
            TextColumn("{task.fields[speed]} steps/s"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("wins {task.fields[win_share]}"),
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
            "opponents": self.league.describe(),
        }

    def _tell(self) -> None:
        if not self._console.is_terminal:
            now = self._shown_now()
            self._console.print(
                f"{self.model.num_timesteps:,} steps, {now['speed']} steps/s, "
                f"win share {now['win_share']} against {now['opponents']}",
                highlight=False,
            )

    def report(
        self, model: AllSeatsPPO, evaluations: list[dict[str, Any]], evaluation_seconds: float
    ) -> dict[str, Any]:
        """What ``report.json`` holds."""
        seconds = self._learning_seconds()
        return {
            "config": self._config.to_dict(),
            "steps": model.num_timesteps,
            "seats_played": self._played,
            "illegal_actions": model.illegal_actions,
            "seconds": seconds,
            "steps_per_second": model.num_timesteps / seconds,
            "cpu_seconds": self._cpu_seconds,
            "seconds_by_part": self.seconds,
            "evaluations": evaluations,
            "evaluation_seconds": evaluation_seconds,
            "versions": versions(),
        }


def settings_text(config: TrainConfig) -> str:
    """The configuration on a few lines: ``seed 0, threads 1, ...``."""

    def text(value: Any) -> str:
        if isinstance(value, Mapping):
            return shares_text(value)
        return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)

    settings = {each.name: getattr(config, each.name) for each in fields(config)}
    del settings["folder"]
    return ", ".join(f"{name} {text(value)}" for name, value in settings.items() if value != "")


def report_table(report: Mapping[str, Any]) -> Table:
    """A report for the screen."""
    table = Table(title="training", title_justify="left")
    table.add_column("what")
    table.add_column("value", justify="right")
    table.add_row("steps", f"{report['steps']:,}")
    table.add_row("games of the learner's seats", f"{report['seats_played']:,}")
    table.add_row("illegal actions", f"{report['illegal_actions']}")
    table.add_row("time", f"{report['seconds']:.0f} s")
    for part, seconds in report["seconds_by_part"].items():
        name = "roll-out, the rest" if part == "roll-out" else part
        share = "not counted" if part == "measuring" else f"{seconds / report['seconds']:.0%}"
        table.add_row(f"  {name}", f"{seconds:.0f} s, {share}")
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
        help="quick (the defaults), standard or long",
    )
    for each in fields(TrainConfig):
        option, default = f"--{each.name.replace('_', '-')}", each.default
        text = each.metadata["help"].replace("%", "%%")
        if each.name == "folder":
            parser.add_argument(option, help=text)
        elif isinstance(default, bool):
            parser.add_argument(option, action="store_true", default=None, help=text)
        elif each.name == "opponents":
            parser.add_argument(option, nargs="+", metavar="NAME=SHARE", help=text)
        elif isinstance(default, tuple):
            shown = ",".join(map(str, default))
            kind = type(default[0])
            parser.add_argument(option, type=_list_of(kind), metavar="A,...", help=f"{text} ({shown})")
        else:
            shown = f" ({default})" if default != "" else ""
            parser.add_argument(option, type=type(default), help=f"{text}{shown}")


def _list_of(kind: type) -> Callable[[str], tuple[Any, ...]]:
    def several(text: str) -> tuple[Any, ...]:
        try:
            return tuple(kind(each) for each in text.split(","))
        except ValueError:
            what = {int: "whole numbers", str: "words"}[kind]
            raise argparse.ArgumentTypeError(f"{text!r} must be {what} with commas between them") from None

    return several


def _shares(words: list[str]) -> dict[str, float]:
    """Opponents with their shares, from words like ``planner=0.2`` (a name may have ``=`` in it)."""
    shares = {}
    for word in words:
        name, _, share = word.rpartition("=")
        try:
            again = name in shares
            shares[name] = float(share)
        except ValueError:
            name = ""
        if not name or ("," in name and ":" not in name):  # parameters of an agent may have commas
            raise ValueError(
                f"--opponents {word!r}: it must be a name and a share, as in planner=0.2, or several of them"
            )
        if again:
            raise ValueError(f"--opponents names {name!r} twice; each has one share")
    return shares


def run(arguments: argparse.Namespace) -> int:
    """Train, or go on training."""
    given = {each.name: getattr(arguments, each.name) for each in fields(TrainConfig)}
    given = {name: value for name, value in given.items() if value is not None}
    if "opponents" in given:
        given["opponents"] = _shares(given["opponents"])
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
        saved = checkpoints(Path(folder) / "checkpoints")
        steps = f"from the checkpoint at {int(saved[-1].name):,} steps" if saved else "from the beginning"
        say(f"to go on {steps}: megaland train --resume {folder}", error=True)
        raise
    return 0


def _free_folder() -> str:
    number = 1
    while (folder := Path("runs", f"ppo-{number}")).exists():
        number += 1
    return str(folder)
