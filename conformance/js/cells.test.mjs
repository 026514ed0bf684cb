// The table of cells (../cells.json) with the vendors' own JavaScript clients.
//
// TOOLPOST_CELLS is the address of the server to ask, by default that of the
// simulator, TOOLPOST_SIM, which is asked what it saw. TOOLPOST_CELLS_THROUGH is the kind
// of upstream that a gateway between them makes of it. TOOLPOST_CELLS_ONLY runs one cell in
// one mode, as "calls/stream".
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand, CountTokensCommand } from "@aws-sdk/client-bedrock-runtime";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { Ollama } from "ollama";
import OpenAI from "openai";

const sim = process.env.TOOLPOST_SIM.replace(/\/$/, "");
const base = (process.env.TOOLPOST_CELLS ?? sim).replace(/\/$/, "");
const bare = () => {};

function readTable() {
  const { fixtures, cells, over: kinds, through } = JSON.parse(readFileSync(new URL("../cells.json", import.meta.url), "utf8"));
  let text = JSON.stringify(cells);
  for (const [name, data] of Object.entries(fixtures)) text = text.replaceAll(`{${name}}`, data);
  const list = JSON.parse(text);
  const over = process.env.TOOLPOST_CELLS_THROUGH;
  if (!over) return list;
  assert.ok(kinds[over], `the table knows no upstream called ${over}`);
  return list
    .filter(({ cell }) => kinds[over].cells?.includes(cell) ?? true)
    .map((cell) => ({ ...cell, tries: kinds[over].tries ?? 1 }))
    .map((cell) => otherwise(cell, kinds[over].expect && kinds[over]))
    .map((cell) => otherwise(cell, through.find((o) => o.over.includes(over) && o.cell === cell.cell && o.format === cell.format)));
}

// otherwise is a cell with what a client of a gateway gets.
function otherwise(cell, other) {
  if (!other) return cell;
  const { why, expect, stream, first } = other;
  return { ...cell, explained: why, expect, stream, reply: cell.reply && { ...cell.reply, first: first ?? cell.reply.first } };
}

// Each client returns what it understood; next makes the request that goes on with
// results.

// answered asks for the answer in one piece, with whole, or as a stream. A stream tells
// said every piece of text; what came before an error is in its member "before".
async function answered(s, whole, streamed) {
  if (!s.stream) return whole();
  let text = "";
  const said = (piece) => {
    s.begun();
    text += piece;
  };
  try {
    return await streamed(said);
  } catch (err) {
    err.before = text;
    throw err;
  }
}

// collected is answered for clients that leave it to their user to put a stream
// together: add takes an answer or a piece of one and returns its text.
const collected = (s, g, add, whole, stream) =>
  answered(
    s,
    async () => add(await whole()),
    async (said) => {
      for await (const chunk of await stream()) said(add(chunk));
      assert.ok(g.finish, "the stream has no end");
    },
  );

const retries = (s) => (s.retries ? {} : { maxRetries: 0 });
const openai = (s) => new OpenAI({ baseURL: base + "/v1", apiKey: "none", ...retries(s) });

async function chat(s, request) {
  const client = openai(s);
  const body = { ...request, ...s.extra, model: s.model };
  const { signal } = s;
  const answer = await answered(
    s,
    () => client.chat.completions.create(body, { signal }),
    async (said) => {
      const stream = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } }, { signal });
      for await (const chunk of stream) {
        const piece = chunk.choices[0]?.delta?.content;
        if (piece) said(piece);
      }
      return stream.finalChatCompletion();
    },
  );
  assert.ok(answer.created > 0);
  const [{ message, finish_reason }] = answer.choices;
  const calls = message.tool_calls ?? [];
  return {
    id: answer.id,
    text: message.content ?? "",
    finish: finish_reason,
    calls: calls.map((c) => [c.function.name, JSON.parse(c.function.arguments)]),
    input: answer.usage.prompt_tokens,
    output: answer.usage.completion_tokens,
    next: (result) => ({ ...request, messages: [...request.messages, message, ...calls.map((c) => ({ role: "tool", tool_call_id: c.id, content: result }))] }),
  };
}

