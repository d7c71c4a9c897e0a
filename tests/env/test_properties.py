"""What must hold in every game of every configuration, whatever is played."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megaland_env import NUM_ACTIONS, Action, IllegalActionError, Kind, MegalandConfig, MegalandGames
from megaland_env.agent import RandomAgent
from megaland_env.engine.events import in_words
from tests.support.play import (
    KINDS,
    SEEDS,
    TABLES,
    VIEW,
    all_rows,
    check_conservation,
    configurations,
    dealt_games,
    each_kind,
    everything,
    moments,
    play,
    snapshots,
    some_legal,
    table_id,
    view_of,
)

at_every_table = pytest.mark.parametrize("config", TABLES, ids=table_id)
ask_hypothesis = settings(deadline=None, derandomize=True, max_examples=12)


# ------------------------------------------------------------------------------------------------------- conservation


@at_every_table
def test_nothing_is_created_or_lost(config: MegalandConfig) -> None:
    """C2, C4, C5, C6, C7: 96 treasures, 32 hearts, 14 jump tokens and every building card, at every step."""
    for games in moments(config, 16, seed=1):
        check_conservation(games)


@at_every_table
def test_nothing_is_created_or_lost_when_things_run_out(config: MegalandConfig) -> None:
    """B5, D1: the same if decks, tokens, hearts and buildings are nearly used up from the beginning."""
    games = dealt_games(config, 16, seed=2)
    luck = np.random.default_rng(2)
    while games.active.any():
        check_conservation(games)
        games.step(some_legal(games, luck, boldness=3))
    check_conservation(games)


@ask_hypothesis
@given(configurations(), SEEDS, SEEDS)
def test_any_configuration_can_be_played_to_its_end(config: MegalandConfig, seed: int, luck_seed: int) -> None:
    """N5, D4: every game ends by the rules or is cut off, and only games that ended by the rules have winners."""
    games = MegalandGames(config, 3)
    games.reset(seed)
    luck = np.random.default_rng(luck_seed)
    while games.active.any():
        check_conservation(games)
        asked = games.active.any(axis=1)
        assert (asked == (games.kind != Kind.NONE)).all()
        assert (asked == ~(games.terminated | games.truncated)).all()
        assert not games.winners[asked].any()
        before = games.steps.copy()
        games.step(some_legal(games, luck))
        assert (games.steps == before + asked).all()
    check_conservation(games)
    most = games.coins.max(axis=1)
    assert (games.terminated == (most >= 20)).all()
    assert (games.truncated == ~games.terminated).all()
    assert (games.rounds[games.truncated] == config.max_rounds).all()
    assert (games.winners == ((games.coins == most[:, None]) & games.terminated[:, None])).all()
    assert not games.active.any()


# --------------------------------------------------------------------------------------------------- the mask is exact


@at_every_table
def test_a_seat_that_is_not_asked_can_only_pass(config: MegalandConfig) -> None:
    """No row of a mask is ever empty, and with ``skip_forced`` nobody is asked who has no choice."""
    only_pass = np.arange(NUM_ACTIONS) == Action["PASS"]
    for games in moments(config, 16, seed=3):
        legal, active = games.legal, games.active
        assert (legal[~active] == only_pass).all()
        assert (legal[active].sum(axis=1) >= (2 if config.skip_forced else 1)).all()
        rows = games.decisions()
        assert (rows.legal == legal[rows.game, rows.seat]).all()
        assert len(rows) == active.sum()
        assert (rows.kind == games.kind[rows.game]).all()


def test_every_legal_action_is_accepted_and_no_other() -> None:
    """Each asked seat tries all forty actions at moments of each of the eight kinds of decision."""
    luck = np.random.default_rng(4)
    kinds = set()
    for games in each_kind(5, reward="shaped"):
        kinds.add(games.kind[0])
        before = everything(games)
        choices = some_legal(games, luck)
        seats, legal = np.nonzero(games.legal[0] & games.active[0][:, None])
        tried = games.copy(np.zeros(seats.size, np.int64))
        actions = choices.repeat(seats.size, axis=0)
        actions[np.arange(seats.size), seats] = legal
        tried.step(actions)
        assert (tried.steps == games.steps[0] + 1).all()
        check_conservation(tried)

        for seat in np.flatnonzero(games.active[0]):
            for action in np.flatnonzero(~games.legal[0, seat]):
                wrong = choices.copy()
                wrong[0, seat] = action
                with pytest.raises(IllegalActionError) as caught:
                    games.step(wrong)
                assert (caught.value.game, caught.value.seat, caught.value.action) == (0, seat, action)
                assert caught.value.legal == [Action(a).name for a in np.flatnonzero(games.legal[0, seat])]
        assert everything(games) == before
    assert kinds == set(KINDS)


@at_every_table
def test_an_illegal_action_holds_up_the_whole_step(config: MegalandConfig) -> None:
    """One illegal action in one of many games is an error, and no game has moved, been paid or been counted."""
    luck = np.random.default_rng(5)
    games = MegalandGames(config, 12, reward="shaped")
    games.reset(55)
    tried = finished = 0
    while games.active.any():
        choices = some_legal(games, luck)
        game = luck.choice(np.flatnonzero(games.active.any(axis=1)))
        seat = luck.choice(np.flatnonzero(games.active[game]))
        if luck.random() < 0.1 or games.kind.min() == Kind.NONE:
            wrong = choices.copy()
            wrong[game, seat] = luck.choice(np.flatnonzero(~games.legal[game, seat]))
            before = everything(games)
            for index in (None, [game], np.arange(12)[::-1]):
                with pytest.raises(IllegalActionError, match=f"game {game}, seat {seat}, "):
                    games.step(wrong if index is None else wrong[index], index)
                assert everything(games) == before
            tried += 1
            finished += (games.kind == Kind.NONE).any()
        games.step(choices)
        if finished >= 8:
            break
    assert tried
    assert finished


@at_every_table
def test_what_seats_that_are_not_asked_answer_is_ignored(config: MegalandConfig) -> None:
    """The entries of seats that are not asked may be any numbers, even of actions that do not exist."""
    luck = np.random.default_rng(6)
    games = MegalandGames(config, 8)
    games.reset(66)
    other = games.copy()
    for _ in range(60):
        choices = some_legal(games, luck)
        games.step(choices)
        junk = luck.integers(-(2**40), 2**40, choices.shape)
        other.step(np.where(other.active, choices, junk))
    assert everything(games) == everything(other)


# ----------------------------------------------------------------------------------------------- one game is one game


def play_random_agents(games: MegalandGames, steps: int | None = None) -> None:
    """Play with agents that use ``decisions.random``, for a number of steps or to the end."""
    agent = RandomAgent()
    while games.active.any() and steps != 0:
        decisions = games.decisions()
        games.step(games.scatter(decisions, agent.act(decisions)))
        steps = None if steps is None else steps - 1


@at_every_table
def test_a_game_is_the_same_in_any_batch(config: MegalandConfig) -> None:
    """A game is the same alone and at any position of any batch, card for card."""
    seeds = np.array([7, 2**64 - 1, 0, 123456789, 8, 2**63, 9], np.uint64)
    batch = MegalandGames(config, seeds.size, record=True)
    batch.reset(seeds)
    play_random_agents(batch)
    order = np.random.default_rng(7).permutation(seeds.size)
    shuffled = MegalandGames(config, seeds.size + 1, record=True)
    shuffled.reset(np.append(seeds[order], np.uint64(5)))
    play_random_agents(shuffled)
    for position, game in enumerate(order):
        assert shuffled.snapshot(position) == batch.snapshot(game)
        assert shuffled.events(position) == batch.events(game)
    alone = MegalandGames(config, record=True)
    alone.reset(2**64 - 1)
    play_random_agents(alone)
    assert alone.snapshot(0) == batch.snapshot(1)
    assert alone.events(0) == batch.events(1)


@at_every_table
def test_moving_some_games_is_moving_all_of_them(config: MegalandConfig) -> None:
    """``step(index=...)`` in any order and interleaving ends where ``step`` does, and leaves the others alone."""
    agent, luck = RandomAgent(3), np.random.default_rng(8)
    together = MegalandGames(config, 9, reward="shaped", record=True)
    together.reset(88)
    earned = np.zeros((9, config.num_players))
    while together.active.any():
        decisions = together.decisions()
        together.step(together.scatter(decisions, agent.act(decisions)))
        earned += together.rewards
    apart = MegalandGames(config, 9, reward="shaped", record=True)
    apart.reset(88)
    earned_apart = np.zeros((9, config.num_players))
    while apart.active.any():
        index = luck.permutation(9)[: luck.integers(0, 10)]
        decisions = apart.decisions()
        actions = apart.scatter(decisions, agent.act(decisions))
        others = np.setdiff1d(np.arange(9), index)
        before = (apart.steps[others].tolist(), apart.rewards[others].tolist(), apart.legal[others].tolist())
        apart.step(actions[index], index)
        assert (apart.steps[others].tolist(), apart.rewards[others].tolist(), apart.legal[others].tolist()) == before
        earned_apart[index] += apart.rewards[index]
    assert snapshots(apart) == snapshots(together)
    assert [apart.events(game) for game in range(9)] == [together.events(game) for game in range(9)]
    np.testing.assert_allclose(earned_apart, earned, atol=1e-5)


@at_every_table
def test_a_finished_game_never_moves(config: MegalandConfig) -> None:
    """A finished game never changes, whatever actions it is given, and pays no more rewards."""
    games = MegalandGames(config, 6)
    games.reset(9)
    luck = np.random.default_rng(9)
    while not (games.kind == Kind.NONE).any():
        games.step(some_legal(games, luck))
    over = np.flatnonzero(games.kind == Kind.NONE)
    before = [games.snapshot(game) for game in over]
    games.step(np.full((over.size, config.num_players), Action["LEAVE"].value), over)
    assert not games.rewards[over].any()
    play(games, luck)
    games.step(some_legal(games, luck))
    assert [games.snapshot(game) for game in over] == before


@at_every_table
def test_started_anew_a_slot_plays_as_if_nothing_had_been(config: MegalandConfig) -> None:
    """``reset`` leaves no trace of the game before, and does not change other games."""
    games = MegalandGames(config, 5, record=True)
    games.reset(10)
    play(games, np.random.default_rng(10), steps=40)
    before = [games.snapshot(game) for game in (0, 2, 4)]
    games.reset([77, 78], index=[3, 1])
    assert [games.snapshot(game) for game in (0, 2, 4)] == before
    fresh = MegalandGames(config, 2, record=True)
    fresh.reset(77)
    assert [games.snapshot(3), games.snapshot(1)] == snapshots(fresh)
    assert [games.events(3), games.events(1)] == [fresh.events(0), fresh.events(1)]
    assert not games.rewards[[1, 3]].any()
    play_random_agents(games)
    play_random_agents(fresh)
    assert [games.snapshot(3), games.snapshot(1)] == snapshots(fresh)
    assert [games.events(3), games.events(1)] == [fresh.events(0), fresh.events(1)]


@ask_hypothesis
@given(st.integers(-(2**70), 2**70))
def test_seeds_count_up_and_around(seed: int) -> None:
    """An integer s gives game i the seed s + i, modulo 2**64."""
    games = MegalandGames(num_games=3)
    games.reset(seed)
    assert games.seeds.tolist() == [(seed + game) % 2**64 for game in range(3)]
    games.reset([seed, seed + 5], index=[2, 0])
    assert games.seeds.tolist() == [(seed + 5) % 2**64, (seed + 1) % 2**64, seed % 2**64]
    games.reset([2**64 - 1, 5, -1])  # one each, of any size beside any other
    assert games.seeds.tolist() == [2**64 - 1, 5, 2**64 - 1]
    games.reset(seed, index=[2])  # by position, so that a slot keeps its seed when it is started anew
    assert games.seeds[2] == (seed + 2) % 2**64


# ----------------------------------------------------------------------------------------------- snapshots and copies


def test_a_restored_game_goes_on_as_the_original() -> None:
    """A game restored through JSON, at each kind of decision, has the same state, options, randomness and future."""
    kinds = set()
    for number, games in enumerate(each_kind(4)):
        kinds.add(games.kind[0])
        snapshot = games.snapshot(0)
        text = json.dumps(snapshot)
        restored = MegalandGames.restore([json.loads(text)])
        assert everything(restored) == everything(games)
        assert json.dumps(restored.snapshot(0)) == text  # the order of the keys too
        assert view_of(all_rows(restored)) == view_of(all_rows(games))
        steps = None if number % 4 == 0 else 2  # some to the end
        play_random_agents(games, steps=steps)
        play_random_agents(restored, steps=steps)
        assert everything(restored) == everything(games)
        assert MegalandGames.restore([games.snapshot(0)]).snapshot(0) == games.snapshot(0)
        assert json.dumps(snapshot) == text
    assert kinds == set(KINDS)


@at_every_table
def test_a_batch_restored_from_snapshots_goes_on_as_the_original(config: MegalandConfig) -> None:
    """Restored games at different stages, some finished, have the same later states, events and rewards."""
    games = MegalandGames(config, 16, record=True)
    games.reset(12)
    play(games, np.random.default_rng(12), steps=90)
    restored = MegalandGames.restore(snapshots(games), record=True)
    games.drain_events()
    luck = np.random.default_rng(13)
    while games.active.any():
        choices = some_legal(games, luck)
        games.step(choices)
        restored.step(choices)
        np.testing.assert_array_equal(restored.rewards, games.rewards)
    assert snapshots(restored) == snapshots(games)
    assert [restored.events(game) for game in range(16)] == [games.events(game) for game in range(16)]


@ask_hypothesis
@given(configurations(), SEEDS, st.integers(0, 60))
def test_any_moment_survives_json(config: MegalandConfig, seed: int, steps: int) -> None:
    """A snapshot is plain JSON, and nothing in it is lost in restoring."""
    games = MegalandGames(config, 2)
    games.reset(seed)
    play(games, np.random.default_rng(seed), steps)
    told = json.loads(json.dumps(snapshots(games)))
    restored = MegalandGames.restore(told)
    assert snapshots(restored) == told == snapshots(games)
    assert restored.config == config
    assert (restored.legal == games.legal).all()


def test_copies_are_exact_and_independent() -> None:
    """Copies of any games, any number of times each, are exact, also in their future randomness, and independent."""
    for games in each_kind(reward="shaped"):
        games.step(some_legal(games, np.random.default_rng(14)))
        copies = games.copy([0, 0, 0])
        again = copies.copy()
        before = everything(games)
        assert everything(copies) == everything(again) == everything(games.copy(np.zeros(3, np.int64)))
        assert snapshots(copies) == [games.snapshot(0)] * 3
        assert view_of(all_rows(copies)[: games.num_players])["coins"][0] == view_of(all_rows(games))["coins"][0]
        play_random_agents(copies)
        assert everything(games) == before
        assert snapshots(copies) == [copies.snapshot(0)] * 3
        play_random_agents(games)
        assert games.snapshot(0) == copies.snapshot(0)
        assert games.rewards[0].tolist() == copies.rewards[0].tolist()
        assert everything(again)["snapshots"] == before["snapshots"] * 3


def test_a_copy_may_be_started_anew() -> None:
    """Resetting a copy does not change the original; the games to copy can be chosen and repeated."""
    games = MegalandGames(num_games=4)
    games.reset(15)
    play(games, np.random.default_rng(15), steps=20)
    copies = games.copy([3, 1, 3])
    assert snapshots(copies) == [games.snapshot(game) for game in (3, 1, 3)]
    before = everything(games)
    copies.reset(0)
    assert everything(games) == before
    kept = copies.snapshot(1)
    games.reset(99)
    assert copies.snapshot(1) == kept


# ------------------------------------------------------------------------------------------ the view and the event log


def test_the_view_says_what_the_snapshot_says() -> None:
    """D3: the view has everything public, self first, then clockwise, each number where its docstring says."""
    for games in each_kind(4):
        told = games.snapshot(0)
        players = games.num_players
        for seat in range(players):
            rows = games.rows([0], [seat])
            view = {name: getattr(rows.view, name)[0] for name in VIEW}
            turned = [told["players"][(seat + k) % players] for k in range(players)]
            check_seats(view, turned)
            assert view["active"].tolist() == [(seat + k) % players in told["active"] for k in range(players)]
            assert view["first_player"].tolist() == [
                (seat + k) % players == told["first_player"] for k in range(players)
            ]
            assert view["buyer"].tolist() == [(seat + k) % players == told["buyer"] for k in range(players)]
            check_table(view, told)


TREASURES = ("gear", "stone", "egg", "carrot", "crystal", "fish")
LEVEL_CARDS = [
    *("Clouds", "Spires", "Green Mesa", "Treasure Box", "Floating Eye", "Rabbit", "Sludge Creature", "Bats"),
    *("Biting Plant", "Red Serpent"),
]
BUILDINGS = [
    *("Sandwich Stand", "Cafe", "Arcade", "Bazaar of Oddities", "Hotel", "Temple of Zoz", "Herb Hut", "Reptile Stable"),
    *("Gym", "Hospital", "Ostrich Ranch", "Bowling Alley", "Fish Vendor", "Smithy", "Fishing Pond", "Soap Makers"),
    *("Hall of Elders", "Toll Booth", "Laboratory", "Lodge", "Root Market", "Arena", "Endless Mine"),
]


def counts(pile: dict[str, int], names: Any = TREASURES) -> list[int]:
    """A pile of a snapshot as numbers in table order."""
    return [pile.get(name, 0) for name in names]


def check_seats(view: dict[str, Any], turned: list[dict[str, Any]]) -> None:
    """Check what lies in front of each seat, beginning with the viewer's own."""
    for name in ("coins", "hearts", "max_hearts", "jumps", "jumping", "in_level", "falling", "picks_left"):
        assert view[name].tolist() == [player[name] for player in turned]
    for name in ("carried", "home", "picked"):
        assert view[name].tolist() == [counts(player[name]) for player in turned]
    assert view["buildings"].tolist() == [counts(player["buildings"], BUILDINGS) for player in turned]
    assert view["fish_used"].tolist() == [player["wild_used"]["fish"] for player in turned]
    assert view["carrots_used"].tolist() == [player["wild_used"]["carrot"] for player in turned]


