"""Train a PPO agent on the full game, with action masks, against itself and a league; then measure how strong it is.

``train`` can be read from top to bottom. A run is a folder (run_folder.py)::

    config.json       the configuration, and the version
    networks.pt       the networks it begins with, if they are not random (--warm-start)
    progress.csv      a row for each update; tensorboard/ has the same and more
    anchors.csv       the learning curve: its win share against fixed agents, in the same games each time
    curve.png         the same as a picture
    league/           earlier snapshots of the policy, which it plays against
    checkpoints/      where it goes on after a stop (--resume)
    policy/           the trained policy, for the agent ppo:path=.../policy; from the first measurement on
    evaluations.json  the evaluations at the end, while they are made
    report.json       the time spent on each part, and the evaluations; with it the run is finished

Results are saved before anything is drawn or shown. A run that is stopped, by the first Ctrl-C or by SIGTERM, ends its
roll-out and saves a checkpoint; from there it goes on exactly as it would have without the stop.
"""

from __future__ import annotations

import argparse
import io
import re
import shlex
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.table import Table
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from megaland_agents.policy_file import WEIGHTS_FILE, PolicyError, activation_type, load_policy, save_policy
from megaland_agents.ppo import CHAMPION, PPOAgent
from megaland_agents.sb3_policy import sb3_layers
from megaland_env.agent import Agent, check_announced, names_class
from megaland_env.checks import check_whole
from megaland_env.files import FileError, digest, read_bytes, read_json, write_json
from megaland_env.seats.self_play import SelfPlay
from megaland_experiments.shared.intervals import CONFIDENCE
from megaland_experiments.shared.output import decoration, json_bytes, percent, say, screen, versions, warn
from megaland_experiments.shared.run_folder import (
    FolderError,
    FolderInUseError,
    Kind,
    RunFolder,
    Work,
    claim,
    parse_object,
    read_stored,
    reopen,
)
from megaland_experiments.strength.evaluate import Evaluation, evaluate
from megaland_experiments.training import options as train_options
from megaland_experiments.training.all_seats import AllSeatsPPO, DivergedError
from megaland_experiments.training.checkpoints import (
    CheckpointError,
    checkpoints,
    last_networks,
    load_checkpoint,
    save_checkpoint,
    set_aside,
)
from megaland_experiments.training.config import ITSELF, PRESETS, SNAPSHOTS, TrainConfig, shares_text
from megaland_experiments.training.event_file import TensorBoardFile
from megaland_experiments.training.league import League
from megaland_experiments.training.learning_curves import (
    ANCHOR_COLUMNS,
    CurveFile,
    UpdateRows,
    steps_of_rows,
    write_curve,
)
from megaland_experiments.training.progress import TrainProgress
from megaland_experiments.training.stopping import Stopped, StopRequest

RECENT_GAMES = 1000
"""Number of the learner's last games over which the win share shown while training is averaged."""

_FIGURES_OF_A_SEAT = 3  # win share, coins and rounds
_MOST_COUNT = 2**62  # of decisions or games

ANCHORS = ("threshold", "planner")
"""The agents against which the policy is measured while it learns, each in all other seats."""

YARDSTICKS = ("random", *ANCHORS)
"""The agents against which it is evaluated at the end, besides the policy that comes with this package."""

NETWORKS = "networks.pt"
EVALUATIONS = "evaluations.json"
REPORT = "report.json"
MOST_BYTES = 1 << 26
"""Larger files of a run are not read; checkpoints and curves have limits of their own."""

RUN = Kind(
    "a training run",
    "config.json",
    "megaland-training",
    beginnings=(NETWORKS,),
    written=(
        rf"(anchors|progress)\.csv|curve\.png|{re.escape(EVALUATIONS)}|policy",
        r"league/\d+",
        r"checkpoints/\d+(\.damaged)?",
    ),
    old_key="total_steps",
)
DEFAULT_FOLDER = "runs/ppo-1"

PARTS = ("engine", "opponents", "encoding", "roll-out", "update", "saving", "measuring")


