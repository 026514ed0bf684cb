// Amazon's own JavaScript client against toolpost sim.
//
// TOOLPOST_SIM is the address of a running `toolpost sim`.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import {
  AccessDeniedException,
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  InternalServerException,
  ResourceNotFoundException,
  ServiceUnavailableException,
  ThrottlingException,
  ValidationException,
} from "@aws-sdk/client-bedrock-runtime";

const sim = process.env.TOOLPOST_SIM.replace(/\/$/, "");
const hello = "Hello there";
const one = "What is the weather in Rome?";
const two = "What is the weather in Rome? What is the weather in Paris?";
const sunny = "sunny, 25 degrees";
const json = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const weather = { toolSpec: { name: "get_weather", description: "Current weather in a city", inputSchema: { json } } };
const clock = { toolSpec: { name: "get_time", description: "The time in a city", inputSchema: { json } } };
const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);

const user = (...content) => ({ role: "user", content: content.map((c) => (typeof c === "string" ? { text: c } : c)) });
const cities = (message) => message.content.filter((b) => b.toolUse).map((b) => b.toolUse.input.city);

// joined makes a message of the events of a stream.
async function joined(stream) {
  const blocks = [];
  let stop, metadata;
  for await (const event of stream) {
    if (event.contentBlockStart) {
      blocks[event.contentBlockStart.contentBlockIndex] = { toolUse: { ...event.contentBlockStart.start.toolUse, input: "" } };
    } else if (event.contentBlockDelta) {
      const { contentBlockIndex: i, delta } = event.contentBlockDelta;
      if (delta.text !== undefined) (blocks[i] ??= { text: "" }).text += delta.text;
      else if (delta.toolUse) blocks[i].toolUse.input += delta.toolUse.input;
      else if (delta.reasoningContent) {
        const text = (blocks[i] ??= { reasoningContent: { reasoningText: { text: "" } } }).reasoningContent.reasoningText;
        for (const [key, piece] of Object.entries(delta.reasoningContent)) text[key] = (text[key] ?? "") + piece;
      }
    } else if (event.messageStop) stop = event.messageStop.stopReason;
    else if (event.metadata) metadata = event.metadata;
  }
  for (const b of blocks) if (b.toolUse) b.toolUse.input = JSON.parse(b.toolUse.input);
  return { message: { role: "assistant", content: blocks }, stop, metadata };
}

describe("bedrock, converse", () => {
  const client = new BedrockRuntimeClient({
    region: "us-east-1",
    endpoint: sim,
    credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "any", sessionToken: "any" },
    maxAttempts: 1,
  });
  const toolConfig = { tools: [weather] };
  const converse = (messages, more = {}) => client.send(new ConverseCommand({ modelId: "sim/native", messages, ...more }));
  const stream = async (messages, more = {}) => joined((await client.send(new ConverseStreamCommand({ modelId: "sim/native", messages, ...more }))).stream);
  const whole = async (messages, more = {}) => {
    const answer = await converse(messages, more);
    return { message: answer.output.message, stop: answer.stopReason, metadata: answer };
  };
  const ways = { whole, streamed: stream };

  for (const [way, ask] of Object.entries(ways)) {
    test(`text, ${way}`, async () => {
      const { message, stop, metadata } = await ask([user(hello)], { system: [{ text: "Be brief." }], inferenceConfig: { maxTokens: 100, temperature: 0.5, stopSequences: ["END"] } });
      assert.match(message.content[0].text, /offline/);
      assert.equal(stop, "end_turn");
      assert.ok(metadata.usage.outputTokens > 0);
      assert.equal(metadata.metrics.latencyMs, 0);
    });
    test(`one call, ${way}`, async () => {
      const { message, stop } = await ask([user(one)], { toolConfig });
      assert.deepEqual(cities(message), ["Rome"]);
      assert.equal(stop, "tool_use");
    });
    test(`calls, ${way}`, async () => {
      const { message } = await ask([user(two)], { toolConfig });
      assert.deepEqual(cities(message), ["Rome", "Paris"]);
      assert.equal(new Set(message.content.map((b) => b.toolUse?.toolUseId)).size, 2);
    });
    test(`forced calls, ${way}`, async () => {
      const tools = [weather, clock];
      const { message } = await ask([user(one)], { toolConfig: { tools, toolChoice: { tool: { name: "get_time" } } } });
      assert.deepEqual(message.content.filter((b) => b.toolUse).map((b) => b.toolUse.name), ["get_time"]);
      assert.equal((await ask([user(hello)], { toolConfig: { tools, toolChoice: { any: {} } } })).stop, "tool_use");
    });
    test(`results, ${way}`, async () => {
      const { message } = await ask([user(two)], { toolConfig });
      const [first, second] = message.content.filter((b) => b.toolUse).map((b) => b.toolUse.toolUseId);
      const results = user(
        { toolResult: { toolUseId: first, content: [{ text: sunny }], status: "success" } },
        { toolResult: { toolUseId: second, content: [{ json: { sky: "grey" } }, { image: { format: "png", source: { bytes: png } } }] } },
      );
      const answer = await ask([user(two), message, results], { toolConfig });
      assert.match(answer.message.content[0].text, new RegExp(sunny));
      assert.match(answer.message.content[0].text, /grey/);
    });
    test(`thinking, ${way}`, async () => {
      const more = { modelId: "sim/native+think", toolConfig };
      const { message } = await ask([user(one)], more);
      const { reasoningText } = message.content[0].reasoningContent;
      assert.ok(reasoningText.text && reasoningText.signature);
      const result = user({ toolResult: { toolUseId: message.content.at(-1).toolUse.toolUseId, content: [{ text: sunny }] } });
      const answer = await ask([user(one), message, result], more);
      assert.match(answer.message.content.at(-1).text, new RegExp(sunny));
      reasoningText.text += " Changed.";
      await assert.rejects(ask([user(one), message, result], more), ValidationException);
    });
    test(`media, ${way}`, async () => {
      const { message } = await ask([
        user(
          hello,
          { image: { format: "png", source: { bytes: png } } },
          { image: { format: "jpeg", source: { s3Location: { uri: "s3://bucket/a.jpg", bucketOwner: "123456789012" } } } },
          { document: { format: "pdf", name: "Report 1", source: { bytes: png } } },
        ),
      ]);
      assert.match(message.content[0].text, /offline/);
    });
    test(`cache points, ${way}`, async () => {
      const point = { cachePoint: { type: "default" } };
      const { message } = await ask([user(one, point)], { system: [{ text: "Be brief." }, point], toolConfig: { tools: [weather, point] } });
      assert.deepEqual(cities(message), ["Rome"]);
    });
    test(`errors, ${way}`, async () => {
      const fails = (fault, kind, more = {}) => assert.rejects(ask([user(one)], { modelId: `sim/native+${fault}`, ...more }), kind);
      await fails("429=2s", ThrottlingException);
      await fails("503", ServiceUnavailableException);
      await fails("500", InternalServerException);
      await fails("401", AccessDeniedException);
      await fails("no-tools", ValidationException, { toolConfig });
      await fails("garbage", Error);
      await assert.rejects(ask([user(one)], { modelId: "us.anthropic.claude-x-v1:0" }), ResourceNotFoundException);
    });
  }
  test("an answer that was cut off", async () => {
    assert.equal((await stream([user(hello)], { modelId: "sim/native+length" })).stop, "max_tokens");
    await assert.rejects(stream([user(hello)], { modelId: "sim/native+cut=150" }));
  });
});
