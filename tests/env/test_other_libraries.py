"""What other libraries expect of an environment: attributes, base classes, keys of infos, worker processes."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import SubprocVecEnv, VecMonitor, VecVideoRecorder

import megaland_env  # noqa: F401 - registers the environments
from megaland_env import MegalandConfig, megaland_v0
from megaland_env.envs import gymnasium_env, gymnasium_vector
from megaland_env.envs.multi_agent_vector import MegalandMultiAgentVectorEnv
from megaland_env.envs.sb3_vec_env import MegalandVecEnv

NAMES = ("Megaland-v0", "Megaland-Run-v0", "Megaland-Buy-v0")
SHORT = MegalandConfig(2, max_rounds=2)


def short(name: str) -> dict[str, Any]:
    return {"config": SHORT, "opponents": "random"} if name == "Megaland-v0" else {}


def any_legal(masks: Any, luck: np.random.Generator) -> Any:
    return (luck.random(np.shape(masks)) * masks).argmax(axis=-1)


# ------------------------------------------------------------------------------------------------ Gymnasium


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("name", [*NAMES, "Megaland-MultiAgent-v0"])
def test_vector_environments_say_how_they_reset(name: str, mode: AutoresetMode) -> None:
    """TorchRL reads the attribute, Gymnasium the metadata."""
    env: Any = gym.make_vec(name, num_envs=2, vectorization_mode="vector_entry_point", autoreset_mode=mode)
    assert env.autoreset_mode is env.metadata["autoreset_mode"] is mode


def test_public_classes_name_their_library_s_class_as_a_base() -> None:
    """Skrl looks at ``__bases__``."""
    for name in ("MegalandVectorEnv", "MegalandRunVectorEnv", "MegalandBuyVectorEnv"):
        assert VectorEnv in getattr(gymnasium_vector, name).__bases__
    assert VectorEnv in MegalandMultiAgentVectorEnv.__bases__
    for name in ("MegalandEnv", "MegalandRunEnv", "MegalandBuyEnv"):
        assert gym.Env in getattr(gymnasium_env, name).__bases__


@pytest.mark.parametrize("name", NAMES)
def test_infos_have_the_same_keys_and_types_in_every_step(name: str) -> None:
    """Minari's recorder needs the same keys and types in all infos; results are 0 until the game is over."""
    env = gym.make(name, **short(name))
    luck = np.random.default_rng(1)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        first, over = info, False
        while not over:
            assert all(not value for key, value in info.items() if key != "action_mask")
            _, _, terminated, truncated, info = env.step(any_legal(info["action_mask"], luck))
            over = terminated or truncated
            assert list(info) == list(first)
            assert [type(value) for value in info.values()] == [type(value) for value in first.values()]
        assert info["episode_length"] > 0
        assert name != "Megaland-v0" or info["rounds"] > 0


@pytest.mark.parametrize("name", [*NAMES, "Megaland-MultiAgent-v0"])
@pytest.mark.parametrize("mode", AutoresetMode)
def test_infos_of_vector_environments_have_the_same_keys_in_every_step(name: str, mode: AutoresetMode) -> None:
    options = {"config": SHORT} if name == "Megaland-MultiAgent-v0" else short(name)
    env: Any = gym.make_vec(name, num_envs=3, vectorization_mode="vector_entry_point", autoreset_mode=mode, **options)
    luck = np.random.default_rng(2)
    _, first = env.reset(seed=3)
    described = {key: (value.dtype, value.shape) for key, value in first.items()}
    ends = 0
    for _ in range(60):
        *_, terminations, truncations, infos = env.step(any_legal(env.action_masks(), luck))
        over = terminations | truncations
        ends += over.sum()
        at_end = {key for key in infos if "final" in key}
        assert bool(at_end) == (mode is AutoresetMode.SAME_STEP and over.any())
        assert {key: (value.dtype, value.shape) for key, value in infos.items() if key not in at_end} == described
        last = infos.get("final_info", infos)
        assert np.array_equal(last["episode_length"] > 0, over) or not over.any()
        if mode is AutoresetMode.SAME_STEP:
            assert not infos["episode_length"].any()  # of the games that begin
        if mode is AutoresetMode.DISABLED and over.any():
            env.reset(options={"reset_mask": over})
    assert ends > 0


