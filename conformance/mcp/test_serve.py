"""The official Python SDK as a client of `toolpost mcp serve`.

Over each transport, and in the revisions with a handshake and without one, the client
lists and calls built-in tools and those of a server made with the same SDK (server.py).
"""

import base64
import contextlib
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import mcp_types as types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

TOOLPOST = os.environ["TOOLPOST"]
KEY = "a-key-of-this-test-only"
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
logging.getLogger("asyncio").setLevel(logging.ERROR)  # not what takes a tenth of a second
SECONDS = 60  # after which a request that nobody answers fails the test


def text(result):
    """The text of a result."""
    return "\n".join(c.text for c in result.content if c.type == "text")


# The tools of a server behind the one that is tested, which nobody is asked about.
BEHIND = ["--mcp", "python", "--yes-to", "python__add,python__fail,python__slow"]


class Serve:
    """What every transport and revision has to do. A subclass says how to connect."""

    mode = "legacy"
    revision = "2025-11-25"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.root = self.home / "root"
        self.root.mkdir()
        (self.root / "notes.txt").write_text("remember the milk\n")
        (self.root / "dot.png").write_bytes(PNG)
        server = {"command": sys.executable, "args": [str(pathlib.Path(__file__).with_name("server.py"))]}
        config = self.home / "config.yaml"
        config.write_text(json.dumps({"mcp_servers": {"python": server}}))
        self.env = {**os.environ, "HOME": folder.name, "XDG_STATE_HOME": folder.name, "XDG_CONFIG_HOME": folder.name}
        self.args = ["mcp", "serve", "--config", str(config), "--root", str(self.root), "--allow", "write"]
        self.asked, self.statuses = [], []

    def client(self, stack, more_args=(), **more):
        self.args += more_args
        self.start()
        return stack.enter_async_context(self.connect(mode=self.mode, read_timeout_seconds=SECONDS, **more))

    def start(self):
        """Run what clients connect to, if that is one process."""

    def person(self, action, content=None):
        """Somebody who answers questions so."""

        async def answer(_context, params):
            self.asked.append(params)
            return types.ElicitResult(action=action, content=content)

        return answer

    async def test_tools(self):
        async with contextlib.AsyncExitStack() as stack:
            client = await self.client(stack)
            self.assertEqual(client.protocol_version, self.revision)
            self.assertEqual(client.server_info.name, "toolpost")
            tools = {t.name: t for t in (await client.list_tools()).tools}
            self.assertLessEqual({"read_file", "write_file", "list_files", "search_files"}, set(tools))
            self.assertTrue(tools["read_file"].annotations.read_only_hint)
            self.assertFalse(tools["write_file"].annotations.read_only_hint)
            self.assertEqual(tools["read_file"].input_schema["required"], ["path"])

            for name, args, want in (
                ("read_file", {"path": "notes.txt"}, "remember the milk"),
                ("list_files", {}, "notes.txt"),
                ("search_files", {"query": "milk"}, "notes.txt:1"),
            ):
                with self.subTest(name):
                    result = await client.call_tool(name, args)
                    self.assertFalse(result.is_error, text(result))
                    self.assertIn(want, text(result))

            result = await client.call_tool("read_file", {"path": "dot.png"})
            image = next(c for c in result.content if c.type == "image")
            self.assertEqual((image.mime_type, base64.b64decode(image.data)), ("image/png", PNG))

    async def test_errors_are_results(self):
        async with contextlib.AsyncExitStack() as stack:
            client = await self.client(stack)
            for name, args, want in (
                ("read_file", {}, "path"),
                ("read_file", {"path": 5, "lines": "some"}, "lines"),
                ("read_file", {"path": "notes.txt", "line": 1}, "line"),
                ("read_file", {"path": "absent.txt"}, "absent.txt"),
                ("read_file", {"path": "../config.yaml"}, "leads out of the working folder"),
                ("write_file", {"path": "new.txt", "content": "x"}, "nobody can be asked"),
            ):
                with self.subTest(f"{name} {args}"):
                    result = await client.call_tool(name, args)
                    self.assertTrue(result.is_error, text(result))
                    self.assertIn(want, text(result))
            self.assertFalse((self.root / "new.txt").exists())
            # A call that failed ends nothing.
            self.assertIn("milk", text(await client.call_tool("read_file", {"path": "notes.txt"})))

    async def test_tools_of_a_server_behind_it(self):
        async with contextlib.AsyncExitStack() as stack:
            client = await self.client(stack, BEHIND)
            tools = {t.name: t for t in (await client.list_tools()).tools}
            self.assertEqual(tools["python__add"].output_schema["properties"]["total"]["type"], "integer")
            result = await client.call_tool("python__add", {"a": 2, "b": 40})
            self.assertEqual(result.structured_content, {"total": 42})

            for name, args, want in (("add", {"a": "two", "b": 1}, "integer"), ("fail", {"why": "no such thing"}, "fail")):
                with self.subTest(f"{name} {args}"):
                    result = await client.call_tool("python__" + name, args)
                    self.assertTrue(result.is_error, text(result))
                    self.assertIn(want, text(result))

            # The tool ends when the client has seen its last step.
            steps, seen = [], self.home / "seen"

            async def progress(done, total, message):
                steps.append((done, total, message))
                if message == "step 3":
                    seen.touch()

            args = {"steps": 3, "until": str(seen)}
            result = await client.call_tool("python__slow", args, progress_callback=progress)
            self.assertIn("done", text(result))
            self.assertEqual(steps, [(i, 3, f"step {i}") for i in (1, 2, 3)])

    async def test_approvals_are_elicited(self):
        for i, (action, content, written) in enumerate((
            ("accept", {"allow": True}, True),
            ("accept", {"allow": False}, False),
            ("decline", None, False),
            ("cancel", None, False),
        )):
            with self.subTest(f"{action} {content}"):
                self.asked.clear()
                name = f"new{i}.txt"
                async with contextlib.AsyncExitStack() as stack:
                    client = await self.client(stack, elicitation_callback=self.person(action, content))
                    result = await client.call_tool("write_file", {"path": name, "content": "hello\n"})
                self.assertEqual(len(self.asked), 1)
                self.assertIn("write_file", self.asked[0].message)
                self.assertIn(name, self.asked[0].message)
                self.assertEqual(result.is_error, not written, text(result))
                self.assertEqual((self.root / name).exists(), written)


