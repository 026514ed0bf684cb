"""OpenAI Agents as a client of the gateway."""
import asyncio
import unittest

import pydantic
from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from shared import BASE, MODEL, Answer, Libraries, add_tests, weather

set_tracing_disabled(True)


class Place(pydantic.BaseModel):
    city: str


def agents(kind):
    def use(task, name, stream):
        cities = []

        @function_tool
        def get_weather(city: str) -> str:
            """Current weather in a city"""
            cities.append(city)
            return weather(city)

        async def run():
            client = AsyncOpenAI(base_url=BASE + "/v1", api_key="none", max_retries=0)
            settings = {"name": "weather", "model": kind(model=MODEL, openai_client=client)}
            if name == "structured":
                settings["output_type"] = Place
            else:
                settings["tools"] = [get_weather]
            if name == "forced":
                settings |= {"model_settings": ModelSettings(tool_choice="required"), "tool_use_behavior": "stop_on_first_tool"}
            agent = Agent(**settings)
            if not stream:
                return (await Runner.run(agent, task["ask"], max_turns=5)).final_output
            result = Runner.run_streamed(agent, task["ask"], max_turns=5)
            async for _ in result.stream_events():
                pass
            return result.final_output

        out = asyncio.run(run())
        return Answer(json=out.model_dump()) if name == "structured" else Answer(cities, str(out))

    return use


add_tests({"OpenAI Agents, Chat": agents(OpenAIChatCompletionsModel), "OpenAI Agents, Responses": agents(OpenAIResponsesModel)})

if __name__ == "__main__":
    unittest.main()