def train(config: TrainConfig) -> Path:
    """Train from the beginning, or go on if the folder holds this run.

    Returns:
        The folder of the trained policy.

    Raises:
        FolderError: the folder holds something else, is damaged, or another process works in it.
        ValueError: the run to begin with (``warm_start``) cannot be read, or has other networks; an opponent cannot be
            made.
        DivergedError: the policy has diverged; the message says what to lower.
        OSError: something cannot be written; the message says how to go on.
        Stopped: a stop was requested; ``resume`` goes on exactly.
    """
    try:  # before a folder is made
        League(config.opponents, config.snapshots_kept, "").pool()
    except ValueError as error:
        raise ValueError(f"opponents: {error}; besides agents there are {ITSELF} and {SNAPSHOTS}") from error

    def prepare(_: Path, checksums: Any) -> None:
        if config.warm_start:
            content = io.BytesIO()
            torch.save(_networks_of(Path(config.warm_start), config), content)
            checksums.write(NETWORKS, content.getvalue())

    settings = config.to_dict()
    del settings["folder"]  # a run is the same wherever it lies
    with ExitStack() as stack:
        try:
            owned = stack.enter_context(
                claim(Work(RUN, settings), config.folder or None, DEFAULT_FOLDER, prepare=prepare)
            )
        except FolderInUseError:
            raise
        except FolderError as error:
            raise FolderError(f"{error}{_how_to_go_on(config)}") from error
        if owned.note:
            warn(owned.note)
        if not owned.is_new:  # the same opponents may have been typed in another order, which is another pool
            config = _config_from(owned.stored.settings, owned.path)
        return _train(replace(config, folder=str(owned.path)), owned, announced_only=False)


def resume(folder: str | Path, opponents: Mapping[str, float] | None = None) -> Path:
    """Go on with a stopped run from its last checkpoint, exactly as it would have without the stop.

    A finished run is only shown.

    Args:
        folder: the folder of the run.
        opponents: the opponents of the run, typed by a person. Without them the folder can only name announced agents,
            since any other name would execute code of whoever wrote it.

    Returns:
        The folder of the trained policy.

    Raises:
        FolderError: the folder holds no training run, or one of another version, is damaged, or in use.
        ValueError: the run cannot be read, ``opponents`` are not those of the run, or they must be given.
        DivergedError, OSError, Stopped: as in ``train``.
    """
    with reopen(RUN, folder) as owned:
        config = _config_from(owned.stored.settings, owned.path)
        if opponents is None:
            _check_opponents(config)
        elif dict(opponents) != config.opponents:
            raise ValueError(
                f"--opponents cannot be changed when a run is resumed; those of {folder} are "
                f"{shares_text(config.opponents)}"
            )
        return _train(config, owned, announced_only=opponents is None)


def _config_from(values: Mapping[str, Any], folder: Path) -> TrainConfig:
    try:
        return TrainConfig.from_dict({**values, "folder": str(folder)})
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{folder} is no training run to go on with: {error}") from error


def _check_opponents(config: TrainConfig) -> None:
    """Refuse opponents that only a person may name.

    Raises:
        ValueError: there are such opponents; the message says what to type.
    """
    for name in config.opponents:
        try:
            if name not in (ITSELF, SNAPSHOTS):
                check_announced(name)
        except ValueError as error:
            if not names_class(name):
                raise ValueError(f"{config.folder}: {error}") from error
            raise ValueError(
                f"{config.folder} has the opponent {name!r}, whose code would be executed; if you trust it, type the "
                f"opponents again: {_resume_command(config, opponents=True)}"
            ) from error


def _networks_of(folder: Path, config: TrainConfig) -> dict[str, torch.Tensor]:
    """Read the last networks of another run, for a run with this configuration."""
    stored = read_stored(folder, RUN)
    theirs = _config_from(stored.content if stored.is_old else stored.settings, folder)
    if (theirs.hidden, theirs.activation) != (config.hidden, config.activation):
        raise ValueError(
            f"warm_start is {folder}, a run with hidden layers {theirs.hidden} and {theirs.activation}; "
            f"this run must have the same, and not {config.hidden} and {config.activation}"
        )
    return last_networks(folder)


