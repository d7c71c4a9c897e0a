"""Policies from models of Stable-Baselines3: ``save_sb3_policy(model, "my-policy")``.

A model in memory is converted, never a file that Stable-Baselines3 has saved: its files are pickled, and loading one
executes what is in it. A model that cannot be converted exactly is refused. ::

    model = MaskablePPO("MlpPolicy", MegalandVecEnv(num_envs=64))
    model.learn(100_000)
    save_sb3_policy(model, "my-policy")  # then: megaland evaluate ppo:path=my-policy
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from megaland_env.extras import needs

with needs("a policy of Stable-Baselines3", "train"):
    import gymnasium as gym
    import torch
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.common.torch_layers import FlattenExtractor, MlpExtractor
    from stable_baselines3.common.vec_env import VecEnvWrapper
    from torch import nn

from megaland_agents.policy_file import ACTIVATION_NAMES, Layer, PolicyError, activation_type, save_policy
from megaland_env import NUM_ACTIONS
from megaland_env.observation import NUM_FEATURES
from megaland_env.outside_text import quoted
from megaland_env.seats.scenarios import TaskGames

COMPARED = 64
"""Number of observations on which the converted policy is compared with the model."""
TOLERANCE = 1e-3
"""Largest difference of log-probabilities that counts as rounding."""

_HARMLESS = {
    "ActionMasker",
    "Autoreset",
    "Monitor",
    "OrderEnforcing",
    "PassiveEnvChecker",
    "RecordEpisodeStatistics",
    "TimeLimit",
    "VecCheckNan",
    "VecMonitor",
    "VecNormalize",  # of rewards; that of observations is refused before
    "VecVideoRecorder",
}
"""Wrappers that leave observations and actions as they are."""

_WRAPPERS = {gym.ObservationWrapper: "changes the observations", gym.ActionWrapper: "changes the actions"}


def save_sb3_policy(model: Any, path: str | Path, *, provenance: Mapping[str, Any] | None = None) -> Path:
    """Write the policy of a model to the folder ``path``, for the agent ``ppo:path=...``.

    Args:
        model: a ``MaskablePPO``, ``PPO``, ``A2C`` or other actor-critic model with the policy ``"MlpPolicy"``, trained
            on ``MegalandVecEnv`` or on ``gymnasium.make("Megaland-v0")``. It may have any number of hidden layers of
            any size, with tanh or ReLU between them.
        path: the folder; an existing policy is replaced.
        provenance: further notes on where the policy comes from; anything that ``json.dumps`` accepts.

    Returns:
        The folder.

    Warns:
        UserWarning: the model has no environment, so that it is not known how it was trained, or it was trained on a
            task.

    Raises:
        PolicyError: the model cannot be converted; the message says why.
        OSError: the folder cannot be written.
    """
    policy = getattr(model, "policy", None)
    _check_environment(model)
    layers, activation = sb3_layers(policy)
    _warn_of_environment(getattr(model, "env", None))
    noted = {"made by": "save_sb3_policy", "algorithm": type(model).__name__, "steps": int(model.num_timesteps)}
    # Compared in memory before anything is written, so that an existing policy is not replaced by a wrong one.
    _compare(policy, layers, activation)
    return save_policy(path, layers, activation=activation, provenance=noted | dict(provenance or {}))


def sb3_layers(policy: Any) -> tuple[list[Layer], str]:
    """Return the linear layers of a policy, from the features to the logits, and the name of the activation.

    Args:
        policy: the policy of a model.

    Raises:
        PolicyError: the policy has parts that cannot be converted.
    """
    extractors = _extractors(policy)
    extractor = getattr(policy, "mlp_extractor", None)
    other = [part for part in extractors if type(part) is not FlattenExtractor]
    if other:
        raise PolicyError(
            f"the model has a features extractor {type(other[0]).__name__}; only a model with the policy "
            '"MlpPolicy" and its own extractor can be converted'
        )
    action_net = getattr(policy, "action_net", None)
    if type(extractor) is not MlpExtractor or type(action_net) is not nn.Linear:
        raise PolicyError(
            'the model has networks of another kind; only those of the policy "MlpPolicy" can be converted'
        )
    _check_spaces(policy)
    modules = [*extractor.policy_net, action_net]
    linear, between = modules[::2], modules[1::2]
    names = {activation_type(name): name for name in ACTIVATION_NAMES}
    unknown = [type(module).__name__ for module in between if type(module) not in names]
    if unknown or not all(type(module) is nn.Linear for module in linear):
        what = unknown[0] if unknown else next(type(module).__name__ for module in linear)
        raise PolicyError(
            f"there is {what} between the layers of the model; there may be {' or '.join(ACTIVATION_NAMES)}"
        )
    kinds = {names[type(module)] for module in between} or {ACTIVATION_NAMES[0]}  # any, for a single layer
    if len(kinds) > 1:
        raise PolicyError(f"there are several activations between the layers of the model: {', '.join(sorted(kinds))}")
    return [(layer.weight, layer.bias) for layer in linear], kinds.pop()


def _extractors(policy: Any) -> list[Any]:
    """Return the features extractors in front of the actor's layers."""
    kinds: tuple[Any, ...] = (ActorCriticPolicy,)
    try:
        from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    except ModuleNotFoundError:
        pass
    else:
        kinds = (*kinds, MaskableActorCriticPolicy)
    if not isinstance(policy, kinds):
        raise PolicyError(
            f"{type(policy).__name__} is not an actor-critic policy; "
            "a MaskablePPO, PPO or A2C of Stable-Baselines3 can be converted"
        )
    return [policy.features_extractor, policy.pi_features_extractor]


