"""Drop-in replacements for attention: (n, d) → (n, d)."""

from mttt.mixers.attention import SelfAttention as SelfAttention
from mttt.mixers.base import MakeMixer as MakeMixer, Mixed as Mixed, Mixer as Mixer
from mttt.mixers.causal import CausalMixer as CausalMixer
from mttt.mixers.causal_attention import CausalSelfAttention as CausalSelfAttention
from mttt.mixers.causal_hyena import CausalHyena as CausalHyena
from mttt.mixers.causal_linear import (
    CausalEluLinearAttention as CausalEluLinearAttention,
    CausalLinearAttention as CausalLinearAttention,
)
from mttt.mixers.causal_ttt import CausalTTT as CausalTTT
from mttt.mixers.change import frozen as frozen, has_inner_loop as has_inner_loop, with_inner_loop as with_inner_loop
from mttt.mixers.convolved import Convolved as Convolved
from mttt.mixers.gated import Gated as Gated
from mttt.mixers.hyena import Hyena as Hyena
from mttt.mixers.linear_attention import EluLinearAttention as EluLinearAttention, LinearAttention as LinearAttention
from mttt.mixers.linformer import Linformer as Linformer
from mttt.mixers.longformer import Longformer as Longformer
from mttt.mixers.rotary import Rotary as Rotary
from mttt.mixers.sliding_window import SlidingWindow as SlidingWindow
from mttt.mixers.soft import SOFT as SOFT
from mttt.mixers.ttt import TTT as TTT