async function responses(s, request) {
  const client = openai(s);
  const body = { ...request, ...s.extra, model: s.model };
  const { signal } = s;
  const answer = await answered(
    s,
    () => client.responses.create(body, { signal }),
    async (said) => {
      const items = new Map();
      let parts = 0;
      const stream = client.responses.stream(body, { signal });
      for await (const ev of stream) {
        if (ev.type === "response.output_text.delta") said(ev.delta);
        if (ev.type === "response.output_item.added") items.set(ev.output_index, ev.item.id);
        if (ev.type === "response.output_item.done") assert.equal(ev.item.id, items.get(ev.output_index));
        if (ev.type === "response.reasoning_summary_part.added") parts++;
        if (ev.type === "response.reasoning_summary_part.done") parts--;
        if (ev.type === "error") throw new Error(ev.message);
      }
      assert.equal(parts, 0);
      return stream.finalResponse();
    },
  );
  return { ...understood(answer), next: (result) => goOn(request, answer, result) };
}

function understood(answer) {
  const thoughts = answer.output.filter((i) => i.type === "reasoning");
  return {
    id: answer.id,
    text: answer.output_text ?? answer.output.flatMap((i) => (i.type === "message" ? i.content.map((c) => c.text) : [])).join(""),
    thinking: thoughts.flatMap((i) => i.summary.map((p) => p.text)).join(""),
    signed: thoughts.some((i) => i.encrypted_content),
    finish: answer.incomplete_details?.reason ?? answer.status,
    calls: answer.output.filter((i) => i.type === "function_call").map((c) => [c.name, JSON.parse(c.arguments)]),
    input: answer.usage.input_tokens,
    output: answer.usage.output_tokens,
  };
}

function goOn(request, answer, result) {
  const said = answer.output.map(({ parsed_arguments, ...item }) => item);
  const results = said.filter((i) => i.type === "function_call").map((c) => ({ type: "function_call_output", call_id: c.call_id, output: result }));
  return { ...request, input: [{ role: "user", content: request.input }, ...said, ...results] };
}

const anthropic = (s) => new Anthropic({ baseURL: base, apiKey: "none", ...retries(s) });

async function messages(s, request) {
  const client = anthropic(s);
  const body = { ...request, model: s.model };
  const { signal } = s;
  const answer = await answered(
    s,
    () => client.messages.create(body, { signal }),
    (said) => client.messages.stream(body, { signal }).on("text", said).finalMessage(),
  );
  const of = (type) => answer.content.filter((b) => b.type === type);
  return {
    id: answer.id,
    text: of("text").map((b) => b.text).join(""),
    thinking: of("thinking").map((b) => b.thinking).join(""),
    signed: of("thinking").some((b) => b.signature),
    finish: answer.stop_reason,
    calls: of("tool_use").map((b) => [b.name, b.input]),
    input: answer.usage.input_tokens,
    output: answer.usage.output_tokens,
    next: (result) => ({
      ...request,
      messages: [
        ...request.messages,
        { role: "assistant", content: answer.content },
        { role: "user", content: of("tool_use").map((b) => ({ type: "tool_result", tool_use_id: b.id, content: result })) },
      ],
    }),
  };
}

const google = (s) =>
  new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: base, ...(s.retries ? { retryOptions: { attempts: 3 } } : {}) } });

