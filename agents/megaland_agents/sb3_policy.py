"""A model of Stable-Baselines3 as a policy of this project: ``save_sb3_policy(model, "my-policy")``.

The live model is converted, never a file that Stable-Baselines3 has saved: its files are pickled, and loading one
executes what is in it. What cannot be converted exactly is refused. ::

    model = MaskablePPO("MlpPolicy", MegalandVecEnv(num_envs=64))
    model.learn(100_000)
    save_sb3_policy(model, "my-policy")  # then: megaland evaluate ppo:path=my-policy
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from megaland_env.extras import needs

with needs("a policy of Stable-Baselines3", "train"):
    import gymnasium as gym
    import torch
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.common.torch_layers import FlattenExtractor, MlpExtractor
    from torch import nn

from megaland_agents.ppo import ACTIVATIONS, Layer, PolicyError, save_policy
from megaland_env import NUM_ACTIONS
from megaland_env.observation import NUM_FEATURES
from megaland_env.outside_text import quoted

COMPARED = 64
"""Observations on which a saved policy is compared with the model."""
TOLERANCE = 1e-3
"""Largest difference of log-probabilities that rounding may make."""

_WRAPPERS = {gym.ObservationWrapper: "changes the observations", gym.ActionWrapper: "changes the actions"}


def save_sb3_policy(model: Any, path: str | Path, *, provenance: Mapping[str, Any] | None = None) -> Path:
    """Write the policy of a model to the folder ``path``, for the agent ``ppo:path=...``.

    Args:
        model: a ``MaskablePPO``, ``PPO``, ``A2C`` or other model with an actor and a critic and the policy
            ``"MlpPolicy"``, trained on ``MegalandVecEnv`` or on ``gymnasium.make("Megaland-v0")``. It may have hidden
            layers of any number and sizes, with tanh or ReLU between them.
        path: the folder; a policy that is there already is replaced.
        provenance: what else to note of where the policy comes from, as ``json.dumps`` takes it.

    Returns:
        The folder.

    Raises:
        PolicyError: the model cannot be converted; the message says why.
        OSError: the folder cannot be written.
    """
    policy = getattr(model, "policy", None)
    _check_environment(model)
    layers, activation = sb3_layers(policy)
    noted = {"made by": "save_sb3_policy", "algorithm": type(model).__name__, "steps": int(model.num_timesteps)}
    # Compared first, in memory, so that nothing is replaced by what is not the same.
    _compare(policy, layers, activation)
    return save_policy(path, layers, activation=activation, provenance=noted | dict(provenance or {}))


def sb3_layers(policy: Any) -> tuple[list[Layer], str]:
    """The linear layers from the features to the logits of the actions, and the activation between them.

    Raises:
        PolicyError: the policy has other parts.
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
        raise PolicyError('the model has networks of its own; only those of the policy "MlpPolicy" can be converted')
    _check_spaces(policy)
    modules = [*extractor.policy_net, action_net]
    linear, between = modules[::2], modules[1::2]
    names = {kind: name for name, kind in ACTIVATIONS.items()}
    unknown = [type(module).__name__ for module in between if type(module) not in names]
    if unknown or not all(type(module) is nn.Linear for module in linear):
        what = unknown[0] if unknown else next(type(module).__name__ for module in linear)
        raise PolicyError(f"there is {what} between the layers of the model; there may be {' or '.join(ACTIVATIONS)}")
    kinds = {names[type(module)] for module in between} or {next(iter(ACTIVATIONS))}  # of a single layer: any
    if len(kinds) > 1:
        raise PolicyError(f"there are several activations between the layers of the model: {', '.join(sorted(kinds))}")
    return [(layer.weight, layer.bias) for layer in linear], kinds.pop()


def _extractors(policy: Any) -> list[Any]:
    """What stands before the layers of the actor."""
    kinds: tuple[Any, ...] = (ActorCriticPolicy,)
    try:
        from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    except ModuleNotFoundError:
        pass
    else:
        kinds = (*kinds, MaskableActorCriticPolicy)
    if not isinstance(policy, kinds):
        raise PolicyError(
            f"{type(policy).__name__} is not the policy of an actor and a critic; "
            "a MaskablePPO, PPO or A2C of Stable-Baselines3 can be converted"
        )
    return [policy.features_extractor, policy.pi_features_extractor]


def _check_spaces(policy: Any) -> None:
    observations, actions = policy.observation_space, policy.action_space
    if not isinstance(observations, gym.spaces.Box) or observations.shape != (NUM_FEATURES,):
        raise PolicyError(
            f"the model was made for observations {quoted(observations)}; an agent is given {NUM_FEATURES} features"
        )
    if not isinstance(actions, gym.spaces.Discrete) or (actions.n, actions.start) != (NUM_ACTIONS, 0):
        raise PolicyError(f"the model was made for actions {quoted(actions)}; an agent has {NUM_ACTIONS} actions")


def _check_environment(model: Any) -> None:
    """Refuse environments that change what the policy sees or does; an agent plays without them."""
    normalise = getattr(model, "get_vec_normalize_env", lambda: None)()
    if normalise is not None and normalise.norm_obs:
        raise PolicyError(
            "the model was trained on observations that VecNormalize normalises; they are between -1 and 1 already: "
            "train with norm_obs=False (its rewards may be normalised)"
        )
    env = getattr(model, "env", None)
    for wrapper, what in _WRAPPERS.items():
        if env is not None and any(env.env_is_wrapped(wrapper)):
            raise PolicyError(f"the model was trained in a wrapper that {what}; train without it")


def _compare(policy: Any, layers: list[Layer], activation: str) -> None:
    """Whether the layers alone say what the model says; a hook or a method of its own may do more."""
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
                    found = ACTIVATIONS[activation]()(found)
    finally:
        policy.set_training_mode(training)
    difference = (found.log_softmax(dim=1) - wanted.to(torch.float32).log_softmax(dim=1)).abs().max()
    if not bool(difference < TOLERANCE):  # also if it is no number
        raise PolicyError("the model does not do what its layers say: it has methods or hooks of its own, or diverged")
