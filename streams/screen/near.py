"""Near-duplicates: a MinHash signature of a canon's text, and what two signatures say of two texts.

Each document's words, in runs of three, are a set; the share that two sets have in common (Jaccard) is how alike the
texts are. 128 permutations are kept with one byte each (b-bit minwise hashing, Li and König 2010): one standard error
of the estimate is 0.035 at 0.8, for 129 bytes that travel with every canon.

`rensa` does the hashing because it is one wheel of 1 MB without dependencies, loads in 10 ms and takes a fiftieth of
datasketch's time, which brings SciPy into every slot. The values of both have changed between versions, so a signature
says how it was made, and only those of one scheme are compared.
"""

from __future__ import annotations

import math
import re
import unicodedata
from itertools import chain

from streams.records import FURNITURE, CanonBody
from streams.screen.counting import AT_ONCE, pieces

MIN_WORDS = 50
"""Nothing is claimed of shorter texts: a few words in common would be most of them."""
MOST_WORDS = 100_000
"""The words of a text that are compared, from its beginning: some 60 ms."""
_MOST_CHARS = 2 * AT_ONCE  # of a piece; in more than that without white space, Chinese has all the words that count
RUN = 3
PERMUTATIONS = 128
BANDS, ROWS = 8, 4
"""Two texts are compared when one of 8 bands of 4 bytes is equal: 98.5 % of those that are 0.8 alike, 99.97 % at 0.9,
6 % at 0.3. More bands would find more and cost every document more rows in the catalog."""

_OURS = 1  # raise with any change to how words are found, to RUN, PERMUTATIONS or the seed
_SEED = 1
# Scripts without spaces between words: each character stands for itself.
_WORD = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|\w+")
_COLLIDE = 1 / 256  # bytes of different minima that are equal by chance


def signature(body: CanonBody) -> bytes | None:
    """The signature of a canon's body text, furniture left out: the scheme, then one byte for each permutation.

    None for a text of fewer than MIN_WORDS words. The same text gives the same bytes on every machine.
    """
    words: list[str] = []
    texts = [block.text for block in body.blocks if not (block.kind in FURNITURE or block.hidden)]
    for piece in chain.from_iterable(map(pieces, texts)):
        words += _WORD.findall(unicodedata.normalize("NFKC", piece).casefold(), 0, _MOST_CHARS)
        if len(words) > MOST_WORDS:
            del words[MOST_WORDS:]
            break
    if len(words) < MIN_WORDS:
        return None
    from rensa import RMinHash

    sketch = RMinHash(num_perm=PERMUTATIONS, seed=_SEED)
    sketch.update(list(map(" ".join, zip(*(words[at:] for at in range(RUN)), strict=False))))
    return bytes((_OURS << 4 | RMinHash.ALGORITHM_VERSION, *(value & 0xFF for value in sketch.digest())))


def similarity(one: bytes, other: bytes) -> float | None:
    """How alike two texts are, estimated from their signatures: 0 to 1. None when they can't be compared."""
    if len(one) != len(other) or one[:1] != other[:1]:
        return None
    differing = int.from_bytes(one) ^ int.from_bytes(other)
    equal = differing.to_bytes(len(one)).count(0) - 1  # the scheme is no permutation
    return max(0.0, (equal / (len(one) - 1) - _COLLIDE) / (1 - _COLLIDE))


def standard_error(alike: float) -> float:
    """Of the estimates for texts that are so alike: 0.035 at 0.8, nothing at 1."""
    return math.sqrt(alike * (1 - alike) / PERMUTATIONS)


def bands(found: bytes) -> list[int]:
    """Numbers below 2**52 of which texts that are alike have one in common, almost surely."""
    return [
        (found[0] << 4 | band) << 8 * ROWS | int.from_bytes(found[1 + band * ROWS : 1 + (band + 1) * ROWS])
        for band in range(BANDS)
    ]
