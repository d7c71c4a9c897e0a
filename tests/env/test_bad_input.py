"""Whatever is given that makes no sense: an error that names it and says what is allowed, and nothing has changed."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megaland_env import (
    Action,
    Building,
    ConfigError,
    IllegalActionError,
    MegalandConfig,
    MegalandGames,
    SnapshotError,
    action_name,
)
from megaland_env.agent import RandomAgent, agent_names, make_agent
from megaland_env.replay import Recorder, ReplayError, load_replay, save_replay
from tests.support.play import KINDS, LIVELY, check_conservation, each_kind, everything, play, snapshots, some_legal

Snapshot = dict[str, Any]
Change = Callable[[Snapshot], Any]


@pytest.fixture(scope="module")
def playing() -> MegalandGames:
    """Three games of four in the middle of a level, with an event log."""
    games = MegalandGames(MegalandConfig(4), 3, reward="shaped", record=True)
    games.reset(61)
    return play(games, np.random.default_rng(61), 5)


# ------------------------------------------------------------------------------------------------------------- actions

GOOD = np.ones((3, 4), int)  # STAY


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (
            GOOD[:2],
            r"actions must have the shape \(3, 4\), a row for each game and a column for each seat, not \(2, 4\)",
        ),
        (GOOD[:, :3], r"must have the shape \(3, 4\), .* not \(3, 3\)"),
        (GOOD.T, r"must have the shape \(3, 4\), .* not \(4, 3\)"),
        (GOOD.reshape(-1), r"must have the shape \(3, 4\), .* not \(12,\)"),
        (GOOD[:, :, None], r"must have the shape \(3, 4\), .* not \(3, 4, 1\)"),
        (1, r"must have the shape \(3, 4\), .* not \(\)"),
        (None, r"must have the shape"),
        ([], r"must have the shape \(3, 4\), .* not \(0,\)"),
        (GOOD.astype(float), "actions must be integers, not float64"),
        (GOOD.astype(bool), "actions must be integers, not bool"),
        (GOOD.astype(object), "actions must be integers, not object"),
        (GOOD.astype(complex), "actions must be integers, not complex128"),
        (np.full((3, 4), "STAY"), "actions must be integers, not <U4"),
        ([[2**70] * 4] * 3, "actions must be integers, not object"),
    ],
)
def test_actions_of_the_wrong_shape_or_type(playing: MegalandGames, actions: Any, message: str) -> None:
    """Nothing is rounded, spread or read as a number."""
    before = everything(playing)
    with pytest.raises(ValueError, match=message):
        playing.step(actions)
    assert everything(playing) == before


@pytest.mark.parametrize("number", [-1, -(2**31), -(2**63), 40, 63, 64, 255, 256, 257, 2**32 + 1, 2**63 - 1])
def test_actions_that_do_not_exist(playing: MegalandGames, number: int) -> None:
    """Negative ones, huge ones, and those that would be legal if only their last bits were read."""
    game, seat = np.argwhere(playing.active)[-1]
    before = everything(playing)
    wrong = some_legal(playing, np.random.default_rng(62))
    wrong[game, seat] = number
    with pytest.raises(IllegalActionError, match=f"game {game}, seat {seat}, .* not legal; legal are ") as caught:
        playing.step(wrong)
    assert caught.value.action == number
    assert f"action {number}" in str(caught.value)
    assert everything(playing) == before


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i4", "u8", ">i2"])
def test_actions_of_any_integer_type(dtype: str) -> None:
    """What a legal action is does not depend on the width of its type, nor does what an illegal one is."""
    games = MegalandGames(MegalandConfig(4), 3)
    games.reset(61)
    actions = np.full((3, 4), Action["LEAVE"].value)
    wrong = np.full((3, 4), np.iinfo(dtype).max, dtype)
    with pytest.raises(IllegalActionError):
        games.step(wrong)
    other = games.copy()
    games.step(actions.astype(dtype))
    other.step(actions)
    assert everything(games) == everything(other)


def test_an_illegal_action_is_explained() -> None:
    """Game, seat, kind of decision, the action by number and name, and all that is legal."""
    games = MegalandGames(num_games=3)
    games.reset(61)
    actions = np.full((3, 4), Action["STAY"].value)
    actions[1, 2] = Action["BUY_LODGE"]
    message = r"^game 1, seat 2, decision 'run': action 24 \(BUY_LODGE\) is not legal; legal are STAY, LEAVE$"
    with pytest.raises(IllegalActionError, match=message) as caught:
        games.step(actions)
    error = caught.value
    assert (error.game, error.seat, error.action, error.legal) == (1, 2, 24, ["STAY", "LEAVE"])
    assert isinstance(error, ValueError)


@pytest.mark.parametrize("number", [-1, 40, 1000])
def test_there_is_no_name_for_an_action_that_does_not_exist(number: int) -> None:
    """Rather than that of another, counted from the end."""
    with pytest.raises(ValueError, match=f"action {number} is not one of 0..39"):
        action_name(number)


# --------------------------------------------------------------------------------------------------------------- index


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([0, 0], "index names a game twice"),
        ([2, 1, 2], "index names a game twice"),
        ([3], "index 3 is out of range; it must be from 0 to 2"),
        ([-1], "index -1 is out of range; it must be from 0 to 2"),
        ([2**40], "index .* is out of range"),
        ([0, 2**64 - 1], "index"),
        ([True, False, True], "index must be integers, not bool"),
        ([0.0, 1.0], "index must be integers, not float64"),
        (["0"], "index must be integers, not <U1"),
        ([[0, 1]], r"index must be a list of positions, not of shape \(1, 2\)"),
        (0, r"index must be a list of positions, not of shape \(\)"),
    ],
    ids=str,
)
def test_an_index_that_names_no_games(playing: MegalandGames, index: Any, message: str) -> None:
    """For ``step`` and for ``reset``."""
    before = everything(playing)
    number = np.size(index)
    with pytest.raises(ValueError, match=message):
        playing.step(np.ones((number, 4), int), index)
    with pytest.raises(ValueError, match=message):
        playing.reset(5, index=index)
    assert everything(playing) == before


def test_an_empty_index_moves_nothing(playing: MegalandGames) -> None:
    """It is no error: an adapter may have nothing to move."""
    before = everything(playing)
    for empty in ([], np.array([], int)):
        playing.step(np.zeros((0, 4), int), empty)
        playing.step(np.zeros((0, 4)), empty)
        playing.reset(5, index=empty)
        playing.reset(np.array([], np.uint64), index=empty)
    assert everything(playing) == before
    assert len(playing.rows([], [])) == 0


@pytest.mark.parametrize(
    ("game", "seat", "message"),
    [
        ([3], [0], "game 3 is out of range; it must be from 0 to 2"),
        ([-1], [0], "game -1 is out of range"),
        ([0], [4], "seat 4 is out of range; it must be from 0 to 3"),
        ([0], [-1], "seat -1 is out of range"),
        ([0, 1], [0], "game and seat must be of one length"),
        ([[0]], [[0]], "game and seat must be of one length"),
        ([0.5], [0], "game must be integers"),
        ([0], [True], "seat must be integers"),
    ],
    ids=str,
)
def test_rows_of_no_seat(playing: MegalandGames, game: Any, seat: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        playing.rows(game, seat)


@pytest.mark.parametrize("game", [3, -1, 1.5, True, "0", None], ids=str)
def test_no_such_game(playing: MegalandGames, game: Any) -> None:
    """For a snapshot, and for the events of one game."""
    with pytest.raises(ValueError, match="game"):
        playing.snapshot(game)
    if game is not None:
        with pytest.raises(ValueError, match="game"):
            playing.events(game)


@pytest.mark.parametrize("index", [[3], [-1], [], [[0]], [True], [0.5], 0], ids=str)
def test_a_copy_of_no_game(playing: MegalandGames, index: Any) -> None:
    with pytest.raises(ValueError, match="index"):
        playing.copy(index)


def test_answers_that_do_not_fit_the_decisions(playing: MegalandGames) -> None:
    """``scatter`` takes one integer from 0 to 39 for each row."""
    decisions = playing.decisions()
    answers = RandomAgent().act(decisions).astype(int)
    for wrong in (answers[1:], answers[:, None], answers.astype(float), answers.astype(bool), answers.astype(str), 1):
        with pytest.raises(ValueError, match=rf"actions must be \({len(decisions)},\) integers, one for each decision"):
            playing.scatter(decisions, wrong)
    for number in (-1, 40, 2**40):
        with pytest.raises(ValueError, match=rf"action {number} is not one of 0\.\.39"):
            playing.scatter(decisions, np.where(np.arange(len(decisions)) == 2, number, answers))


# -------------------------------------------------------------------------------------------------- starting and seeds


@pytest.mark.parametrize("number", [0, -1, 1.5, 2.0, True, "2", None, [2], 2**32 + 1, 2**70], ids=str)
def test_a_batch_has_a_positive_number_of_games(number: Any) -> None:
    with pytest.raises(ValueError, match=rf"num_games is {re.escape(repr(number))}; it must be a positive integer"):
        MegalandGames(num_games=number)


@pytest.mark.parametrize("config", [4, "spread", [4]], ids=str)
def test_a_configuration_is_a_configuration(config: Any) -> None:
    with pytest.raises(ValueError, match="it must be a MegalandConfig"):
        MegalandGames(config)


def test_a_game_must_be_started_before_it_is_played() -> None:
    """Nothing is told of games that there are not; and moving one is an error, also among others that were started."""
    games = MegalandGames(num_games=3)
    for name in (
        "active",
        "kind",
        "legal",
        "first_player",
        "coins",
        "winners",
        "win_shares",
        "terminated",
        "truncated",
    ):
        with pytest.raises(ValueError, match=r"no game was ever started; call reset\(seeds\) first"):
            getattr(games, name)
    with pytest.raises(ValueError, match="ever started"):
        games.decisions()
    with pytest.raises(ValueError, match="ever started"):
        games.rows([0], [0])
    with pytest.raises(ValueError, match="ever started"):
        games.copy().decisions()
    with pytest.raises(ValueError, match=r"ever started; call reset\(seeds\) first"):
        games.step(np.zeros((3, 4), int))
    with pytest.raises(ValueError, match=r"ever started; call reset\(seeds\) first"):
        games.snapshot(0)
    games.reset(5, index=[1])
    assert games.active.any(axis=1).tolist() == [False, True, False]
    assert games.copy([1]).active.all()
    for wrong in (lambda: games.rows([1, 2], [0, 0]), lambda: games.snapshot(2), lambda: games.copy([0]).active):
        with pytest.raises(ValueError, match="ever started"):
            wrong()
    with pytest.raises(ValueError, match="ever started"):
        games.step(np.ones((3, 4), int))
    assert games.steps.tolist() == [0, 0, 0]
    games.step(np.ones((1, 4), int), [1])
    assert games.steps.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "seeds",
    [
        1.5,
        True,
        None,
        "5",
        [1, 2],
        [1, 2, 3, 4],
        [[1, 2, 3]],
        [1.0, 2.0, 3.0],
        [True] * 3,
        ["1", "2", "3"],
        [1, None, 2],
    ],
    ids=str,
)
def test_seeds_that_are_none(playing: MegalandGames, seeds: Any) -> None:
    """One integer, or one for each game that is started."""
    before = everything(playing)
    with pytest.raises(ValueError, match=r"seeds must be an integer or \(3,\) integers"):
        playing.reset(seeds)
    with pytest.raises(ValueError, match=r"seeds must be an integer or \(2,\) integers"):
        playing.reset([1, 2, 3] if np.ndim(seeds) == 1 and len(seeds) == 2 else seeds, index=[0, 2])
    assert everything(playing) == before


def test_no_events_without_a_log() -> None:
    games = MegalandGames()
    games.reset(0)
    for ask in (games.event_columns, games.drain_events, lambda: games.events(0)):
        with pytest.raises(ValueError, match="make the games with record=True"):
            ask()


# ------------------------------------------------------------------------------------------------------- configuration

SEVEN = list(LIVELY)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_players": 1}, "num_players is 1; it must be from 2 to 5"),
        ({"num_players": 6}, "num_players is 6; it must be from 2 to 5"),
        ({"num_players": 4.0}, r"num_players is 4\.0; it must be an integer from 2 to 5"),
        ({"num_players": True}, "num_players is True; it must be an integer"),
        ({"num_players": "4"}, "num_players is '4'"),
        ({"num_players": None}, "num_players is None"),
        ({"market": "plenty"}, "market is 'plenty'; it must be one of .*'spread', 'random'.* or 7 normal buildings"),
        ({"market": None}, "market is None; it must be one of"),
        ({"market": 7}, "market is 7"),
        ({"market": dict.fromkeys(SEVEN)}, "market is {"),
        ({"market": SEVEN[:6]}, "market names 6 normal buildings; it must name 7"),
        ({"market": [*SEVEN, "Lodge"]}, "market names 8 normal buildings; it must name 7"),
        ({"market": [*SEVEN[:6], "Cafe"]}, "market names 'Cafe', a star building; those are always on offer"),
        ({"market": [*SEVEN[:6], "herb hut"]}, "market names a building twice"),
        ({"market": [*SEVEN[:6], "Lodgee"]}, "there is no building 'Lodgee'; did you mean 'Lodge'?"),
        (
            {"market": [*SEVEN[:6], "Hall of Elder"]},
            "there is no building 'Hall of Elder'; did you mean 'Hall of Elders'?",
        ),
        ({"market": [*SEVEN[:6], "xyzzy"]}, "there is no building 'xyzzy'$"),
        ({"market": [*SEVEN[:6], 3]}, "a building must be given by its name, not by 3"),
        ({"market": [*SEVEN[:6], None]}, "a building must be given by its name, not by None"),
        ({"first_player": 4}, "first_player is 4; it must be from 0 to 3 or None"),
        ({"first_player": -1}, "first_player is -1; it must be from 0 to 3 or None"),
        ({"first_player": True}, "first_player is True; it must be an integer from 0 to 3 or None"),
        ({"first_player": 2, "num_players": 2}, "first_player is 2; it must be from 0 to 1 or None"),
        ({"payment": "never"}, "payment is 'never'; it must be one of .*'choose', 'auto'"),
        ({"payment": None}, "payment is None"),
        ({"payment": ["auto"]}, r"payment is .'auto'"),
        ({"skip_forced": 1}, "skip_forced is 1; it must be True or False"),
        ({"skip_forced": "yes"}, "skip_forced is 'yes'"),
        ({"max_rounds": 0}, "max_rounds is 0; it must be from 1 to 10000"),
        ({"max_rounds": 10_001}, "max_rounds is 10001; it must be from 1 to 10000"),
        ({"max_rounds": 2.5}, r"max_rounds is 2\.5; it must be an integer"),
        ({"max_rounds": None}, "max_rounds is None"),
        ({"star_copies": (5, 5, 5, 5, 4)}, r"star_copies is \(5, 5, 5, 5, 4\); it must be a sequence of 6 integers"),
        ({"star_copies": 5}, "star_copies is 5; it must be a sequence of 6 integers"),
        ({"star_copies": "555544"}, "star_copies is '555544'; it must be a sequence of 6 integers"),
        ({"star_copies": (5, 5, 5, 5, 4, -1)}, "star_copies of Temple of Zoz is -1; it must be from 0 to 20"),
        ({"star_copies": (5, 21, 5, 5, 4, 4)}, "star_copies of Cafe is 21; it must be from 0 to 20"),
        ({"star_copies": (5, 5, None, 5, 4, 4)}, "star_copies of Arcade is None; it must be an integer from 0 to 20"),
        ({"star_copies": (5, 5, 5, 2.0, 4, 4)}, r"star_copies of Bazaar of Oddities is 2\.0"),
    ],
    ids=str,
)
def test_a_configuration_that_makes_no_sense(fields: dict[str, Any], message: str) -> None:
    """C1, C7, S1, S2, D4: told by a ConfigError, which is a ValueError, from the constructor and from a dict."""
    for make in (MegalandConfig, lambda **values: MegalandConfig.from_dict(values)):
        with pytest.raises(ConfigError, match=message):
            make(**fields)
    assert issubclass(ConfigError, ValueError)


def test_a_field_that_does_not_exist() -> None:
    """The message lists those that do."""
    with pytest.raises(
        ConfigError, match="unknown configuration field 'players'; the fields are num_players, market, "
    ):
        MegalandConfig.from_dict({"players": 4})


def test_names_of_buildings_are_read_generously() -> None:
    """Upper and lower case, blanks and underscores; kept as they stand in the rules, in the order of the rules."""
    names = ["LODGE", "herb_hut", " Toll Booth ", "hall of elders", Building.GYM, "Arena", "SOAP_MAKERS"]
    config = MegalandConfig(market=names)  # type: ignore[arg-type]
    assert config.market == ("Herb Hut", "Gym", "Soap Makers", "Hall of Elders", "Toll Booth", "Lodge", "Arena")
    assert MegalandConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert hash(config) == hash(MegalandConfig.from_dict(config.to_dict()))
    with pytest.raises(AttributeError):
        config.num_players = 3  # type: ignore[misc]


# -------------------------------------------------------------------------------------------------------------- agents


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("randon", r"there is no agent 'randon' \(did you mean random\?\); there are .*random"),
        ("new", r"package.module:Class \(after adding an entry point, install its package again\)$"),
        ("", "there is no agent ''"),
        ("random:speed=3", "random:speed=3.* parameter.* seed"),
        ("random:3", "'3' is not of the form parameter=value"),
        ("random:=3", "'=3' is not of the form parameter=value"),
        ("random:a b=3", "is not of the form parameter=value"),
        ("megaland_env.agent:NoAgent", "cannot be imported: .*NoAgent"),
        ("no_such_package.agent:Agent", "cannot be imported: No module named 'no_such_package'"),
        ("megaland_env.config:MegalandConfig", r"is not a class with a method act\(decisions\)"),
        ("megaland_env.agent:RandomAgent:speed=3", "speed"),
        (3, r"an agent is a name or has a method act\(decisions\); 3 is neither"),
        (None, "None is neither"),
        (object, "is neither"),
    ],
    ids=str,
)
def test_an_agent_that_is_none(spec: Any, message: str) -> None:
    """There is no such name, class or parameter, or it cannot act."""
    with pytest.raises(ValueError, match=message):
        make_agent(spec)


def test_agents_by_name() -> None:
    """What is right is understood."""
    assert "random" in agent_names()
    assert isinstance(make_agent("random"), RandomAgent)
    for spec in ("random:seed=3", "random: seed = 3", "megaland_env.agent:RandomAgent:seed=3"):
        agent = make_agent(spec)
        assert isinstance(agent, RandomAgent)
        assert agent.seed == 3
    assert make_agent(agent) is agent


# ----------------------------------------------------------------------------------------------------------- snapshots


def moment(kind: str, skip_forced: bool = True, *, wanted: Callable[[Snapshot], bool] = lambda told: True) -> Snapshot:
    """A real snapshot at a kind of decision."""
    for games in each_kind(12):
        told = games.snapshot(0)
        if (told["decision"], told["config"]["skip_forced"]) == (kind, skip_forced) and wanted(told):
            return told
    raise AssertionError(f"no such moment: {kind}")


@pytest.fixture(scope="module")
def real() -> dict[str, Snapshot]:
    """One real snapshot for each kind of decision, of a game that is over, and of one that was cut off."""
    found: dict[str, Snapshot] = {}
    for games in each_kind(6):
        told = games.snapshot(0)
        kind = told["decision"]
        if told["pay"] and told["pay"]["buying"] == "heart":
            kind = "pay heart"
        if kind == "buy" and not any(player["bought"] for player in told["players"]):
            continue
        if kind == "reptile" and len(told["active"]) == 3:
            continue
        found.setdefault(kind, told)
    for name, rounds in (("over", 50), ("truncated", 1)):
        games = MegalandGames(MegalandConfig(3, LIVELY, max_rounds=rounds))
        games.reset(5)
        found[name] = play(games, np.random.default_rng(5)).snapshot(0)
    assert found["over"]["winners"]
    assert found["truncated"]["truncated"]
    return found


def put(*path: Any) -> Change:
    """The change that sets what lies at a path to the last of the arguments."""
    *way, key, value = path

    def change(told: Snapshot) -> None:
        for step in way:
            told = told[step]
        told[key] = value

    return change


def drop(*path: Any) -> Change:
    """The change that removes what lies at a path."""
    *way, key = path

    def change(told: Snapshot) -> None:
        for step in way:
            told = told[step]
        del told[key]

    return change


def more(*path: Any, by: int = 1) -> Change:
    """The change that adds to a number."""
    *way, key = path

    def change(told: Snapshot) -> None:
        for step in way:
            told = told[step]
        told[key] = told.get(key, 0) + by

    return change


def both(*changes: Change) -> Change:
    """Several changes."""

    def change(told: Snapshot) -> None:
        for each in changes:
            each(told)

    return change


def asked(told: Snapshot) -> dict[str, Any]:
    """The player who is asked first."""
    player: dict[str, Any] = told["players"][told["active"][0]]
    return player


def not_asked(told: Snapshot) -> dict[str, Any]:
    """Some player who is not asked."""
    player: dict[str, Any] = next(p for seat, p in enumerate(told["players"]) if seat not in told["active"])
    return player


IMPOSSIBLE: list[tuple[str, Change, str]] = [
    # the keys
    ("run", drop("seed"), "'seed' missing"),
    ("run", put("colour", "red"), "'colour' unknown; the keys are config, seed"),
    ("run", drop("players", 0, "coins"), "player 0: 'coins' missing"),
    ("run", put("players", 1, "name", "Eve"), "player 1: 'name' unknown"),
    ("run", drop("supply", "jumps"), "supply: 'jumps' missing"),
    ("run", drop("players", 0, "wild_used", "fish"), "player 0: wild_used: 'fish' missing"),
    ("pay", drop("pay", "cost"), "pay: 'cost' missing"),
    # the configuration
    ("run", put("config", None), "config is None; it must be a dict"),
    ("run", put("config", "num_players", 9), "num_players is 9"),
    ("run", put("config", "speed", 9), "unknown configuration field 'speed'"),
    # place in the game
    ("run", put("decision", "sleep"), "decision is 'sleep'; it must be null or one of jump, herb_hut, "),
    ("run", put("decision", 4), "decision is 4"),
    ("run", put("decision", ["run"]), "decision is"),
    ("run", put("decision", {}), "decision is"),
    ("run", put("phase", "buy"), "phase is 'buy', but decision 'run' is made in 'level'"),
    ("run", put("phase", None), "phase is None"),
    ("run", put("seed", -1), "seed is -1; it must be an integer from 0 to 18446744073709551615"),
    ("run", put("seed", 2**64), "seed is 18446744073709551616"),
    ("run", put("seed", 1.0), r"seed is 1\.0"),
    ("run", put("round", 0), "round is 0; it must be an integer from 1 to 50"),
    ("run", put("round", 51), "round is 51"),
    ("run", put("steps", -1), "steps is -1"),
    ("run", put("steps", True), "steps is True"),
    ("run", put("decisions", [0, 0]), "decisions must have 3 entries"),
    ("run", put("decisions", [0, 0, -1]), "decisions is -1"),
    ("run", put("decisions", 5), "decisions must be a list of integers"),
    ("run", put("active", [0, 7]), "active is 7"),
    ("run", put("active", "01"), "active must be a list"),
    ("run", put("active", []), "decision is 'run' of the seats"),
    ("run", put("first_player", 3), "first_player is 3; it must be an integer from 0 to 2"),
    ("run", put("first_player", None), "first_player is None"),
    ("run", put("buyer", 0), "buyer is 0; outside phase 'buy' it must be null"),
    ("buy", put("buyer", None), "buyer is None"),
    ("buy", put("buyer", 3), "buyer is 3"),
    # the level
    ("run", put("level_seen", "Clouds"), "level_seen must be a list of level cards"),
    ("run", put("level_seen", ["Dragon"]), "level_seen: there is no 'Dragon'; there are Clouds, Spires"),
    ("run", put("level_seen", [3]), "level_seen: there is no 3"),
    ("run", lambda told: told["level_seen"].append(told["level_seen"][-1]), "level_seen names a card twice"),
    ("run", put("level_card", None), "level_card is None; by level_seen and phase it is"),
    ("buy", put("level_card", "Clouds"), "level_card is 'Clouds'; by level_seen and phase it is None"),
    (
        "run",
        both(put("level_seen", []), put("level_card", None)),
        "level_seen has 0 cards; at decision 'run' it has 1 to 9",
    ),
    (
        "rabbit",
        both(put("level_seen", ["Bats"]), put("level_card", "Bats")),
        "decision is 'rabbit', but level_card is 'Bats'",
    ),
    ("over", put("level_seen", ["Bats"]), "level_seen has 1 cards; at decision None it has 0 to 0"),
    # the table
    ("run", put("treasure_deck", 96), "treasure_deck is 96; it must be a dict"),
    ("run", put("treasure_deck", {"gold": 1}), "treasure_deck: there is no 'gold'; there are gear, stone"),
    ("run", put("discard", "egg", 17), "discard: egg is 17; it must be an integer from 0 to 16"),
    ("run", put("discard", "egg", -1), "discard: egg is -1"),
    ("run", put("supply", []), r"supply is \[\]; it must be a dict"),
    ("run", put("supply", "hearts", 33), "supply of hearts is 33; it must be an integer from 0 to 32"),
    ("run", put("supply", "jumps", 15), "supply of jumps is 15; it must be an integer from 0 to 14"),
    ("run", put("supply", "buildings", None), "supply of buildings is None; it must be a dict"),
    ("run", put("supply", "buildings", "Castle", 1), "supply of buildings: there is no 'Castle'"),
    ("run", put("supply", "buildings", "Cafe", 6), "supply of Cafe is 6; it must be an integer from 0 to 5"),
    ("run", put("supply", "buildings", "Lodge", 4), "supply of buildings: the configuration allows no such market"),
    ("run", drop("supply", "buildings", "Cafe"), "supply of buildings: the configuration allows no such market"),
    # the players
    ("run", put("players", None), "players must be 3 dicts"),
    ("run", drop("players", 2), "players must be 3 dicts"),
    ("run", put("players", 0, None), "player 0 is None; it must be a dict"),
    ("run", put("players", 0, "coins", -1), "player 0: coins is -1"),
    ("run", put("players", 0, "coins", 2**15 - 1), "player 0: coins is 32767"),
    ("run", put("players", 0, "coins", 1.5), r"player 0: coins is 1\.5"),
    ("run", put("players", 1, "max_hearts", 3), "player 1: max_hearts is 3; it must be an integer from 4 to 8"),
    ("run", put("players", 1, "max_hearts", 9), "player 1: max_hearts is 9"),
    ("run", put("players", 1, "hearts", 9), "player 1: hearts is 9"),
    ("run", put("players", 1, "jumps", 15), "player 1: jumps is 15"),
    ("run", put("players", 1, "jumping", 1), "player 1: jumping is 1; it must be true or false"),
    ("run", put("players", 1, "in_level", None), "player 1: in_level is None"),
    ("run", put("players", 1, "falling", "no"), "player 1: falling is 'no'"),
    ("run", put("players", 1, "carried", []), r"player 1: carried is \[\]; it must be a dict"),
    ("run", put("players", 1, "home", {"gear": 7}), "player 1: home: gear is 7"),
    ("run", put("players", 1, "buildings", {"Castle": 1}), "player 1: buildings: there is no 'Castle'"),
    ("run", put("players", 1, "buildings", {"Cafe": 6}), "player 1: Cafe is 6; it must be an integer from 0 to 5"),
    ("run", put("players", 1, "wild_used", "fish", 5), r"player 1: wild fish used \(of \d Fish Vendor\) is 5"),
    ("run", put("players", 1, "wild_used", "carrot", -1), r"player 1: wild carrot used \(of \d Root Market\) is -1"),
    ("run", put("players", 1, "bought", ["Cafe"]), "player 1 has bought .*Cafe.*, but is not the buyer"),
    ("buy", lambda told: asked(told).update(bought="Cafe"), "bought must be a list of buildings"),
    ("buy", lambda told: asked(told).update(bought=["Castle"]), "bought: there is no 'Castle'"),
    (
        "buy",
        lambda told: asked(told)["bought"].append(asked(told)["bought"][0]),
        "has bought a building twice this turn",
    ),
    ("buy", lambda told: asked(told).update(bought=["Lodge"]), "has bought Lodge, but does not own it"),
    ("run", put("players", 1, "picked", {"gold": 1}), "player 1: picked: there is no 'gold'"),
    ("run", put("players", 1, "picks_left", 99), r"player 1: picks_left \(of \d+ buildings\) is 99"),
    # what is conserved
    ("run", more("treasure_deck", "carrot"), "there are 31 carrot treasures; the game has 30"),
    ("run", more("players", 0, "home", "stone", by=-1), "stone"),
    ("run", more("supply", "hearts", by=-1), "there are 31 heart tokens; the game has 32"),
    ("run", more("supply", "jumps", by=-1), "there are 13 jump tokens; the game has 14|supply of jumps"),
    ("run", more("supply", "buildings", "Hotel", by=-1), "there are 3 cards of Hotel; this game has 4|supply of Hotel"),
    ("run", put("players", 1, "buildings", "Lodge", 1), "there are 1 cards of Lodge; this game has 0"),
    # where the players are
    ("buy", put("players", 0, "in_level", True), "player 0 is in the level outside phase 'level'|without hearts"),
    ("run", lambda told: asked(told).update(hearts=0), "is in the level without hearts"),
    ("run", lambda told: asked(told).update(falling=True), "is falling, but the decision is 'run'"),
    ("herb_hut", lambda told: asked(told).update(hearts=1), "is falling, but in the level or with hearts"),
    ("herb_hut", lambda told: asked(told).update(falling=False), "carries treasures, but is not in the level"),
    ("run", lambda told: asked(told).update(jumping=True), "is jumping, but the decision is 'run'"),
    ("run", lambda told: asked(told).update(picks_left=1), "has picks to make at decision 'run'|picks_left"),
    ("buy", lambda told: asked(told).update(picks_left=1), "has picks to make at decision 'buy'"),
    (
        "herb_hut",
        lambda told: asked(told).update(picks_left=0, picked={}),
        "carries treasures, but is not in the level",
    ),
    (
        "herb_hut",
        lambda told: asked(told).update(picks_left=asked(told)["picks_left"] + 1),
        "picks left and .* picked, but",
    ),
    ("store", lambda told: asked(told).update(picks_left=asked(told)["picks_left"] + 1), "picks left|picks_left"),
    (
        "store",
        lambda told: asked(told).update(picks_left=0, picked={}),
        "treasures and .* buildings, but nothing to pick",
    ),
    ("reptile", lambda told: asked(told).update(picks_left=7), "picks_left|cannot have 7"),
    ("reptile", lambda told: asked(told).update(picked={"egg": 1}), "cannot have .* stables to use"),
    # who would be asked
    (
        "jump",
        lambda told: told.update(active=told["active"][:-1]),
        "decision is 'jump' of the seats .* but by the rules",
    ),
    ("run", lambda told: told.update(active=[*told["active"][::-1], 0]), "decision is 'run' of the seats"),
    ("store", lambda told: told.update(active=[0, 1, 2, 2]), "decision is 'store' of the seats"),
    # paying
    ("run", put("pay", {}), "pay must be null unless the decision is 'pay'"),
    ("pay", put("pay", None), "pay is None; it must be a dict"),
    ("pay", put("pay", "buying", "Castle"), "pay: buying: there is no 'Castle'"),
    ("pay", put("pay", "buying", None), "pay: buying: there is no None"),
    ("pay", put("pay", "buying", "Lodge"), "pay: Lodge is not for sale"),
    ("pay", put("pay", "treasure", "egg"), "pay: treasure must be null when a building is bought"),
    ("pay", more("pay", "cost"), "pay: cost is .*; by the rules it is"),
    ("pay", put("pay", "paid", None), "pay: paid is None; it must be a dict"),
    ("pay heart", put("pay", "treasure", None), "pay: treasure: there is no None; there are gear, stone"),
    ("pay heart", put("pay", "treasure", "gold"), "pay: treasure: there is no 'gold'"),
    ("pay heart", more("pay", "cost"), "pay: cost is"),
    # the end
    ("run", put("truncated", True), "winners and truncated belong to a game that is over"),
    ("run", put("winners", [0]), "winners and truncated belong to a game that is over"),
    ("run", put("truncated", 0), "truncated is 0; it must be true or false"),
    ("run", put("winners", [3]), "winners is 3"),
    ("run", put("winners", None), "winners must be a list of integers"),
    ("over", put("winners", []), r"winners are \[\]; by the coins they are"),
    ("over", put("truncated", True), "a game is truncated exactly if nobody has 20 coins"),
    ("truncated", put("truncated", False), "a game is truncated exactly if nobody has 20 coins"),
    ("truncated", put("config", "max_rounds", 2), "a game is truncated only after max_rounds"),
    ("over", put("phase", "night"), "phase is 'night', but decision None is made in 'over'"),
]


@pytest.mark.parametrize(
    ("kind", "change", "message"), IMPOSSIBLE, ids=[f"{n}-{row[0]}" for n, row in enumerate(IMPOSSIBLE)]
)
def test_a_state_that_no_game_can_be_in(real: dict[str, Snapshot], kind: str, change: Change, message: str) -> None:
    """One thing of a real snapshot is altered: a SnapshotError that says what is wrong and where."""
    told = deepcopy(real[kind])
    change(told)
    with pytest.raises(SnapshotError, match=message) as caught:
        MegalandGames.restore([told])
    assert str(caught.value).startswith("snapshot 0")
    assert isinstance(caught.value, ValueError)


def test_a_payment_that_is_none(real: dict[str, Snapshot]) -> None:
    """B2 to B4: too many cards, cards that stand for nothing, or what cannot be completed."""
    told = deepcopy(real["pay"])
    hand, paid = asked(told)["home"], told["pay"]["paid"]
    for treasure, number in list(hand.items()):
        hand[treasure], paid[treasure] = 0, paid.get(treasure, 0) + number
    with pytest.raises(SnapshotError, match=r"pay: .* treasures are paid already|no part of an allowed payment"):
        MegalandGames.restore([told])
    told = deepcopy(real["pay"])
    for treasure, number in list(asked(told)["home"].items()):
        told["discard"][treasure] = told["discard"].get(treasure, 0) + number
    asked(told)["home"] = {}
    with pytest.raises(SnapshotError, match="no part of an allowed payment that can be completed"):
        MegalandGames.restore([told])
    told = deepcopy(real["pay heart"])
    told["supply"]["hearts"] = 0
    with pytest.raises(SnapshotError, match="pay: there is no heart to buy"):
        MegalandGames.restore([told])


def test_more_has_been_picked_than_is_there(real: dict[str, Snapshot]) -> None:
    """L7, N2: a pick is a card of the hand, and there is a choice only among more cards than may be kept."""
    for kind in ("store", "herb_hut"):
        told = deepcopy(real[kind])
        picker = asked(told)
        hand = picker["carried" if kind == "herb_hut" else "home"]
        picked = sum(picker["picked"].values()) + picker["picks_left"]
        treasure, held = next(iter(hand.items()))
        picker["picks_left"], picker["picked"] = max(picked - held - 1, 0), {treasure: held + 1}
        with pytest.raises(SnapshotError, match="has picked what is not in the hand"):
            MegalandGames.restore([told])
        told = deepcopy(real[kind])
        picker = asked(told)
        hand = picker["carried" if kind == "herb_hut" else "home"]
        for treasure, number in list(hand.items()):
            told["discard"][treasure] = told["discard"].get(treasure, 0) + number
        hand.clear()
        picker["picked"], picker["picks_left"] = {}, picked
        with pytest.raises(SnapshotError, match="there is nothing to choose"):
            MegalandGames.restore([told])


def test_what_is_no_list_of_snapshots(real: dict[str, Snapshot]) -> None:
    """One snapshot alone, none at all, something else, and games of two configurations."""
    for wrong in (real["run"], [], None, 3, iter([real["run"]])):
        with pytest.raises(SnapshotError, match="restore takes a list of at least one snapshot"):
            MegalandGames.restore(wrong)  # type: ignore[arg-type]
    with pytest.raises(SnapshotError, match="snapshot 0 is str; a snapshot is a dict"):
        MegalandGames.restore("run")  # type: ignore[arg-type]
    with pytest.raises(SnapshotError, match="snapshot 1 is int; a snapshot is a dict"):
        MegalandGames.restore([real["run"], 3])  # type: ignore[list-item]
    other = moment("run", skip_forced=False)
    with pytest.raises(SnapshotError, match="snapshot 1 has another configuration than snapshot 0"):
        MegalandGames.restore([real["run"], other])
    broken = deepcopy(real["buy"])
    broken["round"] = 0
    with pytest.raises(SnapshotError, match="snapshot 1: round is 0"):
        MegalandGames.restore([real["run"], broken])


KIND_NAMES = [kind.label for kind in KINDS]
VALUES: list[Any] = [
    *(-1, 0, 1, 2, 3, 4, 5, 8, 9, 19, 20, 21, 96, 127, 128, 255, 256, 2**15 - 1, 2**31 - 1, 2**63, 2**64 - 1, 2**64),
    *(None, True, False, 0.0, 1.5, "", "x", "egg", "fish", "Cafe", "Lodge", "Herb Hut", "Rabbit", "Clouds", "heart"),
    *(
        "run",
        "jump",
        "buy",
        "pay",
        "store",
        "rabbit",
        "reptile",
        "herb_hut",
        "level",
        "night",
        "over",
        "auto",
        "random",
    ),
    *([], [0], [1, 2], [0, 1, 2], ["Cafe"], ["Rabbit"], {}, {"egg": 1}, {"carrot": 3}, {"Cafe": 1}),
]


def places(told: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a snapshot, leaves and branches."""
    inner = told.items() if isinstance(told, dict) else enumerate(told) if isinstance(told, list) else ()
    return [found for key, value in inner for found in [(*path, key), *places(value, (*path, key))]]


