"""The file that internal/rank embeds.

    "TPRT1\n", then little-endian: uint32 tokens, uint32 dimensions,
    the tokens, each ended by "\n", in order of their rows,
    one float32 scale a row,
    dimensions int8 a row.

Only tokens that can come out of the Go tokenizer are kept: no markers, no
unused places, nothing beyond Latin letters.
"""

import json
import struct

import numpy as np


def write(path, e, tokenizer):
    vocab = json.loads(tokenizer.read_text())["model"]["vocab"]
    kept = sorted((i, t) for t, i in vocab.items() if not t.startswith("[") and latin(t.removeprefix("##")))
    rows = e[[i for i, _ in kept]]
    scale = np.maximum(np.abs(rows).max(1), 1e-9) / 127
    q = np.rint(rows / scale[:, None]).astype(np.int8)
    with open(path, "wb") as f:
        f.write(b"TPRT1\n" + struct.pack("<II", *q.shape))
        f.write("".join(t + "\n" for _, t in kept).encode())
        f.write(scale.astype("<f4").tobytes())
        f.write(q.tobytes())
    out = np.zeros_like(e)
    out[[i for i, _ in kept]] = q * scale[:, None]
    return out


def latin(t):
    return all(c.isascii() and (c.isalnum()) for c in t)
