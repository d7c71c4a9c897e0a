"""What ``megaland probe`` counts in recorded decisions, and the tables that it makes of the counts.

**Judging the decisions of a level run.** The exact solver of level runs
(agents/megaland_agents/planning/run_solver.py) gives the value of each choice in a model in which every treasure is
worth 1, one coin is worth one treasure, and a jump token that is left is worth what it adds to a later run
(``token_worth``). The model knows the player's own Soap Makers, Herb Huts, Laboratories, Bazaars and Temples. The
*loss* of a decision is the value of the better choice minus the value of the choice made. For a good player treasures
differ in value, so it may depart from the model for good reasons: the loss measures how a player differs from the
solver, not how well it plays.

The counts of different games can be added (``Tally``), so games can be measured in pieces.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from megaland_agents.planning.run_solver import RunModel, solve
from megaland_env import Building, Kind, MegalandConfig, MegalandGames, Treasure
from megaland_env.actions import BUY_FIRST, HEART_FIRST, JUMP, LEAVE, PASS, STAY, TRADE, TREASURE_FIRST
from megaland_env.cards import (
    BAZAAR_COINS,
    JUMP_SYMBOLS,
    MAX_HEARTS,
    NUM_LEVEL_CARDS,
    NUM_TREASURES,
    RABBIT_CARROTS,
    SKULLS,
    START_HEARTS,
    TEMPLE_COINS,
    LevelCard,
)
from megaland_env.engine import bits, rng
from megaland_env.engine.odds import fall_chance
from megaland_experiments.matches.playing import Matches
from megaland_experiments.probe.decisions import Decided
from megaland_experiments.shared.intervals import CONFIDENCE

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]

MOST_TOKENS = 4
"""Larger numbers of jump tokens count as this one: only four cards can be jumped over (C3)."""

MOST_CARROTS = 5
"""Larger numbers of carrots at the Rabbit count as this one."""

ITEMS = ("heart", *(building.label for building in Building))
CHOICES = (Kind.PAY, Kind.STORE, Kind.HERB_HUT, Kind.REPTILE)
"""The decisions in which a treasure is chosen."""

UNDER_THE_CARD = ("averts a fall", "saves hearts", "harmless card", "no jump symbol")
"""What a jump does, by the card that comes. On the last two kinds of card it is wasted."""

_DANGERS = 11  # none, then tenths
_MOST_CARRIED = RunModel().most_carried
_EQUAL = 1e-9  # values this close are equal but for rounding
_RUN_SUMS = ("decisions", "leaves", "solver_leaves", "optimal", "loss")
_JUMP_SUMS = ("decisions", "jumps", "optimal", "loss")
_TURN_SUMS = ("turns", "able", "bought", "passes", "held_at_pass")
_SEED_SUMS = ("runs", "decisions", "optimal", "loss", "falls", "home", "carried_home", "jump_loss")


# ------------------------------------------------------------------------------------------------------ the model


@cache
def token_worth() -> float:
    """The value that a jump token adds to a run with four hearts if it is worth nothing afterwards: 0.68 treasures."""
    solution = solve(RunModel(most_tokens=1))
    return solution.run(START_HEARTS, 1) - solution.run(START_HEARTS, 0)


@dataclass(frozen=True, eq=False)
class Worths:
    """Values, in treasures, of both choices of M decisions of the kinds RUN and JUMP, in the model of the run.

    Attributes:
        dare: (M,) value of the bolder choice: to stay (before the draw), or not to jump.
        care: (M,) value of the more careful choice: to leave, or to jump.
        chosen: (M,) value of the choice made.
        loss: (M,) value of the better choice minus that of the choice made, at least 0.
        optimal: (M,) whether the choice made is the better one, or both are equal.
        cares: (M,) whether the solver makes the careful choice. Where both are equal, it leaves, or saves the token.
    """

    dare: Floats
    care: Floats
    chosen: Floats
    loss: Floats
    optimal: npt.NDArray[np.bool_]
    cares: npt.NDArray[np.bool_]


_IN_THE_MODEL = (
    Building.SOAP_MAKERS,
    Building.HERB_HUT,
    Building.LABORATORY,
    Building.BAZAAR_OF_ODDITIES,
    Building.TEMPLE_OF_ZOZ,
)
_COPIES = 256  # more copies than anybody owns, so that one number can encode the five counts


def worths(decided: Decided) -> Worths:
    """Values of decisions of the kinds RUN and JUMP, from the solution of the run for the buildings of each player."""
    owned = decided.buildings[:, list(_IN_THE_MODEL)].astype(np.int64)
    owned[:, 0] = np.minimum(owned[:, 0], 1)  # C8: Soap Makers do not add up
    models, of_model = np.unique(owned @ _COPIES ** np.arange(len(_IN_THE_MODEL)), return_inverse=True)
    tokens = np.minimum(decided.jumps, MOST_TOKENS).astype(np.int64)
    carried = decided.carried.sum(axis=1, dtype=np.int64)
    running = decided.kind == Kind.RUN
    dare, care = np.empty(len(decided)), np.empty(len(decided))
    for number, model in enumerate(models.tolist()):
        rows = np.flatnonzero(of_model == number)
        soap, huts, laboratories, bazaars, temples = (
            model // _COPIES**place % _COPIES for place in range(len(_IN_THE_MODEL))
        )
        solution = solve(
            RunModel(
                soap_makers=bool(soap),
                serpent=float(TEMPLE_COINS * temples),
                bazaar=float(BAZAAR_COINS * bazaars),
                kept=huts,
                consolation=float(laboratories),
                token=token_worth(),
                most_tokens=int(tokens[rows].max()),
            )
        )
        where = decided.unseen[rows], decided.hearts[rows], tokens[rows], carried[rows]
        dare[rows] = np.where(running[rows], solution.stay[where], solution.walk[where])
        care[rows] = np.where(running[rows], solution.leave[where[2:]], solution.jump[where])
    took_care = np.isin(decided.action, (LEAVE, JUMP))
    chosen = np.where(took_care, care, dare)
    loss = np.maximum(dare, care) - chosen
    optimal = loss <= _EQUAL
    equal = np.abs(dare - care) <= _EQUAL
    return Worths(dare, care, chosen, np.where(optimal, 0, loss), optimal, np.where(equal, running, care > dare))


def next_cards(decided: Decided, seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """The level card (M,) that comes next in the round of each decision.

    The level deck depends only on the seed and the round (rng.py), so the card is known even if nobody meets it.

    Args:
        decided: M decisions of phase 1.
        seeds: (N,) seeds of the games.
    """
    left = np.bitwise_count(decided.unseen)
    words = rng.key(seeds)[decided.game] + rng.offset(rng.Purpose.REVEAL)
    words += rng.round_offset(decided.round) + rng.count_offset(NUM_LEVEL_CARDS - left)
    cards: npt.NDArray[np.uint8] = bits.NTH_BIT_OF_TEN[decided.unseen, rng.choose(rng.scramble(words), left)]
    return cards


def damages(decided: Decided, cards: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The hearts (M,) that the cards take from a player who does not jump (L5)."""
    soap = decided.buildings[:, Building.SOAP_MAKERS] > 0
    hurt: npt.NDArray[np.uint8] = SKULLS[cards] * ~(soap & (cards == LevelCard.SLUDGE_CREATURE))
    return hurt


