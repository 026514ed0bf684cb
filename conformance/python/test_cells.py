"""The table of cells (../cells.json) with the vendors' own Python clients.

TOOLPOST_CELLS is the address of the server to ask, by default that of the
simulator, TOOLPOST_SIM, which is asked what it saw. TOOLPOST_CELLS_THROUGH is the
kind of upstream that a gateway between them makes of it. TOOLPOST_CELLS_ONLY runs one
cell in one mode, as "calls/stream".
"""
import asyncio
import base64
import contextlib
import json
import os
import pathlib
import random
import sys
import time
import types as plain
import unittest
import urllib.parse
import urllib.request

import anthropic
import boto3
import ollama
import openai
from botocore.config import Config
from google import genai
from google.genai import types

SIM = os.environ["TOOLPOST_SIM"].rstrip("/")
BASE = os.environ.get("TOOLPOST_CELLS", SIM).rstrip("/")


def read_table():
    table = json.loads((pathlib.Path(__file__).parent.parent / "cells.json").read_text())
    text = json.dumps(table["cells"])
    for name, data in table["fixtures"].items():
        text = text.replace("{%s}" % name, data)
    cells = json.loads(text)
    over = os.environ.get("TOOLPOST_CELLS_THROUGH")
    if not over:
        return cells
    only = table["over"][over].get("cells")
    others = {(o["cell"], o["format"]): o for o in table["through"] if over in o["over"]}
    return [otherwise(c, others.get((c["cell"], c["format"]))) for c in cells if not only or c["cell"] in only]


def otherwise(cell, other):
    """The cell with what a client of a gateway gets."""
    if not other:
        return cell
    cell = {**cell, "explained": other["why"], "expect": other["expect"]}
    cell.pop("stream", None)
    if "stream" in other:
        cell["stream"] = other["stream"]
    if "first" in other:
        cell["reply"] = {**cell["reply"], "first": other["first"]}
    return cell


class Session(plain.SimpleNamespace):
    """How a client is used: model, stream, retries, extra."""


class Got(plain.SimpleNamespace):
    """What a client understood; next(result) is the request that goes on with results."""


@contextlib.contextmanager
def partly(before):
    """Keeps what came before an error."""
    try:
        yield
    except Exception as err:
        err.before = before()
        raise


def retries(s):
    return {} if s.retries else {"max_retries": 0}


def plainly(v):
    return v.model_dump(mode="json", by_alias=True, exclude_none=True)


# OpenAI


def openai_client(s, kind=openai.OpenAI):
    return kind(base_url=BASE + "/v1", api_key="none", **retries(s))


def chat(s, request):
    with openai_client(s) as client:
        if not s.stream:
            answer = client.chat.completions.create(model=s.model, **request, extra_body=s.extra)
        else:
            text = []
            with partly(lambda: "".join(text)):
                with client.chat.completions.stream(model=s.model, **request, stream_options={"include_usage": True}, extra_body=s.extra) as stream:
                    for ev in stream:
                        if ev.type == "content.delta":
                            text.append(ev.delta)
                    answer = final_completion(stream)
    assert answer.created > 0
    choice = answer.choices[0]
    message = choice.message
    if choice.finish_reason is None:
        raise ValueError("the stream has no end")
    calls = message.tool_calls or []

    def following(result):
        said = {"role": "assistant", "content": message.content}
        if calls:
            said["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in calls
            ]
        results = [{"role": "tool", "tool_call_id": c.id, "content": result} for c in calls]
        return {**request, "messages": request["messages"] + [said] + results}

    return Got(
        id=answer.id,
        text=message.content or "",
        thinking="",
        signed=False,
        finish=choice.finish_reason,
        calls=[[c.function.name, json.loads(c.function.arguments)] for c in calls],
        input=answer.usage.prompt_tokens,
        output=answer.usage.completion_tokens,
        next=following,
    )


