"""``SelfPlay`` and ``AllSeatsPPO``: which decisions are learned from, and which rewards belong to them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from megaland_env import Decisions, IllegalActionError, Kind, MegalandConfig, MegalandGames
from megaland_env.agent import RandomAgent
from megaland_env.engine import rng
from megaland_env.observation import encode
from megaland_env.rewards import Shaped
from megaland_env.seats.opponents import LEARNER
from megaland_env.seats.self_play import SelfPlay
from megaland_experiments.training.all_seats import AllSeatsPPO
from tests.support.threads import one_thread

pytestmark = pytest.mark.usefixtures(one_thread.__name__)

POOL = [(SelfPlay.itself, 0.5), (RandomAgent(), 0.5)]


def some_games(num_games: int = 6, players: tuple[int, ...] = (2, 4), **settings: Any) -> SelfPlay:
    rounds = settings.pop("max_rounds", 50)
    configs = [MegalandConfig(number, max_rounds=rounds) for number in players]
    return SelfPlay(configs, num_games, **{"opponents": POOL, "reward": "win", "seed": 7} | settings)


def first_legal(masks: np.ndarray, luck: np.random.Generator) -> np.ndarray:
    actions: np.ndarray = (luck.random(masks.shape) * masks).argmax(axis=1)
    return actions


# --------------------------------------------------------------------------------------------------- the games


def test_the_learner_is_asked_for_its_seats_alone_and_agents_for_theirs() -> None:
    class Watched:
        def __init__(self) -> None:
            self.asked = 0

        def act(self, decisions: Decisions) -> np.ndarray:
            self.asked += len(decisions)
            return first_legal(decisions.legal, np.random.default_rng(0))

    watched = Watched()
    games = some_games(opponents=[(SelfPlay.itself, 0.5), (watched, 0.5)])
    assert games.num_seats == 3 * 2 + 3 * 4
    luck = np.random.default_rng(0)
    total = own = 0
    for _ in range(60):
        pending = [block.games.decisions() for block in games._blocks]
        asked = games.asked()
        learns = np.concatenate([block._learns_flat for block in games._blocks])
        assert learns[asked.seats].all()
        total += sum(map(len, pending))
        own += asked.seats.size
        expected = np.concatenate([encode(decisions) for decisions in pending])
        seats = np.concatenate(
            [b.first_seat + d.seat * b.games.num_games + d.game for b, d in zip(games._blocks, pending, strict=True)]
        )
        assert np.array_equal(asked.observations, expected[np.isin(seats, asked.seats)])
        assert asked.kinds.min() > Kind.NONE
        games.play(first_legal(asked.masks, luck))
    assert own + watched.asked == total
    assert 0.2 < watched.asked / total < 0.6


def test_every_game_has_a_seat_of_the_learner() -> None:
    for pool, seats in ((RandomAgent(), 1), (SelfPlay.itself, 5)):
        (block,) = some_games(40, (5,), opponents=pool)._blocks
        assert (block._learns.sum(axis=0) == seats).all()
        drawn = np.count_nonzero(block.slots.seating.player == LEARNER, axis=1)
        assert (drawn > 0).all()  # and it is not always the same
    (block,) = some_games(200, (5,))._blocks
    number = block._learns.sum(axis=0)
    assert set(number) == {1, 2, 3, 4, 5}
    assert number.mean() == pytest.approx(1 + 4 * 0.5, abs=0.25)
    games = some_games(200, (5,), same_opponent_share=1.0)
    for _ in range(2):
        assert set(games._blocks[0]._learns.sum(axis=0)) == {1, 5}
        games.set_opponents({SelfPlay.itself: 1.0, RandomAgent(): 1.0})
        games._blocks[0].slots.restart(np.arange(200))
        games._blocks[0].find_learners()


def test_slots_play_the_games_of_their_seeds() -> None:
    games = some_games(5, (3,), opponents=SelfPlay.itself)
    alone = MegalandGames(MegalandConfig(3), 5)
    alone.reset(rng.run_seeds(7, np.arange(5), rng.Run.TRAINING))
    luck = np.random.default_rng(1)
    for _ in range(40):
        asked = games.asked()
        actions = first_legal(asked.masks, luck)
        alone.step(alone.scatter(alone.decisions(), actions))
        games.play(actions)
        assert [games._blocks[0].games.snapshot(game) for game in range(5)] == [alone.snapshot(g) for g in range(5)]


def seeds_played(seed: int, episodes: int) -> set[int]:
    """The seeds of the games that training with a base seed plays in its slots, one episode after the other."""
    games = some_games(32, (2, 4), seed=seed)
    played = set()
    for _ in range(episodes):
        for block in games._blocks:
            everyone = np.arange(block.games.num_games)
            played |= set(block.games.seeds.tolist())
            block._start(everyone, block.slots.restart(everyone))
    assert len(played) == 32 * episodes
    return played


def test_runs_with_other_base_seeds_play_other_games() -> None:
    """Runs with other base seeds play other games, and no run trains on the games that it is measured on."""
    runs = [seeds_played(seed, 5) for seed in (0, 1, 2, 33)]
    measured = [set(rng.run_seeds(seed, np.arange(1000), rng.Run.ARENA).tolist()) for seed in (0, 1)]
    everything = [*runs, *measured]
    assert len(set().union(*everything)) == sum(map(len, everything))


def test_what_a_game_brought() -> None:
    games = some_games(8, (2, 3), max_rounds=3)
    luck = np.random.default_rng(2)
    ended = cut_off = 0
    paid = np.zeros(games.num_seats)
    for _ in range(150):
        asked = games.asked()
        moment = games.play(first_legal(asked.masks, luck))
        paid += moment.rewards
        assert len(moment.results) == moment.ended.size
        assert len(moment.last_observations) == moment.cut_off.size
        seats = sum(number for _, number, _ in moment.opponents) + moment.ended.size
        assert seats == 0 or moment.ended.size > 0
        for _, number, wins in moment.opponents:
            assert 0 <= wins <= 3 * number
        assert set(moment.cut_off) <= set(moment.ended)
        for seat, (share, coins, rounds) in zip(moment.ended, moment.results, strict=True):
            assert coins >= 0
            assert rounds <= 3
            players = 2 if seat < 8 else 3
            expected = 0 if seat in moment.cut_off else share - 1 / players
            assert paid[seat] == pytest.approx(expected, abs=1e-6)
            paid[seat] = 0
        ended, cut_off = ended + moment.ended.size, cut_off + moment.cut_off.size
    assert cut_off > 10
    assert ended >= cut_off


def test_an_illegal_action_is_refused() -> None:
    games = some_games(4, (2,), opponents=SelfPlay.itself)
    asked = games.asked()
    with pytest.raises(IllegalActionError):
        games.play(np.zeros(asked.seats.size, np.int64))  # nobody may pass in the level


def test_saved_and_restored_it_goes_on_exactly() -> None:
    def play(games: SelfPlay, moments: int, luck: np.random.Generator) -> list[Any]:
        story = []
        for _ in range(moments):
            asked = games.asked()
            moment = games.play(first_legal(asked.masks, luck))
            story.append((asked.seats.tolist(), asked.observations.tobytes(), moment.rewards.tolist()))
        return story

    games = some_games(reward=Shaped(), max_rounds=6)
    play(games, 50, np.random.default_rng(3))
    snapshot = json.loads(json.dumps(games.snapshot()))
    again = some_games(reward=Shaped(), max_rounds=6, seed=1)
    again.restore(snapshot, games.agents)
    expected = play(games, 60, np.random.default_rng(4))
    assert play(again, 60, np.random.default_rng(4)) == expected
    assert any(any(reward) for _, _, reward in expected)
    with pytest.raises(ValueError, match="another number of games"):
        some_games(8).restore(snapshot, games.agents)


def test_too_few_games_for_the_tables() -> None:
    with pytest.raises(ValueError, match="1 games cannot be shared out among 2"):
        some_games(1)


# --------------------------------------------------------------------------------------------------- what is learned


class Quiet(BaseCallback):
    """Keeps what each moment brought; stops after some updates."""

    def __init__(self, updates: int) -> None:
        super().__init__()
        self.left = updates
        self.story: list[Any] = []

    def _on_step(self) -> bool:
        self.story.append(self.model.moment)
        return True

    def _on_rollout_end(self) -> None:
        self.left -= 1


def learner(games: SelfPlay, **settings: Any) -> AllSeatsPPO:
    settings = {"gamma": 0.9, "gae_lambda": 0.8, "batch_size": 64, "n_epochs": 1, "seed": 0, "device": "cpu"} | settings
    model = AllSeatsPPO(games, 400, policy_kwargs={"net_arch": [16]}, **settings)
    model.set_logger(Logger(None, []))
    return model


def test_advantages_are_those_of_each_seats_own_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generalised advantages by hand, a seat at a time, from a diary of what each seat did and was paid."""
    games = some_games(6, (2, 3), reward=Shaped(0.9), max_rounds=4)
    model = learner(games)
    diary: dict[int, list[list[Any]]] = {seat: [[]] for seat in range(games.num_seats)}  # games, each of its moments
    ask, play = games.asked, games.play
    last_asked: list[Any] = []

    def asked() -> Any:
        last_asked[:] = [ask()]
        return last_asked[0]

    def played(actions: Any) -> Any:
        (one,) = last_asked
        with torch.no_grad():
            values = model.policy.predict_values(torch.from_numpy(one.observations)).numpy()[:, 0]
        for seat, observation, value in zip(one.seats, one.observations, values, strict=True):
            diary[seat][-1].append({"observation": observation.tobytes(), "value": value, "paid": 0.0, "rest": None})
        moment = play(actions)
        for seat, reward in enumerate(moment.rewards):
            if diary[seat][-1]:
                diary[seat][-1][-1]["paid"] += reward
        with torch.no_grad():
            rest = model.policy.predict_values(torch.from_numpy(moment.last_observations)).numpy()[:, 0]
        cut = dict(zip(moment.cut_off.tolist(), rest, strict=True))
        for seat in moment.ended:
            diary[seat][-1][-1]["rest"] = cut.get(seat, 0.0)
            diary[seat].append([])
        return moment

    monkeypatch.setattr(games, "asked", asked)
    monkeypatch.setattr(games, "play", played)
    callback = Quiet(1)
    callback.init_callback(model)
    assert model._collect(callback)

    expected: dict[bytes, float] = {}
    waiting = 0
    for story in diary.values():
        for own in story:
            later = 0.0
            for here, following in reversed(list(zip(own, [*own[1:], None], strict=False))):
                if following is None and here["rest"] is None:
                    waiting += 1  # its sequel is not known yet
                    continue
                next_value = here["rest"] if following is None else following["value"]
                later = here["paid"] + 0.9 * next_value - here["value"] + 0.9 * 0.8 * later
                expected[here["observation"]] = later
    buffer = model.rollout_buffer
    samples = list(buffer.get(64))  # type: ignore[arg-type]
    found = {
        observation.numpy().tobytes(): float(advantage)
        for sample in samples
        for observation, advantage in zip(sample.observations, sample.advantages, strict=True)
    }
    assert waiting == model.waiting()["seats"].numel() > 0
    assert sum(len(own) for story in diary.values() for own in story) == waiting + model.num_timesteps
    assert found.keys() == expected.keys()
    assert [found[key] for key in found] == pytest.approx([expected[key] for key in found], abs=1e-5)
    assert buffer.returns == pytest.approx(buffer.values + np.array([*map(float, _advantages(model))]), abs=1e-6)
    assert any(moment.cut_off.size for moment in callback.story)


