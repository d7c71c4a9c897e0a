"""The Gymnasium environments of one learner: what Gymnasium and Stable-Baselines3 check, and what they do not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from megaland_env import NUM_ACTIONS, Decisions, IllegalActionError, MegalandConfig, MegalandGames
from megaland_env.agent import RandomAgent, random_legal
from megaland_env.engine import rng
from megaland_env.envs.gymnasium_env import MegalandEnv, OneLearnerEnv
from megaland_env.observation import NUM_FEATURES, encode

IDS = ["Megaland-v0", "Megaland-Run-v0", "Megaland-Buy-v0"]
SHORT = MegalandConfig(num_players=3, max_rounds=3)


def make(name: str = "Megaland-v0", **options: Any) -> OneLearnerEnv:
    env = gym.make(name, **options).unwrapped
    assert isinstance(env, OneLearnerEnv)
    return env


def any_legal(env: OneLearnerEnv) -> int:
    """A random legal action that depends on the game alone."""
    return int(random_legal(env.games.decisions(), 7)[0])


def play(env: OneLearnerEnv, seed: int | None = None) -> list[Any]:
    """A game: observations, rewards and infos as lists, so that they can be compared."""
    observation, info = env.reset(seed=seed)
    told: list[Any] = [observation.tolist()]
    over = False
    while not over:
        observation, reward, terminated, truncated, info = env.step(any_legal(env))
        over = terminated or truncated
        told += [observation.tolist(), reward, terminated, truncated]
    return [*told, {name: value for name, value in info.items() if name != "action_mask"}]


# ------------------------------------------------------------------------------------------------ the public checks


def has_pillow() -> bool:
    try:
        import PIL  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_finds_nothing(name: str) -> None:
    """Gymnasium's checker samples without the mask, so illegal actions are replaced; its warnings are errors here."""
    check_env(make(name, illegal="random"), skip_render_check=not has_pillow())


@pytest.mark.parametrize("name", IDS)
def test_stable_baselines3_finds_nothing(name: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(make(name, illegal="random"))


@pytest.mark.parametrize("name", IDS)
def test_whole_games_pass_the_passive_checker(name: str) -> None:
    """``gymnasium.make`` wraps the environment in a checker of every step."""
    env = gym.make(name)
    env.action_space.seed(0)
    _, info = env.reset(seed=0)
    for _ in range(200):
        _, _, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
        if terminated or truncated:
            _, info = env.reset()
    env.close()


# ------------------------------------------------------------------------------------------------ the registry


@pytest.mark.parametrize(
    "program",
    [
        "import megaland_env, gymnasium; make = gymnasium.make('Megaland-v0')",
        "import gymnasium, megaland_env; make = gymnasium.make('Megaland-v0')",
        "import gymnasium; gymnasium.make('megaland_env:Megaland-v0')",
        "import sys; sys.modules['gymnasium'] = None; import megaland_env; megaland_env.MegalandGames().reset(0)",
        "import megaland_env.envs.registration as r, gymnasium; r.register_with_gymnasium()",
    ],
)
def test_the_registry_in_any_order_of_imports(program: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# ------------------------------------------------------------------------------------------------ spaces and masks


@pytest.mark.parametrize("name", IDS)
def test_observations_and_masks(name: str) -> None:
    env = make(name)
    observation, info = env.reset(seed=5)
    for _ in range(100):
        assert observation.shape == (NUM_FEATURES,)
        assert observation in env.observation_space
        mask = env.action_masks()
        assert (mask.shape, mask.dtype) == ((NUM_ACTIONS,), np.bool_)
        assert (info["action_mask"].dtype, info["action_mask"].tolist()) == (np.int8, mask.tolist())
        assert mask.any()
        assert np.array_equal(mask, env.games.games.legal[0, env.games.seats[0]])
        assert np.array_equal(observation, encode(env.games.decisions())[0])
        observation, reward, terminated, truncated, info = env.step(any_legal(env))
        assert [type(each) for each in (reward, terminated, truncated)] == [float, bool, bool]
        if terminated or truncated:
            assert np.flatnonzero(info["action_mask"]).tolist() == [0]
            observation, info = env.reset()


def test_sampling_by_the_mask_never_is_illegal() -> None:
    env = make()
    env.action_space.seed(3)
    _, info = env.reset(seed=3)
    for _ in range(200):
        _, _, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))  # raises if it is
        if terminated or truncated:
            _, info = env.reset()


def test_an_illegal_action_raises_and_changes_nothing() -> None:
    env = make(seat=1)
    env.reset(seed=0)
    before = env.games.games.snapshot(0)
    for action in (0, 39, 40, -1):
        with pytest.raises(IllegalActionError, match="seat 1"):
            env.step(action)
    for nonsense in (1.0, True, [1, 2]):
        with pytest.raises(ValueError, match=r"actions must be|cannot reshape"):
            env.step(nonsense)  # type: ignore[arg-type]
    assert env.games.games.snapshot(0) == before