class Stdio(Serve):
    """A process for each client."""

    def connect(self, **options):
        params = StdioServerParameters(command=TOOLPOST, args=self.args, env=self.env, cwd=self.root)
        return Client(stdio_client(params), **options)


class HTTP(Serve):
    """One process, which wants a bearer key out of a file."""

    process = None

    def start(self):
        if self.process:
            return
        keys = self.home / "keys.txt"
        keys.write_text(KEY + "\n")
        keys.chmod(0o600)
        command = [TOOLPOST, *self.args, "--http", "127.0.0.1:0", "--keys", str(keys)]
        self.process = subprocess.Popen(command, env=self.env, cwd=self.root, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        self.url = self.process.stdout.readline().strip().removeprefix("listening on ")

    def end(self):
        self.process.terminate()
        self.process.wait(SECONDS)
        self.process.stdout.close()

    def connect(self, key=KEY, **options):
        headers = {"Authorization": "Bearer " + key} if key else {}
        client = create_mcp_http_client(headers=headers)
        client.event_hooks = {"response": [self.answered]}
        return Client(streamable_http_client(self.url, http_client=client), **options)

    async def answered(self, response):
        self.statuses.append(response.status_code)

    async def test_nobody_without_the_key(self):
        self.start()
        for key in ("", "another-key-than-it", KEY + "x"):
            with self.subTest(key):
                self.statuses.clear()
                with self.assertRaises(Exception):
                    async with self.connect(key=key, mode=self.mode, read_timeout_seconds=SECONDS) as client:
                        await client.list_tools()
                self.assertEqual(set(self.statuses), {401})


class Newest:
    """Without a handshake: questions are results, and the call is made again."""

    mode = "auto"
    revision = "2026-07-28"


class TestStdio(Stdio, unittest.IsolatedAsyncioTestCase):
    pass


class TestStdioNewest(Newest, Stdio, unittest.IsolatedAsyncioTestCase):
    pass


class TestHTTP(HTTP, unittest.IsolatedAsyncioTestCase):
    pass


class TestHTTPNewest(Newest, HTTP, unittest.IsolatedAsyncioTestCase):
    pass


if __name__ == "__main__":
    unittest.main()
