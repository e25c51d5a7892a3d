// Tests of `hone schemas check` as users type it: output, streams and exit status.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { commandProcess, type Ended, type Surroundings } from "../testing/command-process.ts";

const folder = mkdtempSync(join(tmpdir(), "hone-schemas-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, content: unknown): string {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  writeFileSync(join(folder, name), text);
  return name;
}

const run = commandProcess();
const tiny = resolve("models/hone-tiny");

/**
 * Runs a check, by default with a small vocabulary, because building the default vocabulary takes longer than
 * checking.
 */
async function check(
  words: readonly string[],
  { tokens = tiny, ...surroundings }: Given = {},
): Promise<Ended> {
  const tokenizer = tokens === "many" ? [] : ["--tokenizer", tokens];
  const ended = await run(["schemas", "check", ...words, ...tokenizer], { folder, ...surroundings });
  return { ...ended, output: ended.output.replaceAll(/\d+\.\d ms/g, "_ ms") };
}

interface Given extends Surroundings {
  readonly tokens?: string;
}

const person = { type: "object", properties: { name: { type: "string" }, age: { type: "integer" } } };
const lazy = { properties: { a: { not: { contains: {}, uniqueItems: true } } } };

test("reports for each file whether the schema is served, and for each value whether it is accepted", async () => {
  const tests = [
    { valid: true, data: { age: 3, name: "Ann" } },
    { valid: false, data: { age: "3" } },
  ];
  const files = [file("plain.json", person), file("tested.json", { schema: person, tests })];
  const instance = file("instance.json", { age: 0.5 });
  assert.deepEqual(await check([...files, "--instance", instance]), {
    status: 0,
    output: [
      "plain.json: served exactly (compiled in _ ms).",
      "  instance.json: not accepted",
      "tested.json: served exactly (compiled in _ ms).",
      "  test 0, marked valid: accepted",
      "  test 1, marked invalid: not accepted",
      "  instance.json: not accepted",
      "",
    ].join("\n"),
    errors: "",
  });
});

test("sets exit status 1 for a refused schema and for a failed test", async () => {
  const refused = await check([file("lazy.json", lazy)]);
  assert.equal(refused.status, 1);
  assert.match(
    refused.output,
    /^lazy\.json: refused\. The keyword uniqueItems at #\/properties\/a\/not\/uniqueItems .*\n$/,
  );
  const wrong = file("wrong.json", { schema: true, tests: [{ valid: false, data: 1 }] });
  const { status, output } = await check(["--json", wrong]);
  const [{ compileMs, ...fields }] = JSON.parse(output) as [Readonly<Record<string, unknown>>];
  assert.equal(typeof compileMs, "number");
  assert.deepEqual(
    { status, fields },
    {
      status: 1,
      fields: {
        name: "wrong.json",
        served: true,
        reason: null,
        place: null,
        tests: [{ valid: false, accepted: true }],
        notices: [],
      },
    },
  );
});

test("applies the server's limits, including overrides", async () => {
  const plain = file("limited.json", person);
  const { status, output } = await check([plain], { limits: { constraints: { compileSteps: 10 } } });
  assert.equal(status, 1);
  assert.match(output, /^limited\.json: refused\. .*limit compileSteps of 10\b/);
});

test("tests values as tokens of the given vocabulary, and reports the place where a limit is exceeded", async () => {
  const tests = [{ valid: true, data: { kind: "words", text: "alpha beta" } }];
  const pattern = "^(?=.*alpha)(?=.*beta)(?!.*delta).{0,1000}$";
  const properties = { kind: { const: "words" }, text: { pattern } };
  const costly = file("costly.json", { schema: { properties, required: ["kind", "text"] }, tests });
  const limits = { constraints: { maskSteps: 1000 } };
  const { status, output } = await check([costly], { limits, tokens: "many" });
  const place = 'byte 24, after {"kind":"words","text":"';
  assert.deepEqual(
    [status, output],
    [
      1,
      `costly.json: refused. The constraint exceeds the limit maskSteps of 1000 at test 0, ${place}. Make it simpler.\n` +
        `  test 0, marked valid: not accepted (maskSteps at ${place})\n`,
    ],
  );
  for (const tokens of [tiny, join(tiny, "tokenizer.json")]) {
    const { output: fewTokens } = await check([costly], { tokens });
    assert.match(fewTokens, /^costly\.json: served exactly .*\n {2}test 0, marked valid: accepted\n$/);
  }
  const { errors } = await check([costly], { tokens: "none" });
  assert.equal(errors, "hone: none is neither a model folder nor a tokenizer.json.\n");
});

test("does not mistake a schema with a member named schema for a schema with tests", async () => {
  const named = file("named.json", { title: "t", schema: 1, type: "string" });
  assert.equal((await check([named])).output, "named.json: served exactly (compiled in _ ms).\n");
});

test("names a file that cannot be read, with the reason", async () => {
  const cases = [
    [[], /^hone: Name a schema file/],
    [["none.json"], /^hone: none\.json cannot be read: ENOENT/],
    [[file("half.json", '{"type":')], /^hone: half\.json is not JSON: /],
    [
      [file("tests.json", { schema: {}, tests: [{ valid: 1, data: 1 }] })],
      /^hone: tests\.json has a "valid"/,
    ],
  ] as const;
  for (const [words, message] of cases) {
    const { status, output, errors } = await check(words);
    assert.deepEqual([status, output], [1, ""]);
    assert.match(errors, message);
  }
});

test("prints a line per schema, and a summary on standard error", async () => {
  const lines = [
    {
      name: "a",
      schema: person,
      tests: [
        { valid: true, data: {} },
        { valid: false, data: 1 },
      ],
    },
    { schema: lazy, tests: [{ valid: true, data: {} }] },
    { name: "c", schema: { type: "array", maxItems: 3 } },
  ].map((line) => `${JSON.stringify(line)}\n\n`);
  const { status, output, errors } = await check(["--jsonl", file("lines.jsonl", lines.join(""))]);
  const printed = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const names = ["name", "served", "reason", "place", "tests", "notices", "compileMs"];
  assert.deepEqual(
    printed.map((one) => Object.keys(one)),
    [names, names, names],
  );
  assert.deepEqual(
    printed.map(({ name, served, place, tests }) => [name, served, place, tests]),
    [
      [
        "a",
        true,
        null,
        [
          { valid: true, accepted: true },
          { valid: false, accepted: false },
        ],
      ],
      ["line 3", false, "#/properties/a/not/uniqueItems", []],
      ["c", true, null, []],
    ],
  );
  assert.equal(status, 0, "a refusal is reported, not a failure");
  assert.deepEqual(errors.split("\n").slice(0, 4), [
    "schemas: 3, served 2 (66.7 %), over limits 0",
    "refused: uniqueItems 1",
    "valid instances: 1, rejected 0",
    "invalid instances: 1, accepted 0",
  ]);
  assert.match(errors, /\ncompile ms: p50 \d+\.\d, p90 \d+\.\d, p99 \d+\.\d, max \d+\.\d\n$/);
});

test("continues after invalid lines, names each one, and sets exit status 1", async () => {
  const lines = [
    `{"schema": ${"[".repeat(100_000)}`,
    "[]",
    `{"schema": ${'{"items":'.repeat(20_000)}true${"}".repeat(20_000)}}`,
    // Requires a length that is a multiple of several primes.
    `{"schema": {"pattern": "^(?=(..)*$)(?=(...)*$)(?=(.{5})*$)(?=(.{7})*$)(?=(.{11})*$)(?=(.{13})*$).{10,9000}$"}}`,
    '{"name": 1, "schema": true}',
    '{"schema": true, "tests": [{"data": 1, "valid": true}]}',
  ];
  const { status, output, errors } = await check(["--jsonl", "-", file("more.jsonl", "{}")], {
    input: lines.join("\n"),
  });
  assert.equal(status, 1);
  const reasons = output.split("\n").map((line) => /"served":(?:true|false),"reason":[^,]*/.exec(line)?.[0]);
  assert.deepEqual(reasons, [
    `"served":false,"reason":"The constraint exceeds the limit nesting of 200. Make it simpler."`,
    `"served":false,"reason":"The constraint exceeds the limit compileSteps of 60000 at #. Make it simpler."`,
    `"served":true,"reason":null`,
    undefined,
  ]);
  assert.deepEqual(
    errors.split("\n").flatMap((line) => /^hone: .* line \d+ (?:is|has) \S+ \S+/.exec(line)?.[0] ?? []),
    [
      "hone: standard input, line 1 is not JSON:",
      'hone: standard input, line 2 has no "schema";',
      'hone: standard input, line 5 has a "name"',
      'hone: more.jsonl, line 1 has no "schema";',
    ],
  );
  assert.match(
    errors,
    /\nschemas: 3, served 1 \(33\.3 %\), over limits 2\nrefused: nesting 1, compileSteps 1\n/,
  );
});
