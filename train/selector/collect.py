"""Collects the text that the selection table learns from.

Writes texts.txt (one text a line, each once) and pairs.tsv (two line numbers
and a source: texts that mean the same thing, such as a request and the tool
that answers it). Everything comes from the sources in SOURCES; CARD.md says
under which licences. Nothing comes from a benchmark of tool selection that
this project measures itself on, nor from what those were made of: the
Schema-Guided Dialogue dataset is left out because BFCL has questions from it.

    python collect.py --out data [--mirror DIR]

A repository is read from DIR/owner+name/repo where that exists and is cloned
from GitHub otherwise. The commits are pinned.
"""

import argparse
import collections
import gzip
import io
import json
import lzma
import pathlib
import random
import re
import subprocess
import tarfile
import urllib.request

DEBIAN = "http://deb.debian.org/debian/"
TRANSLATIONS = "dists/bookworm/main/i18n/Translation-en.xz"
APPSTREAM = "dists/bookworm/main/dep11/Components-amd64.yml.gz"
WORDNET = "pool/main/w/wordnet/wordnet-base_3.0-37_all.deb"

SOURCES = json.loads((pathlib.Path(__file__).parent / "sources.json").read_text())

# Larger files are left out, so that a mirror without them gives the same text.
LARGEST = 4_200_000

# What would put a benchmark into the training text: names of the sets this
# project is measured on and of the tool catalogues they were made from.
FORBIDDEN = re.compile(r"metatool|bfcl|berkeley function|gorilla llm|livemcp|chatgpt plugin", re.I)


class Collection:
    def __init__(self):
        self.lines = {}
        self.pairs = []
        self.counts = collections.Counter()

    def text(self, s, source, least=2, most=60):
        """Adds a text and returns its line, or None if it is not worth having."""
        s = clean(s)
        words = s.split()
        if not least <= len(words) or FORBIDDEN.search(s) or not mostly_latin(s):
            return None
        s = " ".join(words[:most])
        if s not in self.lines:
            self.lines[s] = len(self.lines)
            self.counts[source] += 1
        return self.lines[s]

    def pair(self, a, b, source):
        a, b = self.text(a, source, 1), self.text(b, source, 1)
        if a is not None and b is not None and a != b:
            self.pairs.append((a, b, source))


def clean(s):
    s = re.sub(r"<[^>]{1,80}>|https?://\S+|[`*_#|{}\[\]\\]", " ", s)
    return re.sub(r"\s+", " ", s).strip()


def mostly_latin(s):
    return s.isascii() or sum(c.isascii() for c in s) > 0.9 * len(s)


def spoken(name):
    """getHTTPStatus, get_http_status → get http status"""
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", name)
    return re.sub(r"[^A-Za-z0-9]+", " ", name).lower().strip()


def sentences(s):
    return [x for x in re.split(r"(?<=[.!?])\s+(?=[A-Z])", s) if x]


def get(url):
    with urllib.request.urlopen(url, timeout=120) as r:
        return r.read()


