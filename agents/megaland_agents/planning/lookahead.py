"""``LookaheadAgent``: tries each action out in games of its own, and takes the one that wins most.

Of every decision it makes copies with fresh luck (``decisions.fork``), takes one of the legal actions in each, and lets
a plain agent, the *policy*, play on for all seats until the round ends (a *roll-out*; the method goes back to Tesauro
and Galperin, 1996). This improves on the policy wherever the policy errs, without learning anything.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_agents.heuristics.base import check_number, check_seed
from megaland_agents.planning.win_chance import win_chances
from megaland_env import NUM_ACTIONS, Decisions, Kind, MegalandGames
from megaland_env.actions import STAY
from megaland_env.agent import Agent, make_agent
from megaland_env.rewards import win_shares

MOST_GAMES = 1 << 16
"""About so many roll-outs are in memory at once: enough for the engine to be fast, and some 30 megabytes."""

CLEARLY = 2.0  # so many standard errors below the best, an action is given up
PROBABLY = 1.0  # so many standard errors below the best, the policy's own action is not taken
STAGED_FROM = 16  # with fewer roll-outs, a part of them says too little to give an action up
_STEPS = 1 << 16  # chances are rounded to 1/65536: sums of them are exact, and so the same in any batch

Values = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class LookaheadAgent:
    """Tries each action out in games of its own against sampled luck, and takes the one that wins most.

    - *What a roll-out is worth*: the share of the win if the game ends; otherwise the estimated chance to win
      (win_chance.py) when round ``horizon`` of the roll-out is over, the current round being the first.
    - *The others*: all seats play as ``policy`` does, also those that decide at the same moment: what they really
      choose is not known to it.
    - *Luck*: all actions of a decision are tried on the same fresh luck, so that luck does not decide between them.
    - *Giving up*: after a quarter of the roll-outs it goes on only with the actions that are not clearly worse than the
      best, by ``CLEARLY`` standard errors of the paired difference.
    - *Doubt*: what the policy would do stands unless another action did better by ``PROBABLY`` standard errors; the
      best of many actions is often just the luckiest.
    - What needs no search: it stays in the level while the next card cannot make it fall.

    It answers the same for the same decision in any batch, if ``policy`` does.

    Args:
        policy: the agent that plays on, by name or made.
        rollouts: games for each action; the time goes with it, and the error with its root. With one alone there is
            nothing but doubt.
        horizon: rounds that a roll-out sees at most, the current one among them; 50 are whole games.
        seed: another seed is another player with other luck.

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
        actions[safe] = STAY  # this draws a treasure, and one may still leave after the card
        choices[safe] = 1
        rows = np.flatnonzero(choices > 1)
        chunk = np.cumsum(choices[rows] * self.rollouts) // MOST_GAMES
        for number in np.unique(chunk):
            some = rows[chunk == number]
            actions[some] = self._search(decisions[some], actions[some])
        return actions

    def _search(self, decisions: Decisions, usual: Ints) -> Ints:
        """(m,) the actions that did best, or the policy's ``usual`` ones (m,) where they may be as good."""
        forked = decisions.fork(self.rollouts, self.seed)
        values = np.zeros((len(decisions), NUM_ACTIONS, self.rollouts))
        hopeful = decisions.legal.copy()
        best = np.zeros(len(decisions), np.int64)
        open_ = np.arange(len(decisions))  # the rows with more than one hopeful action
        for first, last in self._stages:
            rows, actions = np.nonzero(hopeful[open_])
            rows = open_[rows]
            copies = rows[:, None] * self.rollouts + np.arange(first, last)
            each = last - first
            outcomes = self._play(
                forked.copy(copies.reshape(-1)), np.repeat(decisions.seat[rows], each), np.repeat(actions, each)
            )
            values[rows, actions, first:last] = outcomes.reshape(-1, each)
            so_far = values[open_, :, :last]
            best[open_] = np.where(hopeful[open_], so_far.sum(axis=2), -1).argmax(axis=1)
            hopeful[open_] &= ~_worse(so_far, best[open_], CLEARLY)
            open_ = open_[np.count_nonzero(hopeful[open_], axis=1) > 1]
            if not open_.size:
                break
        # Where it is still open, the difference from what the policy does may be luck.
        worse = _worse(values[open_], best[open_], PROBABLY)
        as_usual = hopeful[open_, usual[open_]] & ~worse[np.arange(open_.size), usual[open_]]
        best[open_[as_usual]] = usual[open_[as_usual]]
        return best

    def _play(self, games: MegalandGames, seats: Ints, actions: Ints) -> Values:
        """(G,) what the roll-outs are worth to ``seats`` (G,) that begin with ``actions`` (G,); all others decide."""
        values = np.empty(games.num_games)
        which = np.arange(games.num_games)  # of the G games that have not been valued yet
        stop = games.rounds + self.horizon
        decisions = games.decisions()
        answers = np.array(self.policy.act(decisions))
        own = decisions.seat == seats[decisions.game]
        answers[own] = actions[decisions.game[own]]
        games.step(games.scatter(decisions, answers))
        while True:
            over = (games.kind == Kind.NONE) | (games.rounds >= stop)
            if np.count_nonzero(over) * 4 >= over.size:  # until then, copying costs more than it saves
                values[which[over]] = _worth(games, np.flatnonzero(over), seats[over])
                going = np.flatnonzero(~over)
                if not going.size:
                    return values
                games, seats, stop, which = games.copy(going), seats[going], stop[going], which[going]
                over = np.zeros(going.size, np.bool_)
            decisions = games.decisions()
            if over.any():  # these wait where they are
                decisions = decisions[~over[decisions.game]]
            going = np.flatnonzero(~over)
            games.step(games.scatter(decisions, self.policy.act(decisions))[going], going)


def _worth(games: MegalandGames, index: Ints, seats: Ints) -> Values:
    """(n,) of some games, what each is worth to one of its seats."""
    worth: Values = win_shares(games.winners[index])[np.arange(index.size), seats]
    unfinished = games.kind[index] != Kind.NONE
    if unfinished.any():
        chances = win_chances(games.rows(index[unfinished], seats[unfinished]).view)[:, 0]
        worth[unfinished] = np.rint(chances * _STEPS) / _STEPS
    return worth


def _worse(values: Values, best: Ints, errors: float) -> npt.NDArray[np.bool_]:
    """(m, 40) whether an action does worse than the ``best`` (m,), by values (m, 40, n) on the same luck.

    Worse means by so many standard errors of the difference, estimated from the n differences.
    """
    number = values.shape[2]
    behind = values[np.arange(best.size), best, None] - values
    total, squares = behind.sum(axis=2), (behind * behind).sum(axis=2)
    # total > errors * its standard error, both squared
    worse: npt.NDArray[np.bool_] = (total > 0) & (
        total * total * (number - 1) > errors**2 * (number * squares - total * total)
    )
    return worse
