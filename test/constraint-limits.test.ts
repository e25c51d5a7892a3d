// Tests the cost limits of constraints over HTTP. A request that exceeds a limit is refused with status 400, and the
// error names the limit and its value. Other requests are not affected.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serverOfFile } from "./running-server.ts";

const limits = {
  sourceBytes: 4000,
  nesting: 20,
  compileSteps: 2000,
  maskSteps: 200,
  states: 1500,
  alternatives: 4,
  cacheBytes: 1_048_576,
} as const;

const server = serverOfFile({ limits: { constraints: limits } });

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask(structured: object, more: object = {}): Promise<Answer> {
  const body = {
    messages: [{ role: "user", content: "hello" }],
    max_tokens: 24,
    temperature: 1,
    seed: 3,
    structured_outputs: structured,
    ...more,
  };
  const { url, apiKey } = server();
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
}

const many = (count: number, make: (index: number) => string): readonly string[] =>
  Array.from({ length: count }, (_, index) => make(index));
const either = (name: string) => ({
  anyOf: ["1", "2"].map((digit) => ({ properties: { [`${name}${digit}`]: { type: "null" } } })),
});
const anyOf = (texts: readonly string[]) => texts.join("|");
const ambiguous =
  'root ::= (a | b | c)+\na ::= [a-z]+ [ ]? a? b?\nb ::= [a-m]+ [ ]? c? a?\nc ::= [c-z]* "x" c? | [a-z]';

const lengthsOfManyPrimes =
  "^(?=(..)*$)(?=(...)*$)(?=(.{5})*$)(?=(.{7})*$)(?=(.{11})*$)(?=(.{13})*$).{10,9000}$";

const excessive = {
  sourceBytes: { regex: "a".repeat(5000) },
  nesting: { regex: `${"(".repeat(30)}a${")".repeat(30)}` },
  compileSteps: { json: { type: "string", pattern: lengthsOfManyPrimes } },
  maskSteps: { grammar: ambiguous },
  states: { choice: many(30, (index) => `a text that is longer than others, and has a number: ${index}`) },
  alternatives: { json: { allOf: ["a", "b", "c", "d"].map(either) } },
  cacheBytes: { regex: anyOf(many(45, (index) => `a text among many, number ${index}`)) },
} as const satisfies Record<keyof typeof limits, object>;

for (const [name, structured] of Object.entries(excessive)) {
  test(`a constraint that exceeds ${name} is refused with 400, with and without streaming`, async () => {
    for (const stream of [false, true]) {
      const { status, text } = await ask(structured, { stream });
      assert.ok(text.includes(`limit ${name} of ${limits[name as keyof typeof limits]}`), text);
      assert.equal(status, 400, text);
      assert.match(text, /Make it simpler/);
    }
  });
}

test("serves a constraint within the limits, also next to refused ones", async () => {
  const [{ status, text }] = await Promise.all([
    ask({ choice: ["yes", "no"] }),
    ...Object.values(excessive).map((structured) => ask(structured)),
  ]);
  assert.equal(status, 200, text);
  assert.match(text, /"content":"(yes|no)"/);
});

test("/metrics counts compiled, cached and retained constraints", async () => {
  for (let asked = 0; asked < 2; asked++) assert.equal((await ask({ choice: ["maybe"] })).status, 200);
  const { url, apiKey } = server();
  const headers = { authorization: `Bearer ${apiKey}` };
  const metrics = await (await fetch(`${url}/metrics`, { headers })).text();
  const valueOf = (name: string): number =>
    Number(new RegExp(`^hone_engine_constraint_cache_${name}{.*} (\\d+)$`, "m").exec(metrics)?.[1]);
  assert.ok(valueOf("hits") >= 1 && valueOf("misses") >= 1, metrics);
  assert.ok(valueOf("bytes") > 0 && valueOf("bytes") <= valueOf("bytes_max"), metrics);
  assert.equal(valueOf("bytes_max"), limits.cacheBytes);
});