async function gemini(s, request) {
  const { models } = google(s);
  const body = { ...request, model: s.model, config: { ...request.config, abortSignal: s.signal } };
  const g = { text: "", thinking: "", calls: [] };
  const parts = [];
  const add = (answer) => {
    const before = g.text.length;
    g.id = answer.responseId;
    for (const c of answer.candidates ?? []) {
      g.finish = c.finishReason ?? g.finish;
      for (const p of c.content?.parts ?? []) {
        parts.push(p);
        if (p.thoughtSignature) g.signed = true;
        if (p.thought) g.thinking += p.text;
        else if (p.functionCall) g.calls.push([p.functionCall.name, p.functionCall.args]);
        else g.text += p.text ?? "";
      }
    }
    g.input = answer.usageMetadata?.promptTokenCount ?? g.input;
    g.output = answer.usageMetadata?.candidatesTokenCount ?? g.output;
    return g.text.slice(before);
  };
  await collected(s, g, add, () => models.generateContent(body), () => models.generateContentStream(body));
  g.next = (result) => ({
    ...request,
    contents: [
      ...request.contents,
      { role: "model", parts },
      { role: "user", parts: parts.filter((p) => p.functionCall).map((p) => ({ functionResponse: { id: p.functionCall.id, name: p.functionCall.name, response: { output: result } } })) },
    ],
  });
  return g;
}

async function ollama(s, request) {
  const client = new Ollama({ host: base });
  s.signal?.addEventListener("abort", () => client.abort());
  // The client gives up streams only; a request in one piece is fetched with the signal.
  const whole = new Ollama({ host: base, fetch: (url, init) => fetch(url, { ...init, signal: s.signal }) });
  const body = { ...request, model: s.model };
  const g = { text: "", thinking: "", calls: [] };
  const message = { role: "assistant", content: "", tool_calls: [] };
  const add = (answer) => {
    const piece = answer.message.content ?? "";
    g.text += piece;
    g.thinking += answer.message.thinking ?? "";
    message.tool_calls.push(...(answer.message.tool_calls ?? []));
    g.finish = answer.done_reason ?? g.finish;
    g.input = answer.prompt_eval_count ?? g.input;
    g.output = answer.eval_count ?? g.output;
    return piece;
  };
  await collected(s, g, add, () => whole.chat(body), () => client.chat({ ...body, stream: true }));
  g.calls = message.tool_calls.map((c) => [c.function.name, c.function.arguments]);
  g.next = (result) => ({
    ...request,
    messages: [...request.messages, { ...message, content: g.text }, ...message.tool_calls.map((c) => ({ role: "tool", tool_name: c.function.name, content: result }))],
  });
  return g;
}

const amazon = (s) =>
  new BedrockRuntimeClient({
    region: "us-east-1",
    endpoint: base,
    credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "any" },
    ...(s.retries ? {} : { maxAttempts: 1 }),
  });

// forAmazon is a request as the client takes it: bytes are bytes.
function forAmazon(v) {
  if (Array.isArray(v)) return v.map(forAmazon);
  if (v === null || typeof v !== "object") return v;
  return Object.fromEntries(Object.entries(v).map(([k, e]) => [k, k === "bytes" && typeof e === "string" ? Buffer.from(e, "base64") : forAmazon(e)]));
}

// joined is the message that the events of a stream make, why it ended, and the usage.
async function joined(stream, said) {
  const content = [];
  let stop, usage;
  for await (const event of stream) {
    if (event.contentBlockStart) {
      content[event.contentBlockStart.contentBlockIndex] = { toolUse: { ...event.contentBlockStart.start.toolUse, input: "" } };
    } else if (event.contentBlockDelta) {
      const { contentBlockIndex: i, delta } = event.contentBlockDelta;
      if (delta.text !== undefined) {
        said(delta.text);
        (content[i] ??= { text: "" }).text += delta.text;
      } else if (delta.toolUse) content[i].toolUse.input += delta.toolUse.input;
      else if (delta.reasoningContent) {
        const text = (content[i] ??= { reasoningContent: { reasoningText: { text: "" } } }).reasoningContent.reasoningText;
        for (const [key, piece] of Object.entries(delta.reasoningContent)) text[key] = (text[key] ?? "") + piece;
      }
    } else if (event.messageStop) stop = event.messageStop.stopReason;
    else if (event.metadata) usage = event.metadata.usage;
  }
  assert.ok(stop && usage, "the stream has no end");
  for (const b of content) if (b.toolUse) b.toolUse.input = JSON.parse(b.toolUse.input);
  return { message: { role: "assistant", content }, stop, usage };
}