def check_table(view: dict[str, Any], told: dict[str, Any]) -> None:
    """Check what is the same for all seats."""
    assert view["round"] == told["round"]
    assert view["deck"].tolist() == counts(told["treasure_deck"])
    assert view["discard"].tolist() == counts(told["discard"])
    assert view["unseen"].tolist() == [card not in told["level_seen"] for card in LEVEL_CARDS]
    assert view["level_card"] == (LEVEL_CARDS.index(told["level_card"]) if told["level_card"] else -1)
    assert (view["heart_supply"], view["jump_supply"]) == (told["supply"]["hearts"], told["supply"]["jumps"])
    assert view["on_offer"].tolist() == [name in told["supply"]["buildings"] for name in BUILDINGS]
    assert view["supply"].tolist() == counts(told["supply"]["buildings"], BUILDINGS)
    bought = told["players"][told["buyer"]]["bought"] if told["buyer"] is not None else []
    assert view["bought"].tolist() == [name in bought for name in BUILDINGS]
    pay = told["pay"] or {"buying": None, "treasure": None, "cost": 0, "paid": {}}
    assert view["buying"] == [None, *BUILDINGS, "heart"].index(pay["buying"]) - 1
    assert view["heart_treasure"] == [None, *TREASURES].index(pay["treasure"]) - 1
    assert (view["cost"], view["paid"].tolist()) == (pay["cost"], counts(pay["paid"]))


