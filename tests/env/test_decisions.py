"""The interface of agents: random numbers, copies of games to plan with, and nothing hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from megaland_env import Action, Decisions, IllegalActionError, Kind, LevelCard, MegalandConfig, MegalandGames
from megaland_env.agent import RandomAgent
from tests.support.play import LIVELY, VIEW, all_rows, chi_square, each_kind, play, some_legal, view_of


def running(num_games: int = 40, players: int = 4, steps: int = 9, seed: int = 21, **options: Any) -> MegalandGames:
    """A batch in the middle of its games."""
    games = MegalandGames(MegalandConfig(players), num_games, **options)
    games.reset(seed)
    return play(games, np.random.default_rng(seed), steps)


def without(snapshot: dict[str, Any], *keys: str) -> dict[str, Any]:
    """A snapshot without some of its keys."""
    return {key: value for key, value in snapshot.items() if key not in keys}


# -------------------------------------------------------------------------------------------------- rows of decisions


def test_rows_can_be_chosen() -> None:
    """Rows can be chosen by a slice, by positions or by a mask, in all arrays alike."""
    decisions = running().decisions()
    places = np.arange(len(decisions))
    for rows in (slice(3, 30, 4), np.array([5, 2, 2]), places % 3 == 0, [7]):
        some = decisions[rows]
        assert len(some) == places[rows].size
        for name in ("game", "seat", "kind", "legal", "legal_bits"):
            np.testing.assert_array_equal(getattr(some, name), getattr(decisions, name)[rows])
        for name in VIEW:
            np.testing.assert_array_equal(getattr(some.view, name), getattr(decisions.view, name)[rows])
        np.testing.assert_array_equal(some.random(3), decisions.random(3)[rows])


def test_answers_are_put_back_where_they_belong() -> None:
    """``scatter`` puts answers in the places of their rows, and PASS everywhere else."""
    games = running()
    decisions = games.decisions()
    answers = RandomAgent().act(decisions)
    actions = games.scatter(decisions, answers)
    assert (actions[decisions.game, decisions.seat] == answers).all()
    assert (actions[~games.active] == Action["PASS"]).all()


def test_rows_of_seats_that_do_not_decide() -> None:
    """Rows of seats that are not asked have kind NONE, PASS alone as legal, and the whole view, also after the end."""
    games = MegalandGames(MegalandConfig(3, LIVELY, max_rounds=1), 5)
    games.reset(3)
    for _ in range(2):
        rows = all_rows(games)
        asked = games.active[rows.game, rows.seat]
        assert (rows.kind == np.where(asked, games.kind[rows.game], Kind.NONE)).all()
        assert (rows.legal == games.legal[rows.game, rows.seat]).all()
        assert (rows.view.coins[:, 0] == games.coins[rows.game, rows.seat]).all()
        play(games, np.random.default_rng(3))
    assert not games.active.any()
    assert len(games.decisions()) == 0


def test_decisions_that_are_out_of_date_say_so() -> None:
    """Once the games have moved, arrays that were not read before can no longer be read."""
    readings: list[Callable[[Decisions], Any]] = [
        lambda decisions: decisions.kind,
        lambda decisions: decisions.legal,
        lambda decisions: decisions.legal_bits,
        lambda decisions: decisions.view,
        lambda decisions: decisions.random(1),
        lambda decisions: decisions.fork(1),
        lambda decisions: decisions[:1],
    ]
    moves: list[Callable[[MegalandGames], Any]] = [
        lambda games: games.step(some_legal(games, np.random.default_rng(0))),
        lambda games: games.step(some_legal(games, np.random.default_rng(0))[:1], index=[0]),
        lambda games: games.reset(0),
        lambda games: games.reset(0, index=[1]),
    ]
    for move in moves:
        for reading in readings:
            games = running(4)
            decisions = games.decisions()
            move(games)
            with pytest.raises(RuntimeError, match="out of date"):
                reading(decisions)
        games = running(4)
        view = games.decisions().view
        move(games)
        for name in VIEW:
            with pytest.raises(RuntimeError, match="out of date"):
                getattr(view, name)


def test_a_refused_step_leaves_decisions_up_to_date() -> None:
    """After a refused step the same decisions may be answered again."""
    games = running(4)
    decisions = games.decisions()
    with pytest.raises(IllegalActionError):
        games.step(np.full((4, 4), 39))
    assert decisions.legal.any(axis=1).all()


# --------------------------------------------------------------------------------------------- what nobody may know


def test_what_is_seen_does_not_depend_on_the_randomness_to_come() -> None:
    """D3: two games that differ in their seed alone look the same to every seat, and ask the same."""
    for games in each_kind(4):
        snapshot = games.snapshot(0)
        other = MegalandGames.restore([snapshot | {"seed": 2**64 - 1 - snapshot["seed"]}])
        assert view_of(all_rows(other)) == view_of(all_rows(games))
        assert (other.legal == games.legal).all()
        assert (other.active == games.active).all()


def test_nobody_sees_what_others_choose_at_the_same_moment() -> None:
    """D3: choices that were told to the engine but not carried out are seen nowhere, and change no option."""
    generator = np.random.default_rng(22)
    for games in each_kind(3):
        rows, legal = view_of(all_rows(games)), games.legal.tolist()
        numbers_before = games.decisions().random(4).tolist()
        for _ in range(4):
            choices = some_legal(games, generator)
            seat = generator.choice(np.flatnonzero(games.active[0]))
            choices[0, seat] = np.flatnonzero(~games.legal[0, seat])[0]
            with pytest.raises(IllegalActionError):
                games.step(choices)
            assert view_of(all_rows(games)) == rows
            assert games.legal.tolist() == legal
            assert games.decisions().random(4).tolist() == numbers_before


def test_what_others_choose_does_not_change_ones_own_random_numbers() -> None:
    """L9, D2: whoever else stays, the same level card comes, and the first player draws the same treasure."""
    stay, leave = Action["STAY"].value, Action["LEAVE"].value
    copies = running(1, steps=0, seed=27).copy([0] * 4)
    assert copies.snapshot(0)["first_player"] == 0
    copies.step([[stay] * 4, [stay, leave, leave, leave], [stay, stay, leave, leave], [stay, leave, leave, stay]])
    told = [copies.snapshot(game) for game in range(4)]
    assert len({tuple(snapshot["level_seen"]) for snapshot in told}) == 1
    assert len({str(snapshot["players"][0]["carried"]) for snapshot in told}) == 1


# -------------------------------------------------------------------------------------------- random numbers of agents


def test_random_numbers_are_the_same_in_any_batch() -> None:
    """The same seat at the same decision of the same game, next to any other rows."""
    games = running()
    everyone = games.decisions()
    numbers = everyone.random(5, seed=3)
    copies = games.copy(np.arange(40)[::-1])
    theirs = copies.decisions()
    for row in range(0, len(everyone), 7):
        game, seat = everyone.game[row], everyone.seat[row]
        there = np.flatnonzero((theirs.game == 39 - game) & (theirs.seat == seat))
        assert theirs[there].random(5, seed=3).tolist() == [numbers[row].tolist()]
        alone = MegalandGames.restore([games.snapshot(game)])
        assert alone.rows([0], [seat]).random(5, seed=3).tolist() == [numbers[row].tolist()]


def test_random_numbers_depend_on_game_seat_decision_and_agent() -> None:
    """Each of them changes the numbers; asking for more or fewer numbers, or asking twice, does not."""
    games = running(2, steps=0)
    decisions = games.decisions()
    first = decisions.random(4)
    assert decisions.random(4).tolist() == first.tolist()
    for k in (1, 2, 3):
        assert decisions.random(k).tolist() == first[:, :k].tolist()
    seen = [first, decisions.random(4, seed=1), decisions.random(4, seed=-1), decisions.random(4, seed=2**64 - 2)]
    for _ in range(5):
        games.step(some_legal(games, np.random.default_rng(1)))
        seen.append(games.decisions().random(4))
    numbers = np.concatenate(seen).reshape(-1)
    assert np.unique(numbers).size == numbers.size


def test_random_numbers_depend_on_the_number_of_decisions_of_the_seat() -> None:
    """What others decide in between does not change them: they depend on the seat's own decisions, not on steps."""
    games = running(1)
    snapshot = games.snapshot(0)
    later = snapshot | {"steps": snapshot["steps"] + 5}
    counted = snapshot | {"decisions": [number + 1 for number in snapshot["decisions"]]}
    now, then, after = (MegalandGames.restore([s]).decisions().random(3).tolist() for s in (snapshot, later, counted))
    assert now == then
    assert now != after


