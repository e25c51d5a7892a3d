// Tests logits processors over HTTP: the built-in ones and an operator's modules, and errors of both. One of the
// modules is the example of docs/guides/logits-processors.md.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { processorNames } from "../src/inference/engine/logits-processors/registrations.ts";
import { call, newDataFolder, removeDataFolder, startServer, type RunningServer } from "./running-server.ts";

const page = readFileSync("docs/guides/logits-processors.md", "utf8");
const folder = mkdtempSync(join(tmpdir(), "hone-processors-"));
const dataFolder = newDataFolder();
let server: RunningServer;

function moduleFile(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

/** The guide's module. */
const [, shown = ""] = /```js\n([^]*?)```/.exec(page) ?? [];

before(async () => {
  const fails = moduleFile(
    "fails.mjs",
    "export const createProcessor = () => () => { throw new Error('oh'); };",
  );
  const hangs = moduleFile(
    "hangs.mjs",
    `export function createProcessor({ kwargs }) {
      const spin = () => { try { for (;;); } finally { for (;;); } };
      if (kwargs.at === "open") spin();
      return ({ answerTokenIds }) => {
        if (answerTokenIds.length < kwargs.at) return;
        if (kwargs.waits) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        spin();
      };
    }`,
  );
  const lies = moduleFile(
    "lies.mjs",
    `export const createProcessor = ({ kwargs }) => ({ logits }) => {
      if (kwargs.lie === "all") logits.fill(-Infinity);
      else if (kwargs.lie === "gives") structuredClone(logits.buffer, { transfer: [logits.buffer] });
      else if (kwargs.lie === "later") return Promise.resolve();
      else logits.fill(Number(kwargs.lie));
    };`,
  );
  const setting = `hangs=${hangs},lies=${lies},only=${moduleFile("only.mjs", shown)},fails=${fails}`;
  server = await startServer({ dataFolder, flags: ["--engine-logits-processors", setting] });
});

after(async () => {
  await server?.terminate();
  removeDataFolder(dataFolder);
  rmSync(folder, { recursive: true });
});

const ask = (body: object) =>
  call(server, "POST", "/v1/chat/completions", {
    body: {
      messages: [{ role: "user", content: "spell banana" }],
      temperature: 0,
      ignore_eos: true,
      return_token_ids: true,
      ...body,
    },
  });

async function idsOf(body: object): Promise<readonly number[]> {
  const answer = await ask(body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.choices[0].token_ids as readonly number[];
}

async function refusal(body: object, status: number): Promise<readonly [place: string, message: string]> {
  const answer = await ask(body);
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  const [{ loc, msg }] = answer.body.detail as readonly {
    readonly loc: readonly string[];
    readonly msg: string;
  }[];
  return [loc.slice(1).join("."), msg];
}

const pairsOf = (ids: readonly number[]): readonly string[] =>
  ids.slice(1).map((id, index) => `${ids[index]} ${id}`);

test("`logits_processors` change the sampling: with no-repeat-ngram, no pair of tokens occurs twice", async () => {
  const free = pairsOf(await idsOf({ max_tokens: 80 }));
  assert.ok(new Set(free).size < free.length, "the model repeats itself by itself");
  for (const processor of [
    { qualname: "no-repeat-ngram", args: [2] },
    { qualname: "no-repeat-ngram", kwargs: { size: 2 } },
  ]) {
    const held = pairsOf(await idsOf({ max_tokens: 80, logits_processors: [processor] }));
    assert.equal(new Set(held).size, held.length);
  }
});

test("thinking-budget ends thinking once the budget is spent, in streams and in every choice", async () => {
  const end = await idsOf({ max_tokens: 3, messages: [{ role: "user", content: "hello" }] });
  const logits_processors = [{ qualname: "thinking-budget", kwargs: { budget: 4, start: [], end } }];
  const free = await idsOf({ max_tokens: 12 });
  const held = await idsOf({ max_tokens: 12, logits_processors });
  assert.deepEqual(held.slice(0, 4), free.slice(0, 4));
  assert.deepEqual(held.slice(4, 7), end);
  const answer = await ask({ max_tokens: 12, n: 3, temperature: 1, logits_processors });
  for (const choice of answer.body.choices as readonly { readonly token_ids: readonly number[] }[]) {
    assert.deepEqual(choice.token_ids.slice(4, 7), end);
  }
  const unknown = await refusal({ logits_processors: [{ qualname: "thinking-budget", args: [1] }] }, 400);
  assert.deepEqual(unknown[0], "logits_processors.0");
  assert.match(unknown[1], /this model has no token <think>; start must give its token ids/);
});

test("`vendor_xargs` are passed to an operator's module, also under the alias `vllm_xargs`", async () => {
  const [id] = await idsOf({ max_tokens: 1 });
  for (const name of ["vendor_xargs", "vllm_xargs"]) {
    const ids = await idsOf({ max_tokens: 5, logits_processors: ["only"], [name]: { only: [id] } });
    assert.deepEqual(ids, [id, id, id, id, id]);
  }
  assert.equal((await ask({ max_tokens: 1, vendor_xargs: { any: "thing", more: [1, "b"] } })).status, 200);
});

test("refuses names that are not registered, and lists the registered ones", async () => {
  const [place, message] = await refusal({ logits_processors: ["only", "os.system"] }, 400);
  assert.equal(place, "logits_processors.1");
  for (const name of ["os.system", ...processorNames([]), "only", "engine.logitsProcessors"]) {
    assert.ok(message.includes(name), `${name}: ${message}`);
  }
});

test("an error in a processor ends only its own request, naming the processor", async () => {
  const [failed, message] = await refusal({ logits_processors: ["fails"] }, 400);
  assert.equal(failed, "logits_processors.0");
  assert.equal(message, 'The logits processor "fails" failed: oh.');
  const [place, refused] = await refusal({ logits_processors: [{ qualname: "no-repeat-ngram" }] }, 400);
  assert.equal(place, "logits_processors.0");
  assert.match(refused, /size is missing; it must be a whole number of at least 1/);
  assert.equal((await idsOf({ max_tokens: 2 })).length, 2);
});

const streamed = async (body: object): Promise<string> => {
  const { url, apiKey } = server;
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ messages: [{ role: "user", content: "spell cat" }], stream: true, ...body }),
  });
  return response.text();
};

