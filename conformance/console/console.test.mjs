// The console in a real Chromium. Every scenario does what a person would do and looks at what the person would see.
// TOOLPOST is the program and TOOLPOST_LARGE the one of ./large; TOOLPOST_SHOTS is a folder for screenshots and
// TOOLPOST_PICTURES one for the pictures of the README, if they are set.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync, appendFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { chromium } from "playwright-core";

const toolpost = process.env.TOOLPOST;
const shots = process.env.TOOLPOST_SHOTS;
const pictures = process.env.TOOLPOST_PICTURES;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const home = mkdtempSync(join(tmpdir(), "console-"));
const store = join(home, "runs");
const adminKey = "administrator-of-the-console-tests";
const tokens = { vera: "viewer-token-of-the-tests", otto: "operator-token-of-the-tests", ada: "admin-token-of-the-tests" };
const env = { ...process.env, HOME: home, XDG_STATE_HOME: home, XDG_CONFIG_HOME: home, TOOLPOST_ADMIN_KEY: adminKey,
  TOOLPOST_CONSOLE_ACCOUNTS: `vera:viewer:${tokens.vera},otto:operator:${tokens.otto},ada:admin:${tokens.ada}` };
const started = [];
let browser, base, gateway, key;

// run runs a command, and returns its output whatever its exit status.
function run(...args) {
  try {
    return execFileSync(toolpost, args, { env, cwd: home, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    return error.stdout + error.stderr;
  }
}

// start starts a server and returns the part of its first matching line.
function start(args, pattern) {
  const child = spawn(toolpost, args, { env, cwd: home, stdio: ["ignore", "pipe", "pipe"] });
  started.push(child);
  return new Promise((resolve, reject) => {
    let said = "";
    const read = (data) => {
      said += data;
      const found = said.match(pattern);
      if (found) resolve(found);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.on("exit", () => reject(new Error(said)));
  });
}

// A call that waits for a person.
function waiting(name, content) {
  writeFileSync(join(home, name + ".txtar"), `-- 1 --\ncall write_file {"path":"${name}.txt","content":${JSON.stringify(content)}}\n-- 2 --\ntext Written.\n`);
  run("run", "-m", `sim/script:${name}.txtar`, "--journal", store, "--allow", "write", "--later", "--deadline", "24h", `Write ${name}`);
}

// evaluate records two evaluations of a suite, and two measurements of an endpoint.
function evaluate() {
  for (const label of ["", "again"]) run("eval", "run", "basics", "-m", "sim/native", "-m", "sim/offline", "--repeat", label ? "3" : "1", "--label", label, "-q");
  for (let i = 0; i < 2; i++) run("models", "drift", "sim/native", "-q");
}

const answers = (model) => fetch(`${gateway}/v1/chat/completions`, { method: "POST", headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
  body: JSON.stringify({ model, messages: [{ role: "user", content: "<b>Hello</b> from a client" }] }) }).then((r) => r.text());

before(async () => {
  writeFileSync(join(home, "data.txt"), "forty-two\n");
  run("run", "-m", "sim/native", "--journal", store, "--yes", "Read the file data.txt");
  run("run", "-m", "sim/native", "--journal", store, "--yes", "Read the file data.txt");
  run("run", "-m", "sim/hermes_json", "--journal", store, "--yes", "Read the file missing.txt");
  for (const [name, content] of [["allowed", "yes"], ["denied", "no"], ["edited", "before"], ["hostile", "<script>window.broken=1</script>\u202e"]]) waiting(name, content);
  writeFileSync(join(home, "gateway.yaml"), `gateway:
  addr: 127.0.0.1:0
  admin_addr: 127.0.0.1:0
  keys: sqlite:keys.db
  routes:
    - {model: fast, to: [{model: sim/native}]}
    - {model: broken, to: [{model: sim/native+500}], fallback: [fast]}
`);
  key = JSON.parse(run("keys", "create", "--keys", "sqlite:keys.db", "--team", "red", "--json")).secret;
  const [, admin, address] = await start(["serve", "--config", "gateway.yaml"], /administrators on (\S+)[\s\S]*listening on (\S+)/);
  gateway = address;
  for (const model of ["fast", "broken", "fast"]) await answers(model);
  evaluate();
  const [, link] = await start(["console", "--addr", "127.0.0.1:0", "--journal", store, "--gateway", admin], /open (\S+)\/login/);
  base = link;
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
}, { timeout: 300_000 });

after(async () => {
  await browser?.close();
  for (const child of started) child.kill();
});

// person returns a page of a browser in which somebody has logged in. Errors of the page fail the test.
async function person(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("console", (m) => m.type() === "error" && !m.text().includes("status of 4") && page.problems.push(m.text()));
  await page.goto(base + "/login");
  await page.getByLabel("Token").fill(tokens[name]);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL(base + "/");
  return page;
}

// picture takes a picture for the README.
async function picture(page, name) {
  await page.setViewportSize({ width: 1200, height: 860 });
  await page.screenshot({ path: join(pictures, name + ".png") });
}

// scenario is a test with a person's page.
const scenario = (title, name, use, options) => test(title, { timeout: options?.timeout ?? 120_000 }, async () => {
  const page = await person(name, options);
  try {
    await use(page);
    assert.deepEqual(page.problems, []);
    assert.equal(await page.evaluate(() => window.broken), undefined);
  } finally {
    if (shots) {
      mkdirSync(shots, { recursive: true });
      await page.screenshot({ path: join(shots, title.replace(/[^a-z0-9]+/gi, "-") + ".png"), fullPage: false });
    }
    await page.context().close();
  }
});

const sees = async (page, ...texts) => {
  const body = await page.locator("main").innerText();
  for (const text of texts) assert.ok(body.includes(text), `the page does not show ${text}:\n${body.slice(0, 2000)}`);
};
const visit = (page, name) => page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name }).click();
const rows = (page) => page.locator("tbody tr");

describe("log in", () => {
  test("a wrong token is refused with a sentence", async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(base + "/");
    assert.match(page.url(), /\/login$/);
    await page.getByLabel("Token").fill("a token of somebody else");
    await page.getByRole("button", { name: "Log in" }).click();
    await sees(page, "This token is not known");
    await page.context().close();
  });
  test("a link with the token logs in and leaves no token in the address", async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${base}/login#token=${tokens.vera}`);
    await page.waitForURL(base + "/");
    await page.context().close();
  });
  scenario("log out ends the session", "vera", async (page) => {
    await page.getByRole("button", { name: "Log out" }).click();
    await page.goto(base + "/");
    assert.match(page.url(), /\/login$/);
  });
});