def _train(config: TrainConfig, owned: RunFolder, *, announced_only: bool) -> Path:
    """Learn, save and evaluate, as far as it is not done yet."""
    folder = owned.path
    console = screen()
    finished = _finished_report(config, owned)
    if finished is not None:
        with decoration("heading"):
            console.print(f"{folder} is finished; this is its report", highlight=False)
        _draw_curve(config, folder, again=False)
        _show_report(config, finished)
        return folder / "policy"

    stop = StopRequest("stopping after this roll-out and a checkpoint")
    try:
        with stop.listening():
            return _learn_and_evaluate(config, owned, stop, announced_only=announced_only)
    except DivergedError as error:
        raise DivergedError(f"{error}. {_what_to_lower(config)}") from error
    except OSError as error:
        reason = f"{error.strerror or error}; to go on: {_resume_command(config)}"
        raise OSError(error.errno, reason, str(error.filename or folder)) from error
    except KeyboardInterrupt:
        say(f"to go on {_where_it_goes_on(folder)}: {_resume_command(config)}", error=True)
        raise


def _learn_and_evaluate(config: TrainConfig, owned: RunFolder, stop: StopRequest, *, announced_only: bool) -> Path:
    folder = owned.path
    model, training = _ready(config, owned, stop, announced_only=announced_only)
    with closing(training), training.progress.shown():
        model.learn(
            config.total_steps - model.num_timesteps, callback=training, reset_num_timesteps=not model.num_timesteps
        )
        policy = folder / "policy"  # saved when learning had ended
        training.sync()
        _draw_curve(config, folder)
        stop.check()
        began = time.perf_counter()
        evaluations = training.evaluate(policy)
        # The same policy, with the evaluations in its provenance.
        training.save_policy(model, policy, evaluations=evaluations)
        report = training.report(model, evaluations, time.perf_counter() - began)
        owned.checksums.write(REPORT, json_bytes(report))
        (folder / EVALUATIONS).unlink(missing_ok=True)
    _show_report(config, report)
    return policy


def _ready(
    config: TrainConfig, owned: RunFolder, stop: StopRequest, *, announced_only: bool
) -> tuple[AllSeatsPPO, Training]:
    """Make the learner at the newest usable checkpoint of the run, or at its beginning."""
    folder = owned.path
    damaged: list[Path] = []
    for checkpoint in reversed(checkpoints(folder / "checkpoints")):
        model, training = start(config, folder, stop, announced_only=announced_only)
        try:
            training.resume(load_checkpoint(checkpoint, model, training.league), model)
        except CheckpointError as error:
            warn(f"{error}; the run goes on from the one before, if there is one")
            damaged.append(checkpoint)
            continue
        break
    else:
        if damaged or _had_checkpoints(config, owned):
            raise CheckpointError(
                f"none of the checkpoints in {folder / 'checkpoints'} can be used; to begin again: "
                f"{train_options.command_text(replace(config, folder=''))}"
            )
        model, training = start(config, folder, stop, announced_only=announced_only)
        if config.warm_start:
            networks = io.BytesIO(owned.checksums.read(NETWORKS, 1 << 32))
            model.policy.load_state_dict(torch.load(networks, weights_only=True))
    for checkpoint in damaged:
        warn(f"{checkpoint} is kept as {set_aside(checkpoint).name}")
    steps = model.num_timesteps
    training.open_files(model)
    training.progress.say(f"{folder} {f'goes on at {steps:,} steps' if steps else 'begins'}")
    training.progress.say(settings_text(config), wrap=True)
    return model, training


def _had_checkpoints(config: TrainConfig, owned: RunFolder) -> bool:
    """Whether a run got so far that it had checkpoints: to begin it again would remove what it has learned since."""
    if owned.has(REPORT):
        return True
    # The row of an update is written before the checkpoint that follows it.
    return sum(steps >= config.checkpoint_every for steps in steps_of_rows(owned.path / "progress.csv")) > 1


