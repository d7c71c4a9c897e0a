"""Games between agents, and the results of an evaluation."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from megaland_env import Action, ConfigError, Decisions, Kind, MegalandConfig, MegalandGames
from megaland_env.agent import RandomAgent, random_legal
from megaland_env.engine import rng
from megaland_env.files import write_json, write_text
from megaland_experiments.matches.playing import AgentError, Matches, play
from megaland_experiments.options import split_specs
from megaland_experiments.shared.intervals import share_interval
from megaland_experiments.strength.evaluate import evaluate

SHORT = MegalandConfig(num_players=3, max_rounds=4)


class Shopper:
    """Goes home at once, and buys whatever it can."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        legal = decisions.legal.copy()
        legal[legal[:, Action["LEAVE"]], Action["STAY"]] = False
        buying = legal[:, Action["BUY_SANDWICH_STAND"] : Action["TREASURE_GEAR"]].any(axis=1)
        legal[buying, Action["PASS"]] = False
        return legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)


class Refuser:
    """Never goes home and never buys, so it hardly ever has a coin."""

    def act(self, decisions: Decisions) -> npt.NDArray[Any]:
        return decisions.legal.argmax(axis=1)


# ------------------------------------------------------------------------------------------------------ games


def same(one: Matches, other: Matches) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(vars(one).values(), vars(other).values(), strict=True))


def test_the_games_are_those_of_the_engine_with_the_same_seeds():
    config = MegalandConfig(num_players=3)
    seeds = np.array([5, 2**64 - 1, 77], np.uint64)
    matches = play(config, ["random"], np.zeros((3, 3), int), seeds)

    games = MegalandGames(config, 3)
    games.reset(seeds)
    asked = np.zeros((3, 3), int)
    while games.active.any():
        asked += games.active
        decisions = games.decisions()
        games.step(games.scatter(decisions, random_legal(decisions)))
    assert np.array_equal(matches.winners, games.winners)
    assert np.array_equal(matches.coins, games.coins)
    assert np.array_equal(matches.rounds, games.rounds)
    assert np.array_equal(matches.steps, games.steps)
    assert np.array_equal(matches.decisions, asked)
    assert not matches.truncated.any()
    assert len(matches) == 3


@pytest.mark.parametrize("batch", [1, 4])
def test_results_do_not_depend_on_how_many_games_run_at_once(batch):
    agents = [RandomAgent(1), RandomAgent(2), Shopper()]
    line_ups = np.random.default_rng(0).integers(3, size=(12, 3))
    told: list[tuple[int, int]] = []
    expected = play(SHORT, agents, line_ups, np.arange(12))
    found = play(SHORT, agents, line_ups, np.arange(12), batch=batch, progress=lambda *counts: told.append(counts))
    assert same(found, expected)
    assert told[-1] == (12, 12)
    assert told == sorted(told)