def final_completion(stream):
    """The whole answer; the client makes one that was cut off an error."""
    try:
        return stream.get_final_completion()
    except openai.LengthFinishReasonError as err:
        return err.completion


def responses(s, request):
    with openai_client(s) as client:
        if not s.stream:
            answer = client.responses.create(model=s.model, **request, extra_body=s.extra)
        else:
            answer = stream_responses(client, s, request)
    g = understood(answer)

    def following(result):
        said = [plainly(item) for item in answer.output]
        results = [{"type": "function_call_output", "call_id": i["call_id"], "output": result} for i in said if i["type"] == "function_call"]
        for item in said:
            item.pop("parsed_arguments", None)
        return {**request, "input": [{"role": "user", "content": request["input"]}] + said + results}

    g.next = following
    return g


def stream_responses(client, s, request):
    text, items, parts, answer = [], {}, 0, None
    with partly(lambda: "".join(text)):
        with client.responses.create(model=s.model, **request, stream=True, extra_body=s.extra) as stream:
            for ev in stream:
                if ev.type == "response.output_text.delta":
                    text.append(ev.delta)
                elif ev.type == "response.output_item.added":
                    items[ev.output_index] = ev.item.id
                elif ev.type == "response.output_item.done":
                    assert items[ev.output_index] == ev.item.id, (items, ev.item.id)
                elif ev.type == "response.reasoning_summary_part.added":
                    parts += 1
                elif ev.type == "response.reasoning_summary_part.done":
                    parts -= 1
                elif ev.type in ("response.completed", "response.incomplete"):
                    answer = ev.response
                elif ev.type == "error":
                    raise RuntimeError(ev.message)
        if answer is None:
            raise ValueError("the stream has no end")
    assert parts == 0, "a part of a summary has no end"
    return answer


def understood(answer):
    thoughts = [i for i in answer.output if i.type == "reasoning"]
    return Got(
        id=answer.id,
        text=answer.output_text,
        thinking="".join(p.text for i in thoughts for p in i.summary),
        signed=any(i.encrypted_content for i in thoughts),
        finish=answer.incomplete_details.reason if answer.incomplete_details else answer.status,
        calls=[[i.name, json.loads(i.arguments)] for i in answer.output if i.type == "function_call"],
        input=answer.usage.input_tokens,
        output=answer.usage.output_tokens,
    )


def count_responses(s, request):
    with openai_client(s) as client:
        return client.responses.input_tokens.count(model=s.model, **request).input_tokens


def model_openai(s):
    with openai_client(s) as client:
        return client.models.retrieve(s.model).id


async def give_up_chat(s, request, begun):
    async with openai_client(s, openai.AsyncOpenAI) as client:
        if not s.stream:
            await client.chat.completions.create(model=s.model, **request)
            return
        async with await client.chat.completions.create(model=s.model, **request, stream=True) as stream:
            async for chunk in stream:
                if chunk.choices and chunk.choices[0].delta.content:
                    begun()


async def give_up_responses(s, request, begun):
    async with openai_client(s, openai.AsyncOpenAI) as client:
        if not s.stream:
            await client.responses.create(model=s.model, **request)
            return
        async with await client.responses.create(model=s.model, **request, stream=True) as stream:
            async for ev in stream:
                if ev.type == "response.output_text.delta":
                    begun()


# Anthropic


def anthropic_client(s, kind=anthropic.Anthropic):
    return kind(base_url=BASE, api_key="none", **retries(s))


