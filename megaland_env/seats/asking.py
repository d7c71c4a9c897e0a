"""Ask agents for their decisions, each agent once with all of its rows; check the shape and type of its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_env.agent import Agent
from megaland_env.checks import ragged
from megaland_env.decisions import Decisions
from megaland_env.engine.state import indices_where, put_at

Ints = npt.NDArray[np.int64]


def ask_owners(
    decisions: Decisions, owners: npt.NDArray[np.integer[Any]], ask: Callable[[int, Decisions], npt.NDArray[Any]]
) -> Ints:
    """Ask the owner of each decision, in the order of their numbers, each once with all of its decisions.

    Args:
        decisions: M rows.
        owners: (M,) the number of the agent that decides each row, from 0.
        ask: called with the number of an agent and its decisions (m rows); returns (m,) integers. An agent without
            decisions is not asked.

    Returns:
        (M,) the answers. Whether they are legal is checked by the engine.
    """
    answers = np.zeros(len(decisions), np.int64)
    for owner in indices_where(np.bincount(owners)).tolist():
        rows = indices_where(owners == owner)
        put_at(answers, rows, ask(owner, decisions if rows.size == owners.size else decisions[rows]))
    return answers


def ask_agents(agents: Sequence[Agent], decisions: Decisions, owners: npt.NDArray[np.integer[Any]]) -> Ints:
    """(M,) what the owners of M decisions choose, where ``owners`` (M,) are positions in ``agents``.

    Raises:
        ValueError: the answers of an agent are not one integer for each of its decisions.
    """
    return ask_owners(decisions, owners, lambda owner, own: answers_of(agents[owner], own))


def answers_of(agent: Agent, decisions: Decisions) -> Ints:
    """(M,) what an agent chooses for its M decisions.

    Raises:
        ValueError: the answers are not one integer for each decision.
    """
    return one_integer_each(agent.act(decisions), len(decisions), f"agent {type(agent).__name__}")


def one_integer_each(answers: Any, number: int, who: str) -> Ints:
    """(M,) the answers to M decisions, as integers; ``who`` names the agent in the error.

    Raises:
        ValueError: they are not one integer for each decision.
    """
    try:
        array = np.asarray(answers)
    except ValueError:
        raise ragged(f"the answers of {who} to {number} decisions") from None
    if array.shape != (number,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"{who} answered {number} decisions with {array.dtype} of shape {array.shape}, "
            f"not with integers of shape ({number},), one for each"
        )
    return array.astype(np.int64, copy=False)