# ------------------------------------------------------------------------------------------------------ counting


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts and sums over games. The sum of two tallies adds them; the rows of the seeds are concatenated.

    Attributes:
        by_hearts: (9 hearts, 11 unseen cards, 5) sums over the decisions to stay or leave (``_RUN_SUMS``).
        by_danger: (11, 5) the same sums by the chance to fall on the next card: none, up to 0.1, up to 0.2, ...
        by_carried: (14, 5) the same sums by treasures carried.
        jumps: (2, 4) sums over the decisions to jump, by whether the solver jumps (``_JUMP_SUMS``).
        tokens: (4, 2) decisions to jump, by what a jump would have done (``UNDER_THE_CARD``) and by the choice made.
        items: (rounds + 1, 24, 2) turns in games that have an item on offer, and copies bought (``ITEMS``).
        turns: (rounds + 1, 5) sums over the turns in the buy phase (``_TURN_SUMS``).
        treasures: (4, 6, 4) by kind of choice (``CHOICES``) and treasure: decisions, held, could be chosen, chosen.
        trades: (6, 2) by carrots carried: decisions, and trades.
        seeds: (S, 8) sums by seed (``_SEED_SUMS``).
    """

    by_hearts: Floats
    by_danger: Floats
    by_carried: Floats
    jumps: Floats
    tokens: Floats
    items: Floats
    turns: Floats
    treasures: Floats
    trades: Floats
    seeds: Floats

    def __add__(self, other: Tally) -> Tally:
        pairs = {field.name: (getattr(self, field.name), getattr(other, field.name)) for field in fields(self)}
        seeds = np.concatenate(pairs.pop("seeds"))
        return Tally(**{name: one + two for name, (one, two) in pairs.items()}, seeds=seeds)


def tally(
    decided: Decided,
    matches: Matches,
    agent: int,
    config: MegalandConfig,
    games_per_seed: int,
) -> Tally:
    """Count what an agent decided in some games.

    Args:
        decided: all decisions of the agent; ``decided.game`` is the position in ``matches``.
        matches: the games; the games of one seed are next to each other.
        agent: number of the agent in ``matches.line_ups``.
        config: configuration of the games.
        games_per_seed: number of games with the same seed.
    """
    level = decided.of(Kind.RUN, Kind.JUMP)
    worth = worths(level)
    running = level.kind == Kind.RUN
    run, jump = level[running], level[~running]
    left = run.action == LEAVE
    of_run = (np.ones(len(run)), left, worth.cares[running], worth.optimal[running], worth.loss[running])
    unseen = np.bitwise_count(run.unseen).astype(np.int64)
    chance = fall_chance(run.unseen, run.hearts, run.buildings[:, Building.SOAP_MAKERS], False)
    danger = np.ceil(chance * (_DANGERS - 1) - 1e-4).astype(np.int64)
    carried = run.carried.sum(axis=1, dtype=np.int64)

    jumped = jump.action == JUMP
    of_jump = (np.ones(len(jump)), jumped, worth.optimal[~running], worth.loss[~running])
    says_jump = worth.cares[~running].astype(np.int64)
    under = under_the_card(jump, next_cards(jump, matches.seeds))

    seats = (matches.line_ups == agent).sum(axis=1)
    seed_of = np.arange(len(matches)) // games_per_seed
    num_seeds = int(seed_of[-1]) + 1
    of_run_seed, of_jump_seed = seed_of[run.game], seed_of[jump.game]
    fell = _falls(run, jump[jumped], matches.seeds)
    seeds = np.concatenate(
        [
            _sums(seed_of, num_seeds, seats * matches.rounds),
            _sums(of_run_seed, num_seeds, of_run[0], of_run[3], of_run[4], fell, left, left * carried),
            _sums(of_jump_seed, num_seeds, of_jump[3]),
        ],
        axis=1,
    )
    rabbit = decided.of(Kind.RABBIT)
    carrots = np.minimum(rabbit.carried[:, Treasure.CARROT], MOST_CARROTS).astype(np.int64)
    return Tally(
        by_hearts=_sums((run.hearts, unseen), (MAX_HEARTS + 1, NUM_LEVEL_CARDS + 1), *of_run),
        by_danger=_sums(danger, _DANGERS, *of_run),
        by_carried=_sums(carried, _MOST_CARRIED + 1, *of_run),
        jumps=_sums(says_jump, 2, *of_jump),
        tokens=_sums((under, jumped), (len(UNDER_THE_CARD), 2), np.ones(len(jump)))[..., 0],
        items=_items(decided, matches, seats, config),
        turns=_turns(decided, matches, seats, config),
        treasures=np.stack([_treasures(decided.of(kind), kind) for kind in CHOICES]),
        trades=_sums(carrots, MOST_CARROTS + 1, np.ones(len(rabbit)), rabbit.action == TRADE),
        seeds=seeds,
    )


def _sums(at: Any, shape: int | tuple[int, ...], *values: npt.NDArray[Any]) -> Floats:
    """Sums (\\*shape, len(values)) of each of the values over the rows ``at`` each place."""
    sizes = (shape,) if isinstance(shape, int) else shape
    where = np.ravel_multi_index(tuple(np.asarray(part, np.int64) for part in (at if len(sizes) > 1 else (at,))), sizes)
    places = int(np.prod(sizes))
    sums = [np.bincount(where, weights=value, minlength=places) for value in values]
    stacked: Floats = np.stack(sums, axis=-1).astype(np.float64).reshape(*sizes, len(values))
    return stacked


def under_the_card(jump: Decided, cards: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """The number (M,) in ``UNDER_THE_CARD`` of what a jump does."""
    hurt = damages(jump, cards)
    over = JUMP_SYMBOLS[cards]
    found: npt.NDArray[np.int64] = np.select([hurt == 0, ~over, hurt >= jump.hearts], [2, 3, 0], 1)
    return found


def _falls(run: Decided, jumped: Decided, seeds: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Whether the player stayed and fell on the next card (M,). Nobody can fall on the first card (C3, C4)."""
    cards = next_cards(run, seeds)
    jumps = np.isin(_moment(run), _moment(jumped)) & JUMP_SYMBOLS[cards]
    fell: npt.NDArray[np.bool_] = (run.action == STAY) & ~jumps & (damages(run, cards) >= run.hearts)
    return fell