def messages(s, request):
    with anthropic_client(s) as client:
        if not s.stream:
            answer = client.messages.create(model=s.model, **request)
        else:
            text = []
            with partly(lambda: "".join(text)):
                with client.messages.stream(model=s.model, **request) as stream:
                    text.extend(stream.text_stream)
                    answer = stream.get_final_message()
                if answer.stop_reason is None:
                    raise ValueError("the stream has no end")
    of = lambda kind: [b for b in answer.content if b.type == kind]

    def following(result):
        results = [{"type": "tool_result", "tool_use_id": b.id, "content": result} for b in of("tool_use")]
        said = [plainly(b) for b in answer.content]
        return {**request, "messages": request["messages"] + [{"role": "assistant", "content": said}, {"role": "user", "content": results}]}

    return Got(
        id=answer.id,
        text="".join(b.text for b in of("text")),
        thinking="".join(b.thinking for b in of("thinking")),
        signed=any(b.signature for b in of("thinking")),
        finish=answer.stop_reason,
        calls=[[b.name, b.input] for b in of("tool_use")],
        input=answer.usage.input_tokens,
        output=answer.usage.output_tokens,
        next=following,
    )


def count_messages(s, request):
    asked = {k: v for k, v in request.items() if k != "max_tokens"}
    with anthropic_client(s) as client:
        return client.messages.count_tokens(model=s.model, **asked).input_tokens


def model_anthropic(s):
    with anthropic_client(s) as client:
        return client.models.retrieve(s.model).id


async def give_up_messages(s, request, begun):
    async with anthropic_client(s, anthropic.AsyncAnthropic) as client:
        if not s.stream:
            await client.messages.create(model=s.model, **request)
            return
        async with client.messages.stream(model=s.model, **request) as stream:
            async for _ in stream.text_stream:
                begun()


# Gemini


def google_client(s):
    options = types.HttpOptions(base_url=BASE)
    if s.retries:
        options.retry_options = types.HttpRetryOptions(attempts=3)
    return genai.Client(api_key="none", http_options=options)


def google_request(request):
    contents = [types.Content.model_validate_json(json.dumps(c)) for c in request["contents"]]
    config = types.GenerateContentConfig.model_validate_json(json.dumps(request.get("config", {})))
    config.automatic_function_calling = types.AutomaticFunctionCallingConfig(disable=True)
    return {"contents": contents, "config": config}


def gemini(s, request):
    g = Got(id="", text="", thinking="", signed=False, finish="", calls=[], input=0, output=0)
    parts = []

    def add(answer):
        g.id = answer.response_id
        for c in answer.candidates or []:
            if c.finish_reason:
                g.finish = c.finish_reason.value
            for p in (c.content.parts if c.content else None) or []:
                parts.append(p)
                g.signed = g.signed or bool(p.thought_signature)
                if p.thought:
                    g.thinking += p.text or ""
                elif p.function_call:
                    g.calls.append([p.function_call.name, p.function_call.args])
                else:
                    g.text += p.text or ""
        if answer.usage_metadata:
            g.input, g.output = answer.usage_metadata.prompt_token_count, answer.usage_metadata.candidates_token_count

    with google_client(s) as client:
        if not s.stream:
            add(client.models.generate_content(model=s.model, **google_request(request)))
        else:
            with partly(lambda: g.text):
                for chunk in client.models.generate_content_stream(model=s.model, **google_request(request)):
                    add(chunk)
                if not g.finish:
                    raise ValueError("the stream has no end")

    def following(result):
        said = json.loads(types.Content(role="model", parts=parts).model_dump_json(by_alias=True, exclude_none=True))
        results = [
            {"functionResponse": {"id": c.id, "name": c.name, "response": {"output": result}}} for c in (p.function_call for p in parts) if c
        ]
        return {**request, "contents": request["contents"] + [said, {"role": "user", "parts": results}]}

    g.next = following
    return g


def count_gemini(s, request):
    with google_client(s) as client:
        return client.models.count_tokens(model=s.model, contents=google_request(request)["contents"]).total_tokens


def model_gemini(s):
    with google_client(s) as client:
        return client.models.get(model=s.model).name


async def give_up_gemini(s, request, begun):
    async with google_client(s).aio as client:
        if not s.stream:
            await client.models.generate_content(model=s.model, **google_request(request))
            return
        async for _ in await client.models.generate_content_stream(model=s.model, **google_request(request)):
            begun()


# Ollama