describe("runs", () => {
  scenario("the list shows every run, newest first", "vera", async (page) => {
    assert.equal(await rows(page).count(), 7);
    assert.match(await rows(page).first().innerText(), /Write hostile/);
  });
  for (const [label, field, value, wanted] of [["text", "Task or run", "missing", 1], ["part of a task in capitals", "Task or run", "DATA.TXT", 2], ["nothing", "Task or run", "no such task", 0]]) {
    scenario(`filter by ${label}`, "vera", async (page) => {
      await page.getByLabel(field).fill(value);
      await page.getByRole("button", { name: "Filter" }).click();
      assert.equal(await rows(page).count(), wanted);
      if (wanted === 0) await sees(page, "No run matches");
    });
  }
  for (const [label, value, wanted] of [["State", "waiting", 4], ["Model", "sim/hermes_json", 1], ["Tool", "read_file", 3]]) {
    scenario(`filter by ${label}`, "vera", async (page) => {
      await page.getByLabel(label).selectOption(value);
      await page.getByRole("button", { name: "Filter" }).click();
      assert.equal(await rows(page).count(), wanted);
    });
  }
  scenario("filter by day, and clear", "vera", async (page) => {
    await page.getByLabel("Until").fill("2020-01-01");
    await page.getByRole("button", { name: "Filter" }).click();
    assert.equal(await rows(page).count(), 0);
    await page.getByRole("link", { name: "Clear" }).click();
    assert.equal(await rows(page).count(), 7);
  });
  scenario("filters combine and stay in the address", "vera", async (page) => {
    await page.getByLabel("State").selectOption("success");
    await page.getByLabel("Model").selectOption("sim/native");
    await page.getByRole("button", { name: "Filter" }).click();
    assert.equal(await rows(page).count(), 2);
    await page.reload();
    assert.equal(await rows(page).count(), 2);
  });
  scenario("a wrong day is an error with a sentence", "vera", async (page) => {
    await page.goto(base + "/?since=yesterday");
    await sees(page, "since must be a day like");
  });
});

