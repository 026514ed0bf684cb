// The vendors' own JavaScript clients against toolpost sim.
//
// TOOLPOST_SIM is the address of a running `toolpost sim`. Each client asks for
// the same things: text, a stream, one call, two calls at once, an answer from
// results, and an error it must understand.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { Ollama } from "ollama";
import OpenAI from "openai";

const sim = process.env.TOOLPOST_SIM.replace(/\/$/, "");
const hello = "Hello there";
const one = "What is the weather in Rome?";
const two = "What is the weather in Rome? What is the weather in Paris?";
const sunny = "sunny, 25 degrees";
const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = { name: "get_weather", description: "Current weather in a city" };
const cities = ["Rome", "Paris"];

describe("openai, chat completions", () => {
  const client = new OpenAI({ baseURL: sim + "/v1", apiKey: "none", maxRetries: 0 });
  const tools = [{ type: "function", function: { ...weather, parameters: city } }];
  const ask = (content, more = {}) =>
    client.chat.completions.create({ model: "sim/native", messages: [{ role: "user", content }], ...more });

  test("text", async () => {
    const answer = await ask(hello);
    assert.match(answer.choices[0].message.content, /offline/);
    assert.equal(answer.choices[0].finish_reason, "stop");
  });
  test("stream", async () => {
    const stream = client.chat.completions.stream({ model: "sim/native", messages: [{ role: "user", content: hello }] });
    let text = "";
    for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? "";
    assert.equal(text, (await stream.finalMessage()).content);
  });
  test("calls", async () => {
    const calls = (await ask(two, { tools })).choices[0].message.tool_calls;
    assert.deepEqual(calls.map((c) => JSON.parse(c.function.arguments).city), cities);
  });
  test("streamed calls", async () => {
    const stream = client.chat.completions.stream({ model: "sim/native", tools, messages: [{ role: "user", content: two }] });
    const calls = (await stream.finalMessage()).tool_calls;
    assert.deepEqual(calls.map((c) => JSON.parse(c.function.arguments).city), cities);
  });
  test("results", async () => {
    const { message } = (await ask(one, { tools })).choices[0];
    const answer = await client.chat.completions.create({
      model: "sim/native",
      tools,
      messages: [{ role: "user", content: one }, message, { role: "tool", tool_call_id: message.tool_calls[0].id, content: sunny }],
    });
    assert.match(answer.choices[0].message.content, new RegExp(sunny));
  });
  test("errors", async () => {
    await assert.rejects(ask(hello, { model: "sim/native+429=2s" }), (err) => err instanceof OpenAI.RateLimitError && err.headers.get("retry-after") === "2");
    await assert.rejects(ask(hello, { model: "sim/nonsense" }), OpenAI.NotFoundError);
  });
});

describe("openai, responses", () => {
  const client = new OpenAI({ baseURL: sim + "/v1", apiKey: "none", maxRetries: 0 });
  const tools = [{ type: "function", ...weather, parameters: city, strict: false }];
  const ask = (input, more = {}) => client.responses.create({ model: "sim/native", input, ...more });
  const calls = (answer) => answer.output.filter((i) => i.type === "function_call").map((c) => JSON.parse(c.arguments).city);

  test("text", async () => {
    const answer = await ask(hello);
    assert.match(answer.output_text, /offline/);
    assert.equal(answer.status, "completed");
  });
  test("stream", async () => {
    const stream = client.responses.stream({ model: "sim/native", input: hello });
    let text = "";
    for await (const ev of stream) if (ev.type === "response.output_text.delta") text += ev.delta;
    assert.equal(text, (await stream.finalResponse()).output_text);
  });
  test("calls", async () => assert.deepEqual(calls(await ask(two, { tools })), cities));
  test("streamed calls", async () => {
    const stream = client.responses.stream({ model: "sim/native", input: two, tools });
    assert.deepEqual(calls(await stream.finalResponse()), cities);
  });
  test("results", async () => {
    const [call] = (await ask(one, { tools })).output;
    const answer = await ask([{ role: "user", content: one }, call, { type: "function_call_output", call_id: call.call_id, output: sunny }], { tools });
    assert.match(answer.output_text, new RegExp(sunny));
  });
  test("errors", async () => {
    await assert.rejects(ask(hello, { model: "sim/native+429" }), OpenAI.RateLimitError);
  });
});

