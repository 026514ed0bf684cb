"""The vendors' own Python clients against toolpost sim.

TOOLPOST_SIM is the address of a running `toolpost sim`. Each client asks for the
same things: text, a stream, one call, two calls at once, an answer from results,
and an error it must understand.
"""
import json
import os
import unittest

import anthropic
import ollama
import openai
from google import genai
from google.genai import errors as genai_errors
from google.genai import types

SIM = os.environ["TOOLPOST_SIM"].rstrip("/")

HELLO = "Hello there"
ONE = "What is the weather in Rome?"
TWO = "What is the weather in Rome? What is the weather in Paris?"
SUNNY = "sunny, 25 degrees"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Current weather in a city"}


class Chat(unittest.TestCase):
    def setUp(self):
        self.client = openai.OpenAI(base_url=SIM + "/v1", api_key="none", max_retries=0)
        self.tools = [{"type": "function", "function": {**WEATHER, "parameters": CITY}}]

    def ask(self, text, model="sim/native", **more):
        return self.client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}], **more)

    def test_text(self):
        answer = self.ask(HELLO)
        self.assertIn("offline", answer.choices[0].message.content)
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertGreater(answer.usage.completion_tokens, 0)

    def test_stream(self):
        chunks = list(self.ask(HELLO, stream=True, stream_options={"include_usage": True}))
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        self.assertEqual(text, self.ask(HELLO).choices[0].message.content)
        self.assertGreater(chunks[-1].usage.completion_tokens, 0)

    def test_calls(self):
        answer = self.ask(TWO, tools=self.tools)
        calls = answer.choices[0].message.tool_calls
        self.assertEqual([json.loads(c.function.arguments) for c in calls], [{"city": "Rome"}, {"city": "Paris"}])
        self.assertEqual(answer.choices[0].finish_reason, "tool_calls")

    def test_streamed_calls(self):
        calls = {}
        for chunk in self.ask(TWO, tools=self.tools, stream=True):
            for c in chunk.choices[0].delta.tool_calls or [] if chunk.choices else []:
                call = calls.setdefault(c.index, {"name": "", "arguments": ""})
                call["name"] += c.function.name or ""
                call["arguments"] += c.function.arguments or ""
        self.assertEqual([json.loads(calls[i]["arguments"])["city"] for i in sorted(calls)], ["Rome", "Paris"])
        self.assertEqual({c["name"] for c in calls.values()}, {"get_weather"})

    def test_results(self):
        call = self.ask(ONE, tools=self.tools).choices[0].message
        answer = self.client.chat.completions.create(
            model="sim/native",
            tools=self.tools,
            messages=[
                {"role": "user", "content": ONE},
                call.model_dump(exclude_none=True),
                {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": SUNNY},
            ],
        )
        self.assertIn(SUNNY, answer.choices[0].message.content)

    def test_errors(self):
        with self.assertRaises(openai.RateLimitError) as caught:
            self.ask(HELLO, model="sim/native+429=2s")
        self.assertEqual(caught.exception.response.headers["retry-after"], "2")
        with self.assertRaises(openai.NotFoundError):
            self.ask(HELLO, model="sim/nonsense")
        with self.assertRaises(openai.BadRequestError):
            self.ask(ONE, model="sim/native+no-tools", tools=self.tools)


class Responses(unittest.TestCase):
    def setUp(self):
        self.client = openai.OpenAI(base_url=SIM + "/v1", api_key="none", max_retries=0)
        self.tools = [{"type": "function", **WEATHER, "parameters": CITY, "strict": False}]

    def ask(self, text, model="sim/native", **more):
        return self.client.responses.create(model=model, input=text, **more)

    def test_text(self):
        answer = self.ask(HELLO)
        self.assertIn("offline", answer.output_text)
        self.assertEqual(answer.status, "completed")

    def test_stream(self):
        with self.client.responses.stream(model="sim/native", input=HELLO) as stream:
            text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
            self.assertEqual(text, stream.get_final_response().output_text)
        self.assertIn("offline", text)

    def test_calls(self):
        calls = [i for i in self.ask(TWO, tools=self.tools).output if i.type == "function_call"]
        self.assertEqual([json.loads(c.arguments)["city"] for c in calls], ["Rome", "Paris"])

    def test_streamed_calls(self):
        with self.client.responses.stream(model="sim/native", input=TWO, tools=self.tools) as stream:
            for _ in stream:
                pass
            calls = [i for i in stream.get_final_response().output if i.type == "function_call"]
        self.assertEqual([json.loads(c.arguments)["city"] for c in calls], ["Rome", "Paris"])

    def test_results(self):
        first = self.ask(ONE, tools=self.tools)
        call = first.output[0]
        answer = self.client.responses.create(
            model="sim/native",
            tools=self.tools,
            input=[
                {"role": "user", "content": ONE},
                {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments},
                {"type": "function_call_output", "call_id": call.call_id, "output": SUNNY},
            ],
        )
        self.assertIn(SUNNY, answer.output_text)

    def test_errors(self):
        with self.assertRaises(openai.RateLimitError):
            self.ask(HELLO, model="sim/native+429")


class Messages(unittest.TestCase):
    def setUp(self):
        self.client = anthropic.Anthropic(base_url=SIM, api_key="none", max_retries=0)
        self.tools = [{**WEATHER, "input_schema": CITY}]

    def ask(self, text, model="sim/native", **more):
        return self.client.messages.create(model=model, max_tokens=1024, messages=[{"role": "user", "content": text}], **more)

    def test_text(self):
        answer = self.ask(HELLO)
        self.assertIn("offline", answer.content[0].text)
        self.assertEqual(answer.stop_reason, "end_turn")
        self.assertGreater(answer.usage.output_tokens, 0)

    def test_stream(self):
        with self.client.messages.stream(model="sim/native", max_tokens=1024, messages=[{"role": "user", "content": HELLO}]) as stream:
            text = "".join(stream.text_stream)
            self.assertEqual(stream.get_final_message().content[0].text, text)
        self.assertIn("offline", text)

    def test_calls(self):
        answer = self.ask(TWO, tools=self.tools)
        self.assertEqual([b.input["city"] for b in answer.content if b.type == "tool_use"], ["Rome", "Paris"])
        self.assertEqual(answer.stop_reason, "tool_use")

    def test_streamed_calls(self):
        with self.client.messages.stream(
            model="sim/native", max_tokens=1024, tools=self.tools, messages=[{"role": "user", "content": TWO}]
        ) as stream:
            final = stream.get_final_message()
        self.assertEqual([b.input["city"] for b in final.content if b.type == "tool_use"], ["Rome", "Paris"])

    def test_results(self):
        call = self.ask(ONE, tools=self.tools).content[0]
        answer = self.client.messages.create(
            model="sim/native",
            max_tokens=1024,
            tools=self.tools,
            messages=[
                {"role": "user", "content": ONE},
                {"role": "assistant", "content": [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": SUNNY}]},
            ],
        )
        self.assertIn(SUNNY, answer.content[0].text)

    def test_errors(self):
        with self.assertRaises(anthropic.RateLimitError):
            self.ask(HELLO, model="sim/native+429")
        with self.assertRaises(anthropic.NotFoundError):
            self.ask(HELLO, model="sim/nonsense")


class Gemini(unittest.TestCase):
    def setUp(self):
        self.client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=SIM))
        declaration = types.FunctionDeclaration(**WEATHER, parameters_json_schema=CITY)
        self.config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=[declaration])],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )

    def test_text(self):
        answer = self.client.models.generate_content(model="native", contents=HELLO)
        self.assertIn("offline", answer.text)
        self.assertGreater(answer.usage_metadata.candidates_token_count, 0)

    def test_stream(self):
        text = "".join(c.text or "" for c in self.client.models.generate_content_stream(model="native", contents=HELLO))
        self.assertIn("offline", text)

    def test_calls(self):
        answer = self.client.models.generate_content(model="native", contents=TWO, config=self.config)
        self.assertEqual([c.args["city"] for c in answer.function_calls], ["Rome", "Paris"])

    def test_streamed_calls(self):
        calls = []
        for chunk in self.client.models.generate_content_stream(model="native", contents=TWO, config=self.config):
            calls += chunk.function_calls or []
        self.assertEqual([c.args["city"] for c in calls], ["Rome", "Paris"])

    def test_results(self):
        first = self.client.models.generate_content(model="native", contents=ONE, config=self.config)
        answer = self.client.models.generate_content(
            model="native",
            config=self.config,
            contents=[
                types.Content(role="user", parts=[types.Part(text=ONE)]),
                first.candidates[0].content,
                types.Content(role="user", parts=[types.Part.from_function_response(name="get_weather", response={"output": SUNNY})]),
            ],
        )
        self.assertIn(SUNNY, answer.text)

    def test_errors(self):
        with self.assertRaises(genai_errors.ClientError) as caught:
            self.client.models.generate_content(model="native+429", contents=HELLO)
        self.assertEqual(caught.exception.code, 429)


