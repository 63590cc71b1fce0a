"""The few layers everything else is made of. Parameters are float32; the tokens' dtype is the compute dtype."""

from mttt.nn.dense import Dense as Dense, project as project
from mttt.nn.norm import LayerNorm as LayerNorm
from mttt.nn.roles import Fixed as Fixed, Shared as Shared, kernels as kernels, trainable as trainable