def test_random_numbers_are_uniform() -> None:
    """Random numbers are uniform in [0, 1), by column and over seats, games and decisions; columns differ."""
    games = MegalandGames(num_games=5000)
    games.reset(24)
    numbers = games.decisions().random(3)
    assert numbers.shape == (20000, 3)
    assert numbers.dtype == np.float64
    assert numbers.min() >= 0
    assert numbers.max() < 1
    for column in numbers.T:
        assert chi_square(np.histogram(column, 50, (0, 1))[0], np.full(50, numbers.shape[0] / 50)) < 4
    together = np.histogram2d(numbers[:, 0], numbers[:, 1], 10, [(0, 1), (0, 1)])[0]
    assert chi_square(together.reshape(-1), np.full(100, numbers.shape[0] / 100)) < 4


def test_the_random_agent_chooses_all_alike() -> None:
    """The random agent chooses every legal action equally often."""
    games = MegalandGames(MegalandConfig(4, LIVELY), 4000)
    games.reset(25)
    agent = RandomAgent(seed=1)
    counts: dict[tuple[int, ...], np.ndarray] = {}
    for _ in range(14):
        decisions = games.decisions()
        answers = agent.act(decisions)
        assert decisions.legal[np.arange(len(decisions)), answers].all()
        for options in np.unique(decisions.legal, axis=0):
            rows = (decisions.legal == options).all(axis=1)
            place = tuple(np.flatnonzero(options).tolist())
            counts.setdefault(place, np.zeros(40))
            counts[place] += np.bincount(answers[rows], minlength=40)
        games.step(games.scatter(decisions, answers))
    often = {place: count[list(place)] for place, count in counts.items() if count.sum() >= 500 and len(place) > 1}
    assert len(often) >= 5
    for count in often.values():
        assert chi_square(count, np.full(count.size, count.sum() / count.size)) < 4