class Ollama(unittest.TestCase):
    def setUp(self):
        self.client = ollama.Client(host=SIM)
        self.tools = [{"type": "function", "function": {**WEATHER, "parameters": CITY}}]

    def ask(self, text, model="sim/native", **more):
        return self.client.chat(model=model, messages=[{"role": "user", "content": text}], **more)

    def test_text(self):
        answer = self.ask(HELLO)
        self.assertIn("offline", answer.message.content)
        self.assertTrue(answer.done)

    def test_stream(self):
        self.assertIn("offline", "".join(c.message.content or "" for c in self.ask(HELLO, stream=True)))

    def test_calls(self):
        answer = self.ask(TWO, tools=self.tools)
        self.assertEqual([c.function.arguments["city"] for c in answer.message.tool_calls], ["Rome", "Paris"])

    def test_streamed_calls(self):
        calls = []
        for chunk in self.ask(TWO, tools=self.tools, stream=True):
            calls += chunk.message.tool_calls or []
        self.assertEqual([c.function.arguments["city"] for c in calls], ["Rome", "Paris"])

    def test_results(self):
        call = self.ask(ONE, tools=self.tools).message
        answer = self.client.chat(
            model="sim/native",
            tools=self.tools,
            messages=[{"role": "user", "content": ONE}, call, {"role": "tool", "tool_name": "get_weather", "content": SUNNY}],
        )
        self.assertIn(SUNNY, answer.message.content)

    def test_errors(self):
        with self.assertRaises(ollama.ResponseError) as caught:
            self.ask(HELLO, model="sim/native+429")
        self.assertEqual(caught.exception.status_code, 429)
        with self.assertRaisesRegex(ollama.ResponseError, "does not support tools"):
            self.ask(ONE, model="sim/native+no-tools", tools=self.tools)


if __name__ == "__main__":
    unittest.main()
