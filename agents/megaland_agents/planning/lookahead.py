"""``LookaheadAgent``: plays simulated games with each legal action, and chooses the action that wins most.

It copies each decision with fresh randomness (``decisions.fork``), takes one of the legal actions in each copy, and
lets another agent, the *policy*, play all seats until the round ends (a *roll-out*; Tesauro and Galperin, 1996). This
improves on the policy without any training.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_agents.compiled.program import roll_out
from megaland_agents.heuristics.base import HeuristicAgent, check_number
from megaland_agents.planning.win_chance import win_chances
from megaland_env import NUM_ACTIONS, Decisions, Kind, MegalandGames
from megaland_env.actions import STAY
from megaland_env.agent import Agent, make_agent
from megaland_env.checks import check_seed
from megaland_env.rewards import win_shares

MOST_GAMES = 1 << 16
"""Approximate number of roll-outs in memory at once: enough for the engine to be fast; they take some 30 MB."""

PRUNE_SE = 2.0
"""Standard errors below the best action at which an action is no longer tried."""
OVERRIDE_SE = 1.0
"""Standard errors below the best action at which the policy's action is overridden."""
STAGED_FROM = 16
"""Fewest roll-outs that are played in two stages; of fewer, the first stage would say too little."""
_STEPS = 1 << 16  # probabilities are rounded to 1/65536, so that their sums are exact and the same in any batch