# ---------------------------------------------------------------------------------------------- forks to plan with


def test_a_fork_stands_at_this_very_decision() -> None:
    """Row r becomes the games from r * times on, which differ from it only in their seeds."""
    for games in each_kind(2):
        rows = games.decisions()
        forked = rows.fork(3)
        assert forked.num_games == 3 * len(rows)
        here = without(games.snapshot(0), "seed")
        for fork in range(forked.num_games):
            assert without(forked.snapshot(fork), "seed") == here
        assert (forked.legal == games.legal[0]).all()
        seeds = [*forked.seeds.tolist(), int(games.seeds[0])]
        assert len(set(seeds)) == len(seeds)
    games = running(30)
    rows = games.decisions()[::3]
    forked = rows.fork(2)
    for row, game in enumerate(rows.game):
        for fork in (2 * row, 2 * row + 1):
            assert without(forked.snapshot(fork), "seed") == without(games.snapshot(game), "seed")


def test_a_fork_does_not_touch_the_real_game() -> None:
    """Playing the forks to their ends leaves the games, and the decisions, as they are."""
    games = running(6)
    before = [games.snapshot(game) for game in range(6)]
    decisions = games.decisions()
    play(decisions.fork(2), np.random.default_rng(1))
    assert [games.snapshot(game) for game in range(6)] == before
    assert decisions.random(1).shape == (len(decisions), 1)


