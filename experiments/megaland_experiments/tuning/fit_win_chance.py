"""Fit the weights of ``agents/megaland_agents/planning/win_chance.py`` to who won played games, and print them in
hundredths as they are there.

``python -m megaland_experiments.tuning.fit_win_chance`` takes a minute and half a gigabyte. The weights are those that
make the winners most likely (a conditional logit), found by Newton's method.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from megaland_agents.planning.win_chance import TWO_PLAYERS
from megaland_env import Building, Decisions, Kind, MegalandConfig, MegalandGames, View
from megaland_env.agent import make_agent
from megaland_env.cards import MAX_PLAYERS, MIN_PLAYERS, START_HEARTS, WINNING_COINS
from megaland_env.engine import rng
from megaland_env.seats.asking import ask_agents
from megaland_env.seats.moments import play_on
from megaland_experiments.options import Parser, whole_number

Floats = npt.NDArray[np.float64]

PLAYERS = ("planner", "planner", "threshold", "builder", "hearts")
WEIGHTS = ("COIN", "COIN_AT_THE_END", "HEART", "TREASURE", "TREASURE_TYPE", "JUMP", *(b.name for b in Building))
PENALTY = 1e-5  # on squared weights; holds those that seldom matter near 0
STEPS = 12


def measures(view: View) -> Floats:
    """Features (M, P, 29) of each seat, in the order of ``WEIGHTS``."""
    coins = view.coins.astype(np.float64)
    progress = coins.max(axis=1, keepdims=True) / WINNING_COINS
    columns = (
        coins,
        coins * progress,
        view.max_hearts.astype(np.float64) - START_HEARTS,
        view.home.sum(axis=2),
        np.count_nonzero(view.home, axis=2),
        view.jumps,
    )
    return np.concatenate([np.stack(columns, axis=2), view.buildings], axis=2)


def play(players: int, games: int, seed: int) -> tuple[Floats, Floats]:
    """Play games; return the features at the start of each round but the first, (M, P, 29), and win shares, (M, P)."""
    batch = MegalandGames(MegalandConfig(num_players=players), games)
    batch.reset(rng.run_seeds(seed, np.arange(games), rng.Run.FITTING))
    agents = [make_agent(name) for name in PLAYERS]
    line_ups = np.random.default_rng(seed).integers(0, len(agents), (games, players))
    seen = np.ones(games, np.int64)
    measured, of_game = [], []

    def answer(decisions: Decisions) -> npt.NDArray[np.int64]:
        return ask_agents(agents, decisions, line_ups[decisions.game, decisions.seat])

    for _ in play_on(batch, answer):
        new = np.flatnonzero((batch.rounds > seen) & (batch.kind != Kind.NONE))
        seen[new] = batch.rounds[new]
        if new.size:
            measured.append(measures(batch.rows(new, np.zeros(new.size, np.int64)).view))
            of_game.append(new)
    return np.concatenate(measured), batch.win_shares[np.concatenate(of_game)]


def fit(data: list[tuple[Floats, Floats]]) -> Floats:
    """Fit the weights (29,); each number of players counts the same."""
    weights = np.zeros(len(WEIGHTS))
    for _ in range(STEPS):
        slope = -2 * PENALTY * weights
        curvature = 2 * PENALTY * np.eye(weights.size)
        for x, shares in data:
            strength = x @ weights
            chances = np.exp(strength - strength.max(axis=1, keepdims=True))
            chances /= chances.sum(axis=1, keepdims=True)
            centred = x - np.einsum("mp,mpk->mk", chances, x)[:, None]
            slope += np.einsum("mp,mpk->k", shares - chances, x) / len(x)
            flat = (centred * np.sqrt(chances)[:, :, None]).reshape(-1, weights.size)
            curvature += flat.T @ flat / len(x)
        weights += np.linalg.solve(curvature, slope)
    return weights


def main() -> None:
    """Play, fit, and print."""
    parser = Parser(
        prog="python -m megaland_experiments.tuning.fit_win_chance",
        description="Fit the weights of win_chance.py to who won played games, and print them in hundredths.",
    )
    parser.add_argument(
        "--games", type=whole_number, default=12_000, help="number of games with each number of players (%(default)s)"
    )
    parser.add_argument("--seed", type=whole_number, default=0, help="seed of the games (%(default)s)")
    arguments = parser.parse_args()
    data = []
    for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
        x, shares = play(players, arguments.games, arguments.seed)
        data.append((x * TWO_PLAYERS if players == MIN_PLAYERS else x, shares))
    for name, weight in zip(WEIGHTS, fit(data), strict=True):
        print(f"{name:20} {100 * weight:6.0f}")


if __name__ == "__main__":
    main()