Values = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class LookaheadAgent:
    """Plays simulated games with each legal action, and chooses the action that wins most.

    - *Value of a roll-out*: the share of the win if the game ends; otherwise the estimated probability of winning
      (win_chance.py) after round ``horizon`` of the roll-out, counted from the current round.
    - *Other seats*: all seats play like ``policy``, including those that decide at the same moment, whose actual
      choices are unknown.
    - *Randomness*: all actions of a decision are tried with the same random numbers, which reduces the variance of
      their differences.
    - *Pruning*: after a quarter of the roll-outs, it drops the actions that are worse than the best by ``PRUNE_SE``
      standard errors of the paired difference.
    - *Override*: it plays the policy's action unless another one is better by ``OVERRIDE_SE`` standard errors, since
      the best estimate of many is often best by chance.
    - *No search*: it stays in the level while the next card cannot make it fall.

    A decision gets the same answer in any batch, if that holds for ``policy``.

    Args:
        policy: the agent that plays the roll-outs, or its name.
        rollouts: the number of games per action. The time is proportional to it, and the standard error to its inverse
            square root. With 1 there is no error estimate, and the policy is never overridden.
        horizon: the number of rounds of a roll-out, the current one included; 50 are whole games.
        seed: for the roll-outs; agents with different seeds play independent ones.

    Raises:
        ValueError: a parameter is out of range, or there is no such policy.
    """

    def __init__(self, policy: str | Agent = "planner", rollouts: int = 48, horizon: int = 1, seed: int = 0) -> None:
        check_number("rollouts", rollouts, "games", least=1)
        check_number("horizon", horizon, "rounds", least=1)
        check_seed(seed)
        self.policy = make_agent(policy)
        self.rollouts = rollouts
        self.horizon = horizon
        self.seed = seed
        self._stages = [(0, rollouts)]
        if rollouts >= STAGED_FROM:
            self._stages = [(0, rollouts // 4), (rollouts // 4, rollouts)]

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        """(M,) actions."""
        actions = np.array(self.policy.act(decisions), np.int64)
        choices = np.bitwise_count(decisions.legal_bits).astype(np.int64)
        running = np.flatnonzero(decisions.kind == Kind.RUN)
        safe = running[decisions[running].view.fall_chance[:, 0] == 0]
        actions[safe] = STAY  # draws a treasure, and leaving is still possible after the card
        choices[safe] = 1
        rows = np.flatnonzero(choices > 1)
        chunk = np.cumsum(choices[rows] * self.rollouts) // MOST_GAMES
        for number in np.unique(chunk):
            some = rows[chunk == number]
            actions[some] = self._search(decisions[some], actions[some])
        return actions

    def _search(self, decisions: Decisions, usual: Ints) -> Ints:
        """(m,) the best actions, or the policy's ``usual`` ones (m,) where these may be as good."""
        forked = decisions.fork(self.rollouts, self.seed)
        values = np.zeros((len(decisions), NUM_ACTIONS, self.rollouts))
        candidates = decisions.legal.copy()
        best = np.zeros(len(decisions), np.int64)
        open_ = np.arange(len(decisions))  # the rows with more than one candidate
        for first, last in self._stages:
            rows, actions = np.nonzero(candidates[open_])
            rows = open_[rows]
            copies = rows[:, None] * self.rollouts + np.arange(first, last)
            each = last - first
            outcomes = self._play(
                forked.copy(copies.reshape(-1)), np.repeat(decisions.seat[rows], each), np.repeat(actions, each)
            )
            values[rows, actions, first:last] = outcomes.reshape(-1, each)
            so_far = values[open_, :, :last]
            best[open_] = np.where(candidates[open_], so_far.sum(axis=2), -1).argmax(axis=1)
            candidates[open_] &= ~_worse(so_far, best[open_], PRUNE_SE)
            open_ = open_[np.count_nonzero(candidates[open_], axis=1) > 1]
            if not open_.size:
                break
        # In rows that are still open, the difference from the policy's action may be due to chance.
        worse = _worse(values[open_], best[open_], OVERRIDE_SE)
        as_usual = candidates[open_, usual[open_]] & ~worse[np.arange(open_.size), usual[open_]]
        best[open_[as_usual]] = usual[open_[as_usual]]
        return best

    def _play(self, games: MegalandGames, seats: Ints, actions: Ints) -> Values:
        """(G,) values, for ``seats`` (G,), of roll-outs in which these seats begin with ``actions`` (G,)."""
        stop = games.rounds + self.horizon
        code = self.policy.compiled() if isinstance(self.policy, HeuristicAgent) else None
        if code and roll_out(code, games, seats, actions, stop):
            return _worth(games, np.arange(games.num_games), seats)
        values = np.empty(games.num_games)
        which = np.arange(games.num_games)  # positions, among the G games, of those still being played
        decisions = games.decisions()
        answers = np.array(self.policy.act(decisions))
        own = decisions.seat == seats[decisions.game]
        answers[own] = actions[decisions.game[own]]
        games.step(games.scatter(decisions, answers))
        while True:
            over = (games.kind == Kind.NONE) | (games.rounds >= stop)
            if np.count_nonzero(over) * 4 >= over.size:  # with fewer, copying costs more than it saves
                values[which[over]] = _worth(games, np.flatnonzero(over), seats[over])
                going = np.flatnonzero(~over)
                if not going.size:
                    return values
                games, seats, stop, which = games.copy(going), seats[going], stop[going], which[going]
                over = np.zeros(going.size, np.bool_)
            decisions = games.decisions()
            if over.any():  # these games are not moved
                decisions = decisions[~over[decisions.game]]
            going = np.flatnonzero(~over)
            games.step(games.scatter(decisions, self.policy.act(decisions))[going], going)


def _worth(games: MegalandGames, index: Ints, seats: Ints) -> Values:
    """(n,) values of games ``index`` (n,) for ``seats`` (n,), one seat of each game."""
    worth: Values = win_shares(games.winners[index])[np.arange(index.size), seats]
    unfinished = games.kind[index] != Kind.NONE
    if unfinished.any():
        chances = win_chances(games.rows(index[unfinished], seats[unfinished]).view)[:, 0]
        worth[unfinished] = np.rint(chances * _STEPS) / _STEPS
    return worth


def _worse(values: Values, best: Ints, errors: float) -> npt.NDArray[np.bool_]:
    """(m, 40) whether an action is worse than the ``best`` one (m,), by more than ``errors`` standard errors.

    The standard error of the difference is estimated from n paired differences of ``values`` (m, 40, n).
    """
    number = values.shape[2]
    behind = values[np.arange(best.size), best, None] - values
    total, squares = behind.sum(axis=2), (behind * behind).sum(axis=2)
    # total > errors * standard error of the total, with both sides squared
    worse: npt.NDArray[np.bool_] = (total > 0) & (
        total * total * (number - 1) > errors**2 * (number * squares - total * total)
    )
    return worse