test("stops a processor that never returns, however it waits, and ends only its request", async () => {
  const hangs = (kwargs: object) => [{ qualname: "hangs", kwargs }];
  const expected = /^The logits processor "hangs" was stopped after 1000 ms, since everybody waits .* at /;
  const others = Promise.all([1, 2, 3].map(() => idsOf({ max_tokens: 40 })));
  for (const body of [
    { logits_processors: hangs({ at: "open" }) },
    { logits_processors: hangs({ at: 0 }), n: 8, temperature: 1 },
    { logits_processors: hangs({ at: 0, waits: true }) },
  ]) {
    const [place, message] = await refusal(body, 400);
    assert.equal(place, "logits_processors.0");
    assert.match(message, expected);
  }
  const stream = await streamed({ logits_processors: hangs({ at: 3 }), ignore_eos: true });
  assert.match(stream, /The logits processor \\"hangs\\" was stopped after 1000 ms/);
  assert.match(stream, /data: \[DONE\]\s*$/);
  for (const ids of await others) assert.equal(ids.length, 40);
  const { body: health } = await call(server, "GET", "/health");
  assert.equal(health.status, "ok");
  assert.deepEqual(await idsOf({ max_tokens: 40 }), (await others)[0]);
});

test("a processor that returns invalid scores ends its request, naming the processor", async () => {
  for (const [lie, expected] of [
    ["NaN", /"lies" made the score of token 0 NaN/],
    ["Infinity", /"lies" made the score of token 0 Infinity/],
    ["all", /No token continues the answer: the logits processors leave none/],
    ["gives", /"lies" is broken: it detached the buffer of its scores/],
    ["later", /"lies" is broken: it is asynchronous/],
  ] as const) {
    const [, message] = await refusal({ logits_processors: [{ qualname: "lies", kwargs: { lie } }] }, 400);
    assert.match(message, expected);
  }
});

test("refuses extra arguments of the wrong type", async () => {
  for (const value of [true, null, { a: 1 }, [[1]], [true]]) {
    const [place] = await refusal({ vendor_xargs: { x: value } }, 422);
    assert.match(place, /^vendor_xargs\.x/, JSON.stringify(value));
  }
  const [place] = await refusal({ logits_processors: Array.from({ length: 17 }, () => "only") }, 422);
  assert.equal(place, "logits_processors");
});

test("a server whose processors' setting is invalid does not start, and gives the reason", async () => {
  const other = newDataFolder();
  await assert.rejects(
    startServer({ dataFolder: other, flags: ["--engine-logits-processors", "mine"] }),
    /engine\.logitsProcessors has "mine"; each must be name=file/,
  );
  removeDataFolder(other);
});