def alter(told: Snapshot, path: tuple[Any, ...], value: Any) -> Snapshot:
    """A snapshot with another value at one place."""
    altered = deepcopy(told)
    put(*path, deepcopy(value))(altered)
    return altered


def values_for(told: Snapshot, path: tuple[Any, ...]) -> list[Any]:
    """What may be put at a place: numbers nearby, and anything."""
    value: Any = told
    for step in path:
        value = value[step]
    number = isinstance(value, int) and not isinstance(value, bool)
    return [*([value + 1, value - 1, -value, *([2**14, 2**23, 2**30, 2**31 - 1] * 2)] if number else []), *VALUES]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.data())
def test_one_thing_altered_is_an_error_or_another_game(real: dict[str, Snapshot], data: st.DataObject) -> None:
    """Whatever is altered in a real snapshot, it is refused, or it is the state of a game that can be played."""
    told = data.draw(st.sampled_from(list(real.values())), label="snapshot")
    path = data.draw(st.sampled_from(places(told)), label="place")
    altered = alter(told, path, data.draw(st.sampled_from(values_for(told, path)), label="value"))
    if is_accepted(altered):
        play_on([altered])


@pytest.mark.parametrize("kind", [*KIND_NAMES, "pay heart", "over", "truncated"])
def test_anything_altered_is_an_error_or_another_game(real: dict[str, Snapshot], kind: str) -> None:
    """The same at every place of a snapshot of each kind, with some values at each; the games are played together."""
    luck = random.Random(kind)
    accepted: dict[str, list[Snapshot]] = {}
    for path in places(real[kind]):
        for value in luck.sample(values_for(real[kind], path), 5):
            altered = alter(real[kind], path, value)
            if is_accepted(altered, f"{'.'.join(map(str, path))} = {value!r}"):
                accepted.setdefault(json.dumps(altered["config"]), []).append(altered)
    for together in accepted.values():
        play_on(together)