def ollama_chat(s, request):
    g = Got(id="", text="", thinking="", signed=False, finish="", calls=[], input=0, output=0)
    found = []

    def add(answer):
        g.text += answer.message.content or ""
        g.thinking += answer.message.thinking or ""
        found.extend(answer.message.tool_calls or [])
        g.finish = answer.done_reason or g.finish
        g.input = answer.prompt_eval_count or g.input
        g.output = answer.eval_count or g.output

    client = ollama.Client(host=BASE)
    if not s.stream:
        add(client.chat(model=s.model, **request))
    else:
        with partly(lambda: g.text):
            for chunk in client.chat(model=s.model, stream=True, **request):
                add(chunk)
            if not g.finish:
                raise ValueError("the stream has no end")
    g.calls = [[c.function.name, dict(c.function.arguments)] for c in found]

    def following(result):
        said = {"role": "assistant", "content": g.text, "tool_calls": [plainly(c) for c in found]}
        results = [{"role": "tool", "tool_name": c.function.name, "content": result} for c in found]
        return {**request, "messages": request["messages"] + [said] + results}

    g.next = following
    return g


async def give_up_ollama(s, request, begun):
    client = ollama.AsyncClient(host=BASE)
    if not s.stream:
        await client.chat(model=s.model, **request)
        return
    async for _ in await client.chat(model=s.model, stream=True, **request):
        begun()


# Amazon


def amazon_client(s):
    attempts = {} if s.retries else {"retries": {"total_max_attempts": 1}}
    keys = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "any"}
    return boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=BASE, config=Config(**attempts), **keys)


def amazon_request(v):
    """A request as the client takes it: bytes are bytes."""
    if isinstance(v, list):
        return [amazon_request(e) for e in v]
    if not isinstance(v, dict):
        return v
    return {k: base64.b64decode(e) if k == "bytes" and isinstance(e, str) else amazon_request(e) for k, e in v.items()}


def joined(stream, said):
    """The message that the events of a stream make, why it ended, and the usage."""
    blocks, stop, usage = {}, None, None
    for event in stream:
        ((kind, value),) = event.items()
        index = value.get("contentBlockIndex")
        if kind == "contentBlockStart":
            blocks[index] = {"toolUse": {**value["start"]["toolUse"], "input": ""}}
        elif kind == "contentBlockDelta":
            ((what, piece),) = value["delta"].items()
            if what == "text":
                said(piece)
                blocks.setdefault(index, {"text": ""})["text"] += piece
            elif what == "toolUse":
                blocks[index]["toolUse"]["input"] += piece["input"]
            elif what == "reasoningContent":
                text = blocks.setdefault(index, {"reasoningContent": {"reasoningText": {"text": ""}}})["reasoningContent"]["reasoningText"]
                for key, part in piece.items():
                    text[key] = text.get(key, "") + part
        elif kind == "messageStop":
            stop = value["stopReason"]
        elif kind == "metadata":
            usage = value["usage"]
    if stop is None or usage is None:
        raise ValueError("the stream has no end")
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    return {"role": "assistant", "content": [blocks[i] for i in sorted(blocks)]}, stop, usage


def converse(s, request):
    with contextlib.closing(amazon_client(s)) as client:
        asked = amazon_request(request)
        if not s.stream:
            answer = client.converse(modelId=s.model, **asked)
            message, stop, usage = answer["output"]["message"], answer["stopReason"], answer["usage"]
        else:
            text = []
            with partly(lambda: "".join(text)):
                with contextlib.closing(client.converse_stream(modelId=s.model, **asked)["stream"]) as stream:
                    message, stop, usage = joined(stream, text.append)
    of = lambda kind: [b[kind] for b in message["content"] if kind in b]
    thoughts = [r["reasoningText"] for r in of("reasoningContent")]

    def following(result):
        results = [{"toolResult": {"toolUseId": c["toolUseId"], "content": [{"text": result}]}} for c in of("toolUse")]
        return {**request, "messages": request["messages"] + [message, {"role": "user", "content": results}]}

    return Got(
        id="",
        text="".join(of("text")),
        thinking="".join(t["text"] for t in thoughts),
        signed=any(t.get("signature") for t in thoughts),
        finish=stop,
        calls=[[c["name"], c["input"]] for c in of("toolUse")],
        input=usage["inputTokens"],
        output=usage["outputTokens"],
        next=following,
    )