describe("anthropic, messages", () => {
  const client = new Anthropic({ baseURL: sim, apiKey: "none", maxRetries: 0 });
  const tools = [{ ...weather, input_schema: city }];
  const question = (content, more = {}) => ({ model: "sim/native", max_tokens: 1024, messages: [{ role: "user", content }], ...more });
  const calls = (answer) => answer.content.filter((b) => b.type === "tool_use").map((b) => b.input.city);

  test("text", async () => {
    const answer = await client.messages.create(question(hello));
    assert.match(answer.content[0].text, /offline/);
    assert.equal(answer.stop_reason, "end_turn");
  });
  test("stream", async () => {
    const stream = client.messages.stream(question(hello));
    assert.match(await stream.finalText(), /offline/);
  });
  test("calls", async () => assert.deepEqual(calls(await client.messages.create(question(two, { tools }))), cities));
  test("streamed calls", async () => assert.deepEqual(calls(await client.messages.stream(question(two, { tools })).finalMessage()), cities));
  test("results", async () => {
    const { content } = await client.messages.create(question(one, { tools }));
    const answer = await client.messages.create({
      ...question(one, { tools }),
      messages: [
        { role: "user", content: one },
        { role: "assistant", content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: content[0].id, content: sunny }] },
      ],
    });
    assert.match(answer.content[0].text, new RegExp(sunny));
  });
  test("errors", async () => {
    await assert.rejects(client.messages.create(question(hello, { model: "sim/native+429" })), Anthropic.RateLimitError);
    await assert.rejects(client.messages.create(question(hello, { model: "sim/nonsense" })), Anthropic.NotFoundError);
  });
});

describe("gemini, generateContent", () => {
  const { models } = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: sim } });
  const config = { tools: [{ functionDeclarations: [{ ...weather, parametersJsonSchema: city }] }] };

  test("text", async () => {
    const answer = await models.generateContent({ model: "native", contents: hello });
    assert.match(answer.text, /offline/);
    assert.ok(answer.usageMetadata.candidatesTokenCount > 0);
  });
  test("stream", async () => {
    let text = "";
    for await (const chunk of await models.generateContentStream({ model: "native", contents: hello })) text += chunk.text ?? "";
    assert.match(text, /offline/);
  });
  test("calls", async () => {
    const answer = await models.generateContent({ model: "native", contents: two, config });
    assert.deepEqual(answer.functionCalls.map((c) => c.args.city), cities);
  });
  test("streamed calls", async () => {
    const found = [];
    for await (const chunk of await models.generateContentStream({ model: "native", contents: two, config })) found.push(...(chunk.functionCalls ?? []));
    assert.deepEqual(found.map((c) => c.args.city), cities);
  });
  test("results", async () => {
    const first = await models.generateContent({ model: "native", contents: one, config });
    const answer = await models.generateContent({
      model: "native",
      config,
      contents: [
        { role: "user", parts: [{ text: one }] },
        first.candidates[0].content,
        { role: "user", parts: [{ functionResponse: { name: "get_weather", response: { output: sunny } } }] },
      ],
    });
    assert.match(answer.text, new RegExp(sunny));
  });
  test("errors", async () => {
    await assert.rejects(models.generateContent({ model: "native+429", contents: hello }), (err) => err.status === 429);
  });
});

describe("ollama, chat", () => {
  const client = new Ollama({ host: sim });
  const tools = [{ type: "function", function: { ...weather, parameters: city } }];
  const ask = (content, more = {}) => client.chat({ model: "sim/native", messages: [{ role: "user", content }], ...more });

  test("text", async () => assert.match((await ask(hello)).message.content, /offline/));
  test("stream", async () => {
    let text = "";
    for await (const chunk of await ask(hello, { stream: true })) text += chunk.message.content ?? "";
    assert.match(text, /offline/);
  });
  test("calls", async () => {
    const { message } = await ask(two, { tools });
    assert.deepEqual(message.tool_calls.map((c) => c.function.arguments.city), cities);
  });
  test("streamed calls", async () => {
    const found = [];
    for await (const chunk of await ask(two, { tools, stream: true })) found.push(...(chunk.message.tool_calls ?? []));
    assert.deepEqual(found.map((c) => c.function.arguments.city), cities);
  });
  test("results", async () => {
    const { message } = await ask(one, { tools });
    const answer = await client.chat({
      model: "sim/native",
      tools,
      messages: [{ role: "user", content: one }, message, { role: "tool", tool_name: "get_weather", content: sunny }],
    });
    assert.match(answer.message.content, new RegExp(sunny));
  });
  test("errors", async () => {
    await assert.rejects(ask(hello, { model: "sim/native+429" }), (err) => err.status_code === 429);
    await assert.rejects(ask(one, { model: "sim/native+no-tools", tools }), /does not support tools/);
  });
});