def test_infos_of_pettingzoo_have_the_same_keys_in_every_step() -> None:
    env = megaland_v0.parallel_env(SHORT)
    luck = np.random.default_rng(3)
    _, infos = env.reset(seed=3)
    while env.agents:
        assert {tuple(info) for info in infos.values()} == {("action_mask", "win_share", "coins", "rounds")}
        assert not any(info["rounds"] or info["coins"] or info["win_share"] for info in infos.values())
        infos = env.step({agent: any_legal(info["action_mask"], luck) for agent, info in infos.items()})[-1]
    assert {tuple(info) for info in infos.values()} == {("action_mask", "win_share", "coins", "rounds")}
    assert {info["rounds"] for info in infos.values()} == {2}


def test_the_multi_agent_vector_environment_has_an_id_and_a_spec() -> None:
    env = gym.make_vec(
        "Megaland-MultiAgent-v0", num_envs=3, vectorization_mode="vector_entry_point", num_players=2, reward="coins"
    )
    assert isinstance(env, MegalandMultiAgentVectorEnv)
    assert (env.num_envs, env.num_players) == (3, 2)
    assert env.spec is not None
    assert env.spec.id == "Megaland-MultiAgent-v0"
    again: Any = gym.make_vec(env.spec)
    assert (again.num_envs, again.num_players, again.spec.kwargs["reward"]) == (3, 2, "coins")
    with pytest.raises(gym.error.Error, match="entry"):
        gym.make("Megaland-MultiAgent-v0")


# ------------------------------------------------------------------------------------------------ worker processes


def test_async_vector_env_by_the_name_of_the_package() -> None:
    """A worker process has not imported the package, and ``megaland_env:`` makes it do so."""
    env = gym.make_vec(
        "megaland_env:Megaland-v0",
        num_envs=2,
        vectorization_mode="async",
        vector_kwargs={"context": "spawn"},
        opponents="random",
        num_players=2,
    )
    try:
        _, infos = env.reset(seed=3)
        env.step(any_legal(infos["action_mask"], np.random.default_rng(0)))
        assert infos["action_mask"].shape == (2, 40)
    finally:
        env.close()


def test_subproc_vec_env_by_the_name_of_the_package() -> None:
    """Workers start as SB3 does by default, with ``forkserver`` or ``spawn``."""
    env = make_vec_env(
        "megaland_env:Megaland-v0",
        n_envs=2,
        seed=3,
        vec_env_cls=SubprocVecEnv,
        env_kwargs={"opponents": "random", "num_players": 2},
    )
    try:
        env.reset()
        masks = np.stack(env.env_method("action_masks"))
        observations, *_ = env.step(any_legal(masks, np.random.default_rng(0)))
        assert observations.shape[0] == 2
    finally:
        env.close()


# ------------------------------------------------------------------------------------------------ Stable-Baselines3


@pytest.mark.parametrize("reward", ["win", "shaped"])
@pytest.mark.parametrize("config", [SHORT, [SHORT, MegalandConfig(3, max_rounds=2)]], ids=["one", "two"])
def test_episodes_are_told_as_a_monitor_tells_them(reward: str, config: Any) -> None:
    """``episode`` has the return, the length and the seconds, and a ``VecMonitor`` around it reports the same."""
    env = MegalandVecEnv(config, 4, opponents="random", reward=reward, seed=1)
    monitor = VecMonitor(MegalandVecEnv(config, 4, opponents="random", reward=reward, seed=1))
    luck = np.random.default_rng(4)
    env.reset()
    monitor.reset()
    returns, lengths, seconds = np.zeros(4), np.zeros(4, int), [0.0]
    for _ in range(80):
        actions = any_legal(env.action_masks(), luck)
        _, rewards, dones, infos = env.step(actions)
        *_, monitored = monitor.step(actions)
        returns, lengths = returns + rewards, lengths + 1
        for row, info in enumerate(infos):
            assert ("episode" in info) == dones[row] == ("episode" in monitored[row])
            if dones[row]:
                told = info["episode"]
                assert told["r"] == pytest.approx(returns[row], abs=1e-6)
                assert told["l"] == lengths[row] == monitored[row]["episode"]["l"]
                assert told["r"] == pytest.approx(monitored[row]["episode"]["r"], abs=1e-5)
                assert told["t"] >= seconds[-1]
                seconds.append(told["t"])
                returns[row] = lengths[row] = 0
    assert len(seconds) > 8
    env.reset()
    *_, dones, infos = env.step(env.action_masks().argmax(axis=1))
    assert all(info["episode"]["l"] == 1 for info in infos if info)
    assert env.env_is_wrapped(Monitor) == [False] * 4