def count_converse(s, request):
    with contextlib.closing(amazon_client(s)) as client:
        return client.count_tokens(modelId=s.model, input={"converse": amazon_request(request)})["inputTokens"]


async def give_up_converse(s, request, begun):
    """The client is no friend of asyncio: a thread reads, and the stream is closed."""
    loop = asyncio.get_running_loop()
    answer = await asyncio.to_thread(amazon_client(s).converse_stream, modelId=s.model, **amazon_request(request))

    def read():
        with contextlib.suppress(Exception):  # what is closed cannot be read
            for event in answer["stream"]:
                if "contentBlockDelta" in event:
                    loop.call_soon_threadsafe(begun)

    try:
        await asyncio.to_thread(read)
    finally:
        answer["stream"].close()


class Vendor(plain.SimpleNamespace):
    count = model = None


VENDORS = {
    "chat": Vendor(ask=chat, give_up=give_up_chat, model=model_openai, prefix="sim/"),
    "responses": Vendor(ask=responses, give_up=give_up_responses, count=count_responses, prefix="sim/"),
    "messages": Vendor(ask=messages, give_up=give_up_messages, count=count_messages, model=model_anthropic, prefix="sim/"),
    "gemini": Vendor(ask=gemini, give_up=give_up_gemini, count=count_gemini, model=model_gemini, prefix=""),
    "ollama": Vendor(ask=ollama_chat, give_up=give_up_ollama, prefix="sim/"),
    "converse": Vendor(ask=converse, give_up=give_up_converse, count=count_converse, prefix="sim/"),
}


def status_of(err):
    amazon = getattr(err, "response", None)
    if isinstance(amazon, dict):
        return amazon["ResponseMetadata"]["HTTPStatusCode"]
    return getattr(err, "status_code", None) or getattr(err, "code", None)


def forge(v):
    """Changes all that is signed."""
    for key, value in v.items() if isinstance(v, dict) else enumerate(v) if isinstance(v, list) else ():
        if isinstance(value, str) and key in ("signature", "thoughtSignature", "encrypted_content"):
            v[key] = "Zm9yZ2Vk"
        else:
            forge(value)


def seen(model):
    with urllib.request.urlopen(SIM + "/sim/seen?model=" + urllib.parse.quote(model, safe="")) as answer:
        return json.load(answer)


