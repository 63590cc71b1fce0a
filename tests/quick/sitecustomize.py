"""Python reads this when it starts, here and in every process of the tests: garbage is looked for less often.

Tracing makes many objects that live, and looking through them again and again takes a fifth of a short training.
"""

import gc

gc.set_threshold(50_000, 20, 100)