def test_forks_are_the_same_again_and_in_any_batch() -> None:
    """Their seeds are derived as random numbers are: from game, seat, decision and the agent's seed."""
    games = running(12)
    rows = games.decisions()
    seeds = rows.fork(4, seed=9).seeds.reshape(-1, 4)
    assert rows.fork(4, seed=9).seeds.tolist() == seeds.reshape(-1).tolist()
    assert rows.fork(2, seed=9).seeds.reshape(-1, 2).tolist() == seeds[:, :2].tolist()
    row = len(rows) // 2
    assert rows[[row]].fork(4, seed=9).seeds.tolist() == seeds[row].tolist()
    alone = MegalandGames.restore([games.snapshot(rows.game[row])])
    assert alone.rows([0], [rows.seat[row]]).fork(4, seed=9).seeds.tolist() == seeds[row].tolist()
    others = [rows.fork(4, seed=8).seeds, rows.fork(4).seeds, games.seeds, seeds.reshape(-1)]
    everything = np.concatenate(others)
    assert np.unique(everything).size == everything.size


def test_forks_have_randomness_of_their_own() -> None:
    """The next card of a fork is that of the real game only as often as by chance."""
    games = running(400, players=2, steps=0, seed=26)
    # Where the first card took no hearts, nobody can fall on the second, so it is there to be read.
    unhurt = np.flatnonzero(games.rows(np.arange(400), np.zeros(400, np.int64)).view.hearts[:, 0] == 4)
    decisions = games.rows(unhurt, np.zeros_like(unhurt))
    forked = decisions.fork(10)
    for batch in (games, forked):
        batch.step(np.full((batch.num_games, 2), Action["STAY"].value))
    real = [games.snapshot(game)["level_seen"][1] for game in unhurt for _ in range(10)]
    guessed = [forked.snapshot(fork)["level_seen"][1] for fork in range(forked.num_games)]
    same = sum(card == other for card, other in zip(real, guessed, strict=True))
    # Nine cards are unseen, all alike.
    assert chi_square([same, len(real) - same], [len(real) / 9, len(real) * 8 / 9]) < 4


def test_what_comes_in_forks_is_distributed_by_the_rules() -> None:
    """L3, D1: over many forks the next level card is uniform among the unseen, the next treasure by what is left."""
    games = running(1, players=2, steps=0, seed=28)
    decisions = games.decisions()[:1]
    before = decisions.view
    assert before.hearts.min() == 4  # so nobody falls on the next card
    unseen, deck = before.unseen[0], before.deck[0].astype(float)
    carried = before.carried[0]
    assert unseen.sum() == 9
    forked = decisions.fork(20_000)
    forked.step(np.full((forked.num_games, 2), Action["STAY"].value))
    after = forked.rows(np.arange(forked.num_games), np.zeros(forked.num_games, np.int64)).view
    revealed = (unseen & ~after.unseen).argmax(axis=1)
    counts = np.bincount(revealed, minlength=10)
    assert (counts > 0).tolist() == unseen.tolist()
    assert chi_square(counts[unseen], np.full(9, forked.num_games / 9)) < 4
    drawn = after.carried[:, 0].astype(int) - carried[0]
    # All but the Treasure Box leave it at one treasure. That the other seat draws too, maybe before, changes nothing.
    one = drawn.sum(axis=1) == 1
    assert one.sum() == forked.num_games - counts[LevelCard.TREASURE_BOX]
    assert chi_square(drawn[one].sum(axis=0), one.sum() * deck / deck.sum()) < 4


def test_forks_of_one_row_are_not_alike() -> None:
    """Forks of one row differ, and so do forks for two seats of one game."""
    games = running(1, steps=0)
    forked = games.decisions().fork(50)
    play(forked, np.random.default_rng(0), steps=1)
    assert len({str(without(forked.snapshot(fork), "seed")) for fork in range(200)}) > 150


@pytest.mark.parametrize("times", [0, -1])
def test_a_fork_must_be_at_least_one(times: int) -> None:
    """Zero forks are an error."""
    with pytest.raises(ValueError, match=f"times is {times}"):
        running(2).decisions().fork(times)