def _finished_report(config: TrainConfig, owned: RunFolder) -> dict[str, Any] | None:
    """The report of a finished run; None if the run is not finished."""
    if not owned.has(REPORT):
        return None
    report = parse_object(owned.checksums.read(REPORT, MOST_BYTES), owned.path / REPORT)
    try:
        load_policy(owned.path / "policy")
    except PolicyError as error:
        warn(f"{error}")
        if checkpoints(owned.path / "checkpoints"):
            return None  # it is made again from the last checkpoint
    return report


def _draw_curve(config: TrainConfig, folder: Path, *, again: bool = True) -> None:
    if config.anchor_games and (again or not (folder / "curve.png").exists()):
        with decoration("curve.png"):
            write_curve(folder / "curve.png", [("this run", folder)])


def _show_report(config: TrainConfig, report: Mapping[str, Any]) -> None:
    folder = Path(config.folder)
    with decoration("table of the report"):
        console = screen()
        console.print(report_table(report))
        spec = f"ppo:path={folder / 'policy'}{',greedy=False' if config.eval_sampled else ''}"
        pictures = " and curve.png" if (folder / "curve.png").exists() else ""
        lines = [f"all that is above is in {folder}: {REPORT}{pictures}"]
        if (folder / "policy").exists():
            lines.insert(0, f"the policy is at {folder / 'policy'}; as an agent it is {spec}")
        for line in lines:
            console.print(line, style="dim", highlight=False, soft_wrap=True)


def _resume_command(config: TrainConfig, *, opponents: bool = False) -> str:
    """The command that resumes a run; names of classes must be typed again."""
    typed = opponents or any(names_class(name) for name in config.opponents)
    words = ["megaland", "train", "--resume", config.folder]
    if typed:
        words += ["--opponents", *(f"{name}={share}" for name, share in config.opponents.items())]
    return shlex.join(words)


def _how_to_go_on(config: TrainConfig) -> str:
    """Advice on a named folder that holds another run of this version; empty otherwise."""
    try:
        stored = read_stored(config.folder, RUN)
        there = _config_from(stored.settings, Path(config.folder))
    except (KeyError, OSError, ValueError):
        return ""
    if stored.version != versions()["megaland"]:
        return ""
    return f"; to go on with the run that is there: {_resume_command(there)}"


def _where_it_goes_on(folder: Path) -> str:
    saved = checkpoints(folder / "checkpoints")
    return f"from the checkpoint at {int(saved[-1].name):,} steps" if saved else "from the beginning"


def _what_to_lower(config: TrainConfig) -> str:
    """Advice against divergence, with the command."""
    lower = replace(config, learning_rate=config.learning_rate / 10, folder="")
    saved = checkpoints(Path(config.folder) / "checkpoints")
    what = (
        f"Lower --learning-rate ({config.learning_rate:g}), --max-grad-norm ({config.max_grad_norm:g}) or --clip-range "
        f"({config.clip_range:g})"
    )
    if not saved:
        return f"{what}, for example: {train_options.command_text(lower)}"
    return (
        f"{what}, and begin where this run stood at its last good checkpoint, at {int(saved[-1].name):,} decisions, "
        f"for example: {train_options.command_text(replace(lower, warm_start=config.folder))}"
    )