class Repo:
    def __init__(self, name, commit, mirror, work):
        self.commit = commit
        self.dir = pathlib.Path(mirror or "/nonexistent") / name.replace("/", "+") / "repo"
        if not self.dir.exists():
            self.dir = work / name.replace("/", "+")
        if not self.dir.exists():
            run = lambda *a: subprocess.run(["git", *a], check=True)
            run("init", "-q", "--bare", str(self.dir))
            run("-C", str(self.dir), "fetch", "-q", "--depth=1", f"https://github.com/{name}", commit)

    def paths(self, pattern):
        out = subprocess.run(["git", "-C", self.dir, "ls-tree", "-r", "--name-only", "-z", self.commit],
                             check=True, capture_output=True).stdout.decode()
        return [p for p in out.split("\0") if re.search(pattern, p)]

    def read(self, paths):
        """Yields path and text of each file; files that are not there are left out."""
        p = subprocess.Popen(["git", "-C", self.dir, "cat-file", "--batch"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for path in paths:
            p.stdin.write(f"{self.commit}:{path}\n".encode())
            p.stdin.flush()
            head = p.stdout.readline().decode().split()
            if len(head) < 3 or head[1] != "blob":
                continue
            data = p.stdout.read(int(head[2]) + 1)
            if len(data) <= LARGEST:
                yield path, data[:-1].decode("utf-8", "replace")
        p.stdin.close()
        p.wait()


# What people put around a wish. Questions made from descriptions differ from
# descriptions in these words only, but the table must learn to ignore them.
OPENINGS = ["Can you {}?", "How do I {}?", "I want to {}.", "I need to {} for my project.", "Please {}.",
            "Could you help me {}?", "What's the best way to {}?", "I'd like to {}.", "Is there a way to {}?",
            "Help me {} today.", "{}", "Show me how to {}."]


def wish(s, rng):
    """Makes a question of a one-line description that starts with a verb, or returns None."""
    s = next(iter(sentences(clean(s))), "").rstrip(".")
    words = s.split()
    if not 2 <= len(words) <= 20:
        return None
    first = words[0].lower()
    if first.endswith("es") and first[:-2].endswith(("ch", "sh", "ss", "x")):
        first = first[:-2]
    elif first.endswith("ies"):
        first = first[:-3] + "y"
    elif first.endswith("s") and not first.endswith("ss"):
        first = first[:-1]
    return rng.choice(OPENINGS).format(" ".join([first, *words[1:]]))


def debian(c, rng):
    data = lzma.decompress(get(DEBIAN + TRANSLATIONS)).decode()
    seen = set()
    for block in data.split("\n\n"):
        m = re.search(r"^Description-en: (.*)\n((?: .*\n?)*)", block, re.M)
        if not m or m[1] in seen:
            continue
        seen.add(m[1])
        name = block.split("\n", 1)[0].removeprefix("Package: ")
        if re.match(r"lib.*(-dev|-perl|\d)$|.*-(dbg|dev|data|common|l10n-.*)$|golang-|node-|ruby-|r-|haskell-|fonts-", name):
            if rng.random() < 0.8:
                continue
        short = re.sub(r"\s*[-(–].{0,40}$", "", m[1]) if rng.random() < 0.5 else m[1]
        paragraphs = [" ".join(p.split()) for p in re.split(r"\n \.\n", m[2])]
        long = paragraphs[0] if paragraphs else ""
        if long:
            c.pair(short, long, "debian")
        for s in sentences(" ".join(paragraphs))[:6]:
            c.text(s, "debian", 4)


def appstream(c, rng):
    data = gzip.decompress(get(DEBIAN + APPSTREAM)).decode()
    for block in data.split("\n---\n"):
        field = lambda key: re.search(rf"^{key}:\n(?:  .*\n)*?  C: (.+(?:\n    .+)*)", block, re.M)
        summary, text = field("Summary"), field("Description")
        if not summary or not text:
            continue
        summary = summary[1].strip("'\" >-")
        text = clean(text[1].strip("'\" >-"))
        parts = sentences(text)
        if parts:
            c.pair(summary, " ".join(parts[:2]), "appstream")
        for s in parts[:5]:
            c.text(s, "appstream", 4)
        q = wish(summary, rng)
        if q:
            c.pair(q, " ".join(parts[:1]) or summary, "appstream")


SPECIFIC = {"05", "15", "18", "20"}  # WordNet's files of animals, places, persons and plants: mostly names


def wordnet(c, rng):
    deb = get(DEBIAN + WORDNET)
    at = deb.index(b"data.tar.")
    size = int(deb[at + 48:at + 58])
    files = tarfile.open(fileobj=io.BytesIO(deb[at + 60:at + 60 + size]))
    for part in ("noun", "verb", "adj", "adv"):
        member = files.extractfile(f"./usr/share/wordnet/data.{part}")
        for line in io.TextIOWrapper(member, "utf-8", "replace"):
            if line.startswith(" ") or " | " not in line:
                continue
            left, gloss = line.rsplit(" | ", 1)
            cols = left.split()
            if cols[1] in SPECIFIC and rng.random() < 0.8:
                continue
            words = [cols[4 + 2 * i].replace("_", " ") for i in range(int(cols[3], 16))]
            meaning = gloss.split(';')[0].strip()
            c.pair(", ".join(words[:3]), meaning, "wordnet")
            for example in re.findall(r'"([^"]{15,})"', gloss)[:2]:
                c.pair(example, f"{words[0]}: {meaning}", "wordnet")


def openapi(c, rng, repo):
    per = collections.Counter()
    line = re.compile(r"^(\s+)(operationId|summary|description): (?!\||>)['\"]?(.{6,400}?)['\"]?$", re.M)
    latest = {}
    for p in repo.paths(r"(openapi|swagger)\.yaml$"):
        latest[p.rsplit("/", 2)[0]] = p
    for path, text in repo.read(sorted(latest.values())):
        provider = path.split("/")[1]
        # The fields of an operation stand together at one depth.
        for block in re.split(r"\n\s+(?:get|post|put|patch|delete):\n", text)[:80]:
            got = {}
            for m in line.finditer(block[:6000]):
                got.setdefault((m[2], len(m[1])), m[3])
            op = {k: v for (k, depth), v in sorted(got.items(), key=lambda x: -x[0][1])}
            what = op.get("summary") or op.get("description")
            if not what or per[provider] > 250:
                continue
            per[provider] += 1
            if "operationId" in op:
                c.pair(spoken(op["operationId"]), what, "openapi")
            if "summary" in op and "description" in op:
                c.pair(op["summary"], op["description"], "openapi")
            q = wish(what, rng)
            if q:
                c.pair(q, f"{spoken(op.get('operationId', ''))} {op.get('description', what)}", "openapi")


def tldr(c, rng, repo):
    for path, text in repo.read(repo.paths(r"^pages/.*\.md$")):
        about = " ".join(re.findall(r"^> (?!More info|See also|Note)(.*)", text, re.M))
        name = path.rsplit("/", 1)[1][:-3]
        for example in re.findall(r"^- (.*):$", text, re.M)[:8]:
            example = re.sub(r"\[(\w)\]", r"\1", example)
            q = wish(example, rng)
            c.pair(q or example, f"{spoken(name)} {about}", "tldr")


def sealtools(c, rng, repo):
    tools = {}
    for _, text in repo.read(["Seal-Tools_Dataset/tool.jsonl"]):
        for row in map(json.loads, text.splitlines()):
            params = row["parameters"] or {}
            tools[row["api_name"]] = f"{spoken(row['api_name'])} {row['api_description']}"
            c.pair(f"{spoken(row['api_name'])}, {row['field']}", row["api_description"], "seal-tools")
            q = wish(row["api_description"], rng)
            if q:
                c.pair(q, f"{spoken(row['api_name'])} {row['api_description']}", "seal-tools")
            for p in params.values():
                c.text(p.get("description", ""), "seal-tools", 3)
    # The requests of test_out_domain are kept for checking the table.
    for _, text in repo.read([f"Seal-Tools_Dataset/{f}.jsonl" for f in ("dev", "test_in_domain")]):
        for row in map(json.loads, text.splitlines()):
            for call in row["calling"]:
                if call["api"] in tools:
                    c.pair(row["query"], tools[call["api"]], "seal-tools")


def toolalpaca(c, rng, repo):
    for _, text in repo.read(["data/eval_simulated.json", "data/eval_real.json"]):
        for api in json.loads(text):
            about = api.get("Description", "")
            for s in sentences(api.get("Introduction", "")):
                c.text(s, "toolalpaca", 4)
            does = api.get("Function_Description", {})
            for name, what in does.items() if isinstance(does, dict) else []:
                c.pair(spoken(name), what.split("\n")[0], "toolalpaca")
            for q in api.get("Instructions", []):
                c.pair(q, f"{spoken(api['Name'])}: {about}", "toolalpaca")


def public_apis(c, rng, repo):
    for _, text in repo.read(["README.md"]):
        category = ""
        for line in text.splitlines():
            if line.startswith("### "):
                category = line[4:]
            m = re.match(r"\| \[([^\]]+)\]\([^)]*\) \| ([^|]+) \|", line)
            if m:
                c.pair(f"{spoken(m[1])} {category}", m[2], "public-apis")


def selfhosted(c, rng, repo):
    for _, text in repo.read(repo.paths(r"^software/.*\.yml$")):
        about = re.search(r"^description: ['\"]?(.*?)['\"]?$", text, re.M)
        tags = re.findall(r"^  - ([A-Z].* .*)$", text, re.M)
        if about:
            c.pair(" ".join(tags[-1:]) + " " + re.search(r"^name: (.*)", text, re.M)[1], about[1], "awesome-selfhosted")


def clinc(c, rng, repo):
    for _, text in repo.read(["data/data_full.json"]):
        by = collections.defaultdict(list)
        for rows in json.loads(text).values():
            for q, intent in rows:
                by[intent].append(q)
        for intent, qs in by.items():
            for q in qs:
                if intent == "oos":
                    c.text(q, "clinc150")
                    continue
                c.pair(q, spoken(intent) if rng.random() < 0.5 else rng.choice(qs), "clinc150")
    for _, text in repo.read(["data/all_wiki_sents.txt"]):
        for s in text.splitlines():
            c.text(s, "clinc150", 4)


def snips(c, rng, repo):
    for path, text in repo.read(repo.paths(r"^2017-06.*/train_\w+_full\.json$")):
        for intent, rows in json.loads(text).items():
            for row in rows:
                c.pair("".join(x["text"] for x in row["data"]), spoken(intent), "snips")


def questions(c, rng, repo):
    for _, text in repo.read(repo.paths(r"NQ-open.*jsonl$")):
        for line in text.splitlines():
            c.text(json.loads(line)["question"], "natural-questions", 3)


def wellformed(c, rng, repo):
    for _, text in repo.read(["train.tsv", "dev.tsv", "test.tsv"]):
        for line in text.splitlines():
            c.text(line.split("\t")[0], "query-wellformedness", 3)


def taskbench(c, rng, repo):
    for _, text in repo.read(repo.paths(r"^taskbench/data_\w+/tool_desc\.json$")):
        for n in json.loads(text)["nodes"]:
            c.pair(spoken(n["id"]), n["desc"], "taskbench")
    for _, text in repo.read(repo.paths(r"^taskbench/data_\w+/user_requests\.json$")):
        for line in text.splitlines():
            c.text(json.loads(line)["user_request"], "taskbench", 3)


READERS = {"APIs-guru/openapi-directory": openapi, "tldr-pages/tldr": tldr, "fairyshine/Seal-Tools": sealtools,
           "tangqiaoyu/ToolAlpaca": toolalpaca, "public-apis/public-apis": public_apis,
           "awesome-selfhosted/awesome-selfhosted-data": selfhosted,
           "clinc/oos-eval": clinc,
           "sonos/nlu-benchmark": snips, "google-research-datasets/natural-questions": questions,
           "google-research-datasets/query-wellformedness": wellformed, "microsoft/JARVIS": taskbench}


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--out", type=pathlib.Path, required=True)
    ap.add_argument("--mirror", help="folder of bare repositories")
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    c = Collection()
    for reader in (debian, appstream, wordnet):
        reader(c, random.Random(1))
        print(reader.__name__, len(c.lines), len(c.pairs), flush=True)
    for name, commit in SOURCES.items():
        READERS[name](c, random.Random(1), Repo(name, commit, args.mirror, args.out))
        print(name, len(c.lines), len(c.pairs), flush=True)
    (args.out / "texts.txt").write_text("\n".join(c.lines) + "\n")
    (args.out / "pairs.tsv").write_text("".join(f"{a}\t{b}\t{s}\n" for a, b, s in c.pairs))
    for s, n in c.counts.most_common():
        print(f"{s:24} {n:8} texts {sum(p[2] == s for p in c.pairs):8} pairs")


if __name__ == "__main__":
    main()
