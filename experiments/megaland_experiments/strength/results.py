"""The tidy tables of a tournament, made from its games. The unit of all intervals is a seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from megaland_env.engine import rng
from megaland_experiments.matches.arena import Plan
from megaland_experiments.matches.line_ups import KINDS, PAIRS, LineUp
from megaland_experiments.matches.playing import Matches
from megaland_experiments.shared.intervals import difference_interval, seeds_needed, share_interval
from megaland_experiments.shared.run_folder import FolderError
from megaland_experiments.strength.ratings import RatedGames, rate

MOST_RATED = 20_000
"""Most games of a number of players that are rated, those on the first seeds: enough, and done in seconds."""

TELLING = 0.03
"""The difference of win shares for which the number of games needed is given: three points."""

Row = dict[str, Any]
"""A row of a tidy table: keys and values by the names of the columns."""


_TEXTS = {"agent", "kind", "kinds", "opponent", "other", "line_up", "by"}
_COUNTS = {"num_players", "games", "games_rated", "games_together", "games_needed", "seats", "position"}
_COLUMNS = {
    "ratings": "num_players agent rating low high games_rated",
    "standings": "num_players kind agent win_share low high par games coins place decisions rounds truncated",
    "head_to_head": "num_players agent opponent win_share low high par ahead games_together",
    "differences": "num_players kind agent other difference low high deviation unpaired_deviation games_needed",
    "line_ups": "num_players line_up kinds agent seats games win_share low high par coins place decisions rounds "
    "truncated",
    "seats": "num_players by position win_share low high par",
}
_NULLABLE = {
    "head_to_head": {"win_share", "low", "high", "ahead"},
    "differences": {"deviation", "unpaired_deviation", "games_needed"},
}


def check_results(file: Path, content: Row) -> None:
    """Check that the content of a results file has the tables of a tournament, with their columns and types.

    Raises:
        FolderError: something is missing or invalid; the message names the file.
    """

    def check(good: bool, what: str) -> None:
        if not good:
            raise FolderError(f"{file} is damaged or of another version: {what}")

    settings = content.get("settings")
    if not isinstance(settings, dict):
        raise FolderError(f"{file} is damaged or of another version: it has no settings")
    agents: Any = settings.get("agents")
    players: Any = settings.get("players")
    check(_is_list_of(str, agents) and len(agents) >= 2, "its settings do not name the agents")
    check(
        _is_list_of(int, players) and all(2 <= number <= 5 for number in players),
        "its players are not numbers from 2 to 5",
    )
    for name, kind in (("games", int), ("seed", int), ("lineups", list), ("config", dict)):
        check(type(settings.get(name)) is kind, f"its settings have no {name}")
    check(settings.get("anchor") in agents, "its settings have no anchor among the agents")
    check(_is_list_of(str, settings["lineups"]) and set(settings["lineups"]) <= set(KINDS), "its lineups are unknown")
    for table, columns in _COLUMNS.items():
        rows: Any = content.get(table)
        check(_is_list_of(dict, rows), f"it has no table {table}")
        for row in rows:
            check(list(row) == columns.split(), f"a row of {table} does not have the columns {columns}")
            for name, value in row.items():
                what = f"{name} is {value!r} in a row of {table}"
                if value is None:
                    check(name in _NULLABLE.get(table, ()), what)
                elif name in _TEXTS:
                    check(isinstance(value, str), what)
                else:
                    check(type(value) in ((int,) if name in _COUNTS else (int, float)), what)
                    check(math.isfinite(value), what)
            check(row["num_players"] in players, f"a row of {table} is of {row['num_players']} players")
            named = {row[name] for name in ("agent", "opponent", "other") if name in row}
            check(named <= set(agents), f"a row of {table} names an agent that did not take part")
    for number in players:
        rated = [row["agent"] for row in content["ratings"] if row["num_players"] == number]
        check(sorted(rated) == sorted(agents), f"not every agent is rated at {number} players")


def _is_list_of(kind: type, value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and all(type(each) is kind for each in value)


@dataclass(frozen=True, eq=False)
class Played:
    """The games of a line-up.

    Attributes:
        line_up: the line-up.
        name: its name, such as ``"threshold + 3 random"``.
        matches: the games, S seeds times P rotations.
        shares: (S * P, P) the win share of each seat.
        turns: (S * P, P) each seat's place in the turn order of the first round, from 0.
        win_shares: for each agent (S,) the win share of one of its seats on each seed.
    """

    line_up: LineUp
    name: str
    matches: Matches
    shares: npt.NDArray[np.float64]
    turns: npt.NDArray[np.int64]
    win_shares: Mapping[int, npt.NDArray[np.float64]]

    @classmethod
    def of(cls, plan: Plan, number: int, matches: Matches) -> Played:
        """Make it from the games of a line-up of a plan."""
        line_up = plan.line_ups[number]
        players = line_up.num_players
        # S2: where the first player is drawn, it is by the seed alone.
        drawn = rng.choose(rng.mix(matches.seeds, rng.Purpose.FIRST_PLAYER), players).astype(np.int64)
        first = drawn if plan.config.first_player is None else np.full(drawn.size, plan.config.first_player)
        turns = (np.arange(players) - first[:, None]) % players
        shares = matches.shares
        win_shares = {agent: per_seed(shares, matches.line_ups == agent) for agent in line_up.counts()}
        return cls(line_up, line_up.name(plan.names), matches, shares, turns, win_shares)

    @property
    def players(self) -> int:
        """Number of players (P)."""
        return self.line_up.num_players


def per_seed(values: npt.NDArray[Any], seats: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Means (S,) of values (S * P, P) over some of the seats (S * P, P), the same number on each seed."""
    number = len(values) // values.shape[1]
    total = np.where(seats, values, 0).reshape(number, -1).sum(axis=1)
    means: npt.NDArray[np.float64] = total / (np.count_nonzero(seats) // number)
    return means


class Summary:
    """The tables of one number of players."""

    def __init__(self, names: Sequence[str], played: Sequence[Played], settings: Row) -> None:
        self._names = names
        self._played = played
        self._kinds: list[str] = settings["lineups"]
        self._anchor = names.index(settings["anchor"])
        self._players = played[0].players
        self._num_seeds = len(played[0].matches) // self._players
        self._scores = {
            kind: [
                np.mean([table.win_shares[agent] for table in self._counted(kind, agent)], axis=0)
                for agent in range(len(names))
            ]
            for kind in self._kinds
        }  # (S,) for each agent

    def _counted(self, kind: str, agent: int) -> list[Played]:
        """The line-ups of a kind in which an agent counts."""
        return [
            table
            for table in self._played
            if kind in table.line_up.kinds
            and (agent in dict(table.line_up.lone()) if kind == PAIRS else agent in table.line_up.agents)
        ]

    def _on_same_seeds(self, kind: str, agent: int, other: int) -> list[npt.NDArray[np.float64]]:
        """Win shares of two agents on each seed, (S,) and (S,), each in the other's place among the same others.

        If all of their tables have both of them, their shares at all tables that count for them.
        """
        by_agents = {table.line_up.agents: table for table in self._played}
        with_one = [table for table in self._counted(kind, agent) if other not in table.line_up.agents]
        if not with_one:
            return [self._scores[kind][agent], self._scores[kind][other]]
        swapped = (sorted(other if who == agent else who for who in table.line_up.agents) for table in with_one)
        with_other = [by_agents[tuple(agents)] for agents in swapped]
        return [
            np.mean([table.win_shares[who] for table in tables], axis=0)
            for who, tables in ((agent, with_one), (other, with_other))
        ]

    def ratings(self) -> list[Row]:
        """See ``Tournament``."""
        of_seed = self._players * len(self._played)
        rated = min(self._num_seeds, max(1, MOST_RATED // of_seed))
        # Seed by seed, within a seed line-up by line-up, and within that rotation by rotation.
        agents, places = (
            np.stack(arrays, axis=1).reshape(-1, self._players)
            for arrays in zip(
                *(
                    [
                        array[: rated * self._players].reshape(rated, self._players, self._players)
                        for array in (table.matches.line_ups, _rated_places(table.matches))
                    ]
                    for table in self._played
                ),
                strict=True,
            )
        )
        games = RatedGames(agents, places, np.repeat(np.arange(rated), of_seed))
        rows = [
            {
                "num_players": self._players,
                "agent": name,
                "rating": rating.rating,
                "low": rating.low,
                "high": rating.high,
                "games_rated": int((agents == agent).any(axis=1).sum()),
            }
            for agent, (name, rating) in enumerate(
                zip(self._names, rate(games, len(self._names), self._anchor), strict=True)
            )
        ]
        return sorted(rows, key=lambda row: -row["rating"])

    def standings(self) -> list[Row]:
        """See ``Tournament``."""
        rows = []
        for kind in self._kinds:
            for agent, name in enumerate(self._names):
                of_seed = self._scores[kind][agent]
                counted = self._counted(kind, agent)
                rows.append(
                    {
                        "num_players": self._players,
                        "kind": kind,
                        "agent": name,
                        **_win_share(of_seed),
                        "par": 1 / self._players,
                        "games": sum(len(table.matches) for table in counted),
                        **_means(counted, agent),
                    }
                )
        return rows

    def head_to_head(self) -> list[Row]:
        """See ``Tournament``."""
        alone = {pair: table for table in self._played if PAIRS in table.line_up.kinds for pair in table.line_up.lone()}
        rows = []
        for agent, opponent in permutations(range(len(self._names)), 2):
            row: Row = {
                "num_players": self._players,
                "agent": self._names[agent],
                "opponent": self._names[opponent],
                "win_share": None,
                "low": None,
                "high": None,
                "par": 1 / self._players,
            }
            if (agent, opponent) in alone:
                of_seed = alone[agent, opponent].win_shares[agent]
                row.update(_win_share(of_seed))
            ahead, games = _ahead(self._played, agent, opponent)
            rows.append({**row, "ahead": ahead, "games_together": games})
        return rows

    def differences(self) -> list[Row]:
        """See ``Tournament``."""
        rows = []
        for kind in self._kinds:
            for agent, other in combinations(range(len(self._names)), 2):
                one, two = self._on_same_seeds(kind, agent, other)
                low, high = difference_interval(one - two)
                several = self._num_seeds > 1
                deviation = float((one - two).std(ddof=1)) if several else None
                unpaired = float((one.var(ddof=1) + two.var(ddof=1)) ** 0.5) if several else None
                rows.append(
                    {
                        "num_players": self._players,
                        "kind": kind,
                        "agent": self._names[agent],
                        "other": self._names[other],
                        "difference": float((one - two).mean()),
                        "low": low,
                        "high": high,
                        "deviation": deviation,
                        "unpaired_deviation": unpaired,
                        "games_needed": None if deviation is None else self._players * seeds_needed(deviation, TELLING),
                    }
                )
        return rows

    def line_ups(self) -> list[Row]:
        """See ``Tournament``."""
        return [row for table in self._played for row in line_up_rows(table, self._names)]

    def seats(self) -> list[Row]:
        """See ``Tournament``."""
        rows = []
        ways: dict[str, Callable[[Played], npt.NDArray[np.int64]]] = {
            "seat": lambda table: np.broadcast_to(np.arange(self._players), table.shares.shape),
            "turn": lambda table: table.turns,
        }
        for by, where in ways.items():
            for position in range(self._players):
                of_seed = np.mean([per_seed(table.shares, where(table) == position) for table in self._played], axis=0)
                rows.append(
                    {
                        "num_players": self._players,
                        "by": by,
                        "position": position,
                        **_win_share(of_seed),
                        "par": 1 / self._players,
                    }
                )
        return rows


def line_up_rows(table: Played, names: Sequence[str]) -> list[Row]:
    """A row for each agent of a line-up; see ``Tournament``."""
    rows = []
    for agent, seats in table.line_up.counts().items():
        of_seed = table.win_shares[agent]
        rows.append(
            {
                "num_players": table.players,
                "line_up": table.name,
                "kinds": "+".join(table.line_up.kinds),
                "agent": names[agent],
                "seats": seats,
                "games": len(table.matches),
                **_win_share(of_seed, seats),
                "par": 1 / table.players,
                **_means([table], agent),
            }
        )
    return rows


def _win_share(of_seed: npt.NDArray[np.float64], seats: int = 1) -> Row:
    """The mean win share of one seat (seeds,) and its interval; several seats of a game together may win all of it."""
    low, high = share_interval(of_seed * seats)
    return {"win_share": float(of_seed.mean()), "low": low / seats, "high": high / seats}


def _means(counted: Sequence[Played], agent: int) -> Row:
    """Means over the games of some line-ups, of the seats of an agent."""

    def mean(of: Any) -> float:
        return float(np.mean([of(table.matches)[table.matches.line_ups == agent].mean() for table in counted]))

    return {
        "coins": mean(lambda matches: matches.coins),
        "place": mean(lambda matches: matches.places),
        "decisions": mean(lambda matches: matches.decisions),
        "rounds": float(np.mean([table.matches.rounds.mean() for table in counted])),
        "truncated": float(np.mean([table.matches.truncated.mean() for table in counted])),
    }


def _ahead(played: Sequence[Played], agent: int, opponent: int) -> tuple[float | None, int]:
    """Share of common tables at which the one had more coins (equal coins count half), and the number of games."""
    points, times, games = 0.0, 0, 0
    for table in played:
        if not {agent, opponent} <= set(table.line_up.agents):
            continue
        games += len(table.matches)
        sits, coins = table.matches.line_ups, table.matches.coins
        for one, other in permutations(range(table.players), 2):
            meet = (sits[:, one] == agent) & (sits[:, other] == opponent)
            lead = np.sign(coins[meet, one].astype(np.int32) - coins[meet, other])
            points += float(((lead + 1) / 2).sum())
            times += int(meet.sum())
    return (points / times if times else None), games


def _rated_places(matches: Matches) -> npt.NDArray[np.int64]:
    """Places (N, P); a game that was cut off is a tie of all."""
    return np.where(matches.truncated[:, None], 1, matches.places)