def test_an_illegal_action_can_be_replaced() -> None:
    env = make(illegal="random", seat=1)
    env.reset(seed=0)
    env.step(39)
    env.step(any_legal(env))
    assert env.games.illegal_actions == 1


# ------------------------------------------------------------------------------------------------ seeds


@pytest.mark.parametrize("name", IDS)
def test_seeds(name: str) -> None:
    env, other = make(name), make(name)
    first = play(env, seed=11)
    following = [play(env) for _ in range(3)]
    assert play(other, seed=12) != first
    assert play(other, seed=11) == first
    assert [play(other) for _ in range(3)] == following
    assert first not in following
    seeds = rng.episode_seeds(np.full(3, 11, np.uint64), np.array([1, 2, 3]))
    assert [play(make(name), seed=int(seed)) for seed in seeds] == following


def test_without_a_seed_games_differ_and_np_random_decides() -> None:
    seeds = []
    for _ in range(2):
        env = make()
        env.np_random = np.random.default_rng(4)
        env.reset()
        seeds.append(int(env.games.games.seeds[0]))
    assert seeds[0] == seeds[1]
    fresh = [make() for _ in range(2)]
    for env in fresh:
        env.reset()
    assert fresh[0].games.games.seeds[0] != fresh[1].games.games.seeds[0]


def test_reset_keeps_the_configuration() -> None:
    config = MegalandConfig(num_players=5, market="random", first_player=2)
    env = make(config=config, seat=3, opponents="random", reward="coins")
    for seed in (1, None, 2):
        env.reset(seed=seed)
        assert env.games.config == config
        assert env.games.seats[0] == 3


def test_the_seat_is_drawn_for_each_game() -> None:
    env = make()
    seats = set()
    for seed in range(40):
        env.reset(seed=seed)
        seats.add(int(env.games.seats[0]))
    assert seats == {0, 1, 2, 3}


# ------------------------------------------------------------------------------------------------ rewards and ends


@pytest.mark.parametrize("reward", ["win", "coins", "shaped"])
def test_rewards_add_up_to_what_the_engine_pays_the_seat(reward: str) -> None:
    """Rewards add up to those of the engine for the same game, whoever moved last."""
    config = MegalandConfig(num_players=3)
    decided_by_others = 0
    for seed in range(6):
        seat = seed % 3
        env = make(config=config, seat=seat, opponents="random", reward=reward)
        info = play(env, seed=seed)[-1]
        games = MegalandGames(config, 1, reward=reward)
        games.reset(seed)
        total = 0.0
        while games.active.any():
            decisions = games.decisions()
            own = decisions.seat == seat
            decided_by_others += not own.any()
            actions = np.where(own, random_legal(decisions, 7), RandomAgent().act(decisions))
            games.step(games.scatter(decisions, actions))
            total += float(games.rewards[0, seat])
        assert env.games.games.snapshot(0) == games.snapshot(0)
        assert info["episode_return"] == pytest.approx(total, abs=1e-5)
        if reward == "win":
            winners = games.winners[0]
            assert total == pytest.approx(winners[seat] / winners.sum() - 1 / 3)
    assert decided_by_others > 50


def test_a_loss_decided_on_the_move_of_another_is_paid() -> None:
    """A loss that another player's move decides reaches the learner where it would decide next."""
    losses = 0
    for seed in range(12):
        env = make(config=MegalandConfig(num_players=2), seat=0, opponents="random")
        env.reset(seed=seed)
        over, reward, info = False, 0.0, {}
        while not over:
            assert reward == 0
            legal = np.flatnonzero(env.action_masks()).tolist()
            action = 2 if 2 in legal else legal[0]  # LEAVE, or else as little as possible
            _, reward, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        if terminated:
            assert reward == pytest.approx(info["win_share"] - 1 / 2)
            losses += info["win_share"] == 0
    assert losses > 3


def test_truncated_is_the_cut_off_alone() -> None:
    *_, terminated, truncated, info = play(make(config=SHORT, opponents="random"), seed=0)
    assert (terminated, truncated) == (False, True)  # nobody gets 20 coins in three rounds of random play
    assert (info["rounds"], info["win_share"], info["episode_return"]) == (3, 0, 0)
    *_, terminated, truncated, info = play(make(config=MegalandConfig(num_players=2)), seed=0)
    assert (terminated, truncated) == (True, False)


