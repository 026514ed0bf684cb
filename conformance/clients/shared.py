"""What libraries for agents are asked as clients of the gateway, and what must come of it."""
import gc
import os
import sys
import unittest

BASE = os.environ["TOOLPOST_CELLS"].rstrip("/")
OVER = os.environ["TOOLPOST_CELLS_THROUGH"]
MODEL = "sim/native+seed=7"

TASKS = {
    "single": {"ask": "What is the weather in Rome?", "calls": ["Rome"], "says": "sunny in Rome"},
    "parallel": {"ask": "What is the weather in Rome? What is the weather in Paris?", "calls": ["Paris", "Rome"], "says": "sunny in Paris"},
    "forced": {"ask": "Rome", "calls": 1},
    "structured": {"ask": "What is the weather in Rome?", "json": {"city": "Rome"}},
}

REAL = OVER == "real"  # a small real model that has no tools: it is asked one thing, and may be asked again
TRIES = 4 if REAL else 1
if REAL:
    TASKS = {"single": {"ask": "What is the weather in Rome?"}}

PLACE = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Current weather in a city", "parameters": PLACE}}


def weather(city):
    return "sunny in " + city


class Answer:
    """What a library made of an answer: the cities it was called with, its last text, its object."""

    def __init__(self, cities=(), text="", json=None):
        self.cities, self.text, self.json = list(cities), text, json


class Libraries(unittest.TestCase):
    tally = {"run": 0, "green": 0, "explained": 0}
    tries = []

    @classmethod
    def setUpClass(cls):
        # A stream that LiteLLM left open is closed when it is collected. Where that happens while its pool of
        # connections holds its own lock, the client waits for itself for ever.
        gc.disable()

    def tearDown(self):
        gc.collect()

    @classmethod
    def tearDownClass(cls):
        gc.enable()
        print("libraries for Python, over %s: %d run, %d green, %d explained" % (OVER, *cls.tally.values()), file=sys.stderr)
        if REAL:
            print("asked %d times for %d" % (sum(cls.tries), len(cls.tries)), file=sys.stderr)

    def check(self, task, got):
        if REAL:  # a call that is valid, whose result was used for an answer
            self.assertTrue(got.cities and all(isinstance(c, str) and c for c in got.cities), got.cities)
            self.assertTrue(got.text.strip())
        if task.get("calls") == 1:
            self.assertEqual(1, len(got.cities))
        elif "calls" in task:
            self.assertEqual(task["calls"], sorted(got.cities))
        self.assertIn(task.get("says", ""), got.text)
        if "json" in task:
            self.assertEqual(task["json"], got.json)


def add_tests(clients, without=()):
    """Adds a test for each client, task and way to answer. Those in without the library cannot do, for the reason there."""

    def add(client, use, name, stream):
        def test(self):
            self.tally["run"] += 1
            if (client, name) in without or (client, name, stream) in without:
                self.tally["explained"] += 1
                return
            for left in reversed(range(TRIES)):
                try:
                    self.check(TASKS[name], use(TASKS[name], name, stream))
                    break
                except Exception:
                    if not left:
                        raise
            self.tries.append(TRIES - left)
            self.tally["green"] += 1

        full = "/".join((OVER, client, name, "stream" if stream else "whole"))
        test.__name__ = test.__qualname__ = full
        setattr(Libraries, "test_" + full, test)

    for client, use in clients.items():
        for name in TASKS:
            for stream in (False, True):
                add(client, use, name, stream)