def is_accepted(told: Snapshot, what: str = "") -> bool:
    """Whether a snapshot is one of a game; all that is not must be told in a SnapshotError."""
    try:
        MegalandGames.restore([told])
    except SnapshotError:
        return False
    except Exception as error:
        raise AssertionError(f"with {what} restore raises {error!r}") from error
    return True


def play_on(told: list[Snapshot]) -> None:
    """Restored games say what they were told, keep all that must be kept, and can be played on."""
    games = MegalandGames.restore(told)
    again = snapshots(games)
    config = MegalandConfig.from_dict(told[0]["config"]).to_dict()  # names of buildings are read generously
    assert normalised(again) == normalised([snapshot | {"config": config} for snapshot in told])
    assert snapshots(MegalandGames.restore(again)) == again
    luck = np.random.default_rng(1)
    for _ in range(200):
        check_conservation(games)
        if not games.active.any():
            return
        coins = games.coins.copy()
        games.step(some_legal(games, luck))
        assert (games.coins >= coins).all()


def normalised(told: Any) -> Any:
    """Without the zeros that a pile may list, and names of buildings in one order."""
    if isinstance(told, dict):
        return {
            key: normalised(value) for key, value in told.items() if value not in (0, {}) or isinstance(value, bool)
        }
    if isinstance(told, list) and told and isinstance(told[0], dict):
        return [normalised(value) for value in told]
    return sorted(told) if isinstance(told, list) and told and isinstance(told[0], str) else told


