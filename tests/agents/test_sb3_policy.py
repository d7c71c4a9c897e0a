"""A Stable-Baselines3 model becomes an agent that makes the same decisions, or is refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnvWrapper, VecFrameStack, VecNormalize
from torch import nn

from megaland_agents.policy_file import PolicyError
from megaland_agents.ppo import PPOAgent
from megaland_agents.sb3_policy import save_sb3_policy
from megaland_env import MegalandConfig, MegalandGames
from megaland_env.envs.sb3_vec_env import MegalandVecEnv
from megaland_env.observation import encode
from megaland_experiments import cli


def games(number: int = 2) -> MegalandVecEnv:
    return MegalandVecEnv(MegalandConfig(2), number, opponents="random", seed=0)


def maskable(env: Any = None, policy: Any = "MlpPolicy", **kwargs: Any) -> MaskablePPO:
    env = games() if env is None else env
    return MaskablePPO(policy, env, n_steps=16, batch_size=16, n_epochs=1, seed=0, device="cpu", policy_kwargs=kwargs)


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"net_arch": [32, 16], "activation_fn": nn.ReLU},
        {"net_arch": {"pi": [8, 8, 8], "vf": [16]}},
        {"net_arch": []},
        {"net_arch": {"vf": [16]}, "activation_fn": nn.GELU},  # none between the layers of the actor, since it has one
        {"share_features_extractor": False, "ortho_init": False},
    ],
    ids=str,
)
def test_the_agent_says_what_the_model_says(kwargs: dict[str, Any], tmp_path: Path) -> None:
    """The agent has the same logits as the model, up to a constant, and the same actions, after some learning."""
    model = maskable(**kwargs).learn(64)
    path = save_sb3_policy(model, tmp_path / "policy", provenance={"who": "me"})
    agent = PPOAgent(path)
    assert agent.provenance == {"made by": "save_sb3_policy", "algorithm": "MaskablePPO", "steps": 64, "who": "me"}
    batch = MegalandGames(MegalandConfig(3), 50)
    batch.reset(1)
    for _ in range(20):
        decisions = batch.decisions()
        observations = encode(decisions)
        with torch.no_grad():
            live = model.policy.get_distribution(torch.from_numpy(observations)).distribution.logits.numpy()
        logits = agent.logits(decisions)
        np.testing.assert_allclose(live, logits - np.logaddexp.reduce(logits, axis=1)[:, None], atol=1e-4)
        actions = agent.act(decisions)
        masked, _ = model.predict(observations, action_masks=decisions.legal, deterministic=True)
        np.testing.assert_array_equal(actions, masked)
        batch.step(batch.scatter(decisions, actions))


def test_five_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """From ``learn`` on a single environment to ``megaland evaluate``."""
    monkeypatch.chdir(tmp_path)
    model = MaskablePPO("MlpPolicy", gym.make("Megaland-v0"), n_steps=16, batch_size=16, device="cpu")
    model.learn(16)
    save_sb3_policy(model, "my-policy")
    assert cli.main(["evaluate", "ppo:path=my-policy", "--games", "20"]) == 0
    assert "ppo:path=my-policy against random" in capsys.readouterr().out


@pytest.mark.parametrize("algorithm", [PPO, A2C])
def test_other_algorithms(algorithm: Any, tmp_path: Path) -> None:
    """Other algorithms whose policy has the same form can be saved."""
    env = MegalandVecEnv(MegalandConfig(2), 2, opponents="random", illegal="random", seed=0)
    kwargs = {"batch_size": 16} if algorithm is PPO else {}
    model = algorithm("MlpPolicy", env, n_steps=8, device="cpu", **kwargs).learn(16)
    assert PPOAgent(save_sb3_policy(model, tmp_path / "policy")).provenance["algorithm"] == algorithm.__name__


def test_the_policy_that_was_there_stays(tmp_path: Path) -> None:
    """An existing policy stays if the new one cannot be converted, or has diverged."""
    path = save_sb3_policy(maskable(), tmp_path / "policy")
    before = (path / "policy.safetensors").read_bytes()
    model = maskable()
    with torch.no_grad():
        model.policy.action_net.bias[3] = np.nan
    for broken in (model, maskable(activation_fn=nn.GELU)):
        with pytest.raises((PolicyError, ValueError)):
            save_sb3_policy(broken, path)
        assert (path / "policy.safetensors").read_bytes() == before


class Extractor(BaseFeaturesExtractor):
    def __init__(self, observation_space: gym.Space[Any]) -> None:
        super().__init__(observation_space, 8)
        self.linear = nn.Linear(observation_space.shape[0], 8)  # type: ignore[index]

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.linear(observations)


class Doubled(gym.ObservationWrapper):  # type: ignore[type-arg]
    def observation(self, observation: Any) -> Any:
        return observation * 2


class Swapped(gym.ActionWrapper):  # type: ignore[type-arg]
    def action(self, action: Any) -> Any:
        return action


class Upside(gym.Wrapper):  # type: ignore[type-arg]
    """Changes the observations without being an ObservationWrapper."""

    def step(self, action: Any) -> Any:
        observation, *others = self.env.step(action)
        return -observation, *others


class AllUpside(VecEnvWrapper):
    def reset(self) -> Any:
        return -self.venv.reset()

    def step_wait(self) -> Any:
        observations, *others = self.venv.step_wait()
        return -observations, *others


class Other(gym.Env):  # type: ignore[type-arg]
    """A game of something else."""

    def __init__(self, observations: Any, actions: int) -> None:
        self.observation_space, self.action_space = observations, gym.spaces.Discrete(actions)

    def reset(self, **_: Any) -> Any:
        return self.observation_space.sample(), {}


def refused() -> list[tuple[str, Any, str]]:
    single = lambda wrapper: DummyVecEnv([lambda: wrapper(gym.make("Megaland-v0"))])  # noqa: E731
    picture = gym.spaces.Box(0, 255, (3, 36, 36), np.uint8)
    several = gym.spaces.Dict({"a": gym.spaces.Box(-1, 1, (3,))})
    ppo = lambda policy, env: PPO(policy, env, n_steps=8, batch_size=8, device="cpu")  # noqa: E731
    space = games().observation_space
    return [
        ("activation", lambda: maskable(activation_fn=nn.GELU), "there is GELU between the layers"),
        ("extractor", lambda: maskable(features_extractor_class=Extractor), "a features extractor Extractor"),
        ("normalised", lambda: maskable(VecNormalize(games())), "normalised by VecNormalize"),
        ("stacked", lambda: maskable(VecFrameStack(games(), 2)), "in the wrapper 'VecFrameStack'"),
        ("observation wrapper", lambda: maskable(single(Doubled)), "a wrapper that changes the observations"),
        ("action wrapper", lambda: maskable(single(Swapped)), "a wrapper that changes the actions"),
        ("wrapper of any kind", lambda: maskable(single(Upside)), "in the wrapper 'Upside'"),
        ("vector wrapper of any kind", lambda: maskable(AllUpside(games())), "in the wrapper 'AllUpside'"),
        ("pictures", lambda: ppo("CnnPolicy", Other(picture, 40)), "features extractor NatureCNN"),
        ("dict", lambda: ppo("MultiInputPolicy", Other(several, 40)), "features extractor CombinedExtractor"),
        ("observations", lambda: ppo("MlpPolicy", Other(gym.spaces.Box(-1, 1, (3,)), 40)), "made for observations"),
        ("actions", lambda: ppo("MlpPolicy", Other(space, 41)), "made for actions"),
        ("value-based", lambda: DQN("MlpPolicy", Other(space, 40), device="cpu", buffer_size=10), "DQNPolicy is not"),
        ("no model", lambda: 3, "NoneType is not"),
    ]


@pytest.mark.parametrize(("make", "message"), [case[1:] for case in refused()], ids=[case[0] for case in refused()])
def test_what_cannot_be_converted(make: Any, message: str, tmp_path: Path) -> None:
    """The error says why, and nothing is written."""
    model = make()
    with pytest.raises(PolicyError, match=message):
        save_sb3_policy(model, tmp_path / "policy")
    assert not list(tmp_path.iterdir())


def test_normalised_rewards_do_not_matter(tmp_path: Path) -> None:
    """Normalised rewards are allowed: a policy does not see rewards."""
    save_sb3_policy(maskable(VecNormalize(games(), norm_obs=False)), tmp_path / "policy")


def test_a_model_with_a_will_of_its_own(tmp_path: Path) -> None:
    """A model with the usual layers that uses them in another way is refused."""
    model = maskable()
    model.policy.action_net.register_forward_hook(lambda module, given, found: found * 2 + given[0].sum())
    with torch.no_grad():
        model.policy.action_net.weight *= 100
    with pytest.raises(PolicyError, match="does not do what its layers say"):
        save_sb3_policy(model, tmp_path / "policy")
    assert model.policy.training  # as it was


def test_a_model_without_an_environment_or_of_a_task_is_noted(tmp_path: Path) -> None:
    model = maskable()
    model.env = None
    with pytest.warns(UserWarning, match="has no environment, as after loading it: whether it was trained in wrappers"):
        save_sb3_policy(model, tmp_path / "policy")
    for name in ("Megaland-Run-v0", "Megaland-Buy-v0"):
        model = maskable(gym.make(f"megaland_env:{name}"))
        with pytest.warns(UserWarning, match="was trained on a task, which has only some of the decisions"):
            save_sb3_policy(model, tmp_path / name)