def start(
    config: TrainConfig, folder: Path, stop: StopRequest | None = None, *, announced_only: bool = False
) -> tuple[AllSeatsPPO, Training]:
    """Make a learner with its games at the beginning of a run, and its callback."""
    torch.set_num_threads(config.threads)
    # Masked probabilities sum to 1 up to rounding, which torch's check of arguments sometimes takes for an error.
    torch.distributions.Distribution.set_default_validate_args(False)
    league = League(config.opponents, config.snapshots_kept, folder / "league", announced_only=announced_only)
    games = SelfPlay(
        config.game_configs(),
        config.num_envs,
        opponents=league.pool(),
        same_opponent_share=config.same_opponent_share,
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
    return model, Training(config, folder, league, stop)


def network(config: TrainConfig) -> dict[str, Any]:
    """The networks and their optimiser, as Stable-Baselines3's ``policy_kwargs``."""
    return {
        "net_arch": {"pi": list(config.hidden), "vf": list(config.hidden)},
        "activation_fn": activation_type(config.activation),
        "optimizer_kwargs": {"fused": True},
    }


class Training(BaseCallback):
    """The callback of a run: it adds snapshots to the league, saves checkpoints, measures, and shows the progress.

    Everything that affects learning depends on the number of steps alone, so a run can be repeated and resumed exactly.
    Snapshots, checkpoints and measurements come between two updates, at the first one after each multiple of their
    intervals; if a roll-out passes several multiples, they come once.

    Attributes:
        league: the opponents of the learner.
        seconds: seconds spent so far on each of ``PARTS``.
    """

    model: AllSeatsPPO

    def __init__(self, config: TrainConfig, folder: Path, league: League, stop: StopRequest | None = None) -> None:
        super().__init__()
        self._config = config
        self._folder = folder
        self.league = league
        self._stop = stop or StopRequest("")
        self._next_snapshot = config.snapshot_every
        self._next_checkpoint = config.checkpoint_every
        self._next_anchor = config.anchor_every
        self._recent: deque[list[float]] = deque(maxlen=RECENT_GAMES)  # win share, coins and rounds of a seat's game
        self._played = 0
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._cpu_seconds = 0.0  # of all threads, without the measuring
        self._logged: dict[str, float] = {}  # of the last update before the checkpoint, for the next row of the curve
        self._updates: UpdateRows | None = None
        self._curve: CurveFile | None = None
        self._opened = ExitStack()
        self.progress = TrainProgress(screen(), config.total_steps, 0)

    # ------------------------------------------------------------------------------------------ called by the learner

    def _on_training_start(self) -> None:
        self._clock, self._cpu_clock = time.perf_counter(), time.process_time()
        self._games_seconds = dict(self.model.games.seconds)
        self.progress.begin(self.model.num_timesteps)
        for name, value in self._logged.items():
            self.logger.record(name, value)

    def _on_rollout_start(self) -> None:
        """Do what comes between two updates. A run that stops here can go on exactly."""
        self._lap("update")
        steps, config = self.model.num_timesteps, self._config
        self.progress.updated(steps)
        self.model.ent_coef = config.ent_coef * (1 - steps / config.total_steps)
        if steps >= self._next_snapshot:
            self._next_snapshot = _next(steps, config.snapshot_every)
            self.add_snapshot(self.model, steps)
        self.model.games.set_opponents(self.league.pool())
        if self._stop.signal_number is not None:
            self.save(self.model)
            self._stop.check()
        if steps >= self._next_anchor:
            self._lap("saving")
            try:
                self.measure(self.model)
            except Stopped:  # the measurement is made when the run goes on
                self.save(self.model)
                raise
            self._next_anchor = _next(steps, config.anchor_every)
            self._lap("measuring")
        if steps >= self._next_checkpoint:
            self._next_checkpoint = _next(steps, config.checkpoint_every)
            self.save(self.model)
        self._lap("saving")

    def _on_step(self) -> bool:
        moment = self.model.moment
        assert moment is not None  # it has just been played
        self._recent.extend(moment.results.tolist())
        self._played += len(moment.results)
        for opponent in moment.opponents:
            self.league.note(*opponent)
        wins = percent(float(np.mean([game[0] for game in self._recent])), 0) if self._recent else "-"
        self.progress.learning(self.model.num_timesteps + self.model.collected, wins, self.league.describe())
        return True

    def _on_rollout_end(self) -> None:
        seconds = dict(self.model.games.seconds)
        for part, spent in seconds.items():
            self.seconds[part] += spent - self._games_seconds[part]
            self.seconds["roll-out"] -= spent - self._games_seconds[part]  # _lap adds it to the roll-out
        self._games_seconds = seconds
        self._lap("roll-out")
        if self._recent:
            win_share, coins, rounds = np.mean(self._recent, axis=0)
            self.logger.record("rollout/win_share", win_share)
            self.logger.record("rollout/coins", coins)
            self.logger.record("rollout/rounds", rounds)
        self.logger.record("rollout/played", self._played)
        self.logger.record("rollout/illegal_actions", self.model.illegal_actions)
        for kind, entropy in self.model.entropy_by_kind.items():
            self.logger.record(f"entropy/{kind}", entropy)
        self.logger.record("league/snapshots", len(self.league.strengths))
        self.logger.record("league/hardest", max(self.league.strengths.values(), default=0.0))
        spent = self._learning_seconds()
        self.logger.record("speed/steps_per_second", self.model.num_timesteps / spent)
        for part, own in self.seconds.items():
            self.logger.record(f"speed/{part}", own / spent)

    def _on_training_end(self) -> None:
        self._lap("update")
        self.progress.updated(self.model.num_timesteps)
        if self._curve is None:  # no files were opened
            return
        self.save(self.model)
        self.save_policy(self.model, self._folder / "policy")
        self._lap("saving")
        self._stop.check()
        self.measure(self.model)
        self._lap("measuring")

    def _lap(self, part: str) -> None:
        now, cpu_now = time.perf_counter(), time.process_time()
        self.seconds[part] += now - self._clock
        if part != "measuring":
            self._cpu_seconds += cpu_now - self._cpu_clock
        self._clock, self._cpu_clock = now, cpu_now

    def _learning_seconds(self) -> float:
        """Seconds spent on all parts except measuring."""
        return sum(spent for part, spent in self.seconds.items() if part != "measuring")

    # ------------------------------------------------------------------------------------------ how strong it is

    def open_files(self, model: AllSeatsPPO) -> None:
        """Open the files that grow, and drop rows after the model's number of steps."""
        steps, config = model.num_timesteps, self._config
        together = len(ANCHORS) * len(config.players)
        with ExitStack() as opened:
            self._curve = opened.enter_context(
                closing(CurveFile(self._folder / "anchors.csv", ANCHOR_COLUMNS, steps, together))
            )
            self._updates = opened.enter_context(closing(UpdateRows(self._folder / "progress.csv", steps)))
            events = opened.enter_context(closing(TensorBoardFile(self._folder / "tensorboard")))
            model.set_logger(Logger(None, [events, self._updates]))
            self._opened = opened.pop_all()
        measurements = range(self._next_anchor, config.total_steps, config.anchor_every)
        games = (len(measurements) + 1) * _rounded(config.anchor_games, config.players) * len(ANCHORS)
        games += _rounded(config.eval_games, config.players) * len(_yardsticks())
        self.progress = TrainProgress(screen(), config.total_steps, games)

    def sync(self) -> None:
        """Make the rows of the files that grow durable."""
        for file in (self._curve, self._updates):
            if file is not None:
                file.sync()

    def close(self) -> None:
        """Close the files that grow."""
        self._opened.close()

    def measure(self, model: AllSeatsPPO) -> None:
        """Let the current policy, greedy, play against the fixed agents, in the same games each time.

        Nothing happens if it was measured at this number of steps before. The rows of the curve are written together.

        Raises:
            Stopped: a stop was requested; nothing was written.
        """
        config, steps = self._config, model.num_timesteps
        if not config.anchor_games or self._curve is None or steps in self._curve.kept:
            return
        agent = PPOAgent(self.save_policy(model, self._folder / "policy"), greedy=True)
        now = [steps, self._learning_seconds(), self._cpu_seconds]
        rows: list[list[Any]] = []
        asked = [(anchor, players) for anchor in ANCHORS for players in config.players]
        with self.progress.games("measuring", _rounded(config.anchor_games, config.players) * len(ANCHORS)) as tell:
            done = 0
            for anchor, players in asked:
                found = self._evaluate(agent, anchor, players, config.anchor_games, done, tell)
                done += found.games
                rows.append([*now, players, anchor, found.win_share, *found.interval])
        self._curve.write(*rows)
        self._curve.kept.add(steps)
        for (anchor, players), row in zip(asked, rows, strict=True):
            self.logger.record(f"anchors/{anchor}_{players}", row[5])

    def evaluate(self, policy: Path) -> list[dict[str, Any]]:
        """Evaluate the trained policy. Each evaluation is saved as soon as it is made, in case the run is stopped.

        Raises:
            Stopped: a stop was requested.
        """
        config = self._config
        agent = PPOAgent(policy, greedy=not config.eval_sampled)
        asked = [(name, players) for name in _yardsticks() for players in config.players if config.eval_games]
        file, known = self._folder / EVALUATIONS, {"policy": _policy_digest(policy)}
        evaluations = _evaluations_in(file, known)[: len(asked)]
        left = asked[len(evaluations) :]
        if left:
            self.progress.say(f"learned; {len(left)} evaluations of {config.eval_games:,} games follow")
        done = sum(evaluation["settings"]["games"] for evaluation in evaluations)
        with self.progress.games(
            "evaluating", _rounded(config.eval_games, config.players) * len(_yardsticks())
        ) as tell:
            for yardstick, players in left:
                found = self._evaluate(agent, yardstick, players, config.eval_games, done, tell)
                done += found.games
                evaluations.append(found.to_dict())
                write_json(file, {**known, "evaluations": evaluations})
        return evaluations

    def _evaluate(
        self, agent: Agent, opponent: str, players: int, games: int, done: int, tell: Callable[[float], None]
    ) -> Evaluation:
        def progress(finished: float, _: float) -> None:
            self._stop.check()
            tell(done + finished)

        return evaluate(agent, opponent, num_players=players, games=games, progress=progress)

    # ------------------------------------------------------------------------------------------ league and checkpoints

    def add_snapshot(self, model: AllSeatsPPO, steps: int) -> None:
        """Add the current policy to the league."""
        name = f"{steps:012d}"
        self.save_policy(model, self.league.path(name))
        self.league.add(name)

    def save_policy(self, model: AllSeatsPPO, path: Path, **provenance: Any) -> Path:
        """Save the current policy for ``PPOAgent``."""
        config = self._config.to_dict()
        del config["folder"]  # says nothing about the policy
        provenance |= {"made by": "megaland train", "config": config, "versions": versions()}
        layers, activation = sb3_layers(model.policy)
        return save_policy(
            path,
            layers,
            activation=activation,
            provenance=provenance | {"steps": model.num_timesteps},
        )

    def save(self, model: AllSeatsPPO) -> None:
        """Save a checkpoint, after the rows that belong to it.

        Raises:
            OSError: it cannot be written.
        """
        self.sync()
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

    def resume(self, extra: Mapping[str, Any], model: AllSeatsPPO) -> None:
        """Restore the state that ``save`` has saved.

        Raises:
            CheckpointError: ``extra`` is something else.
        """
        try:
            self._resume(extra, model)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise CheckpointError(f"the checkpoint at {model.num_timesteps} steps is damaged: {error!r}") from error

    def _resume(self, extra: Mapping[str, Any], model: AllSeatsPPO) -> None:
        for name in ("illegal_actions", "next_snapshot", "next_checkpoint", "next_anchor", "played"):
            check_whole(name, extra[name], 0, _MOST_COUNT)
        recent = np.array(extra["recent"], np.float64).reshape(-1, _FIGURES_OF_A_SEAT)
        seconds = {part: float(extra["seconds"][part]) for part in PARTS}
        cpu_seconds = float(extra["cpu_seconds"])
        if not (np.isfinite(recent).all() and np.isfinite([*seconds.values(), cpu_seconds]).all()):
            raise ValueError("recent, seconds or cpu_seconds are not finite")
        logged = {str(name): float(value) for name, value in extra["logged"].items()}
        model.illegal_actions = extra["illegal_actions"]
        self._next_snapshot = extra["next_snapshot"]
        self._next_checkpoint = extra["next_checkpoint"]
        self._next_anchor = extra["next_anchor"]
        self._recent.extend(recent.tolist())
        self._played = extra["played"]
        self.seconds = seconds
        self._cpu_seconds = cpu_seconds
        self._logged = logged

    def report(
        self, model: AllSeatsPPO, evaluations: list[dict[str, Any]], evaluation_seconds: float
    ) -> dict[str, Any]:
        """The content of ``report.json``."""
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


def _next(steps: int, every: int) -> int:
    """The next multiple of ``every`` after ``steps``."""
    return (steps // every + 1) * every


def _yardsticks() -> tuple[str, ...]:
    return (*YARDSTICKS, "ppo") if CHAMPION.exists() else YARDSTICKS


def _rounded(games: int, players: Sequence[int]) -> int:
    """Number of games in evaluations at tables of these sizes, each of which is rounded up to all seats."""
    return sum(-(-games // size) * size for size in players)


def _policy_digest(policy: Path) -> str:
    return digest(read_bytes(policy / WEIGHTS_FILE, 1 << 28))


def _evaluations_in(file: Path, known: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The evaluations that were made before the run was stopped, if they are of the same policy."""
    try:
        found = read_json(file, MOST_BYTES)
        evaluations: list[dict[str, Any]] = found.pop("evaluations")
        return evaluations if found == known else []
    except FileNotFoundError:
        return []
    except (FileError, AttributeError, KeyError) as error:
        warn(f"{file} is damaged ({error}); the evaluations are made again")
        return []


def settings_text(config: TrainConfig) -> str:
    """Format the configuration on one line: ``seed 0, threads 1, ...``."""

    def text(value: Any) -> str:
        if isinstance(value, Mapping):
            return shares_text(value)
        return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)

    settings = {each.name: getattr(config, each.name) for each in fields(config)}
    del settings["folder"]
    return ", ".join(f"{name} {text(value)}" for name, value in settings.items() if value != "")


def report_table(report: Mapping[str, Any]) -> Table:
    """Make a table of a report for the screen."""
    table = Table(title="training", title_justify="left")
    table.add_column("what")
    table.add_column("value", justify="right")
    table.add_row("steps", f"{report['steps']:,}")
    table.add_row("games of the learner's seats", f"{report['seats_played']:,}")
    table.add_row("illegal actions", f"{report['illegal_actions']}")
    table.add_row("time", f"{report['seconds']:.0f} s")
    for part, seconds in report["seconds_by_part"].items():
        name = "roll-out, the rest" if part == "roll-out" else part
        share = "not counted" if part == "measuring" else percent(seconds / report["seconds"], 0)
        table.add_row(f"  {name}", f"{seconds:.0f} s, {share}")
    table.add_row("steps/s", f"{report['steps_per_second']:,.0f}")
    table.add_row("time of the evaluation", f"{report['evaluation_seconds']:.0f} s")
    if report["evaluations"]:
        table.add_row(f"win shares with {percent(CONFIDENCE, 0)} intervals", "")
    for evaluation in report["evaluations"]:
        settings, results = evaluation["settings"], evaluation["results"]
        low, high = results["interval"]
        table.add_row(
            f"  against {_opponents_text(settings['config']['num_players'] - 1, settings['opponents'][0])}",
            f"{100 * results['win_share']:.1f} % ({100 * low:.1f} to {100 * high:.1f}; par {100 * results['par']:.3g})",
        )
    return table


def _opponents_text(number: int, name: str) -> str:
    return name if number == 1 else f"{number} {name}"


# ------------------------------------------------------------------------------------------------------ the command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``megaland train``."""
    train_options.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Train, or resume a run."""
    given = train_options.given(arguments)
    try:
        if arguments.resume is None:
            train(TrainConfig(**PRESETS.get(arguments.preset, {}) | given))
            return 0
        typed = given.pop("opponents", None)
        if arguments.preset is not None:
            raise ValueError("--preset cannot be changed when a run is resumed")
        if given:
            raise ValueError(f"--{next(iter(given)).replace('_', '-')} cannot be changed when a run is resumed")
        resume(arguments.resume, typed)
    except Stopped as stopped:
        return 128 + stopped.signal_number  # as a shell has it
    return 0
