"""Why a row of ours is not the paper's. A number here is the paper's, or follows from the formula beside it."""

_LINEAR = (
    "W₀ = 0 is known when the program is built, so the first step needs no forward pass. The paper gives the lack of "
    "this as the reason for its 1.1×."
)
_MLP = "The d-wide reconstruction of each head is never made (docs/concepts.md)."

NOTES: dict[tuple[int, str], str] = {
    (1, "Linformer"): (
        "The paper does not say its rank; 16 gives its parameters. (EX)A is computed, not the equal E(XA): keys and "
        "values are made of 16 mixtures instead of 196 tokens, hence the low count."
    ),
    (1, "Longformer"): (
        "The window is wider than the image, so this is self-attention. The paper's 27.4 M are ours and "
        "12 · 3 · (384² + 384) more: a second set of query, key and value projections, which only global tokens use. "
        "This ViT has none of those."
    ),
    (1, "SOFT"): (
        "Keys are the queries: 12 · (384² + 384) parameters fewer than attention. But 49 landmarks take 20 iterations "
        "to a 49 × 49 pseudo-inverse in each head. The paper does not say how it picks landmarks; its additional "
        "parameters fit 12 · 64² · 8², a convolution of size and stride 8, which would leave one landmark of "
        "14 × 14 tokens. Ours averages, without parameters."
    ),
    (1, "Hyena"): (
        "Fourier transforms are counted by XLA's rule, 8·N·⌊log₂ N⌋. The filters are made and transformed once for a "
        "batch and not counted."
    ),
    (1, "MTTT-Linear"): _LINEAR,
    (1, "MTTT-MLP"): _MLP,
    (3, "Self-attention"): (
        'The paper\'s "at least 200×" is an estimate, of a model that could not run. By matmuls alone, a block is '
        "24nd² + 4n²d against 24nd² + 4nd·64 for linear attention; scores and weighted values alone are n/64 = 784×."
    ),
    (3, "MTTT-Linear"): _LINEAR,
    (3, "MTTT-MLP"): _MLP,
    (3, "MTTT-MLP SGD T=4"): "T = 4 mini-batches cost what one step on all tokens costs.",
}