async function converseCell(s, request) {
  const client = amazon(s);
  const body = { ...forAmazon(request), modelId: s.model };
  const { signal: abortSignal } = s;
  const { message, stop, usage } = await answered(
    s,
    async () => {
      const { output, stopReason, usage } = await client.send(new ConverseCommand(body), { abortSignal });
      return { message: output.message, stop: stopReason, usage };
    },
    async (said) => joined((await client.send(new ConverseStreamCommand(body), { abortSignal })).stream, said),
  );
  const of = (kind) => message.content.filter((b) => b[kind] !== undefined).map((b) => b[kind]);
  const thoughts = of("reasoningContent").map((r) => r.reasoningText);
  return {
    text: of("text").join(""),
    thinking: thoughts.map((t) => t.text).join(""),
    signed: thoughts.some((t) => t.signature),
    finish: stop,
    calls: of("toolUse").map((c) => [c.name, c.input]),
    input: usage.inputTokens,
    output: usage.outputTokens,
    next: (result) => ({
      ...request,
      messages: [
        ...request.messages,
        message,
        { role: "user", content: of("toolUse").map((c) => ({ toolResult: { toolUseId: c.toolUseId, content: [{ text: result }] } })) },
      ],
    }),
  };
}

const vendors = {
  chat: { ask: chat, prefix: "sim/", model: async (s) => (await openai(s).models.retrieve(s.model)).id },
  responses: {
    ask: responses,
    prefix: "sim/",
    count: async (s, request) => (await openai(s).responses.inputTokens.count({ ...request, model: s.model })).input_tokens,
  },
  messages: {
    ask: messages,
    prefix: "sim/",
    count: async (s, { max_tokens, ...request }) => (await anthropic(s).messages.countTokens({ ...request, model: s.model })).input_tokens,
    model: async (s) => (await anthropic(s).models.retrieve(s.model)).id,
  },
  gemini: {
    ask: gemini,
    prefix: "",
    count: async (s, request) => (await google(s).models.countTokens({ ...request, model: s.model })).totalTokens,
    model: async (s) => (await google(s).models.get({ model: s.model })).name,
  },
  ollama: { ask: ollama, prefix: "sim/" },
  converse: {
    ask: converseCell,
    prefix: "sim/",
    count: async (s, request) => (await amazon(s).send(new CountTokensCommand({ modelId: s.model, input: { converse: forAmazon(request) } }))).inputTokens,
  },
};

const statusOf = (err) => err.$metadata?.httpStatusCode ?? err.status ?? err.status_code ?? err.code;

function forge(v) {
  if (v === null || typeof v !== "object") return;
  for (const [key, value] of Object.entries(v)) {
    if (typeof value === "string" && ["signature", "thoughtSignature", "encrypted_content"].includes(key)) v[key] = "Zm9yZ2Vk";
    else forge(value);
  }
}

const ids = new Set();

async function converse(cell, v, s) {
  const g = await v.ask(s, cell.request);
  if (!["ollama", "converse"].includes(cell.format)) {
    assert.ok(g.id && !ids.has(g.id), `the id ${g.id} of the answer is empty or not new`);
    ids.add(g.id);
  }
  if (cell.reply) {
    compare(cell.reply.first, g);
    const next = structuredClone(g.next(cell.reply.result));
    if (cell.reply.forge) forge(next);
    return v.ask(s, next);
  }
  if (cell.then) return v.ask(s, { ...cell.then, previous_response_id: g.id });
  return g;
}

function compare(want, g) {
  if (want.text) assert.ok(g.text.includes(want.text), `${g.text} lacks ${want.text}`);
  if (want.exactly) assert.equal(g.text.trimEnd(), want.exactly.trimEnd());
  if (want.thinking) assert.ok(g.thinking.includes(want.thinking), `thinking ${g.thinking}`);
  if (want.finish) assert.equal(g.finish, want.finish);
  if (want.answers) assert.ok(g.text.trim() || g.calls.length, "nothing is said");
  if (want.signed) assert.ok(g.signed, "nothing is signed");
  if (want.output_tokens) assert.equal(g.output, want.output_tokens);
  if (want.json) assert.deepEqual(JSON.parse(g.text), want.json);
  if (want.calls) assert.deepEqual(g.calls, want.calls);
  if (want.called) assert.deepEqual(g.calls.map(([name]) => name), want.called);
}