class Cells(unittest.TestCase):
    ids = set()
    tally = {"run": 0, "green": 0, "explained": 0}

    @classmethod
    def tearDownClass(cls):
        print("cells with the Python clients: {run} run, {green} green, {explained} explained".format(**cls.tally), file=sys.stderr)

    def run_cell(self, cell, stream):
        v = VENDORS[cell["format"]]
        want = stream and cell.get("stream") or cell["expect"]
        model = stream and cell.get("stream_model") or cell["model"]
        model = v.prefix + model.replace("{unique}", str(random.randrange(1, 200_000_000)))
        s = Session(model=model, stream=stream, retries=cell.get("does") == "retry", extra=cell.get("extra"))
        does = cell.get("does")
        if does == "count":
            n = v.count(s, cell["request"])
            self.assertGreater(n, 0)
            answered = v.ask(s, cell["request"]).input
            if "explained" not in cell:
                self.assertEqual(n, answered)
        elif does == "model":
            self.assertTrue(v.model(s).endswith(model))
        elif does == "cancel":
            asyncio.run(self.cancel(v, s, cell["request"]))
        elif does == "retrieve":
            self.retrieve(s, cell["request"], want)
        else:
            self.ask(cell, v, s, want)

    def ask(self, cell, v, s, want):
        if "error" not in want:
            self.compare(want, self.converse(cell, v, s))
        else:
            try:
                self.converse(cell, v, s)
            except AssertionError:
                raise
            except Exception as err:
                self.compare_error(want, err)
            else:
                self.fail("there is an answer where an error was expected")
        if "requests" in want:
            self.assertEqual(seen(s.model)["requests"], want["requests"])

    def converse(self, cell, v, s):
        g = v.ask(s, cell["request"])
        if cell["format"] not in ("ollama", "converse"):
            self.assertTrue(g.id and g.id not in self.ids, "the id %r of the answer is empty or not new" % g.id)
            self.ids.add(g.id)
        if "reply" in cell:
            self.compare(cell["reply"]["first"], g)
            following = g.next(cell["reply"]["result"])
            if cell["reply"].get("forge"):
                forge(following)
            return v.ask(s, following)
        if "then" in cell:
            return v.ask(s, {**cell["then"], "previous_response_id": g.id})
        return g

    def compare(self, want, g):
        self.assertIn(want.get("text", ""), g.text)
        if "exactly" in want:
            self.assertEqual(want["exactly"].rstrip(), g.text.rstrip())
        self.assertIn(want.get("thinking", ""), g.thinking)
        self.assertTrue(g.signed or not want.get("signed"), "nothing is signed")
        for key, value in (("finish", g.finish), ("output_tokens", g.output), ("calls", g.calls), ("called", [c[0] for c in g.calls])):
            if key in want:
                self.assertEqual(want[key], value)
        if "json" in want:
            self.assertEqual(want["json"], json.loads(g.text))

    def compare_error(self, want, err):
        if "status" in want["error"]:
            self.assertEqual(want["error"]["status"], status_of(err), repr(err))
        self.assertIn(want["error"].get("says", ""), str(err))
        if "before" in want:
            self.assertIn(want["before"], getattr(err, "before", ""))

    async def cancel(self, v, s, request):
        """Gives up an answer after its beginning and waits until the server has seen that."""
        begun = asyncio.Event()
        task = asyncio.create_task(v.give_up(s, request, begun.set))
        if s.stream:
            first = asyncio.create_task(begun.wait())
            await asyncio.wait({task, first}, return_when=asyncio.FIRST_COMPLETED, timeout=60)
            self.assertTrue(begun.is_set(), task)
        else:
            await self.until(s.model, lambda t: t["open"] == 1)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await self.until(s.model, lambda t: t["open"] == 0 and t["cancelled"] == 1 and t["requests"] == 1)

    async def until(self, model, ok):
        end = time.monotonic() + 60
        while not ok(tally := await asyncio.to_thread(seen, model)):
            self.assertLess(time.monotonic(), end, "the simulator has seen %s" % tally)
            await asyncio.sleep(0.01)

    def retrieve(self, s, request, want):
        answer = responses(s, request)
        with openai_client(s) as client:
            self.compare(want, understood(client.responses.retrieve(answer.id)))
            client.responses.delete(answer.id)
            with self.assertRaises(openai.NotFoundError):
                client.responses.retrieve(answer.id)


def add_cell(cell, mode):
    def test(self):
        self.tally["run"] += 1
        if "python/" + mode in cell.get("without", {}):  # the client has no means
            self.tally["explained"] += 1
            return
        self.run_cell(cell, mode == "stream")
        self.tally["explained" if "explained" in cell else "green"] += 1

    name = "/".join((cell["format"], cell["cell"], mode))
    test.__name__ = test.__qualname__ = name
    setattr(Cells, "test_" + name, test)


for each in read_table():
    for how in each.get("modes", ("whole", "stream")):
        if os.environ.get("TOOLPOST_CELLS_ONLY") in (None, each["cell"] + "/" + how):
            add_cell(each, how)

if __name__ == "__main__":
    unittest.main()
