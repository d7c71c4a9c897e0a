"""Checkpoints of a training run: folders of numbers and JSON, from which nothing is ever executed.

``checkpoints/<steps>/`` has the tensors in ``model.pt`` (read with ``weights_only=True``), the games in ``games.json``,
and all else in ``state.json``. It is written beside and renamed when it is whole, so what has such a name is whole.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch

from experiments.all_seats import AllSeatsPPO
from experiments.league import League

FORMAT = "megaland-checkpoint/3"
KEPT = 2
"""How many checkpoints are kept; the one before the last is there for who would rather go on from it."""


class CheckpointError(ValueError):
    """A folder that holds no checkpoint to go on from; the message says what is wrong."""


def save_checkpoint(folder: Path, model: AllSeatsPPO, league: League, extra: dict[str, Any]) -> Path:
    """Save a run between an update and the next roll-out; with what ``load_checkpoint`` gives back it goes on exactly.

    Args:
        folder: of all the checkpoints.
        model: with its optimiser, counters and games.
        league: with its names and strengths; the policies lie in their own folders.
        extra: what else the caller wants back, as ``json.dumps`` takes it.
    """
    steps = model.num_timesteps
    target = folder / f"{steps:012d}"
    beside = folder / f".{steps:012d}.part"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    tensors = {
        "policy": model.policy.state_dict(),
        "optimizer": model.policy.optimizer.state_dict(),
        "waiting": model.waiting(),
        "torch_luck": torch.get_rng_state(),
    }
    torch.save(tensors, beside / "model.pt")
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
    (beside / "state.json").write_text(json.dumps(state) + "\n", encoding="utf-8")
    (beside / "games.json").write_text(json.dumps(model.games.snapshot()) + "\n", encoding="utf-8")
    if target.exists():
        _remove(target)
    os.rename(beside, target)
    for old in checkpoints(folder)[:-KEPT]:
        _remove(old)
    return target


def _remove(checkpoint: Path) -> None:
    """Under another name, so that what is left when this is killed is not taken for a checkpoint."""
    aside = checkpoint.with_name(f".{checkpoint.name}.old")
    os.rename(checkpoint, aside)
    shutil.rmtree(aside)


def remove_unfinished(run: Path) -> None:
    """Remove what was being written beside, or moved aside to be removed, when a run was killed."""
    for left in [*run.rglob(".*.part"), *run.rglob(".*.old")]:
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)


def checkpoints(folder: Path) -> list[Path]:
    """The whole checkpoints of a run, oldest first."""
    return sorted(path for path in folder.glob("[0-9]*") if path.is_dir())


def last_networks(run: Path) -> dict[str, torch.Tensor]:
    """The networks of policy and value, as a run's last checkpoint has them: PyTorch's ``state_dict``.

    Raises:
        CheckpointError: there is no checkpoint, or it is damaged.
    """
    saved = checkpoints(run / "checkpoints")
    if not saved:
        raise CheckpointError(f"{run} has no checkpoint")
    try:
        networks: dict[str, torch.Tensor] = torch.load(saved[-1] / "model.pt", weights_only=True)["policy"]
        return networks
    except Exception as error:  # as in load_checkpoint
        raise CheckpointError(f"the checkpoint {saved[-1]} cannot be used: {error}") from error


def load_checkpoint(checkpoint: Path, model: AllSeatsPPO, league: League) -> dict[str, Any]:
    """Bring a new model, with its games, and a new league to where the checkpoint was saved.

    Returns:
        What was saved as ``extra``.

    Raises:
        CheckpointError: it is damaged, or of another kind of run.
    """
    try:
        state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
        games = json.loads((checkpoint / "games.json").read_text(encoding="utf-8"))
        tensors = torch.load(checkpoint / "model.pt", weights_only=True)
        if state["format"] != FORMAT:
            raise CheckpointError(f"its format is {state['format']!r}, and not {FORMAT!r}")
        model.policy.load_state_dict(tensors["policy"])
        model.policy.optimizer.load_state_dict(tensors["optimizer"])
        model.wait(tensors["waiting"])
        for name, strength in state["snapshots"].items():
            league.add(name, strength)
        model.games.set_opponents(league.pool())
        model.games.restore(games, [league.agent(name) for name in state["seated"]])
        model.num_timesteps = int(state["steps"])
        model._n_updates = int(state["updates"])
        torch.set_rng_state(tensors["torch_luck"])
        extra: dict[str, Any] = state["extra"]
        return extra
    except Exception as error:  # whatever is wrong with a file shows in its own way
        hint = "without its folder, the run goes on from the one before"
        raise CheckpointError(f"the checkpoint {checkpoint} cannot be used: {error}; {hint}") from error
