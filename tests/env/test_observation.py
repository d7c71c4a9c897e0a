"""The observation: every feature is checked against a snapshot; nothing hidden is in it, nothing public is lost."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megaland_env import MegalandConfig, MegalandGames
from megaland_env.agent import random_legal
from megaland_env.observation import FEATURES, FEATURES_VERSION, NUM_FEATURES, encode, features_table
from megaland_env.observation.encode import _FEW
from tests.support import tables

Snapshot = dict[str, Any]

# The components once more, by hand (C2, C3, C6): the slow function below shares no table with the fast one.
COPIES = tables.TREASURES
SKULLS = {
    "Clouds": 0,
    "Spires": 0,
    "Green Mesa": 0,
    "Treasure Box": 0,
    "Floating Eye": 1,
    "Rabbit": 1,
    "Sludge Creature": 1,
    "Bats": 2,
    "Biting Plant": 2,
    "Red Serpent": 3,
}
CAN_BE_JUMPED = {"Rabbit", "Sludge Creature", "Biting Plant", "Red Serpent"}
STARS, NORMALS = list(tables.STARS), list(tables.NORMALS)
KINDS = ["none", "jump", "herb_hut", "rabbit", "run", "reptile", "buy", "pay", "store"]


# --------------------------------------------------------------------------------------------- playing


def play(games: MegalandGames) -> Iterator[MegalandGames]:
    """Play at random; yield the games before the first step and after each."""
    yield games
    while games.active.any():
        decisions = games.decisions()
        games.step(games.scatter(decisions, random_legal(decisions)))
        yield games


def played(config: MegalandConfig, num_games: int, seed: int, steps: int) -> MegalandGames:
    """Games after a number of steps of random play, or at their end."""
    games = MegalandGames(config, num_games)
    games.reset(seed)
    for number, _ in enumerate(play(games)):
        if number == steps:
            break
    return games


markets = st.sampled_from(["spread", "random"]) | st.lists(
    st.sampled_from(NORMALS), min_size=7, max_size=7, unique=True
).map(tuple)
configs = st.builds(
    MegalandConfig,
    num_players=st.integers(2, 5),
    market=markets,
    payment=st.sampled_from(["choose", "choose", "auto"]),
    skip_forced=st.booleans(),
    max_rounds=st.sampled_from([2, 50]),
    star_copies=st.sampled_from([(5, 5, 5, 5, 4, 4), (1, 0, 5, 2, 1, 1)]),
)
positions = st.builds(played, configs, num_games=st.just(4), seed=st.integers(0, 2**63), steps=st.integers(0, 250))


def all_rows(games: MegalandGames) -> Any:
    """A row for each seat of each game, deciding or not."""
    game, seat = np.divmod(np.arange(games.num_games * games.num_players), games.num_players)
    return games.rows(game, seat)


# --------------------------------------------------------------------------------------------- the slow twin of encode


def key(name: str) -> str:
    return name.lower().replace(" ", "_")


def fall_chance(snapshot: Snapshot, player: Snapshot, jumping: bool) -> float:
    unseen = [card for card in SKULLS if card not in snapshot["level_seen"]]
    if not player["in_level"] or not unseen:
        return 0.0

    def damage(card: str) -> int:
        if jumping and card in CAN_BE_JUMPED:
            return 0
        if card == "Sludge Creature" and "Soap Makers" in player["buildings"]:
            return 0
        return SKULLS[card]

    return sum(0 < damage(card) >= player["hearts"] for card in unseen) / len(unseen)


def hand(name: str, counts: dict[str, int], root: bool) -> dict[str, float]:
    shares = {treasure: counts.get(treasure, 0) / copies for treasure, copies in COPIES.items()}
    return {f"{name}.{treasure}": math.sqrt(share) if root else share for treasure, share in shares.items()}


def expected(snapshot: Snapshot, seat: int) -> dict[str, float]:
    """Every feature by name, from the words of the rules."""
    features: dict[str, float] = {}
    players = snapshot["players"]
    turned = [(seat + k) % len(players) for k in range(len(players))]
    for k in range(5):
        who = "self" if k == 0 else f"left{k}"
        if k >= len(players):
            features |= {f"{who}.{name[5:]}": 0.0 for name in list(features) if name.startswith("self.")}
            continue
        at = turned[k]
        player = players[at]
        features |= {
            f"{who}.present": 1,
            f"{who}.active": at in snapshot["active"],
            f"{who}.in_level": player["in_level"],
            f"{who}.jumping": player["jumping"],
            f"{who}.falling": player["falling"],
            f"{who}.first_player": at == snapshot["first_player"],
            f"{who}.buyer": at == snapshot["buyer"],
            f"{who}.fall_chance": fall_chance(snapshot, player, jumping=False),
            f"{who}.jump_fall_chance": fall_chance(snapshot, player, jumping=True),
            f"{who}.coins": min(player["coins"], 40) / 40,
            f"{who}.hearts": player["hearts"] / 8,
            f"{who}.max_hearts": player["max_hearts"] / 8,
            f"{who}.jumps": min(player["jumps"], 7) / 7,
            f"{who}.picks_left": min(player["picks_left"], 10) / 10,
            f"{who}.fish_used": player["wild_used"]["fish"] / 4,
            f"{who}.carrots_used": player["wild_used"]["carrot"] / 4,
        }
        features |= hand(f"{who}.carried", player["carried"], root=True)
        features |= hand(f"{who}.home", player["home"], root=True)
        features |= hand(f"{who}.picked", player["picked"], root=False)
        for building in STARS + NORMALS:
            features[f"{who}.buildings.{key(building)}"] = min(player["buildings"].get(building, 0), 5) / 5

    me, *others = (players[at] for at in turned)
    lead = me["coins"] - max(other["coins"] for other in others)
    features["self.lead"] = max(-20, min(lead, 20)) / 20
    features["self.cards.carried"] = min(sum(me["carried"].values()), 16) / 16
    features["self.cards.home"] = min(sum(me["home"].values()), 16) / 16
    features["self.types.home"] = len(me["home"]) / 6
    features["self.types.both"] = len(me["home"].keys() | me["carried"].keys()) / 6

    pay = snapshot["pay"] or {"buying": None, "treasure": None, "cost": 0, "paid": {}}
    bought = [building for player in players for building in player["bought"]]
    supply = snapshot["supply"]
    features["table.players"] = len(players) / 5
    features["table.round"] = min(snapshot["round"], 50) / 50
    features["table.heart_supply"] = supply["hearts"] / 24
    features["table.jump_supply"] = supply["jumps"] / 14
    features["table.cost"] = pay["cost"] / 6
    features |= hand("table.deck", snapshot["treasure_deck"], root=False)
    features |= hand("table.discard", snapshot["discard"], root=False)
    features |= hand("table.paid", pay["paid"], root=False)
    for building in STARS + NORMALS:
        left = supply["buildings"].get(building)
        features[f"table.supply.{key(building)}"] = -1 if left is None else min(left, 5) / 5
        features[f"table.turn.{key(building)}"] = (building in bought) - (building == pay["buying"])
    for treasure in COPIES:
        features[f"table.heart_treasure.{treasure}"] = treasure == pay["treasure"]
    for card in SKULLS:
        features[f"table.unseen.{key(card)}"] = card not in snapshot["level_seen"]
        features[f"table.level_card.{key(card)}"] = card == snapshot["level_card"]
    for kind in KINDS:
        features[f"kind.{kind}"] = kind == (snapshot["decision"] or "none")
    return {name: float(value) for name, value in features.items()}


def assert_as_expected(row: Any, snapshot: Snapshot, seat: int) -> None:
    slow = expected(snapshot, seat)
    assert slow.keys() == set(FEATURES)
    wanted = np.array([slow[name] for name in FEATURES])
    wrong = np.flatnonzero(np.abs(row - wanted) > 1e-6)
    assert not wrong.size, [(FEATURES[i], float(row[i]), wanted[i]) for i in wrong]


# --------------------------------------------------------------------------------------------- the features


def test_every_index_has_a_name_of_its_own() -> None:
    assert len(set(FEATURES)) == len(FEATURES) == NUM_FEATURES
    assert NUM_FEATURES <= 400
    for name in ("self.coins", "left1.carried.egg", "left4.buildings.lodge", "table.unseen.bats", "kind.run"):
        assert name in FEATURES


def test_the_features_of_this_version_are_these() -> None:
    """A change of the features must increase FEATURES_VERSION, and then change this hash."""
    assert FEATURES_VERSION == 1
    assert hashlib.sha256("\n".join(FEATURES).encode()).hexdigest()[:16] == "3e11f49e0c4cfe22"


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("market", ["spread", "random", tuple(NORMALS[:7]), tuple(NORMALS[-7:])])
def test_the_shape_is_the_same_at_every_table(players: int, market: Any) -> None:
    games = played(MegalandConfig(num_players=players, market=market), 3, seed=5, steps=20)
    decisions = games.decisions()
    rows = encode(decisions)
    assert rows.shape == (len(decisions), NUM_FEATURES)
    assert rows.dtype == np.float32
    assert (rows if games.engine == "compiled" else rows.T).flags.c_contiguous


@settings(max_examples=40, deadline=None)
@given(positions)
def test_every_feature_is_what_the_words_say(games: MegalandGames) -> None:
    rows = all_rows(games)
    observed = encode(rows)
    snapshots = [games.snapshot(game) for game in range(games.num_games)]
    for row, game, seat in zip(observed, rows.game, rows.seat, strict=True):
        assert_as_expected(row, snapshots[game], int(seat))


@settings(max_examples=60, deadline=None)
@given(positions)
def test_few_rows_are_written_as_many_are(games: MegalandGames) -> None:
    """Few rows are looked up byte by byte, many are written array by array: the results are the same, bit for bit."""
    rows = all_rows(games)
    many = encode(rows[np.tile(np.arange(len(rows)), 20)])
    assert len(many) > 2 * len(rows) + _FEW
    assert encode(rows).tobytes() == many[: len(rows)].tobytes()
    assert encode(rows[3:5]).tobytes() == many[-len(rows) :][3:5].tobytes()


def test_every_feature_is_seen_at_work() -> None:
    """Play until every feature has had two values, and check a row with each: no feature is constant."""
    met_first = None
    not_met = set(range(NUM_FEATURES))
    for players in (2, 5):
        games = MegalandGames(MegalandConfig(num_players=players, market="random"), 50 * players - 50)
        games.reset(players)
        for _ in play(games):
            rows = all_rows(games)
            observed = encode(rows)
            met_first = observed[0] if met_first is None else met_first
            for feature in np.flatnonzero((observed != met_first).any(axis=0)):
                if feature in not_met:
                    row = int((observed[:, feature] != met_first[feature]).argmax())
                    assert_as_expected(observed[row], games.snapshot(int(rows.game[row])), int(rows.seat[row]))
                    not_met.remove(feature)
    # Two seats are always taken, and of the few gears a heart is hardly ever bought, still less with a choice to make.
    assert {FEATURES[feature] for feature in not_met} <= {"self.present", "left1.present", "table.heart_treasure.gear"}


@pytest.mark.parametrize("players", [2, 5])
def test_all_values_are_in_range(players: int) -> None:
    config = MegalandConfig(num_players=players, market="random", star_copies=(20, 9, 5, 5, 4, 4))
    games = MegalandGames(config, 50)
    games.reset(7)
    for _ in play(games):
        observed = encode(all_rows(games))
        assert np.isfinite(observed).all()
        assert observed.min() >= -1
        assert observed.max() <= 1


def test_what_passes_a_bound_is_cut_off() -> None:
    games = played(MegalandConfig(num_players=3, max_rounds=10_000, star_copies=(20, 5, 5, 5, 4, 4)), 1, 11, 30)
    snapshot = games.snapshot(0)
    snapshot["round"] = 9_999
    snapshot["players"][0]["coins"] = 140
    snapshot["players"][1]["coins"] = 41
    supply = snapshot["supply"]["buildings"]
    supply["Sandwich Stand"] -= 9
    owned = snapshot["players"][2]["buildings"]
    owned["Sandwich Stand"] = owned.get("Sandwich Stand", 0) + 9
    snapshot["players"][2]["jumps"] += snapshot["supply"]["jumps"]
    snapshot["supply"]["jumps"] = 0
    restored = MegalandGames.restore([snapshot])
    for times in (1, _FEW):
        for seat, row in enumerate(encode(restored.rows([0, 0, 0] * times, [0, 1, 2] * times))[:3]):
            assert_as_expected(row, snapshot, seat)
            assert row.max() == 1
            assert row.min() == -1


# --------------------------------------------------------------------------------------------- who sees what


def test_onlookers_see_what_the_others_decide() -> None:
    games = played(MegalandConfig(num_players=4), 30, seed=3, steps=25)
    rows = all_rows(games)
    looking = rows[~games.active[rows.game, rows.seat]]
    observed = encode(looking)
    assert len(looking) > 10
    assert not observed[:, FEATURES.index("self.active")].any()
    first = FEATURES.index("kind.none")
    assert (observed[:, first:].argmax(axis=1) == games.kind[looking.game]).all()
    for row, game, seat in zip(observed, looking.game, looking.seat, strict=True):
        assert_as_expected(row, games.snapshot(int(game)), int(seat))


@pytest.mark.parametrize("max_rounds", [2, 50])
def test_after_the_end(max_rounds: int) -> None:
    games = played(MegalandConfig(num_players=3, max_rounds=max_rounds), 8, seed=1, steps=-1)
    assert not games.active.any()
    assert not len(games.decisions())
    rows = all_rows(games)
    for row, game, seat in zip(encode(rows), rows.game, rows.seat, strict=True):
        assert row[FEATURES.index("kind.none")] == 1
        assert_as_expected(row, games.snapshot(int(game)), int(seat))


def test_no_rows_at_all() -> None:
    games = played(MegalandConfig(), 2, seed=1, steps=3)
    assert encode(games.rows([], [])).shape == (0, NUM_FEATURES)


def turned(snapshot: Snapshot, places: int) -> Snapshot:
    """The same position with all players moved some seats to the left."""
    players = len(snapshot["players"])
    other = deepcopy(snapshot)
    for name in ("players", "decisions"):
        for seat, value in enumerate(snapshot[name]):
            other[name][(seat + places) % players] = value
    for name in ("active", "winners"):
        other[name] = sorted((seat + places) % players for seat in snapshot[name])
    for name in ("first_player", "buyer"):
        if snapshot[name] is not None:
            other[name] = (snapshot[name] + places) % players
    return other


@settings(max_examples=30, deadline=None)
@given(positions, st.integers(1, 4))
def test_only_the_places_relative_to_oneself_matter(games: MegalandGames, places: int) -> None:
    snapshots = [games.snapshot(game) for game in range(games.num_games)]
    restored = MegalandGames.restore([turned(snapshot, places) for snapshot in snapshots])
    rows = all_rows(games)
    seats = (rows.seat + places) % games.num_players
    np.testing.assert_array_equal(encode(rows), encode(restored.rows(rows.game, seats)))


@settings(max_examples=30, deadline=None)
@given(positions, st.integers(0, 2**64 - 1), st.randoms(use_true_random=False))
def test_nothing_hidden_is_seen(games: MegalandGames, seed: int, luck: random.Random) -> None:
    """Games that differ only in their future randomness and in their past look the same."""
    others = [games.snapshot(game) for game in range(games.num_games)]
    for other in others:
        other["seed"] = seed
        other["steps"] += 5
        other["decisions"] = [number + 3 for number in other["decisions"]]
        earlier = other["level_seen"][:-1]
        luck.shuffle(earlier)
        other["level_seen"][:-1] = earlier
    restored = MegalandGames.restore(others)
    np.testing.assert_array_equal(encode(all_rows(games)), encode(all_rows(restored)))


def test_forked_games_look_the_same() -> None:
    games = played(MegalandConfig(), 20, seed=8, steps=40)
    decisions = games.decisions()
    forked = decisions.fork(3, seed=1)
    seats = np.repeat(decisions.seat, 3)
    observed = encode(forked.rows(np.arange(3 * len(decisions)), seats))
    np.testing.assert_array_equal(observed, np.repeat(encode(decisions), 3, axis=0))


def public(snapshot: Snapshot) -> str:
    """The parts of a snapshot that the observation must contain."""
    kept = {name: value for name, value in snapshot.items() if name not in ("config", "seed", "steps", "decisions")}
    kept["level_seen"] = sorted(kept["level_seen"])
    return json.dumps(kept, sort_keys=True)


def test_different_positions_look_different() -> None:
    seen: dict[bytes, str] = {}
    for players in (2, 3, 4, 5):
        for market in ("spread", tuple(NORMALS[:7])):
            games = MegalandGames(MegalandConfig(num_players=players, market=market), 4)
            games.reset(players)
            for step, _ in enumerate(play(games)):
                if step > 120:
                    break
                observed = encode(games.rows(np.arange(4), np.zeros(4, np.int64)))
                for game, row in enumerate(observed):
                    words = public(games.snapshot(game))
                    assert seen.setdefault(row.tobytes(), words) == words
    assert len(set(seen.values())) == len(seen) > 3_000


# --------------------------------------------------------------------------------------------- where it is written


def test_rows_do_not_depend_on_their_neighbours() -> None:
    games = played(MegalandConfig(), 40, seed=2, steps=33)
    decisions = games.decisions()
    observed = encode(decisions)
    chosen = np.array([3, 17, 5])
    np.testing.assert_array_equal(encode(decisions[chosen]), observed[chosen])
    np.testing.assert_array_equal(encode(decisions[4:5]), observed[4:5])


@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("layout", ["features first", "rows first", "strided"])
def test_out(layout: str, rows: int) -> None:
    decisions = played(MegalandConfig(), 20, seed=4, steps=30).decisions()[:rows]
    shape = (rows, NUM_FEATURES)
    out = {
        "features first": np.full(shape[::-1], np.nan, np.float32).T,
        "rows first": np.full(shape, np.nan, np.float32),
        "strided": np.full((rows * 2, NUM_FEATURES * 3), np.nan, np.float32)[::2, ::3],
    }[layout]
    assert encode(decisions, out=out) is out
    np.testing.assert_array_equal(out, encode(decisions))


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((2, NUM_FEATURES), np.float64),
        np.zeros((3, NUM_FEATURES), np.float32),
        np.zeros((NUM_FEATURES, 2), np.float32),
    ],
    ids=["type", "rows", "turned"],
)
def test_out_of_another_shape_or_type_is_refused(out: Any) -> None:
    games = played(MegalandConfig(), 5, seed=4, steps=30)
    with pytest.raises(ValueError, match=r"out must be float32 of shape \(2, \d+\), not"):
        encode(games.decisions()[:2], out=out)


def test_decisions_that_are_out_of_date_are_refused() -> None:
    games = played(MegalandConfig(), 5, seed=4, steps=30)
    decisions = games.decisions()
    games.step(games.scatter(decisions, random_legal(decisions)))
    with pytest.raises(RuntimeError, match="out of date"):
        encode(decisions)


# --------------------------------------------------------------------------------------------- its documentation


def test_the_table_names_every_feature_in_order() -> None:
    head, line, *rows = features_table().splitlines()
    assert head == "| index | name | meaning | scaling |"
    assert set(line) == {"|", "-"}
    named: list[str] = []
    for row in rows:
        index, name, meaning, scaling = (cell.strip() for cell in row.strip("|").split("|"))
        assert meaning
        assert scaling
        assert index.split("-")[0] == str(len(named))
        block = re.fullmatch(r"`([\w.]+?)(?:\.(?:{(.*)}|(…)))?`", name)
        assert block, name
        prefix, items, rest = block.groups()
        if rest:
            named += [f"{prefix}.{other[5:]}" for other in FEATURES[: FEATURES.index("left1.present")]]
        else:
            named += [f"{prefix}.{item}" for item in items.split(", ")] if items else [prefix]
        assert index.split("-")[-1] == str(len(named) - 1)
    assert tuple(named) == FEATURES
