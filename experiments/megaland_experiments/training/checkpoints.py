"""Checkpoints of a training run: folders of numbers and JSON, from which nothing is ever executed.

``checkpoints/<steps>/`` has the tensors in ``model.pt`` (read with ``weights_only=True``), the games in ``games.json``,
all else in ``state.json``, and the checksums of the three. A folder gets its name when it is complete and has reached
the disk.
"""

from __future__ import annotations

import io
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from megaland_agents.policy_file import PolicyError
from megaland_env.checks import check_whole
from megaland_env.checksums import CHECKSUMS_FILE, Checksums, seal
from megaland_env.files import json_object, new_folder, read_bytes, read_json, remove_folder
from megaland_experiments.shared.output import warn
from megaland_experiments.training.all_seats import AllSeatsPPO
from megaland_experiments.training.config import ITSELF
from megaland_experiments.training.league import League

FORMAT, OLDER_FORMAT = "megaland-checkpoint/4", "megaland-checkpoint/3"
"""The older format has no checksums; only its networks are read (``warm_start``)."""
KEPT = 2
"""Number of checkpoints that are kept; if the last is damaged, a run goes on from the one before."""

MODEL, STATE, GAMES = "model.pt", "state.json", "games.json"
MOST_BYTES = {MODEL: 1 << 32, STATE: 1 << 26, GAMES: 1 << 30}
"""Larger files are not read."""
DAMAGED = ".damaged"
"""Ending of the name of a checkpoint that could not be used, and is kept for inspection."""


class CheckpointError(ValueError):
    """A folder that holds no usable checkpoint; the message says what is wrong."""


def save_checkpoint(folder: Path, model: AllSeatsPPO, league: League, extra: dict[str, Any]) -> Path:
    """Save a run between an update and the next roll-out, so that ``load_checkpoint`` can continue it exactly.

    A checkpoint that is already there at this number of steps stays: a run has only one state there.

    Args:
        folder: the folder of all checkpoints of the run.
        model: the model, with its optimiser, counters and games.
        league: the league; its names and strengths are saved, since the policies have their own folders.
        extra: what else ``load_checkpoint`` shall return, as ``json.dumps`` takes it.

    Raises:
        OSError: it cannot be written; ``filename`` says where, and nothing has changed.
    """
    steps = model.num_timesteps
    target = folder / f"{steps:012d}"
    if target in checkpoints(folder):
        return target
    tensors = {
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "waiting": model.waiting(),
        "torch_rng_state": torch.get_rng_state(),
    }
    # Into memory first: PyTorch's own writer reports a full disk without the name of the file.
    content = io.BytesIO()
    torch.save(tensors, content)
    seated = [league.name(agent) for agent in model.games.agents]
    league.forget_all_but(seated)
    state = {
        "format": FORMAT,
        "steps": steps,
        "updates": model._n_updates,
        "snapshots": league.strengths,
        "seated": seated,
        "extra": extra,
    }
    with new_folder(target, (MODEL, STATE, GAMES, CHECKSUMS_FILE)) as temporary:
        (temporary / MODEL).write_bytes(content.getbuffer())
        (temporary / STATE).write_text(json.dumps(state) + "\n", encoding="utf-8")
        (temporary / GAMES).write_text(json.dumps(model.games.snapshot()) + "\n", encoding="utf-8")
        seal(temporary)
    for old in checkpoints(folder)[:-KEPT]:
        with suppress(OSError):  # the next checkpoint removes it
            remove_folder(old)
    return target


def set_aside(checkpoint: Path) -> Path:
    """Rename a checkpoint that cannot be used, so that it is not tried again; return its new path."""
    aside = checkpoint.with_name(f"{checkpoint.name}{DAMAGED}")
    if aside.exists():
        remove_folder(aside)
    os.rename(checkpoint, aside)
    return aside


def checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints of a run, oldest first."""
    return sorted(path for path in folder.glob("[0-9]*") if re.fullmatch("[0-9]+", path.name) and path.is_dir())


def last_networks(run: Path) -> dict[str, torch.Tensor]:
    """The networks of policy and value, as a run's last usable checkpoint has them: PyTorch's ``state_dict``.

    Raises:
        CheckpointError: there is no checkpoint, or all are damaged.
    """
    saved = checkpoints(run / "checkpoints")
    if not saved:
        raise CheckpointError(f"{run} has no checkpoint")
    failures = []
    for checkpoint in reversed(saved):
        try:
            networks: dict[str, torch.Tensor] = _tensors(checkpoint, _state(checkpoint)["format"])["policy"]
        except Exception as error:  # as in load_checkpoint
            failures.append(f"the checkpoint {checkpoint} cannot be used: {error}")
            continue
        for failure in failures:
            warn(f"{failure}; the networks are those of {checkpoint.name}")
        return networks
    raise CheckpointError("; ".join(failures))


def load_checkpoint(checkpoint: Path, model: AllSeatsPPO, league: League) -> dict[str, Any]:
    """Restore a new model, with its games, and a new league from a checkpoint.

    A league snapshot that is missing or damaged is dropped with a warning. If it has seats in the games, the newest of
    the others takes them, or the learner if there is none.

    Returns:
        What was saved as ``extra``.

    Raises:
        CheckpointError: it is damaged, or of another kind of run; model and league are unusable then.
    """
    try:
        state = _state(checkpoint)
        if state["format"] != FORMAT:
            raise CheckpointError(f"its format is {state['format']!r}, and not {FORMAT!r}")
        games = json_object(Checksums(checkpoint).read(GAMES, MOST_BYTES[GAMES]), checkpoint / GAMES)
        tensors = _tensors(checkpoint, state["format"])
        model.policy.load_state_dict(tensors["policy"])
        model.policy.optimizer.load_state_dict(tensors["optimizer"])
        model.wait(tensors["waiting"])
        seated = _restore_league(league, state["snapshots"], state["seated"])
        model.games.set_opponents(league.pool())
        model.games.restore(games, [league.agent(name) for name in seated])
        for name in ("steps", "updates"):
            check_whole(name, state[name], 0)
        model.num_timesteps = state["steps"]
        model._n_updates = state["updates"]
        torch.set_rng_state(tensors["torch_rng_state"])
        extra: dict[str, Any] = state["extra"]
        return extra
    except Exception as error:  # a damaged file can raise nearly anything
        raise CheckpointError(f"the checkpoint {checkpoint} cannot be used: {error}") from error


def _state(checkpoint: Path) -> dict[str, Any]:
    state: dict[str, Any] = read_json(checkpoint / STATE, MOST_BYTES[STATE])
    if state["format"] != OLDER_FORMAT:
        Checksums(checkpoint).verify(STATE)
    return state


def _tensors(checkpoint: Path, version: str) -> dict[str, Any]:
    if version == OLDER_FORMAT:
        content = read_bytes(checkpoint / MODEL, MOST_BYTES[MODEL])
    else:
        content = Checksums(checkpoint).read(MODEL, MOST_BYTES[MODEL])
    tensors: dict[str, Any] = torch.load(io.BytesIO(content), weights_only=True)
    for name, tensor in tensors["policy"].items():
        if not bool(torch.isfinite(tensor).all()):
            raise CheckpointError(f"{name} is not made of finite numbers")
    return tensors


def _restore_league(league: League, strengths: dict[str, float], seated: list[str]) -> list[str]:
    """Add the snapshots to the league; return the names of the agents in the seats."""
    for name, strength in strengths.items():
        league.add(name, strength)
    damaged = []
    for name in dict.fromkeys([*strengths, *seated]):
        try:
            league.agent(name)
        except PolicyError as error:
            league.drop(name)
            damaged.append((name, error))
    substitute = league.substitute()
    for name, reason in damaged:
        whom = "the learner" if substitute == ITSELF else f"the snapshot {substitute}"
        seats = f"; its seats in the games that run go to {whom}" if name in seated else ""
        warn(
            f"the league snapshot {league.path(name)} is left out: {reason}{seats}. "
            "The run goes on, but not exactly as it would have with it"
        )
    lost = {name for name, _ in damaged}
    return [substitute if name in lost else name for name in seated]