const open = async (page, task) => {
  await page.getByLabel("Task or run").fill(task);
  await page.getByRole("button", { name: "Filter" }).click();
  await rows(page).first().getByRole("link").click();
  await page.waitForURL(/\/runs\//);
};

describe("a run", () => {
  scenario("shows task, verification, calls and result", "vera", async (page) => {
    await open(page, "data.txt");
    await sees(page, "Read the file data.txt", "✓ verified:", "read_file ok", "forty-two", "Tokens");
  });
  scenario("the waterfall leads to the entry", "vera", async (page) => {
    await open(page, "data.txt");
    await page.locator("svg.waterfall a").first().click();
    assert.match(page.url(), /#e\d+$/);
  });
  scenario("arguments and hashes open", "vera", async (page) => {
    await open(page, "data.txt");
    await page.getByText("arguments and hashes").first().click();
    await sees(page, "params_hash sha256:", "output_hash sha256:");
  });
  scenario("a call read from text names its dialect", "vera", async (page) => {
    await open(page, "missing.txt");
    await sees(page, "hermes_json");
  });
  scenario("a failed call is marked", "vera", async (page) => {
    await open(page, "missing.txt");
    await sees(page, "✗ read_file");
  });
  scenario("a run as a script plays again", "vera", async (page) => {
    await open(page, "data.txt");
    const script = await (await page.request.get(page.url() + "/script")).text();
    assert.match(script, /^-- 1 --\n[\s\S]*call read_file/);
    writeFileSync(join(home, "again.txtar"), script);
    assert.match(run("run", "-m", "sim/script:again.txtar", "--no-journal", "--yes", "again"), /read_file/);
  });
  scenario("a run as an evaluation case", "vera", async (page) => {
    await open(page, "data.txt");
    await page.getByRole("link", { name: "As an evaluation case" }).click();
    assert.match(await page.locator("body").innerText(), /read_file/);
  });
  scenario("an unknown run is an error with a sentence", "vera", async (page) => {
    await page.goto(base + "/runs/none");
    await sees(page, "There is no run none");
  });
  scenario("a changed record is reported", "vera", async (page) => {
    const text = readFileSync(new URL("../../docs/examples/demo.jsonl", import.meta.url), "utf8");
    writeFileSync(join(store, "demo.jsonl"), text.replace("Helo, world", "Hello, world"), { mode: 0o600 });
    await page.goto(base + "/runs/demo");
    await sees(page, "entry 4", "changed");
    writeFileSync(join(store, "demo.jsonl"), text, { mode: 0o600 });
    await page.goto(base + "/runs/demo");
    await sees(page, "✓ verified: 13 entries, sealed");
    if (pictures) await picture(page, "console-run");
  });
  scenario("a live run grows without a reload, and tells when it ends", "vera", async (page) => {
    const text = readFileSync(new URL("../../docs/examples/demo.jsonl", import.meta.url), "utf8").replaceAll('"demo"', '"demo"');
    const lines = text.trimEnd().split("\n");
    const file = join(store, "demo.jsonl");
    writeFileSync(file, lines.slice(0, 4).join("\n") + "\n", { mode: 0o600 });
    await page.goto(base + "/runs/demo");
    const before = await page.locator(".timeline > li").count();
    appendFileSync(file, lines.slice(4, 9).join("\n") + "\n");
    await page.waitForFunction((n) => document.querySelectorAll(".timeline > li").length > n, before);
    appendFileSync(file, lines.slice(9).join("\n") + "\n");
    await page.getByText("sealed, head 2cd84198ac04").waitFor();
  });
  scenario("reading needs no JavaScript", "vera", async (page) => {
    await open(page, "data.txt");
    await sees(page, "forty-two");
  }, { javaScriptEnabled: true });
  test("pages are whole without JavaScript", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(base + "/login");
    await page.getByLabel("Token").fill(tokens.vera);
    await page.getByRole("button", { name: "Log in" }).click();
    await page.waitForURL(base + "/");
    await rows(page).first().getByRole("link").click();
    await sees(page, "Timeline", "verified");
    await context.close();
  });
});

const question = (page, name) => page.locator("form.question").filter({ hasText: name + ".txt" });

describe("approvals", () => {
  scenario("a viewer sees the calls and cannot decide", "vera", async (page) => {
    await visit(page, "Approvals");
    await sees(page, "allowed.txt", "You are a viewer");
    assert.equal(await page.getByRole("button", { name: /Allow/ }).count(), 0);
  });
  scenario("hostile arguments are text", "otto", async (page) => {
    await visit(page, "Approvals");
    await sees(page, "hostile.txt");
    assert.match(await question(page, "hostile").locator("textarea").inputValue(), /<script>window.broken=1<\/script>/);
  });
  scenario("allow, and the run continues", "otto", async (page) => {
    await visit(page, "Approvals");
    const name = await page.locator("section.waiting").filter({ hasText: "allowed.txt" }).locator("h2").innerText();
    await question(page, "allowed").getByRole("button", { name: "Allow write_file" }).click();
    await sees(page, "The call was allowed", "toolpost run --resume " + name);
    run("run", "--resume", name, "--journal", store);
    assert.equal(readFileSync(join(home, "allowed.txt"), "utf8"), "yes");
  });
  scenario("deny with a reason", "otto", async (page) => {
    await visit(page, "Approvals");
    const name = await page.locator("section.waiting").filter({ hasText: "denied.txt" }).locator("h2").innerText();
    await question(page, "denied").getByLabel("Reason").fill("not on a Friday");
    await question(page, "denied").getByRole("button", { name: "Refuse" }).click();
    await sees(page, "The call was refused");
    await page.goto(`${base}/runs/${name}`);
    await sees(page, "refused by otto: not on a Friday");
  });
  scenario("edit the arguments", "otto", async (page) => {
    await visit(page, "Approvals");
    const name = await page.locator("section.waiting").filter({ hasText: "edited.txt" }).locator("h2").innerText();
    await question(page, "edited").locator("textarea").fill('{"path": "edited.txt", "content": "after"}');
    await question(page, "edited").getByRole("button", { name: "Allow write_file" }).click();
    await sees(page, "The call was allowed");
    run("run", "--resume", name, "--journal", store);
    assert.equal(readFileSync(join(home, "edited.txt"), "utf8"), "after");
  });
  scenario("arguments that are not JSON are refused", "otto", async (page) => {
    await visit(page, "Approvals");
    await question(page, "hostile").locator("textarea").fill("{");
    await question(page, "hostile").getByRole("button", { name: "Allow write_file" }).click();
    await sees(page, "not JSON");
  });
  scenario("two people: the second is told that somebody decided", "otto", async (page) => {
    await visit(page, "Approvals");
    const second = await person("ada");
    await visit(second, "Approvals");
    await question(second, "hostile").getByRole("button", { name: "Refuse" }).click();
    await sees(second, "The call was refused");
    await question(page, "hostile").getByRole("button", { name: "Allow write_file" }).click();
    await sees(page, "no longer waits");
    await second.context().close();
  });
});

describe("explain", () => {
  const explain = async (page, text, tools) => {
    await visit(page, "Explain");
    await page.getByLabel("Answer of a model").fill(text);
    if (tools) await page.getByLabel("Tools").fill(tools);
    await page.getByRole("button", { name: "Explain" }).click();
  };
  scenario("a repaired call", "vera", async (page) => {
    await explain(page, 'Look: <tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>');
    await sees(page, "call of f", "trailing-comma (syntax)");
  });
  scenario("a quoted call stays text, with a warning", "vera", async (page) => {
    await explain(page, 'The log shows {"name": "delete_all", "arguments": {"path": "/"}} from last week.');
    await sees(page, "looks like a call");
  });
  scenario("a tool that was not offered", "vera", async (page) => {
    await explain(page, '<tool_call>{"name": "f", "arguments": {}}</tool_call>', '[{"name": "g"}]');
    await sees(page, "✗ f cannot run");
  });
  scenario("tools that are not JSON are an error with a sentence", "vera", async (page) => {
    await explain(page, "x", "{");
    await sees(page, "The tools cannot be read");
  });
  scenario("every byte has a title", "vera", async (page) => {
    await explain(page, '<tool_call>{"name": "f", "arguments": {}}</tool_call>');
    assert.match(await page.locator(".b-name").first().getAttribute("title"), /name/);
  });
  scenario("hostile text is text", "vera", async (page) => {
    await explain(page, "</textarea><script>window.broken=1</script>\u202e\u0000");
    await sees(page, "<script>window.broken=1</script>");
  });
});

describe("compare", () => {
  scenario("two runs that did the same", "vera", async (page) => {
    await page.getByLabel("Task or run").fill("data.txt");
    await page.getByRole("button", { name: "Filter" }).click();
    const names = await rows(page).locator("td:first-child a").allInnerTexts();
    await visit(page, "Compare");
    await page.getByLabel("First run").selectOption(names[0]);
    await page.getByLabel("Second run").selectOption(names[1]);
    await page.getByRole("button", { name: "Compare" }).click();
    await sees(page, "The runs took the same steps");
  });
  scenario("the first difference is marked", "vera", async (page) => {
    await open(page, "data.txt");
    await page.getByRole("link", { name: "Compare with another run" }).click();
    const other = await page.getByLabel("Second run").locator("option").allInnerTexts();
    await page.getByLabel("Second run").selectOption(other.find((name) => name !== "any" && !page.url().includes(name)));
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("link", { name: /first difference/ }).click();
    assert.equal(await page.locator("#first.differs").count(), 1);
  });
});

describe("models", () => {
  scenario("the reason for every answer", "vera", async (page) => {
    await visit(page, "Models");
    await page.getByLabel("Model id").fill("qwen3:8b");
    await page.getByRole("button", { name: "Show" }).click();
    await sees(page, "native_tools", "Rule");
  });
  scenario("a model of the list leads to its answers", "vera", async (page) => {
    await visit(page, "Models");
    await rows(page).first().getByRole("link").click();
    await sees(page, "Ability");
  });
  scenario("an unknown model says so", "vera", async (page) => {
    await page.goto(base + "/models?id=nobody/nothing-9");
    await sees(page, "does not know this model");
  });
});

describe("gateway", () => {
  const visitSection = async (page, name) => {
    await visit(page, "Gateway");
    if (name) await page.getByRole("navigation", { name: "Gateway" }).getByRole("link", { name }).click();
  };
  scenario("overview with requests by day", "vera", async (page) => {
    await visitSection(page);
    await sees(page, "Requests by day", "red", "sim/native");
  });
  scenario("find a request and the attempt that failed", "vera", async (page) => {
    await visitSection(page, "Requests");
    await page.getByLabel("Route").fill("broken");
    await page.getByRole("button", { name: "Filter" }).click();
    await rows(page).first().getByRole("link").click();
    await sees(page, "Attempts", "sim/native+500", "500");
  });
  scenario("usage by a group", "vera", async (page) => {
    await visitSection(page, "Usage");
    await page.getByLabel("By", { exact: true }).selectOption("model");
    await page.getByRole("button", { name: "Show" }).click();
    await sees(page, "broken", "fast");
  });
  scenario("a viewer has no keys page", "vera", async (page) => {
    await visitSection(page);
    assert.equal(await page.getByRole("link", { name: "Keys" }).count(), 0);
    await page.goto(base + "/gateway/keys");
    await sees(page, "for the role admin");
  });
  scenario("create a key, use it, see its spend, revoke it", "ada", async (page) => {
    await visitSection(page, "Keys");
    await page.getByLabel("Team").fill("blue");
    await page.getByLabel("Limits").fill("requests/minute=5");
    await page.getByRole("button", { name: "Create key" }).click();
    const secret = (await page.locator(".secret pre").innerText()).trim();
    key = secret;
    assert.match(await answers("fast"), /choices/);
    await visitSection(page, "Keys");
    const row = rows(page).filter({ hasText: "blue" });
    assert.match(await row.innerText(), /requests\/minute=5[\s\S]*\b1\b/);
    page.on("dialog", (dialog) => dialog.accept());
    await row.getByRole("button", { name: /Revoke/ }).click();
    await sees(page, "was revoked");
    assert.match(await answers("fast"), /error/);
    await visitSection(page, "Audit");
    await sees(page, "create key", "revoke key", "blue");
  });
  scenario("rotate a key", "ada", async (page) => {
    await visitSection(page, "Keys");
    page.on("dialog", (dialog) => dialog.accept());
    await rows(page).filter({ hasText: "red" }).getByRole("button", { name: /Rotate/ }).click();
    await sees(page, "was rotated", "one more day");
    key = (await page.locator(".secret pre").innerText()).trim();
    assert.match(await answers("fast"), /choices/);
  });
  scenario("a dismissed question changes nothing", "ada", async (page) => {
    await visitSection(page, "Keys");
    page.on("dialog", (dialog) => dialog.dismiss());
    await rows(page).filter({ hasText: "red" }).getByRole("button", { name: /Revoke/ }).click();
    assert.match(await answers("fast"), /choices/);
  });
  scenario("a key without a team is an error with a sentence", "ada", async (page) => {
    await visitSection(page, "Keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await sees(page, "A key needs a team");
  });
});

describe("evaluations", () => {
  const results = async (page) => {
    await visit(page, "Evaluations");
    await rows(page).filter({ hasText: "again" }).getByRole("link", { name: "basics", exact: true }).click();
  };
  scenario("scores with their intervals", "vera", async (page) => {
    await visit(page, "Evaluations");
    await sees(page, "basics", "sim/native", "95 % interval");
    assert.match(await page.locator("svg.share").first().getAttribute("aria-label"), /^\d+ of \d+, [\d.]+ %, 95 % interval/);
  });
  scenario("the map of cases and models", "vera", async (page) => {
    await results(page);
    await sees(page, "Right tools", "one argument", "3/3");
    assert.ok(await page.locator("td.h-all").count() > 5 && await page.locator("td.h-no").count() > 1);
    if (pictures) await picture(page, "console-evaluation");
  });
  scenario("only cases with a wrong answer, and why", "vera", async (page) => {
    await results(page);
    await page.getByRole("link", { name: "Show only cases" }).click();
    assert.equal(await page.locator(".heat tbody tr", { hasText: "one argument" }).count(), 0);
    await page.locator(".heat tbody a").first().click();
    await sees(page, "Task", "Answers", "failed");
  });
  scenario("whether a difference is chance", "vera", async (page) => {
    await results(page);
    await page.getByRole("link", { name: /or is it chance/ }).click();
    await sees(page, "p =", "is right:");
  });
  scenario("the history of a suite", "vera", async (page) => {
    await visit(page, "Evaluations");
    await page.getByRole("link", { name: /History of basics/ }).first().click();
    await sees(page, "History of basics", "sim/native");
    await page.getByRole("link", { name: "What changed since" }).first().click();
    await sees(page, "Compare two evaluations");
  });
  scenario("drift of an endpoint", "vera", async (page) => {
    await visit(page, "Evaluations");
    await page.getByRole("navigation", { name: "Evaluations" }).getByRole("link", { name: "Drift" }).click();
    await sees(page, "sim/native", "No ability changed", "whole answers");
  });
  scenario("a label makes a run a case of a suite", "otto", async (page) => {
    await open(page, "data.txt");
    await page.getByText("Was this run right?").click();
    await page.getByRole("radio", { name: "wrong" }).check();
    await page.getByLabel("Why").fill("<b>another file</b> was meant");
    await page.getByLabel(/what should have happened/).fill('{"calls": [{"read_file": {"path": "other.txt"}}]}');
    await page.getByRole("button", { name: "Save label" }).click();
    await page.getByText("Was this run right?").click();
    await sees(page, "<b>another file</b> was meant", "by otto");
    await page.goto(base + "/evaluations/labels");
    await sees(page, "a case of the suite");
    const suite = await page.evaluate(() => fetch("/evaluations/labels.jsonl").then((r) => r.text()));
    writeFileSync(join(home, "labels.jsonl"), suite);
    assert.match(run("eval", "run", "labels.jsonl", "-m", "sim/native", "-q"), /sim\/native/);
  });
  scenario("a viewer sees labels and has no form", "vera", async (page) => {
    await open(page, "data.txt");
    assert.equal(await page.getByRole("button", { name: "Save label" }).count(), 0);
  });
});

describe("step by step", () => {
  scenario("forward and back, with the keyboard too", "vera", async (page) => {
    await open(page, "data.txt");
    await page.getByRole("link", { name: "Step by step" }).click();
    await sees(page, "Step 1 of");
    await page.getByRole("link", { name: "Forward" }).click();
    await page.getByText("Step 2 of").waitFor();
    await page.waitForLoadState();
    await page.keyboard.press("ArrowRight");
    await page.waitForURL(/step=3/);
    await page.waitForLoadState();
    await page.keyboard.press("ArrowLeft");
    await page.waitForURL(/step=2/);
  });
  scenario("two runs next to each other, to their first difference", "vera", async (page) => {
    await open(page, "missing.txt");
    const other = page.url().split("/").at(-1);
    await page.goto(base + "/");
    await open(page, "data.txt");
    await page.goto(page.url() + "/steps?with=" + other);
    await page.getByRole("link", { name: /first difference/ }).click();
    await sees(page, "This step is the first difference");
    assert.equal(await page.locator(".pair.differs").count(), 1);
  });
  scenario("the questions of a run as curl reach a gateway", "vera", async (page) => {
    await open(page, "data.txt");
    await page.getByRole("link", { name: "Requests as curl" }).click();
    const text = (await page.locator("body").innerText()).replaceAll('"model":"sim/native"', '"model":"fast"');
    const out = execFileSync("bash", ["-c", text], { env: { ...process.env, TOOLPOST_URL: gateway, TOOLPOST_API_KEY: key }, encoding: "utf8" });
    assert.match(out, /"choices"|"error"/);
  });
});

describe("tools and servers", () => {
  scenario("the audit of a tool", "vera", async (page) => {
    await visit(page, "Tools");
    await rows(page).filter({ hasText: "read_file" }).getByRole("link").click();
    await sees(page, "Score", "Findings", "Parameters", "path");
  });
  scenario("no MCP server: the page tells how to add one", "vera", async (page) => {
    await visit(page, "MCP servers");
    await sees(page, "No MCP server is configured", "toolpost mcp add");
  });
  scenario("a server is checked, and the last error of a broken one is shown", "otto", async (page) => {
    run("mcp", "add", "own", "--", toolpost, "mcp", "serve");
    run("mcp", "add", "gone", "--", "/nowhere/server");
    await visit(page, "MCP servers");
    await page.getByRole("button", { name: "Check own" }).click();
    await page.getByText("✓ works").waitFor();
    await page.getByRole("button", { name: "Check gone" }).click();
    await page.getByText("The last error:").waitFor();
    await sees(page, "nowhere");
  });
  scenario("a model is probed from its page", "otto", async (page) => {
    await page.goto(base + "/models?id=sim/native");
    page.on("dialog", (dialog) => dialog.accept());
    await page.getByRole("button", { name: "Probe this model" }).click();
    await page.getByText("The model was asked").waitFor();
    await sees(page, "forced call", "it called");
  });
});

describe("a busy run", () => {
  scenario("200 entries a second are smooth", "vera", async (page) => {
    const lines = execFileSync(process.env.TOOLPOST_LARGE, ["-print", "2000"], { encoding: "utf8", maxBuffer: 64 << 20 }).trimEnd().split("\n");
    const file = join(store, "busy.jsonl");
    writeFileSync(file, lines[0] + "\n", { mode: 0o600 });
    await page.goto(base + "/runs/busy");
    await browser.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline"] });
    for (let at = 1; at < lines.length; at += 20) {
      appendFileSync(file, lines.slice(at, at + 20).join("\n") + "\n");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await page.waitForFunction((n) => document.querySelectorAll(".timeline > li").length >= n, lines.length - 1, { timeout: 60_000 });
    const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
    const main = new Set(traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid}:${e.tid}`));
    const tasks = traceEvents.filter((e) => e.name === "RunTask" && main.has(`${e.pid}:${e.tid}`) && e.dur);
    const longest = (field) => Math.max(...tasks.map((e) => (e[field] ?? 0) / 1000));
    console.log(`${lines.length} entries: the longest task of ${tasks.length} took ${longest("dur").toFixed(1)} ms, ${longest("tdur").toFixed(1)} ms of the processor`);
    assert.ok(tasks.length > 100);
    assert.ok(longest("tdur") <= 100, "a task needs more than 100 ms of the processor"); // other programs may stop a task for any time
  });
});

describe("everybody can use it", () => {
  const paths = ["/", "RUN", "/approvals", "/explain", "/compare", "/models", "/models?id=gpt-5", "/gateway", "/gateway/requests", "/gateway/usage", "/gateway/keys", "/gateway/audit", "/none",
    "/evaluations", "EVALUATION", "/evaluations/compare", "/evaluations/drift", "/evaluations/labels", "/evaluations/history?suite=basics", "/tools", "/tools?name=read_file", "/servers", "STEPS"];
  const places = async (page) => {
    const run = await rows(page).first().getByRole("link").getAttribute("href");
    await page.goto(base + "/evaluations");
    const evaluation = await rows(page).first().getByRole("link").first().getAttribute("href");
    return paths.map((path) => base + ({ RUN: run, STEPS: run + "/steps?step=2", EVALUATION: evaluation }[path] ?? path));
  };
  for (const colorScheme of ["light", "dark"]) {
    scenario(`no page breaks a rule of WCAG, ${colorScheme}`, "ada", async (page) => {
      for (const path of await places(page)) {
        await page.goto(path);
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
        assert.deepEqual(violations.map((v) => `${path}: ${v.id}: ${v.nodes[0].html}`), []);
      }
    }, { colorScheme, bypassCSP: true, timeout: 600_000 });
  }
  for (const width of [360, 768, 2000]) {
    scenario(`no page scrolls sideways at ${width} pixels`, "ada", async (page) => {
      for (const path of await places(page)) {
        await page.goto(path);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is wider than ${width}`);
      }
    }, { viewport: { width, height: 800 }, timeout: 600_000 });
  }
  scenario("the keyboard reaches a run from the top of the page", "vera", async (page) => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
    await page.keyboard.press("Enter");
    for (let i = 0; i < 20; i++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate(() => document.activeElement.closest("tbody") !== null && document.activeElement.tagName === "A")) break;
    }
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\//);
  });
  scenario("a page loads nothing from elsewhere", "ada", async (page) => {
    const others = [];
    page.on("request", (request) => request.url().startsWith(base) || others.push(request.url()));
    for (const path of ["/", "/approvals", "/explain", "/gateway", "/evaluations", "/evaluations/drift", "/tools", "/servers"]) await page.goto(base + path);
    assert.deepEqual(others, []);
  });
});
