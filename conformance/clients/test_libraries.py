"""LangChain, Pydantic AI, Instructor and LiteLLM as clients of the gateway."""
import asyncio
import json
import unittest

import anthropic
import instructor
import litellm
import openai
import pydantic
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider
from shared import BASE, MODEL, TOOL, Answer, Libraries, add_tests, weather

litellm.suppress_debug_info = True


class Place(pydantic.BaseModel):
    city: str


# LangChain


def langchain(make):
    def use(task, name, stream):
        chat = make()
        if name == "structured":
            held = chat.with_structured_output(Place, method="json_schema")
            answer = [*held.stream(task["ask"])][-1] if stream else held.invoke(task["ask"])
            return Answer(json=answer.model_dump())
        bound = chat.bind_tools([TOOL], tool_choice="any" if name == "forced" else None)
        said, cities = [{"role": "user", "content": task["ask"]}], []
        for _ in range(5):
            if stream:
                answer = None
                for chunk in bound.stream(said):
                    answer = chunk if answer is None else answer + chunk
            else:
                answer = bound.invoke(said)
            said.append(answer)
            for call in answer.tool_calls:
                cities.append(call["args"]["city"])
                said.append({"role": "tool", "tool_call_id": call["id"], "content": weather(call["args"]["city"])})
            if name == "forced" or not answer.tool_calls:
                return Answer(cities, answer.text if isinstance(answer.text, str) else answer.text())
        raise AssertionError("it never ends")

    return use


# Pydantic AI


def pydantic_ai(kind):
    def use(task, name, stream):
        model = kind(MODEL, provider=OpenAIProvider(base_url=BASE + "/v1", api_key="none"))
        cities = []
        if name == "structured":
            agent = Agent(model, output_type=NativeOutput(Place))
        elif name == "forced":  # the way of the library to demand a call: an answer that is one
            agent = Agent(model, output_type=ToolOutput(Place, name="get_weather", description="Current weather in a city"))
        else:
            agent = Agent(model)

            @agent.tool_plain
            def get_weather(city: str) -> str:
                """Current weather in a city"""
                cities.append(city)
                return weather(city)

        async def streamed():
            async with agent.run_stream(task["ask"]) as r:
                return await r.get_output()

        out = asyncio.run(streamed()) if stream else agent.run_sync(task["ask"]).output
        if name == "forced":
            return Answer([out.city])
        return Answer(cities, out) if isinstance(out, str) else Answer(json=out.model_dump())

    return use


# Instructor


def with_instructor(make):
    """It asks for an object, by a call that is demanded or by a schema."""

    def use(task, name, stream):
        client = make(name)
        common = {"model": MODEL, "messages": [{"role": "user", "content": task["ask"]}], "max_tokens": 1024, "max_retries": 0}
        if stream:
            place = [*client.create_partial(response_model=Place, **common)][-1]
        else:
            place = client.create(response_model=Place, **common)
        if name == "structured":
            return Answer(json=place.model_dump())
        return Answer([place.city], weather(place.city))

    return use


def instructor_openai(name):
    client = openai.OpenAI(base_url=BASE + "/v1", api_key="none", max_retries=0)
    return instructor.from_openai(client, mode=instructor.Mode.JSON_SCHEMA if name == "structured" else instructor.Mode.TOOLS)


def instructor_anthropic(name):
    return instructor.from_anthropic(anthropic.Anthropic(base_url=BASE, api_key="none", max_retries=0), mode=instructor.Mode.TOOLS)


# LiteLLM


def with_litellm(prefix, root):
    def use(task, name, stream):
        common = {"model": prefix + MODEL, "api_base": BASE + root, "api_key": "none", "max_retries": 0, "max_tokens": 1024}
        said, cities = [{"role": "user", "content": task["ask"]}], []
        if name == "structured":
            common["response_format"] = Place
        else:
            common["tools"] = [TOOL]
            if name == "forced":
                common["tool_choice"] = "required"
        for _ in range(5):
            answer = litellm.completion(messages=said, stream=stream, **common)
            if stream:
                answer = litellm.stream_chunk_builder([*answer], messages=said)
            message = answer.choices[0].message
            if name == "structured":
                return Answer(json=json.loads(message.content))
            said.append(message.model_dump(exclude_none=True))
            calls = message.tool_calls or []
            for call in calls:
                city = json.loads(call.function.arguments)["city"]
                cities.append(city)
                said.append({"role": "tool", "tool_call_id": call.id, "name": "get_weather", "content": weather(city)})
            if name == "forced" or not calls:
                return Answer(cities, message.content or "")
        raise AssertionError("it never ends")

    return use


CLIENTS = {
    "LangChain, OpenAI Chat": langchain(lambda: ChatOpenAI(model=MODEL, base_url=BASE + "/v1", api_key="none", max_retries=0)),
    "LangChain, OpenAI Responses": langchain(lambda: ChatOpenAI(model=MODEL, base_url=BASE + "/v1", api_key="none", max_retries=0, use_responses_api=True)),
    "LangChain, Anthropic": langchain(lambda: ChatAnthropic(model=MODEL, base_url=BASE, api_key="none", max_retries=0, max_tokens=1024)),
    "Pydantic AI, Chat": pydantic_ai(OpenAIChatModel),
    "Pydantic AI, Responses": pydantic_ai(OpenAIResponsesModel),
    "Instructor, OpenAI": with_instructor(instructor_openai),
    "Instructor, Anthropic": with_instructor(instructor_anthropic),
    "LiteLLM, OpenAI": with_litellm("openai/", "/v1"),
    "LiteLLM, Anthropic": with_litellm("anthropic/", ""),
    "LiteLLM, Ollama": with_litellm("ollama_chat/", ""),
}

# What the libraries cannot do, with any server: the same happens without a gateway.
WITHOUT = {
    ("Instructor, OpenAI", "parallel"): "it asks for one object",
    ("Instructor, Anthropic", "parallel"): "it asks for one object",
    ("LiteLLM, Ollama", "forced"): "it does not send the choice, which Ollama's API has not",
    ("LiteLLM, Ollama", "parallel", True): "it takes all calls of a stream for one",
    ("LangChain, OpenAI Responses", "structured", True): "it does not read the object from a stream of Responses",
}

add_tests(CLIENTS, WITHOUT)

if __name__ == "__main__":
    unittest.main()