def _check_spaces(policy: Any) -> None:
    observations, actions = policy.observation_space, policy.action_space
    if not isinstance(observations, gym.spaces.Box) or observations.shape != (NUM_FEATURES,):
        raise PolicyError(
            f"the model was made for observations {quoted(observations)}; an agent gets {NUM_FEATURES} features"
        )
    if not isinstance(actions, gym.spaces.Discrete) or (actions.n, actions.start) != (NUM_ACTIONS, 0):
        raise PolicyError(f"the model was made for actions {quoted(actions)}; an agent has {NUM_ACTIONS} actions")


def _check_environment(model: Any) -> None:
    """Refuse environments with wrappers that change observations or actions; an agent plays without wrappers."""
    normalise = getattr(model, "get_vec_normalize_env", lambda: None)()
    if normalise is not None and normalise.norm_obs:
        raise PolicyError(
            "the model was trained on observations normalised by VecNormalize; they are between -1 and 1 already: "
            "train with norm_obs=False (normalised rewards are fine)"
        )
    env = getattr(model, "env", None)
    for wrapper, what in _WRAPPERS.items():
        if env is not None and any(env.env_is_wrapped(wrapper)):
            raise PolicyError(f"the model was trained in a wrapper that {what}; train without it")
    for wrapper in _wrappers(env):
        if type(wrapper).__name__ not in _HARMLESS:
            raise PolicyError(
                f"the model was trained in the wrapper {quoted(type(wrapper).__name__)}, which may change what the "
                f"model sees or does; train without it, or with {', '.join(sorted(_HARMLESS))} alone"
            )


def _warn_of_environment(env: Any) -> None:
    """Warn of a model that may not have learned to play the full game as an agent sees it."""
    if env is None:
        warnings.warn(
            "the model has no environment, as after loading it: whether it was trained in wrappers, or on a task, is "
            "not known; give it one with model.set_env",
            stacklevel=3,
        )
    elif any(isinstance(getattr(single.unwrapped, "games", None), TaskGames) for single in _singles(env)):
        warnings.warn(
            "the model was trained on a task, which has only some of the decisions of the full game; as an agent it "
            "makes the others, too, without having learned them",
            stacklevel=3,
        )


def _wrappers(env: Any) -> Iterator[Any]:
    """The wrappers of a vector environment, and those of its environments as far as they are in this process."""
    wrapped = env
    while isinstance(wrapped, VecEnvWrapper):
        yield wrapped
        wrapped = wrapped.venv
    for single in _singles(env):
        while isinstance(single, gym.Wrapper):
            yield single
            single = single.env


def _singles(env: Any) -> list[Any]:
    """The environments in a vector environment, as far as they are in this process."""
    while isinstance(env, VecEnvWrapper):
        env = env.venv
    return list(getattr(env, "envs", ()))


def _compare(policy: Any, layers: list[Layer], activation: str) -> None:
    """Check that the layers alone give the logits of the model; a hook or an overridden method may change them."""
    generator = torch.Generator().manual_seed(0)
    observations = torch.rand((COMPARED, NUM_FEATURES), generator=generator) * 2 - 1
    training = policy.training
    policy.set_training_mode(False)
    try:
        with torch.no_grad():
            wanted = policy.get_distribution(observations.to(policy.device)).distribution.logits.to("cpu")
            found = observations
            for number, (weight, bias) in enumerate(layers):
                found = nn.functional.linear(found, weight.to("cpu", torch.float32), bias.to("cpu", torch.float32))
                if number + 1 < len(layers):
                    found = activation_type(activation)()(found)
    finally:
        policy.set_training_mode(training)
    difference = (found.log_softmax(dim=1) - wanted.to(torch.float32).log_softmax(dim=1)).abs().max()
    if not bool(difference < TOLERANCE):  # NaN included
        raise PolicyError("the model does not do what its layers say: it has overridden methods or hooks, or diverged")