def _moment(decided: Decided) -> npt.NDArray[np.int64]:
    """A number (M,) for each game, seat, round and number of unseen cards."""
    return (_turn(decided) << 4) + np.bitwise_count(decided.unseen)


def _turn(decided: Decided) -> npt.NDArray[np.int64]:
    """A number (M,) for each game, seat and round."""
    return (((decided.game << 4) + decided.seat) << 24) + decided.round


def _played(matches: Matches, config: MegalandConfig) -> npt.NDArray[np.bool_]:
    """Whether each game had each round (rounds + 1, N)."""
    rounds = np.arange(config.max_rounds + 1)[:, None]
    return (rounds > 0) & (rounds <= matches.rounds)


def _items(decided: Decided, matches: Matches, seats: npt.NDArray[np.int64], config: MegalandConfig) -> Floats:
    games = MegalandGames(config, len(matches))
    games.reset(matches.seeds)  # what is on offer follows from the seed
    on_offer = np.ones((len(matches), len(ITEMS)))
    on_offer[:, 1:] = games.rows(np.arange(len(matches)), np.zeros(len(matches), np.int64)).view.on_offer
    turns = _played(matches, config).astype(np.float64) @ (seats[:, None] * on_offer)
    buy = decided.of(Kind.BUY)
    buy = buy[buy.action != PASS]
    action = buy.action.astype(np.int64)
    item = np.where(action >= HEART_FIRST, 0, action - BUY_FIRST + 1)
    bought = _sums((buy.round, item), turns.shape, np.ones(len(buy)))
    return np.concatenate([turns[..., None], bought], axis=-1)