def _advantages(model: AllSeatsPPO) -> torch.Tensor:
    return model.rollout_buffer._advantages  # type: ignore[attr-defined, no-any-return]


def test_every_decision_is_learned_from_once_also_those_that_waited() -> None:
    model = learner(some_games(6, (2, 3), max_rounds=5))
    callback = Quiet(3)
    callback.init_callback(model)
    seen = []
    made = 0
    for _ in range(3):
        assert model._collect(callback)
        for sample in model.rollout_buffer.get(100):
            seen += [row.numpy().tobytes() for row in sample.observations]
            assert len(sample.observations) >= 100
        made = model.num_timesteps + model.waiting()["seats"].numel()
    assert len(seen) == model.num_timesteps
    assert made >= 3 * 400
    asked_again = [row.numpy().tobytes() for row in model.waiting()["observations"]]
    assert not set(asked_again) & set(seen)
    assert len(set(seen)) == len(seen)


def test_before_the_first_update_probabilities_are_those_of_the_roll_out() -> None:
    model = learner(some_games())
    callback = Quiet(1)
    callback.init_callback(model)
    assert model._collect(callback)
    for sample in model.rollout_buffer.get(64):
        assert sample.action_masks[torch.arange(len(sample.actions)), sample.actions].all()
        values, log_probs, _ = model.policy.evaluate_actions(
            sample.observations, sample.actions, action_masks=sample.action_masks
        )
        assert torch.allclose(log_probs, sample.old_log_prob, atol=1e-5)
        assert torch.allclose(values[:, 0], sample.old_values, atol=1e-5)
    assert model.illegal_actions == 0


def test_entropy_by_kind_is_exact_where_all_actions_are_equal() -> None:
    model = learner(some_games(20, (3,)))
    with torch.no_grad():
        model.policy.action_net.weight.zero_()
        model.policy.action_net.bias.zero_()
    callback = Quiet(1)
    callback.init_callback(model)
    assert model._collect(callback)
    assert model.entropy_by_kind["run"] == pytest.approx(np.log(2), abs=1e-5)  # to stay or to leave
    assert set(model.entropy_by_kind) <= {kind.label for kind in Kind}


def test_it_learns_to_beat_random_players() -> None:
    games = some_games(128, (2,), reward=Shaped(), opponents=RandomAgent())
    model = AllSeatsPPO(
        games, 2048, learning_rate=2e-3, batch_size=256, n_epochs=4, gamma=1.0, gae_lambda=0.95, seed=0, device="cpu",
        policy_kwargs={"net_arch": [64]},
    )  # fmt: skip
    model.set_logger(Logger(None, []))
    callback = Quiet(0)
    model.learn(40_000, callback)
    shares = [
        np.mean([row[0] for moment in part for row in moment.results]) for part in np.array_split(callback.story, 4)
    ]
    assert shares[-1] > 0.75 > 0.6 > shares[0]
