#!/usr/bin/env python3
"""Writes verdicts.jsonl: what the checker of bfcl-eval says of real answers to the Berkeley leaderboard, and of the
same answers with one argument changed.

    pip download --no-deps bfcl-eval==2026.3.23 && unzip -q bfcl_eval-*.whl
    python3 verdicts.py FOLDER_OF_THE_PACKAGE FOLDER_OF_BFCL > verdicts.jsonl

Only questions whose index is 0 or 1 modulo 4 are used."""
import ast, collections, glob, importlib, json, random, sys, types

package, corpus = sys.argv[1:3]
sys.path.insert(0, package)


def stub(name, **members):
    """Stands for a module of the package that the checker imports and does not need here."""
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    return module


config = types.SimpleNamespace(underscore_to_dot=False)
stub("bfcl_eval.constants.model_config", MODEL_CONFIG_MAPPING=collections.defaultdict(lambda: config))
stub("bfcl_eval.utils").__getattr__ = lambda name: lambda *a, **k: False
for language in ("java", "js"):
    name = f"{language}_type_converter"
    stub(f"bfcl_eval.eval_checker.ast_eval.type_convertor.{name}", **{name: None})
checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
python = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON


def rows(path):
    return [json.loads(line) for line in open(f"{corpus}/{path}")]


questions = {r["id"]: r["function"] for r in rows("v4/BFCL_v4_simple_python.json")}
gold = {r["id"]: r["ground_truth"] for r in rows("v4/possible_answer/BFCL_v4_simple_python.json")}


def name_of(node):
    return node.id if isinstance(node, ast.Name) else name_of(node.value) + "." + node.attr


def decode(raw):
    text = raw.strip().strip("`")
    calls = ast.parse(text if text.startswith("[") else f"[{text}]", mode="eval").body.elts
    if any(c.args for c in calls):
        raise ValueError("positional arguments")
    return [{name_of(c.func): {k.arg: ast.literal_eval(k.value) for k in c.keywords}} for c in calls]


def variants(calls):
    yield calls
    if len(calls) != 1:
        return
    (name, args), = calls[0].items()
    yield [{name: {**args, "unknown": 1}}]
    for key, value in args.items():
        yield [{name: {k: v for k, v in args.items() if k != key}}]
        others = [None, True, [value], str(value)]
        if isinstance(value, str):
            others += [value.upper(), value.replace(" ", "_"), value + ".", value + "x", ""]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            others += [value + 1, value + 0.5]
        if isinstance(value, list):
            others += [value[::-1], value + value]
        for other in others:
            yield [{name: {**args, key: other}}]


seen = {}
for path in sorted(glob.glob(f"{corpus}/outputs/*.jsonl")):
    for row in map(json.loads, open(path)):
        if int(row["id"].split("_")[-1]) % 4 > 1:
            continue
        try:
            decoded = decode(row["raw"])
        except (SyntaxError, ValueError, AttributeError, TypeError):
            continue
        for calls in variants(decoded):
            key = row["id"] + json.dumps(calls, sort_keys=True)
            if key in seen:
                continue
            try:
                result = checker.ast_checker(questions[row["id"]], calls, gold[row["id"]], python, "simple_python", "m")
            except Exception:
                continue  # the checker does not take it
            seen[key] = {"id": row["id"], "calls": calls, "valid": result["valid"]}
            if not result["valid"]:
                seen[key]["why"] = result.get("error_type")

chosen = sorted(seen)
random.Random(1).shuffle(chosen)
for key in sorted(chosen[:2400]):
    print(json.dumps(seen[key], ensure_ascii=False, sort_keys=True))