def test_each_agent_is_called_once_a_step_with_its_own_seats_alone():
    line_ups = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 1]])

    class Witness(RandomAgent):
        calls = 0

        def act(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
            self.calls += 1
            assert (line_ups[decisions.game, decisions.seat] == self.seed).all()
            assert (decisions.kind != Kind.NONE).all()
            return super().act(decisions)

    agents = [Witness(0), Witness(1)]
    matches = play(MegalandConfig(num_players=3), agents, line_ups, np.arange(3))
    assert max(agent.calls for agent in agents) <= matches.steps.max()


def test_shared_wins_and_places():
    matches = Matches(
        seeds=np.arange(3, dtype=np.uint64),
        line_ups=np.zeros((3, 3), np.int64),
        winners=np.array([[True, False, True], [False, True, False], [False, False, False]]),
        coins=np.array([[21, 4, 21], [3, 20, 3], [7, 6, 5]], np.int16),
        decisions=np.ones((3, 3), np.int32),
        rounds=np.ones(3, np.int32),
        steps=np.ones(3, np.int32),
        truncated=np.array([False, False, True]),
    )
    assert matches.shares.tolist() == [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 0]]
    assert matches.places.tolist() == [[1, 3, 1], [2, 1, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("line_ups", "seeds", "batch", "message"),
    [
        ([[0, 0]], [1], 1, "line_ups"),
        ([[0, 0, 1]], [1], 1, "positions 0 to 0"),
        ([[0, 0, -1]], [1], 1, "positions 0 to 0"),
        ([[0.0, 0.0, 0.0]], [1], 1, "line_ups"),
        (np.zeros((0, 3), int), [], 1, "line_ups"),
        ([[0, 0, 0]], [1, 2], 1, "seeds"),
        ([[0, 0, 0]], [1], 0, "batch"),
    ],
)
def test_arguments_without_meaning(line_ups, seeds, batch, message):
    with pytest.raises(ValueError, match=message):
        play(SHORT, ["random"], line_ups, seeds, batch=batch)


# ------------------------------------------------------------------------------------------------------ broken agents


class Broken:
    """Plays at random until a buyer is asked, and then fails in a given way."""

    def __init__(self, do: Any) -> None:
        self.do = do

    def act(self, decisions: Decisions) -> Any:
        actions = random_legal(decisions).astype(np.int64)
        buys = decisions.kind == Kind.BUY
        return self.do(actions, buys) if buys.any() else actions


def fail(actions: Any, buys: Any) -> Any:
    raise ZeroDivisionError("no coins")


WRONG_ANSWERS = {
    "short": (lambda actions, buys: actions[1:], r"answered \d+ decisions with int64 of shape \(\d+,\)"),
    "column": (lambda actions, buys: actions[:, None], r"answered \d+ decisions with int64"),
    "floats": (lambda actions, buys: actions / 1, r"answered \d+ decisions with float64"),
    "nothing": (lambda actions, buys: None, r"answered \d+ decisions with object"),
    "illegal": (
        lambda actions, buys: np.where(buys, Action["STAY"], actions),
        r"chose action 1 \(STAY\).* decision 'buy'",
    ),
    "too large": (lambda actions, buys: np.where(buys, 40, actions), r"chose action 40 \(which does not exist\)"),
    "negative": (lambda actions, buys: np.where(buys, -1, actions), r"chose action -1 \(which does not exist\)"),
    "raises": (fail, r"raised ZeroDivisionError: no coins; it was asked the decision 'buy'"),
}


@pytest.mark.parametrize("way", WRONG_ANSWERS)
def test_a_broken_agent_and_its_decision_are_named(way):
    do, message = WRONG_ANSWERS[way]
    with pytest.raises(AgentError, match=message) as caught:
        evaluate(Broken(do), "random", config=SHORT, games=30)
    text = str(caught.value)
    assert "agent 'Broken'" in text
    assert "of seed " in text
    assert "of seat " in text
    assert "legal: " in text
    assert isinstance(caught.value.__cause__, ZeroDivisionError) == (way == "raises")


def test_the_decision_named_is_one_that_fails_alone():
    with pytest.raises(AgentError) as caught:
        play(SHORT, [Broken(fail)], np.zeros((50, 3), int), np.arange(50))
    seed = int(str(caught.value).partition("of seed ")[2].partition(" ")[0])
    with pytest.raises(AgentError, match=f"of seed {seed}"):
        play(SHORT, [Broken(fail)], np.zeros((1, 3), int), [seed])


# ------------------------------------------------------------------------------------------------------ evaluations


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_equals_win_their_part(players):
    config = MegalandConfig(num_players=players)
    result = evaluate(RandomAgent(1), [RandomAgent(seed) for seed in range(2, players + 1)], config=config, games=200)
    assert result.par == 1 / players
    assert result.interval[0] < result.par < result.interval[1]
    assert result.interval[0] < result.win_share < result.interval[1]
    assert 0.05 < result.interval[1] - result.interval[0] < 0.2
    assert result.games == result.num_seeds * players >= 200
    assert result.win_share + sum(result.opponent_win_shares) == pytest.approx(1 - result.truncated_share)
    assert result.win_share == pytest.approx(sum(result.seat_win_shares) / players)
    assert sum(result.places) == pytest.approx(1)


def test_one_agent_against_itself_has_exactly_its_part_and_an_interval_of_some_width():
    result = evaluate("random", "random", num_players=2, games=40)
    assert result.win_share == pytest.approx(0.5)
    assert result.interval[0] < 0.5 < result.interval[1]
    assert result.mean_coins == result.mean_opponent_coins


def test_who_always_loses():
    result = evaluate(Refuser(), "random", num_players=2, games=40)
    assert result.win_share == 0
    assert result.mean_coins < 1
    assert result.opponent_win_shares == (1,)
    assert result.interval[0] == 0
    assert 0.02 < result.interval[1] < 0.35
    assert result.places == (0, 1)


def test_who_always_wins():
    result = evaluate("random", Refuser(), num_players=2, games=40)
    assert result.win_share == 1
    assert result.interval[1] == 1
    assert 0.65 < result.interval[0] < 0.98
    assert result.seat_win_shares == (1, 1)
    assert result.places == (1, 0)


def test_games_that_are_cut_off_are_nobodys():
    result = evaluate(Refuser(), "random", config=replace(SHORT, max_rounds=1), games=9)
    assert result.truncated_share == 1
    assert result.win_share == 0
    assert result.mean_rounds == 1


def test_an_evaluation_follows_from_its_settings():
    def again(**changes: Any) -> Any:
        return evaluate("random", Shopper(), **({"config": SHORT, "games": 12, "seed": 3} | changes))

    assert again() == again(batch=4)
    assert again() != again(seed=4)
    assert again(seed=-1) == again(seed=-1)


def test_all_sit_everywhere_on_the_same_luck():
    seen = []

    class Spy(Shopper):
        def act(self, decisions: Decisions) -> npt.NDArray[Any]:
            first = decisions.view.round == 1
            market = decisions.view.on_offer[first]
            seen.extend(zip(decisions.seat[first].tolist(), map(bytes, market), strict=True))
            return super().act(decisions)

    evaluate(Spy(), "random", config=SHORT, games=12)
    markets = {seat: {market for at, market in seen if at == seat} for seat in range(3)}
    assert markets[0] == markets[1] == markets[2]
    assert len(markets[0]) == 4


def test_opponents_sit_in_their_order_to_the_left_of_the_agent():
    places = []

    class Spy(RandomAgent):
        def act(self, decisions: Decisions) -> npt.NDArray[np.uint8]:
            if (decisions.view.round == 1).all():
                places.append((self.seed, set(zip(decisions.game.tolist(), decisions.seat.tolist(), strict=True))))
            return super().act(decisions)

    evaluate(Spy(0), [Spy(1), Spy(2)], config=replace(SHORT, max_rounds=1), games=3)
    for who in range(3):
        seats = set().union(*(rows for seed, rows in places if seed == who))
        assert seats == {(game, (who + game) % 3) for game in range(3)}  # game k is rotation k of the one seed


def test_the_seeds_are_not_those_of_an_environment():
    played = rng.mix(0, rng.Purpose.EPISODE, seat=255, count=np.arange(100))
    episodes = rng.episode_seeds(np.zeros(100, np.uint64), np.arange(100))
    assert not set(played.tolist()) & set(episodes.tolist())


def test_any_number_of_processes_makes_the_same_evaluation():
    told: list[tuple[int, int]] = []
    expected = evaluate("threshold", ["random", "random:seed=1"], config=SHORT, games=120)
    found = evaluate(
        "threshold",
        ["random", "random:seed=1"],
        config=SHORT,
        games=120,
        workers=2,
        progress=lambda *counts: told.append(counts),
    )
    assert found == expected
    assert told[0] == (0, 120)
    assert told[-1] == (120, 120)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agent": "nobody"}, "no agent 'nobody'"),
        ({"opponents": ["random"] * 2}, "2 opponents; a table of 4 needs one for all, or 3"),
        ({"opponents": []}, "0 opponents"),
        ({"games": 0}, "games is 0"),
        ({"games": 2**40}, "games is"),
        ({"num_players": 6}, "num_players"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": 10**9}, "workers is 1000000000"),
        ({"agent": RandomAgent(), "workers": 2}, "'RandomAgent' is an object"),
        (
            {"num_players": 2, "config": MegalandConfig(num_players=3)},
            "num_players is 2, but the configuration is for 3",
        ),
    ],
)
def test_evaluations_without_meaning(changes, message):
    with pytest.raises(ValueError, match=message):
        evaluate(**({"agent": "random", "opponents": "random", "games": 4} | changes))
    assert issubclass(ConfigError, ValueError)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    luck = np.random.default_rng(1)
    for share, dependence in ((0.25, 2.0), (0.9, 3.0), (0.02, 5.0)):
        hits = 0
        for _ in range(400):
            of_seed = luck.binomial(4, luck.beta(share * dependence, (1 - share) * dependence, size=100)) / 4
            low, high = share_interval(of_seed)
            hits += low <= share <= high
        assert 0.92 <= hits / 400 <= 0.99