def test_the_last_info() -> None:
    env = make(config=MegalandConfig(num_players=2), reward="coins", seat=1)
    told = play(env, seed=1)
    info, rewards = told[-1], told[2::4]
    assert set(info) == {"win_share", "coins", "rounds", "seat", "episode_return", "episode_length"}
    assert info["seat"] == 1
    assert info["coins"] == env.games.games.coins[0, 1]
    assert info["episode_length"] == len(rewards)
    assert info["episode_return"] == pytest.approx(sum(rewards))


def test_there_must_be_a_game_to_play() -> None:
    env = make("Megaland-Run-v0")
    with pytest.raises(ResetNeeded):
        env.step(1)
    play(env, seed=0)
    with pytest.raises(ResetNeeded):
        env.step(0)


# ------------------------------------------------------------------------------------------------ opponents, arguments


class Counting(RandomAgent):
    """A random agent that counts its decisions."""

    def __init__(self) -> None:
        super().__init__()
        self.decisions = 0

    def act(self, decisions: Decisions) -> Any:
        self.decisions += len(decisions)
        return super().act(decisions)


def test_opponents_can_be_changed() -> None:
    first, second = Counting(), Counting()
    env = make(config=SHORT, opponents=first)
    assert isinstance(env, MegalandEnv)
    env.reset(seed=0)
    env.set_opponents([second, "threshold"])
    env.step(any_legal(env))
    assert (first.decisions > 0, second.decisions) == (True, 0)  # a game goes on with whom it began
    play(env)
    assert second.decisions > 0


def test_arguments_are_checked() -> None:
    for options, message in (
        ({"opponents": "nobody"}, "no agent 'nobody'"),
        ({"seat": 4}, "seat is 4"),
        ({"reward": "glory"}, "no reward 'glory'"),
        ({"illegal": "ignore"}, "illegal is 'ignore'"),
        ({"render_mode": "hologram"}, "render_mode is 'hologram'"),
    ):
        with pytest.raises(ValueError, match=message):
            MegalandEnv(**options)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ rendering


@pytest.mark.parametrize("name", IDS)
def test_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = make(name, render_mode="ansi")
    env.reset(seed=0)
    before = env.render()
    assert isinstance(before, str)
    env.step(any_legal(env))
    assert env.render() != before
    assert capsys.readouterr().out == ""

    shown = make(name, render_mode="human")
    shown.reset(seed=0)
    assert capsys.readouterr().out
    shown.step(any_legal(shown))
    assert capsys.readouterr().out
    assert shown.render() is None


def test_pictures() -> None:
    pytest.importorskip("PIL")
    env = make(render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert (picture.dtype, picture.ndim, picture.shape[2]) == (np.uint8, 3, 3)


def test_the_opponents_are_named_where_the_game_is_shown() -> None:
    env = MegalandEnv(opponents=["random:seed=3", "threshold", RandomAgent()], seat=1, render_mode="ansi")
    env.reset(seed=4)
    assert env.games.names(0) == ["RandomAgent", "learner", "random:seed=3", "threshold"]
    board = env.render()
    for title in ("you, seat 1", "seat 2 random:seed=3", "seat 3 threshold", "seat 0 RandomAgent"):
        assert title in board
    pool = MegalandEnv(opponents={"random": 1.0, "threshold": 1.0}, render_mode="ansi")
    seen = set()
    for seed in range(8):
        pool.reset(seed=seed)
        names = pool.games.names(0)
        assert names[int(pool.games.seats[0])] == "learner"
        assert all(f"seat {seat} {name}" in pool.render() for seat, name in enumerate(names) if name != "learner")
        seen |= set(names)
    assert seen == {"learner", "random", "threshold"}
    pool.set_opponents("threshold")
    pool.reset(seed=1)
    assert sorted(pool.games.names(0)) == ["learner", "threshold", "threshold", "threshold"]
    task = make("Megaland-Run-v0", render_mode="ansi")
    task.reset(seed=1)
    assert "seat 1 nobody" in task.render()


def test_nothing_is_rendered_unasked() -> None:
    env = make()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render mode"):
        assert env.render() is None


# ------------------------------------------------------------------------------------------------ a learner


@pytest.fixture
def one_thread() -> Iterator[None]:
    """The fixture of threads.py; without PyTorch the test is skipped."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_maskable_ppo_in_a_dummy_vec_env() -> None:
    """MaskablePPO plays with the masks; any illegal action would raise."""
    sb3_contrib = pytest.importorskip("sb3_contrib")
    env_util = pytest.importorskip("stable_baselines3.common.env_util")
    env = env_util.make_vec_env("Megaland-v0", n_envs=2, seed=0, env_kwargs={"config": SHORT, "opponents": "random"})
    model = sb3_contrib.MaskablePPO("MlpPolicy", env, n_steps=256, batch_size=512, n_epochs=1, seed=0, device="cpu")
    model.learn(1024)
    assert model.num_timesteps == 1024
    assert model.ep_info_buffer