@at_every_table
def test_the_events_tell_the_whole_game(config: MegalandConfig) -> None:
    """Coins, hearts, tokens, buildings, hands and piles, added up from the events alone, are those of the snapshots."""
    games = MegalandGames(config, 6, record=True)
    games.reset(16)
    luck = np.random.default_rng(16)
    retellings = [Retelling(config.num_players) for _ in range(6)]
    while True:
        columns = games.drain_events()
        for row, game in enumerate(columns.game.tolist()):
            assert columns.step[row] == games.steps[game]
            retellings[game].hear(in_words(columns, row))
        for game, retelling in enumerate(retellings):
            retelling.check(games.snapshot(game))
        if not games.active.any():
            break
        games.step(some_legal(games, luck, boldness=2))


class Retelling:
    """The state of a game as it follows from its events alone."""

    def __init__(self, players: int) -> None:
        self.coins = [0] * players
        self.max_hearts = [4] * players
        self.hearts = [4] * players
        self.jumps = [0] * players
        self.buildings: list[dict[str, int]] = [{} for _ in range(players)]
        self.carried = [dict.fromkeys(TREASURES, 0) for _ in range(players)]
        self.home = [dict.fromkeys(TREASURES, 0) for _ in range(players)]
        self.paid = dict.fromkeys(TREASURES, 0)
        self.deck = dict(zip(TREASURES, (6, 20, 16, 30, 10, 14), strict=True))
        self.discard = dict.fromkeys(TREASURES, 0)
        self.in_level = [False] * players
        self.level_seen: list[str] = []
        self.market: list[str] = []
        self.first_player = -1
        self.round = 0
        self.phase: str | None = None
        self.winners: list[int] = []

    def hear(self, event: dict[str, Any]) -> None:
        """Enter one event."""
        getattr(self, f"on_{event['event']}")(**{k: v for k, v in event.items() if k not in ("step", "event")})

    def move(self, source: dict[str, int], target: dict[str, int], treasure: str, number: int = 1) -> None:
        """Move cards, which must be there."""
        source[treasure] -= number
        target[treasure] += number
        assert source[treasure] >= 0

    def hand(self, seat: int) -> dict[str, int]:
        """The hand that a draw goes to: the home hand for players who are not in the level."""
        return self.carried[seat] if self.in_level[seat] else self.home[seat]

    def on_market(self, building: str) -> None:
        self.market.append(building)

    def on_first_player(self, seat: int) -> None:
        self.first_player = seat
        self.level_seen = [] if self.round == 0 else self.level_seen

    def on_round(self, value: int) -> None:
        assert value == self.round + 1
        self.round = value
        self.in_level = [True] * len(self.in_level)
        self.level_seen = []
        self.hearts = list(self.max_hearts)

    def on_phase(self, phase: str) -> None:
        assert (self.phase, phase) in ((None, "level"), ("level", "buy"), ("buy", "night"), ("night", "level"))
        self.phase = phase

    def on_draw(self, seat: int, treasure: str | None) -> None:
        if treasure is None:
            assert not any(self.deck.values())
        else:
            self.move(self.deck, self.hand(seat), treasure)

    def on_reshuffle(self) -> None:
        assert not any(self.deck.values())
        self.deck, self.discard = self.discard, self.deck

    def on_jump(self, seat: int) -> None:
        self.jumps[seat] -= 1

    def on_reveal(self, card: str) -> None:
        self.level_seen.append(card)

    def on_damage(self, seat: int, value: int) -> None:
        self.hearts[seat] -= value

    def on_fall(self, seat: int) -> None:
        assert self.hearts[seat] == 0
        self.in_level[seat] = False

    def on_keep(self, seat: int, treasure: str, value: int) -> None:
        if any(self.carried[seat].values()):  # after a fall; at night what is kept stays where it is
            self.move(self.carried[seat], self.home[seat], treasure, value)
        assert self.home[seat][treasure] >= value

    def on_discard(self, seat: int, treasure: str, value: int) -> None:
        fallen = any(self.carried[seat].values())
        self.move(self.carried[seat] if fallen else self.home[seat], self.discard, treasure, value)

    def on_trade(self, seat: int) -> None:
        self.move(self.carried[seat], self.discard, "carrot", 3)

    def on_stay(self, seat: int) -> None:
        assert self.in_level[seat]

    def on_home(self, seat: int, value: int) -> None:
        assert value == sum(self.carried[seat].values())
        for treasure in TREASURES:
            self.move(self.carried[seat], self.home[seat], treasure, self.carried[seat][treasure])
        self.in_level[seat] = False

    def on_swap(self, seat: int, treasure: str) -> None:
        self.move(self.home[seat], self.discard, treasure)

    def on_pay(self, seat: int, treasure: str) -> None:
        self.move(self.home[seat], self.paid, treasure)

    def on_buy(self, seat: int, building: str) -> None:
        self.buildings[seat][building] = self.buildings[seat].get(building, 0) + 1
        self.complete_payment()

    def on_heart(self, seat: int, treasure: str, value: int) -> None:
        assert sum(self.paid.values()) == value
        assert self.paid[treasure] > 0
        self.max_hearts[seat] += 1
        self.complete_payment()

    def complete_payment(self) -> None:
        """Put the paid cards on the discard pile."""
        for treasure in TREASURES:
            self.move(self.paid, self.discard, treasure, self.paid[treasure])

    def on_jumps(self, seat: int, value: int) -> None:
        self.jumps[seat] += value

    def on_coins(self, seat: int, building: str, value: int) -> None:
        assert value > 0
        assert building in self.buildings[seat]
        self.coins[seat] += value

    def on_pass(self, seat: int) -> None:
        assert not any(self.paid.values())

    def on_end(self, seat: int) -> None:
        self.winners.append(seat)

    def check(self, told: dict[str, Any]) -> None:
        """Compare with a snapshot."""
        assert told["round"] == self.round
        assert told["first_player"] == self.first_player
        assert told["winners"] == self.winners
        assert [name for name in told["supply"]["buildings"] if name not in BUILDINGS[:6]] == self.market
        assert counts(told["treasure_deck"]) == counts(self.deck)
        assert counts(told["discard"]) == counts(self.discard)
        assert counts(told["pay"]["paid"] if told["pay"] else {}) == counts(self.paid)
        over = told["phase"] == "over"
        assert self.phase == ("night" if over else told["phase"])
        assert told["level_seen"] == ([] if over else self.level_seen)
        for seat, player in enumerate(told["players"]):
            mine = (self.coins[seat], self.max_hearts[seat], self.jumps[seat], self.in_level[seat])
            assert (player["coins"], player["max_hearts"], player["jumps"], player["in_level"]) == mine
            assert player["hearts"] == (self.max_hearts[seat] if over else self.hearts[seat])
            assert player["buildings"] == self.buildings[seat]
            assert counts(player["carried"]) == counts(self.carried[seat])
            assert counts(player["home"]) == counts(self.home[seat])


@at_every_table
def test_draining_the_log_forgets_nothing_that_comes_later(config: MegalandConfig) -> None:
    """The drained parts together are the log of a batch that was never drained."""
    drained, whole = (MegalandGames(config, 4, record=True) for _ in range(2))
    pieces: list[list[tuple[Any, ...]]] = [[] for _ in range(4)]
    luck = np.random.default_rng(17)
    for games in (drained, whole):
        games.reset(17)
    while whole.active.any():
        choices = some_legal(whole, luck)
        for games in (drained, whole):
            games.step(choices)
        if luck.random() < 0.3 or not whole.active.any():
            columns = drained.drain_events()
            for row in zip(*(column.tolist() for column in columns), strict=True):
                pieces[row[0]].append(row)
    assert len(drained.event_columns().game) == 0
    columns = whole.event_columns()
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    for game in range(4):
        assert pieces[game] == [row for row in rows if row[0] == game]
        assert len(pieces[game]) == len(whole.events(game))
