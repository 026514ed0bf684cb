#!/usr/bin/env python3
"""Figures of the decoder of bfcl-eval on bfcl/outputs, one object per file.

Made with:
    python3 -m venv venv
    venv/bin/pip install bfcl-eval==2026.3.23   # or --no-deps, plus tenacity, tree-sitter and its java and javascript grammars
    venv/bin/python baseline.py CORPUS > baseline.json

For every answer: what default_decode_ast_prompting makes of the raw text, and
whether that is a right call by the rule of the corpus. The same rule is
written in Go in bfcl_test.go.
"""
import json
import pathlib
import sys

from bfcl_eval.model_handler.utils import default_decode_ast_prompting


def fold(s):
    return "".join(c for c in s.lower() if c not in " ,./-_*^").replace("'", '"')


def equal(gold, got):
    if isinstance(gold, str) and isinstance(got, str):
        return fold(gold) == fold(got)
    if isinstance(gold, bool) or isinstance(got, bool):
        return gold is got
    if isinstance(gold, (int, float)) and isinstance(got, (int, float)):
        return gold == got
    if isinstance(gold, list) and isinstance(got, (list, tuple)):
        return len(gold) == len(got) and all(equal(a, b) for a, b in zip(gold, got))
    if isinstance(gold, dict) and isinstance(got, dict):
        return arguments(gold, got)
    return gold is None and got is None


def arguments(gold, got):
    for key, value in got.items():
        allowed = gold.get(key)
        if not isinstance(allowed, list) or not any(equal(a, value) for a in allowed):
            return False
    return all(key in got or "" in allowed for key, allowed in gold.items() if isinstance(allowed, list))


def right(gold, calls):
    if len(calls) != 1:
        return False
    (name, args), = gold[0].items()
    (got_name, got_args), = calls[0].items()
    return name == got_name and arguments(args, got_args)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def main(corpus):
    bfcl = pathlib.Path(corpus) / "bfcl"
    gold = {row["id"]: row["ground_truth"] for row in lines(bfcl / "v4/possible_answer/BFCL_v4_simple_python.json")}
    figures = {}
    for path in sorted((bfcl / "outputs").glob("*.jsonl")):
        rows = lines(path)
        decoded = correct = 0
        for row in rows:
            try:
                calls = default_decode_ast_prompting(row["raw"])
            except Exception:
                continue
            decoded += bool(calls)
            correct += right(gold[row["id"]], calls)
        figures[path.name] = {"rows": len(rows), "decoded": decoded, "right": correct}
    json.dump(figures, sys.stdout, indent=1)
    print()


main(sys.argv[1])