function compareError(want, err) {
  assert.ok(!(err instanceof assert.AssertionError) || !want.error.says, err);
  if (want.error.status) assert.equal(statusOf(err), want.error.status, err);
  if (want.error.says) assert.ok(String(err.message).includes(want.error.says) || JSON.stringify(err.error ?? "").includes(want.error.says), `${err} does not say ${want.error.says}`);
  if (want.before) assert.ok(err.before?.includes(want.before), `before the error came ${err.before}`);
}

const seen = async (model) => (await fetch(`${sim}/sim/seen?model=${encodeURIComponent(model)}`)).json();

async function until(model, ok) {
  for (let i = 0; ; i++) {
    const tally = await seen(model);
    if (ok(tally)) return;
    assert.ok(i < 6000, `the simulator has seen ${JSON.stringify(tally)}`);
    await pause(10);
  }
}

async function cancelled(v, s, request) {
  const stop = new AbortController();
  let begun;
  const first = new Promise((resolve) => (begun = resolve));
  const done = v.ask({ ...s, signal: stop.signal, begun }, request).then(
    () => "answered",
    () => "given up",
  );
  if (s.stream) await Promise.race([first, done]);
  else await until(s.model, (t) => t.open === 1);
  stop.abort();
  assert.equal(await done, "given up");
  await until(s.model, (t) => t.open === 0 && t.cancelled === 1 && t.requests === 1);
}

async function retrieved(s, request, want) {
  const { id } = await responses(s, request);
  const client = openai(s);
  compare(want, understood(await client.responses.retrieve(id)));
  await client.responses.delete(id);
  await assert.rejects(client.responses.retrieve(id), OpenAI.NotFoundError);
}

async function run(cell, stream) {
  const v = vendors[cell.format];
  const want = (stream && cell.stream) || cell.expect;
  const model = v.prefix + ((stream && cell.stream_model) || cell.model).replace("{unique}", 1e6 + Math.floor(Math.random() * 2e8));
  const s = { model, stream, retries: cell.does === "retry", extra: cell.extra, begun: bare };
  switch (cell.does) {
    case "count": {
      const n = await v.count(s, cell.request);
      assert.ok(n > 0);
      const { input } = await v.ask(s, cell.request);
      return cell.explained || assert.equal(n, input);
    }
    case "model":
      return assert.ok((await v.model(s)).endsWith(model));
    case "cancel":
      return cancelled(v, s, cell.request);
    case "retrieve":
      return retrieved(s, cell.request, want);
  }
  if (want.error) {
    const err = await converse(cell, v, s).then(
      () => assert.fail("there is an answer where an error was expected"),
      (err) => err,
    );
    compareError(want, err);
  } else compare(want, await converse(cell, v, s));
  if (want.requests) assert.equal((await seen(model)).requests, want.requests);
}

const count = { run: 0, green: 0, explained: 0 };
for (const cell of readTable())
  for (const mode of cell.modes ?? ["whole", "stream"]) {
    if ((process.env.TOOLPOST_CELLS_ONLY || `${cell.cell}/${mode}`) !== `${cell.cell}/${mode}`) continue;
    test([cell.format, cell.cell, mode].join("/"), { timeout: 300_000 }, async () => {
      count.run++;
      for (let left = cell.tries ?? 1; left; left--)
        try {
          await run(cell, mode === "stream");
          break;
        } catch (err) {
          if (left === 1) throw err;
        }
      if (cell.explained) count.explained++;
      else count.green++;
    });
  }
after(() => console.log(`cells with the JavaScript clients: ${count.run} run, ${count.green} green, ${count.explained} explained`));