def _turns(decided: Decided, matches: Matches, seats: npt.NDArray[np.int64], config: MegalandConfig) -> Floats:
    rounds = config.max_rounds + 1
    turns = (_played(matches, config) @ seats).astype(np.float64)
    buy = decided.of(Kind.BUY)
    buy = buy[np.bitwise_count(buy.legal) > 1]  # something can be bought
    passing = buy.action == PASS
    able = buy.round[np.unique(_turn(buy), return_index=True)[1]]
    bought = buy.round[~passing][np.unique(_turn(buy[~passing]), return_index=True)[1]]
    passes = _sums(buy.round[passing], rounds, np.ones(passing.sum()), buy.home[passing].sum(axis=1, dtype=np.int64))
    counts = [np.bincount(which, minlength=rounds) for which in (able, bought)]
    columns: Floats = np.column_stack([turns, *counts, passes])
    return columns


def _treasures(decided: Decided, kind: Kind) -> Floats:
    """Decisions, treasures held, legal and chosen, for each type of treasure (6, 4)."""
    hand = (decided.carried if kind == Kind.HERB_HUT else decided.home).astype(np.int64)
    if kind in (Kind.HERB_HUT, Kind.STORE):
        hand = hand - decided.picked  # chosen cards are in the hand until all have chosen
    legal = bits.members(decided.legal >> np.uint64(TREASURE_FIRST), NUM_TREASURES)
    chosen = decided.action.astype(np.int64)[:, None] == TREASURE_FIRST + np.arange(NUM_TREASURES)
    decisions = np.full(NUM_TREASURES, len(decided))
    return np.stack([decisions, hand.sum(axis=0), legal.sum(axis=0), chosen.sum(axis=0)], axis=-1).astype(np.float64)


# ------------------------------------------------------------------------------------------------------ the tables


def tables(counted: Tally) -> dict[str, list[Row]]:
    """The tables of ``Probe`` by name."""
    return {
        "summary": _summary(counted),
        "leaving": [
            {"hearts": hearts, "unseen": unseen, **_run_row(sums)}
            for hearts, line in enumerate(counted.by_hearts)
            for unseen, sums in enumerate(line)
            if sums[0]
        ],
        "leaving_by_danger": [
            {"fall_chance_above": max(tenth - 1, 0) / 10, "fall_chance_to": tenth / 10, **_run_row(sums)}
            for tenth, sums in enumerate(counted.by_danger)
            if sums[0]
        ],
        "leaving_by_carried": [
            {"carried": carried, **_run_row(sums)} for carried, sums in enumerate(counted.by_carried) if sums[0]
        ],
        "purchases": [
            {"round": number, "item": item, "turns": int(turns), "bought": int(bought), "per_turn": bought / turns}
            for number, line in enumerate(counted.items)
            for item, (turns, bought) in zip(ITEMS, line.tolist(), strict=True)
            if turns
        ],
        "turns": [_turn_row(number, *sums) for number, sums in enumerate(counted.turns.tolist()) if sums[0]],
        "treasures": [
            {
                "choice": kind.label,
                "treasure": treasure.label,
                "decisions": int(decisions),
                "held": _ratio(held, decisions),
                "offered": int(offered),
                "chosen": int(chosen),
                "share": _ratio(chosen, offered),
            }
            for kind, lines in zip(CHOICES, counted.treasures.tolist(), strict=True)
            for treasure, (decisions, held, offered, chosen) in zip(Treasure, lines, strict=True)
        ],
        "jumps": [
            {
                "solver": "jump" if says_jump else "walk",
                "decisions": int(decisions),
                "jumps": int(jumps),
                "jump_share": _ratio(jumps, decisions),
                "optimal_share": _ratio(optimal, decisions),
                "loss": _ratio(loss, decisions),
            }
            for says_jump, (decisions, jumps, optimal, loss) in enumerate(counted.jumps.tolist())
        ],
        "tokens": [
            {"a_jump": what, "jumped": int(jumped), "walked": int(walked)}
            for what, (walked, jumped) in zip(UNDER_THE_CARD, counted.tokens.tolist(), strict=True)
        ],
        "trades": [
            {"carrots": carrots, "decisions": int(decisions), "trades": int(trades), "share": _ratio(trades, decisions)}
            for carrots, (decisions, trades) in enumerate(counted.trades.tolist())
            if carrots >= RABBIT_CARROTS
        ],
    }