def test_more_games_make_the_interval_narrower_and_more_confidence_wider():
    few, many = share_interval(np.tile([0.0, 0.5], 10)), share_interval(np.tile([0.0, 0.5], 1000))
    assert many[1] - many[0] < (few[1] - few[0]) / 5
    wide = share_interval(np.tile([0.0, 0.5], 10), confidence=0.99)
    assert wide[0] < few[0] < few[1] < wide[1]


def test_as_a_dict_it_says_what_was_played_and_with_what():
    result = evaluate("random", "random:seed=2", config=SHORT, games=6)
    words = result.to_dict()
    assert json.loads(json.dumps(words)) == words
    assert words["settings"]["opponents"] == ["random:seed=2"] * 2
    assert MegalandConfig.from_dict(words["settings"]["config"]) == SHORT
    assert words["results"]["win_share"] == result.win_share
    assert {"python", "numpy", "megaland"} <= set(words["versions"])
    assert not set(words["settings"]) & set(words["results"])


def test_agents_separated_by_commas():
    assert split_specs("random,a.b:Cat:risk=0.3, speed=2,threshold") == [
        "random",
        "a.b:Cat:risk=0.3, speed=2",
        "threshold",
    ]
    assert split_specs("random") == ["random"]


# ------------------------------------------------------------------------------------------------------ files


def test_a_file_is_whole_or_not_written(tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    write_text(path, "old")
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"share": float("nan")})

    def full(*names: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", full)
        with pytest.raises(OSError, match="the disk is full"):
            write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_json(path, [1])
    assert json.loads(path.read_text()) == [1]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there(tmp_path):
    for path in (tmp_path / "no" / "result.json", tmp_path):
        with pytest.raises(OSError, match=str(path)):
            write_text(path, "")
