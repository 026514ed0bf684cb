// Libraries for agents (the AI SDK, LangChain, OpenAI Agents) as clients of the gateway at
// TOOLPOST_CELLS: calls that are run until the model answers, several at once, a call that is
// demanded, and an answer that matches a schema, in one piece and as a stream.
import assert from "node:assert/strict";
import { after, test } from "node:test";

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, setTracingDisabled, tool as agentTool } from "@openai/agents";
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { z } from "zod";

const base = process.env.TOOLPOST_CELLS.replace(/\/$/, "");
const over = process.env.TOOLPOST_CELLS_THROUGH;
const model = "sim/native+seed=7";
setTracingDisabled(true);

const place = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const weather = (city) => `sunny in ${city}`;

// A small real model that has no tools is asked one thing, and may be asked again.
const real = over === "real";

// What is asked, and what must come of it: the calls that were made, and the last answer.
const tasks = real ? { single: { ask: "What is the weather in Rome?" } } : {
  single: { ask: "What is the weather in Rome?", calls: ["Rome"], says: "sunny in Rome" },
  parallel: { ask: "What is the weather in Rome? What is the weather in Paris?", calls: ["Rome", "Paris"], says: "sunny in Paris" },
  forced: { ask: "Rome", calls: 1 },
  structured: { ask: "What is the weather in Rome?", json: { city: "Rome" } },
};

// The AI SDK, with three of its providers.
const ai = (open) => async (task, name, stream) => {
  const cities = [];
  const tools = { get_weather: tool({ description: "Current weather in a city", inputSchema: jsonSchema(place), execute: async ({ city }) => (cities.push(city), weather(city)) }) };
  const settings = { model: open(), prompt: task.ask, maxRetries: 0 };
  if (name === "structured") settings.output = Output.object({ schema: jsonSchema(place) });
  else Object.assign(settings, { tools, stopWhen: stepCountIs(name === "forced" ? 1 : 5), toolChoice: name === "forced" ? "required" : "auto" });
  const failed = [];
  const r = stream ? streamText({ ...settings, onError: ({ error }) => failed.push(error) }) : await generateText(settings);
  const text = await r.text;
  assert.deepEqual(failed, []);
  return { cities, text, json: name === "structured" ? await r.output : undefined };
};

const openai = createOpenAI({ baseURL: base + "/v1", apiKey: "none" });

async function langchain(task, name, stream) {
  const chat = new ChatOpenAI({ model, apiKey: "none", maxRetries: 0, configuration: { baseURL: base + "/v1" } });
  if (name === "structured") {
    const held = chat.withStructuredOutput(z.object({ city: z.string() }), { name: "place", method: "jsonSchema" });
    return { cities: [], text: "", json: await held.invoke(task.ask) };
  }
  const bound = chat.bindTools([{ type: "function", function: { name: "get_weather", description: "Current weather in a city", parameters: place } }], name === "forced" ? { tool_choice: "required" } : {});
  const said = [{ role: "user", content: task.ask }];
  const cities = [];
  for (let turn = 0; turn < 5; turn++) {
    let answer;
    if (stream) for await (const chunk of await bound.stream(said)) answer = answer ? answer.concat(chunk) : chunk;
    else answer = await bound.invoke(said);
    said.push(answer);
    for (const call of answer.tool_calls) {
      cities.push(call.args.city);
      said.push({ role: "tool", tool_call_id: call.id, content: weather(call.args.city) });
    }
    if (name === "forced" || !answer.tool_calls.length) return { cities, text: answer.text };
  }
  assert.fail("it never ends");
}

const agents = (Kind) => async (task, name, stream) => {
  const cities = [];
  const look = agentTool({ name: "get_weather", description: "Current weather in a city", parameters: z.object({ city: z.string() }), execute: async ({ city }) => (cities.push(city), weather(city)) });
  const client = new OpenAI({ baseURL: base + "/v1", apiKey: "none", maxRetries: 0 });
  const settings = { name: "weather", model: new Kind(client, model), tools: name === "structured" ? [] : [look] };
  if (name === "structured") settings.outputType = z.object({ city: z.string() });
  if (name === "forced") Object.assign(settings, { modelSettings: { toolChoice: "required" }, toolUseBehavior: "stop_on_first_tool" });
  const r = await new Runner().run(new Agent(settings), task.ask, { stream, maxTurns: 5 });
  if (stream) {
    for await (const _ of r);
    await r.completed;
    assert.equal(r.error ?? null, null);
  }
  return { cities, text: String(r.finalOutput), json: name === "structured" ? r.finalOutput : undefined };
};

const clients = {
  "AI SDK, openai-compatible": ai(() => createOpenAICompatible({ name: "gateway", baseURL: base + "/v1", apiKey: "none", supportsStructuredOutputs: true })(model)),
  "AI SDK, OpenAI Chat": ai(() => openai.chat(model)),
  "AI SDK, OpenAI Responses": ai(() => openai.responses(model)),
  "AI SDK, Anthropic": ai(() => createAnthropic({ baseURL: base + "/v1", apiKey: "none" })(model)),
  "LangChain JS": langchain,
  "OpenAI Agents JS, Chat": agents(OpenAIChatCompletionsModel),
  "OpenAI Agents JS, Responses": agents(OpenAIResponsesModel),
};

// good checks what a client made of an answer.
function good(task, got) {
  if (real) {
    assert.ok(got.cities.length && got.cities.every((city) => typeof city === "string" && city), String(got.cities));
    assert.ok(got.text.trim());
  }
  if (task.calls === 1) assert.equal(got.cities.length, 1);
  else if (task.calls) assert.deepEqual(got.cities.sort(), [...task.calls].sort());
  if (task.says) assert.ok(got.text.includes(task.says), got.text);
  if (task.json) assert.deepEqual(got.json, task.json);
}

const count = { run: 0, green: 0, tries: 0 };
for (const [client, use] of Object.entries(clients))
  for (const [name, task] of Object.entries(tasks))
    for (const stream of [false, true])
      test([over, client, name, stream ? "stream" : "whole"].join("/"), { timeout: real ? 600_000 : 60_000 }, async () => {
        count.run++;
        for (let left = real ? 3 : 0; ; left--) {
          count.tries++;
          try {
            good(task, await use(task, name, stream));
            break;
          } catch (err) {
            if (!left) throw err;
          }
        }
        count.green++;
      });
after(() => console.log(`libraries for JavaScript, over ${over}: ${count.run} run, ${count.green} green` + (real ? `, asked ${count.tries} times` : "")));