def _summary(counted: Tally) -> list[Row]:
    seeds = dict(zip(_SEED_SUMS, counted.seeds.T, strict=True))
    leaves, solver_leaves = counted.by_danger[:, 1:3].sum(axis=0).tolist()
    decisions = seeds["decisions"].sum()
    jumps = counted.jumps.sum(axis=0)
    jumped = counted.tokens[:, 1]
    turns = dict(zip(_TURN_SUMS, counted.turns.sum(axis=0).tolist(), strict=True))
    asked, traded = counted.trades.sum(axis=0)

    def row(measure: str, value: float | None, low: float | None = None, high: float | None = None) -> Row:
        return {"measure": measure, "value": value, "low": low, "high": high}

    def mean(measure: str, what: str, over: str) -> Row:
        return row(measure, *_ratio_interval(seeds[what], seeds[over]))

    return [
        row("runs", float(seeds["runs"].sum())),
        row("stay_or_leave_decisions", float(decisions)),
        mean("optimal_share", "optimal", "decisions"),
        mean("loss_per_decision", "loss", "decisions"),
        mean("loss_per_run", "loss", "runs"),
        row("leave_share", _ratio(leaves, decisions)),
        row("solver_leave_share", _ratio(solver_leaves, decisions)),
        mean("falls_per_run", "falls", "runs"),
        mean("carried_when_leaving", "carried_home", "home"),
        row("jump_decisions", float(jumps[0])),
        row("jump_share", _ratio(jumps[1], jumps[0])),
        row("jump_optimal_share", _ratio(jumps[2], jumps[0])),
        mean("jump_loss_per_run", "jump_loss", "runs"),
        row("tokens_wasted_share", _ratio(jumped[2:].sum(), jumped.sum())),
        row("turns_with_a_purchase", _ratio(turns["bought"], turns["able"])),
        row("turns_passed_with_something_affordable", _ratio(turns["passes"], turns["able"])),
        row("treasures_held_at_such_a_pass", _ratio(turns["held_at_pass"], turns["passes"])),
        row("trade_share", _ratio(traded, asked)),
    ]


def _run_row(sums: Floats) -> Row:
    decisions, leaves, solver_leaves, optimal, loss = sums.tolist()
    return {
        "decisions": int(decisions),
        "leave_share": leaves / decisions,
        "solver_leave_share": solver_leaves / decisions,
        "optimal_share": optimal / decisions,
        "loss": loss / decisions,
    }


def _turn_row(number: int, turns: float, able: float, bought: float, passes: float, held: float) -> Row:
    return {
        "round": number,
        "turns": int(turns),
        "able": int(able),
        "bought": int(bought),
        "passes": int(passes),
        "passes_at_once": int(able - bought),
        "held_at_pass": _ratio(held, passes),
    }


def _ratio(over: float, under: float) -> float | None:
    return float(over / under) if under else None


def _ratio_interval(over: Floats, under: Floats) -> tuple[float | None, float | None, float | None]:
    """A ratio of sums over seeds, and its interval by linear approximation; None where there is none."""
    ratio = _ratio(over.sum(), under.sum())
    if ratio is None or over.size < 2:
        return ratio, None, None
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    margin = z * float((over - ratio * under).std(ddof=1)) * over.size**0.5 / float(under.sum())
    return ratio, ratio - margin, ratio + margin
