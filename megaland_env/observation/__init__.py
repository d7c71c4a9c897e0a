"""From a decision to a vector for a network, with every index named."""

from megaland_env.observation.encode import encode
from megaland_env.observation.features import FEATURES, FEATURES_VERSION, NUM_FEATURES, features_table

__all__ = ["FEATURES", "FEATURES_VERSION", "NUM_FEATURES", "encode", "features_table"]
