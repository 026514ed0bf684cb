"""The vendors' own clients, with a real model behind the gateway: a call, its result, an answer."""
import json
import unittest

import anthropic
import boto3
import ollama
import openai
from botocore.config import Config
from google import genai
from google.genai import types
from shared import BASE, MODEL, PLACE, TOOL, Answer, Libraries, add_tests, weather

ABOUT = TOOL["function"]


def chat(task, name, stream):
    client = openai.OpenAI(base_url=BASE + "/v1", api_key="none", max_retries=0)
    said, cities = [{"role": "user", "content": task["ask"]}], []
    for _ in range(5):
        common = {"model": MODEL, "messages": said, "tools": [TOOL], "temperature": 0, "max_tokens": 120}
        if stream:
            with client.chat.completions.stream(**common) as events:
                for _ in events:
                    pass
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**common).choices[0].message
        if not message.tool_calls:
            return Answer(cities, message.content or "")
        said.append({"role": "assistant", "content": message.content, "tool_calls": [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in message.tool_calls]})
        for c in message.tool_calls:
            cities.append(json.loads(c.function.arguments)["city"])
            said.append({"role": "tool", "tool_call_id": c.id, "content": weather(cities[-1])})
    return Answer(cities)


def responses(task, name, stream):
    client = openai.OpenAI(base_url=BASE + "/v1", api_key="none", max_retries=0)
    said, cities = [{"role": "user", "content": task["ask"]}], []
    for _ in range(5):
        common = {"model": MODEL, "input": said, "tools": [{"type": "function", "strict": False, **ABOUT}], "temperature": 0, "max_output_tokens": 120}
        if stream:
            with client.responses.stream(**common) as events:
                for _ in events:
                    pass
                answer = events.get_final_response()
        else:
            answer = client.responses.create(**common)
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return Answer(cities, answer.output_text)
        for c in calls:
            cities.append(json.loads(c.arguments)["city"])
            said.append({"type": "function_call", "call_id": c.call_id, "name": c.name, "arguments": c.arguments})
            said.append({"type": "function_call_output", "call_id": c.call_id, "output": weather(cities[-1])})
    return Answer(cities)


def messages(task, name, stream):
    client = anthropic.Anthropic(base_url=BASE, api_key="none", max_retries=0)
    said, cities = [{"role": "user", "content": task["ask"]}], []
    tool = {"name": ABOUT["name"], "description": ABOUT["description"], "input_schema": PLACE}
    for _ in range(5):
        common = {"model": MODEL, "messages": said, "tools": [tool], "max_tokens": 120, "extra_body": {"temperature": 0}}
        if stream:
            with client.messages.stream(**common) as events:
                answer = events.get_final_message()
        else:
            answer = client.messages.create(**common)
        calls = [b for b in answer.content if b.type == "tool_use"]
        if not calls:
            return Answer(cities, "".join(b.text for b in answer.content if b.type == "text"))
        cities += [c.input["city"] for c in calls]
        said.append({"role": "assistant", "content": [b.model_dump(include={"type", "text", "id", "name", "input"}) for b in answer.content if b.type in ("text", "tool_use")]})
        said.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": c.id, "content": weather(c.input["city"])} for c in calls]})
    return Answer(cities)


def gemini(task, name, stream):
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=BASE))
    declared = types.FunctionDeclaration(name=ABOUT["name"], description=ABOUT["description"], parameters_json_schema=PLACE)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])], temperature=0, max_output_tokens=120,
                                         automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True))
    said, cities = [types.Content(role="user", parts=[types.Part(text=task["ask"])])], []
    for _ in range(5):
        ask = client.models.generate_content_stream if stream else client.models.generate_content
        answer = ask(model=MODEL, contents=said, config=config)
        parts = [p for chunk in (answer if stream else [answer]) for c in chunk.candidates or [] for p in (c.content.parts if c.content else None) or []]
        calls = [p.function_call for p in parts if p.function_call]
        if not calls:
            return Answer(cities, "".join(p.text or "" for p in parts))
        cities += [c.args["city"] for c in calls]
        said.append(types.Content(role="model", parts=parts))
        said.append(types.Content(role="user", parts=[types.Part.from_function_response(name=c.name, response={"output": weather(c.args["city"])}) for c in calls]))
    return Answer(cities)


def with_ollama(task, name, stream):
    client = ollama.Client(host=BASE)
    said, cities = [{"role": "user", "content": task["ask"]}], []
    for _ in range(5):
        answer = client.chat(model=MODEL, messages=said, tools=[TOOL], stream=stream, options={"temperature": 0, "num_predict": 120})
        got = [chunk.message for chunk in (answer if stream else [answer])]
        text, calls = "".join(m.content or "" for m in got), [c for m in got for c in m.tool_calls or []]
        if not calls:
            return Answer(cities, text)
        cities += [c.function.arguments["city"] for c in calls]
        said.append({"role": "assistant", "content": text, "tool_calls": [c.model_dump() for c in calls]})
        said += [{"role": "tool", "tool_name": c.function.name, "content": weather(c.function.arguments["city"])} for c in calls]
    return Answer(cities)


def bedrock(task, name, stream):
    client = boto3.client("bedrock-runtime", endpoint_url=BASE, region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none", config=Config(read_timeout=300, retries={"total_max_attempts": 1}))
    said, cities = [{"role": "user", "content": [{"text": task["ask"]}]}], []
    tool = {"toolSpec": {"name": ABOUT["name"], "description": ABOUT["description"], "inputSchema": {"json": PLACE}}}
    for _ in range(5):
        common = {"modelId": MODEL, "messages": said, "toolConfig": {"tools": [tool]}, "inferenceConfig": {"temperature": 0, "maxTokens": 120}}
        content = collect(client.converse_stream(**common)["stream"]) if stream else client.converse(**common)["output"]["message"]["content"]
        calls = [b["toolUse"] for b in content if "toolUse" in b]
        if not calls:
            return Answer(cities, "".join(b.get("text", "") for b in content))
        cities += [c["input"]["city"] for c in calls]
        said.append({"role": "assistant", "content": content})
        said.append({"role": "user", "content": [{"toolResult": {"toolUseId": c["toolUseId"], "content": [{"text": weather(c["input"]["city"])}]}} for c in calls]})
    return Answer(cities)


def collect(events):
    """The blocks of a stream."""
    blocks = {}
    for event in events:
        if start := event.get("contentBlockStart"):
            if "toolUse" in start["start"]:
                blocks[start["contentBlockIndex"]] = {"toolUse": {**start["start"]["toolUse"], "input": ""}}
        if piece := event.get("contentBlockDelta"):
            delta = piece["delta"]
            if "toolUse" in delta:
                blocks[piece["contentBlockIndex"]]["toolUse"]["input"] += delta["toolUse"]["input"]
            elif "text" in delta:
                blocks.setdefault(piece["contentBlockIndex"], {"text": ""})["text"] += delta["text"]
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    return [blocks[i] for i in sorted(blocks)]


add_tests({"openai, Chat": chat, "openai, Responses": responses, "anthropic": messages, "google-genai": gemini, "ollama": with_ollama, "boto3": bedrock})

if __name__ == "__main__":
    unittest.main()