# ------------------------------------------------------------------------------------------------------- replay files


@pytest.fixture
def replay_file(tmp_path: Path) -> Path:
    """A replay of one short game."""
    recorder = Recorder(MegalandGames(MegalandConfig(2, max_rounds=2)))
    recorder.reset(9)
    luck = np.random.default_rng(9)
    while recorder.games.active.any():
        recorder.step(some_legal(recorder.games, luck))
    path = tmp_path / "game.json"
    save_replay(path, recorder.replay(0, agents=["random", "random"]))
    return path


def rewrite(path: Path, change: Change, sign: bool = False) -> None:
    """Alter the content of a file, and its checksum too where somebody takes the trouble."""
    content = json.loads(path.read_text())
    change(content)
    if sign:
        rest = {key: value for key, value in content.items() if key != "checksum"}
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
        content["checksum"] = f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    path.write_text(json.dumps(content))


def test_a_replay_that_was_cut_short(replay_file: Path) -> None:
    """At any byte; the message names the file."""
    whole = replay_file.read_bytes()
    for length in (0, 1, 30, len(whole) // 2, len(whole) - 5):
        replay_file.write_bytes(whole[:length])
        with pytest.raises(ReplayError, match=r"game\.json is not JSON, or was cut short"):
            load_replay(replay_file)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "is not UTF-8 text"),
        (b"seed,action\n1,2\n", "is not JSON"),
        (b"[" * 100_000, "nested more than 100 deep"),
        (b"1" * 5000, "is not JSON"),
        (b"null", 'it does not say "format": "megaland-replay"'),
        (b"[1, 2]", 'it does not say "format": "megaland-replay"'),
        (b"{}", 'it does not say "format": "megaland-replay"'),
        (b'{"format": "pgn", "version": 1}', 'it does not say "format": "megaland-replay"'),
        (b'{"format": "megaland-replay"}', "version is None; only version 1 can be read"),
        (b'{"format": "megaland-replay", "version": 2}', "version is 2; only version 1 can be read"),
        (b'{"format": "megaland-replay", "version": true}', "version is True"),
        (b'{"format": "megaland-replay", "version": 1}', "'config', 'seed', .* missing; the keys are format, version"),
    ],
    ids=[str(number) for number in range(12)],
)
def test_a_file_that_is_no_replay(tmp_path: Path, raw: bytes, message: str) -> None:
    """Something else altogether, or of another version."""
    path = tmp_path / "foreign.json"
    path.write_bytes(raw)
    with pytest.raises(ReplayError, match=message):
        load_replay(path)