def test_restored_episodes_go_on() -> None:
    env = MegalandVecEnv(SHORT, 3, opponents="random", reward="shaped", seed=1)
    env.reset()
    luck = np.random.default_rng(5)
    for _ in range(7):
        env.step(any_legal(env.action_masks(), luck))
    other = MegalandVecEnv(SHORT, 3, opponents="random", reward="shaped", seed=2)
    other.restore(env.snapshot(), env.agents)
    ended = 0
    for _ in range(20):
        actions = any_legal(env.action_masks(), luck)
        for one, two in zip(env.step(actions)[-1], other.step(actions)[-1], strict=True):
            ended += "episode" in one
            assert one.get("episode", {}) | {"t": 0} == two.get("episode", {}) | {"t": 0}
    assert ended
    older = env.snapshot()
    del older["returns"], older["lengths"]
    other.restore(older, env.agents)  # as version 0.1 wrote it
    with pytest.raises(ValueError, match=r"returns must be \(3,\) finite numbers"):
        other.restore(env.snapshot() | {"returns": [0, 0, float("nan")]}, env.agents)


def test_the_log_of_training_has_the_mean_return(tmp_path: Path) -> None:
    env = MegalandVecEnv(SHORT, 8, opponents="random", seed=1)
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, device="cpu")
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(600)
    model.logger.close()
    head, *rows = (tmp_path / "progress.csv").read_text().splitlines()
    logged = dict(zip(head.split(","), rows[-1].split(","), strict=True))
    assert -0.5 <= float(logged["rollout/ep_rew_mean"]) <= 0.5
    assert float(logged["rollout/ep_len_mean"]) > 1


def test_pictures_of_all_games() -> None:
    pytest.importorskip("PIL")
    env = MegalandVecEnv([MegalandConfig(2), MegalandConfig(2)], 3, opponents="random", seed=1, render_mode="rgb_array")
    assert env.render_mode == "rgb_array"
    assert env.metadata == {"render_modes": ["human", "rgb_array"], "render_fps": 2}
    with pytest.raises(gym.error.ResetNeeded):
        env.get_images()
    env.reset()
    images = env.get_images()
    assert len(images) == 3
    assert all(image is not None and image.dtype == np.uint8 and image.shape[2] == 3 for image in images)
    tiled = env.render()
    assert tiled is not None
    assert tiled.shape[0] >= images[0].shape[0]  # type: ignore[union-attr]
    silent = MegalandVecEnv(MegalandConfig(2), 2, opponents="random")
    silent.reset()
    assert list(silent.get_images()) == [None, None]
    with pytest.raises(ValueError, match="render_mode is 'ansi'; it must be 'rgb_array' or None"):
        MegalandVecEnv(render_mode="ansi")


def test_videos_can_be_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SB3's recorder works; the library that writes the file is no dependency, so the test replaces it."""
    pytest.importorskip("PIL")
    written: dict[str, Any] = {}

    class Clip:
        def __init__(self, frames: Any, fps: float) -> None:
            written.update(frames=list(frames), fps=fps)

        def write_videofile(self, path: str, **_: Any) -> None:
            written["path"] = path

    moviepy = types.ModuleType("moviepy")
    clips = types.ModuleType("moviepy.video.io.ImageSequenceClip")
    clips.ImageSequenceClip = Clip  # type: ignore[attr-defined]
    for name, module in (
        ("moviepy", moviepy),
        ("moviepy.video", types.ModuleType("moviepy.video")),
        ("moviepy.video.io", types.ModuleType("moviepy.video.io")),
        ("moviepy.video.io.ImageSequenceClip", clips),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    env = MegalandVecEnv(SHORT, 1, opponents="random", seed=1, render_mode="rgb_array")
    recorder = VecVideoRecorder(env, str(tmp_path), lambda step: step == 0, video_length=2)
    recorder.reset()
    for _ in range(3):
        recorder.step(env.action_masks().argmax(axis=1))
    assert len(written["frames"]) == 3
    assert written["fps"] == 2
    assert Path(written["path"]).parent == tmp_path
