"""Scores a table on the development set: recall@5 alone and beside plain BM25."""

import collections
import math
import re

import numpy as np
from tokenizers import Tokenizer

from collect import spoken


def read(path):
    """Returns tools (name, description, parameters), and requests (text, place of the tool, whether it uses the tool's words)."""
    tools, queries, place = [], [], {}
    for line in path.read_text().splitlines():
        if line.startswith("? "):
            queries.append((line[2:], len(tools) - 1, False))
        elif line.startswith("! "):
            _, name, text = line.split(" ", 2)
            queries.append((text, place[name], True))
        elif line and not line.startswith("#"):
            head, params = line.split(" | ")
            name, about = head.split(": ", 1)
            place[name] = len(tools)
            tools.append((name, about, params))
    return tools, queries


STOP = set("a an the of to in on for with and or is it my me i you do does can what which who how be this that at by from".split())


def stem(w):
    for s in ("ations", "ation", "ings", "ing", "ies", "ed", "es", "er", "s", "e", "y"):
        if w.endswith(s) and len(w) - len(s) > 2:
            return w[:-len(s)]
    return w


def terms(s):
    return [stem(w) for w in re.findall(r"[a-z0-9]+", spoken(s).lower()) if w not in STOP]


def bm25(tools, queries):
    docs = [collections.Counter(terms(n) * 2 + terms(a) + terms(p)) for n, a, p in tools]
    df = collections.Counter(t for d in docs for t in d)
    mean = sum(sum(d.values()) for d in docs) / len(docs)
    out = np.zeros((len(queries), len(docs)))
    for i, (q, *_) in enumerate(queries):
        for t in set(terms(q)):
            for j, d in enumerate(docs):
                if t in d:
                    out[i, j] += math.log(1 + (len(docs) - df[t] + 0.5) / (df[t] + 0.5)) * d[t] * 1.9 / (d[t] + 0.9 * (0.5 + 0.5 * sum(d.values()) / mean))
    return out


def vectors(e, tok, texts):
    out = np.stack([e[x.ids[1:-1]].sum(0) if len(x.ids) > 2 else 0 * e[0] for x in tok.encode_batch(texts)])
    return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9)


def recall(scores, queries, k=5):
    """Of the requests in other words than the tool's, and of those in its words."""
    gold = np.array([q[1] for q in queries])
    scores = scores - 1e-9 * np.arange(scores.shape[1])  # of equals, the first
    best = scores[np.arange(len(gold)), gold][:, None]
    found, direct = (scores > best).sum(1) < k, np.array([q[2] for q in queries])
    return tuple(round(float(found[direct == d].mean()), 3) for d in (False, True) if (direct == d).any())


def score(tools, queries, tok, e):
    docs = vectors(e, tok, [f"{spoken(n)} {a}" for n, a, _ in tools])
    sims = vectors(e, tok, [q[0] for q in queries]) @ docs.T
    lex = bm25(tools, queries)
    mixed = {w: recall(lex + w * sims, queries) for w in (10, 20, 30)}
    return f"recall@5 {recall(sims, queries)} alone, {recall(lex, queries)} BM25, together by weight {mixed}; recall@1 {recall(sims, queries, 1)}"


def report(path, model, e):
    tools, queries = read(path)
    return "development set: " + score(tools, queries, Tokenizer.from_file(str(model / "tokenizer.json")), e)
