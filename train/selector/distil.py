"""Distils the teacher's vectors into a static table: one vector a token.

    python distil.py --data data --model DIR --out FILE [--steps N] [--dev selection.txt]

The vector of a text is the sum of the vectors of its tokens, brought to length
one. The table starts from the teacher's own vector of each token, on the
principal components of what it said about the texts, and is then fitted to
up to three things at once: the direction the teacher gives a text, the
neighbours the teacher gives it among others, and pairs of texts that mean the
same. The defaults are what did best on the development set.
"""

import argparse
import pathlib
import time

import jax
import jax.numpy as jnp
import numpy as np

import dev
import table

DIM, LONGEST = 256, 64


class Data:
    def __init__(self, folder):
        z = np.load(folder / "taught.npz")
        self.vectors, self.alone = z["vectors"].astype(np.float32), z["alone"].astype(np.float32)
        starts = np.concatenate([[0], np.cumsum(z["lengths"])])
        tokens, lengths, keep = z["tokens"], z["lengths"], z["keep"]
        self.ids = np.zeros((len(keep), LONGEST), np.uint16)
        place = {}
        for row, line in enumerate(keep):
            n = min(lengths[line], LONGEST)
            self.ids[row, :n] = tokens[starts[line]:starts[line] + n]
            place[line] = row
        self.counts = np.bincount(tokens, minlength=len(self.alone)) + 1.0
        self.pairs, self.sources = [], []
        for line in (folder / "pairs.tsv").read_text().splitlines():
            a, b, source = line.split("\t")
            if int(a) in place and int(b) in place:
                self.pairs.append((place[int(a)], place[int(b)]))
                self.sources.append(source)
        self.pairs = np.array(self.pairs)


# How often a pair of a source is drawn beside one of another: what people
# ask, and what tools do, more often than what words mean.
SHARE = {"seal-tools": 6, "toolalpaca": 6, "clinc150": 1, "snips": 0.3, "wordnet": 0.5,
         "debian": 1, "appstream": 3, "openapi": 1, "tldr": 1, "public-apis": 4, "awesome-selfhosted": 3, "taskbench": 4}


def embed(e, ids):
    v = (e[ids] * (ids > 0)[..., None]).sum(1)
    return v * jax.lax.rsqrt((v * v).sum(-1, keepdims=True) + 1e-12)


def loss(e, ids, taught, near, a, b, same, weight):
    s = embed(e, ids)
    direction = 1 - (s * taught).sum(-1).mean()
    t = jax.nn.softmax(near / 0.05 - 1e9 * jnp.eye(len(near)), -1)
    logs = jax.nn.log_softmax(s @ s.T / 0.05 - 1e9 * jnp.eye(len(near)), -1)
    neighbours = -(t * jnp.maximum(logs, -50)).sum(-1).mean()
    x, y = embed(e, a), embed(e, b)
    sims = x @ y.T / 0.05 - 1e9 * same
    pairs = -(jnp.diag(jax.nn.log_softmax(sims, -1)) + jnp.diag(jax.nn.log_softmax(sims, 0))).mean() / 2
    return weight[0] * direction + weight[1] * neighbours + weight[2] * pairs, (direction, neighbours, pairs)


@jax.jit
def step(e, m, v, n, rate, key, ids, vectors, basis, mean, a, b, ai, bi, weight, drop):
    # A text is recognised without some of its words, too.
    k1, k2, k3 = jax.random.split(key, 3)
    cut = lambda k, x: jnp.where(jax.random.uniform(k, x.shape) < drop, 0, x)
    taught = (vectors - mean) @ basis
    taught = taught / jnp.linalg.norm(taught, axis=-1, keepdims=True)
    same = (bi[:, None] == bi[None]) | (ai[:, None] == ai[None])
    same = same & ~jnp.eye(len(bi), dtype=bool)
    (l, parts), g = jax.value_and_grad(loss, has_aux=True)(e, cut(k1, ids), taught, vectors @ vectors.T, cut(k2, a), cut(k3, b), same, weight)
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    e = e - rate * (m / (1 - 0.9 ** n)) / (jnp.sqrt(v / (1 - 0.999 ** n)) + 1e-8)
    return e, m, v, l, parts


def start(d, dim):
    """The teacher's vector of each token on the principal components, rarer tokens longer."""
    mean = d.vectors.mean(0)
    part = d.vectors[np.random.default_rng(1).permutation(len(d.vectors))[:50000]] - mean
    _, basis = np.linalg.eigh(part.T @ part)
    basis = np.ascontiguousarray(basis[:, ::-1][:, :dim])
    e = (d.alone - mean) @ basis
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    share = d.counts / d.counts.sum()
    return (e * (1e-3 / (1e-3 + share))[:, None]).astype(np.float32), basis.astype(np.float32), mean


def train(d, dim, steps, batch, rate, weight, drop, report):
    e, basis, mean = start(d, dim)
    e = jnp.asarray(e)
    m, v = jnp.zeros_like(e), jnp.zeros_like(e)
    p = np.array([SHARE[s] for s in d.sources], float)
    p /= p.sum()
    rng = np.random.default_rng(1)
    chosen = rng.choice(len(d.pairs), size=(steps, batch), p=p)
    ids, began = d.ids.astype(np.int32), time.time()
    for n in range(1, steps + 1):
        rows = rng.integers(0, len(ids), batch)
        a, b = d.pairs[chosen[n - 1], 0], d.pairs[chosen[n - 1], 1]
        r = rate * min(1, n / 200) * (1 - (n - 1) / steps)
        e, m, v, l, parts = step(e, m, v, float(n), r, jax.random.PRNGKey(n), ids[rows], d.vectors[rows], basis, mean,
                                 ids[a], ids[b], a, b, np.float32(weight), drop)
        if n % (steps // 4) == 0:
            report(f"  step {n} of {steps}, {time.time() - began:.0f} s, loss {l:.3f}: " + " ".join(f"{x:.3f}" for x in parts))
    return np.asarray(e)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--model", type=pathlib.Path, required=True)
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--steps", type=int, default=6000)
    ap.add_argument("--batch", type=int, default=4096)
    ap.add_argument("--rate", type=float, default=0.005)
    ap.add_argument("--weight", type=float, nargs=3, default=[1, 0.03, 0.02], help="of direction, neighbours and pairs")
    ap.add_argument("--drop", type=float, default=0.1)
    ap.add_argument("--dim", type=int, default=DIM)
    ap.add_argument("--dev", type=pathlib.Path)
    args = ap.parse_args()
    d = Data(args.data)
    print(len(d.ids), "texts", len(d.pairs), "pairs", flush=True)
    e = train(d, args.dim, args.steps, args.batch, args.rate, args.weight, args.drop, lambda s: print(s, flush=True))
    e = table.write(args.out, e, args.model / "tokenizer.json")
    if args.dev:
        print(dev.report(args.dev, args.model, e), flush=True)


if __name__ == "__main__":
    main()
