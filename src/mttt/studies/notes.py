"""Why a row of ours is not the paper's. "Naive" is mttt/bench/naive.py, counted in the same way."""

_LINEAR = (
    "W₀ = 0 is known when the program is built, so the first step needs no forward pass. The paper gives the lack of "
    "this as the reason for its 1.1×. Naive MTTT-Linear is {naive}×."
)
_MLP = "The d-wide reconstruction of each head is never made (docs/concepts.md). Naive MTTT-MLP is {naive}×."

NOTES: dict[tuple[int, str], str] = {
    (1, "Linformer"): (
        "The paper does not say its rank; 16 gives its parameters. (EX)A is computed, not the equal E(XA): keys and "
        "values are made of 16 mixtures instead of 196 tokens, hence the low count. The layer's default rank, 256, "
        "here 196, is 23.0 M and 1.14×."
    ),
    (1, "Longformer"): (
        "The window is wider than the image, so this is self-attention. The paper's 27.4 M are ours and 5.3 M more: a "
        "second set of query, key and value projections, which only global tokens use. This ViT has none of those."
    ),
    (1, "SOFT"): (
        "Keys are the queries: 1.8 M parameters and 0.08× fewer than attention. But 49 landmarks take 20 iterations to "
        "a 49 × 49 pseudo-inverse in each head, 0.08×. The paper does not say how it picks landmarks; its 3.1 M more "
        "parameters fit 12 · 64² · 8², a convolution of size and stride 8, which would leave one landmark of "
        "14 × 14 tokens. Ours averages, without parameters, and with one landmark would be 0.9× too."
    ),
    (1, "Hyena"): (
        "0.04× are Fourier transforms by XLA's rule, 8·N·⌊log₂ N⌋. The filters are made and transformed once for a "
        "batch and not counted; for a batch of one image they would be 0.09×."
    ),
    (1, "MTTT-Linear"): _LINEAR.format(naive="1.10"),
    (1, "MTTT-MLP"): _MLP.format(naive="1.45"),
    (3, "Self-attention"): (
        'The paper\'s "at least 200×" is an estimate, of a model that could not run. Counted, a block is 24nd² + 4n²d '
        "against 24nd² + 4nd·64 for linear attention, and softmax: 43×. The mixers alone are 115×, scores and weighted "
        "values alone n/64 = 784×."
    ),
    (3, "MTTT-Linear"): _LINEAR.format(naive="1.11"),
    (3, "MTTT-MLP"): _MLP.format(naive="1.79"),
    (3, "MTTT-MLP SGD T=4"): "T = 4 mini-batches cost what one step on all tokens costs.",
}