def test_a_replay_that_is_not_there(tmp_path: Path) -> None:
    """As with any file."""
    with pytest.raises(FileNotFoundError):
        load_replay(tmp_path / "nothing.json")


@pytest.mark.parametrize("sign", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("author", "Eve"), "'author' unknown; the keys are format"),
        (drop("seed"), "'seed' missing"),
        (put("config", 5), "config is 5; it must be a dict"),
        (put("config", "num_players", 7), "config: num_players is 7"),
        (put("config", "speed", 7), "config: unknown configuration field 'speed'"),
        (put("seed", "nine"), "seed is 'nine'"),
        (put("seed", 10), "moment|end as it is recorded"),
        (put("metadata", 5), "metadata is 5; it must be a dict"),
        (put("moments", {}), "moments is {}; it must be a list"),
        (put("moments", 0, "STAY"), "moment 1 is 'STAY'; it must be a list of pairs"),
        (put("moments", 0, 0, 1, "FLY"), "moment 1: there is no action 'FLY'; there are PASS, STAY"),
        (put("moments", 0, 0, 1, 1), "moment 1: there is no action 1"),
        (put("moments", 0, 0, 1, "TRADE"), "moment 1: seat 0 chose TRADE; legal were STAY, LEAVE"),
        (put("moments", 0, 0, 0, 5), "moment 1: seat 5 is not one of 0..1"),
        (drop("moments", 0, 0), "moment 1: seat 1 decide, but by the rules seats 0, 1 would be asked for 'run'"),
        (drop("moments", -1), "does not end as it is recorded: steps is recorded as"),
        (lambda told: told["moments"].append(told["moments"][0]), "by the rules the game is over"),
        (put("final", None), "final is null"),
        (put("final", "coins"), "final is 'coins'; it must be a snapshot"),
        (put("final", "round", 9), "does not end as it is recorded: round is recorded as 9"),
        (drop("final", "buyer"), r"does not end as it is recorded: buyer is recorded as '\(absent\)'"),
        (put("final", "extra", 1), "does not end as it is recorded: extra is recorded as 1"),
        (put("final", "truncated", 1), "does not end as it is recorded: truncated is recorded as 1"),
    ],
    ids=[str(number) for number in range(23)],
)
def test_a_replay_that_was_altered(replay_file: Path, sign: bool, change: Change, message: str) -> None:
    """Even by somebody who computes the checksum anew: the game is played, and must end as it is recorded."""
    rewrite(replay_file, change, sign)
    with pytest.raises(ReplayError, match=rf"game\.json: .*({message})"):
        load_replay(replay_file)


def test_a_replay_whose_words_alone_were_altered(replay_file: Path) -> None:
    """What playing cannot tell, the checksum does."""
    rewrite(replay_file, put("metadata", "agents", 0, "ppo"))
    with pytest.raises(ReplayError, match="the checksum does not match: the file was altered"):
        load_replay(replay_file)
    rewrite(replay_file, put("checksum", None))
    with pytest.raises(ReplayError, match="the checksum does not match"):
        load_replay(replay_file)


def test_a_choice_that_was_swapped_for_another_legal_one(replay_file: Path) -> None:
    """The game goes elsewhere: some later choice does not fit, or the end is another."""
    content = json.loads(replay_file.read_text())
    for number, moment_ in enumerate(content["moments"]):
        if moment_[0][1] in ("STAY", "LEAVE"):
            other = "STAY" if moment_[0][1] == "LEAVE" else "LEAVE"
            replay_file.write_text(json.dumps(content))
            rewrite(replay_file, put("moments", number, 0, 1, other), sign=True)
            with pytest.raises(ReplayError, match=r"moment \d+: |does not end as it is recorded"):
                load_replay(replay_file)
