// Tests over HTTP the fields that clients of other servers send. A different spelling of a supported option has the
// same effect. An unsupported option is refused by name with an alternative; no field is silently ignored.
import assert from "node:assert/strict";
import { test } from "node:test";
import { foreignFields } from "../src/api/wire/chat/fields/foreign-fields.ts";
import { call, serverOfFile } from "./running-server.ts";
import { model } from "./served-jobs.ts";

const server = serverOfFile({ flags: model });

const messages = [{ role: "user", content: "Say something." }];
const drawn = { messages, max_tokens: 24, seed: 5, return_token_ids: true };

async function idsOf(body: object): Promise<readonly number[]> {
  const answer = await call(server(), "POST", "/v1/chat/completions", { body: { ...drawn, ...body } });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.choices[0].token_ids as readonly number[];
}

interface Refusal {
  readonly status: number;
  readonly faults: readonly string[];
}

async function refusal(body: object, path = "chat/completions"): Promise<Refusal> {
  const { status, body: answer } = await call(server(), "POST", `/v1/${path}`, { body });
  const detail = answer.detail as readonly { readonly loc: readonly string[]; readonly msg: string }[];
  return { status, faults: detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`) };
}

const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
const grammar = 'root ::= "yes" | "no"';

/** Pairs of fields as clients send them, and the `structured_outputs` with the same effect. */
const spellings: readonly (readonly [sent: object, outputs: object])[] = [
  [{ guided_json: schema }, { json: schema }],
  [{ guided_json: JSON.stringify(schema) }, { json: schema }],
  [{ json_schema: schema }, { json: schema }],
  [{ format: schema }, { json: schema }],
  [{ format: "json" }, { json_object: true }],
  [{ guided_regex: "[a-c]{9}" }, { regex: "[a-c]{9}" }],
  [{ guided_choice: ["left", "right"] }, { choice: ["left", "right"] }],
  [{ guided_grammar: grammar }, { grammar }],
  [{ grammar }, { grammar }],
  [
    { guided_json: schema, guided_whitespace_pattern: "\\n\\n", guided_decoding_backend: "auto" },
    { json: schema, whitespace_pattern: "\\n\\n" },
  ],
];

test("`guided_json`, `guided_regex`, `guided_choice`, `guided_grammar`, `guided_whitespace_pattern`, `grammar`, `json_schema` and `format` equal `structured_outputs`", async () => {
  const free = await idsOf({});
  for (const [sent, outputs] of spellings) {
    const ids = await idsOf(sent);
    assert.deepEqual(ids, await idsOf({ structured_outputs: outputs }), JSON.stringify(sent));
    assert.notDeepEqual(ids, free, JSON.stringify(sent));
  }
  const text = { prompt: "Say", max_tokens: 24, temperature: 0 };
  const whole = await call(server(), "POST", "/v1/completions", {
    body: { ...text, guided_choice: ["left"] },
  });
  assert.equal(whole.body.choices[0].text, "left");
  const response = await call(server(), "POST", "/v1/responses", {
    body: { input: "Say", temperature: 0, guided_choice: ["left"] },
  });
  assert.equal(response.body.output.at(-1).content[0].text, "left");
});

test("`response_format` accepts a schema where other servers do, with and without streaming, and names members that it does not support", async () => {
  const held = {
    type: "object",
    properties: { a: { const: 1 } },
    required: ["a"],
    additionalProperties: false,
  };
  const asked = { max_tokens: -1, temperature: 0, seed: 1, disable: true };
  const paths = ["/v1/chat/completions", "/v1/completions"];
  for (const path of paths) {
    const prompt = path === paths[0] ? { messages } : { prompt: "Say" };
    const format = { type: "json_object", schema: held, yyy: 1 };
    const whole = await call(server(), "POST", path, {
      body: { ...prompt, ...asked, response_format: format },
    });
    assert.equal(whole.status, 200, JSON.stringify(whole.body));
    const [choice] = whole.body.choices;
    assert.deepEqual(JSON.parse(choice.message?.content ?? choice.text), { a: 1 });
    assert.equal(choice.finish_reason, "stop");
    assert.equal(whole.headers.get("x-hone-ignored"), "disable, response_format.yyy");
  }
  const response = await call(server(), "POST", "/v1/responses", {
    body: {
      input: "Say",
      temperature: 0,
      max_output_tokens: -1,
      text: { format: { type: "json_object", schema: held } },
    },
  });
  assert.deepEqual(JSON.parse(response.body.output.at(-1).content[0].text), { a: 1 });
  const { url, apiKey } = server();
  const streamed = await fetch(`${url}${paths[0]}`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      messages,
      ...asked,
      stream: true,
      response_format: { type: "json", value: held },
    }),
  });
  assert.equal(streamed.headers.get("x-hone-ignored"), "disable");
  const chunks = (await streamed.text())
    .split("\n\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)).choices[0]);
  assert.deepEqual(JSON.parse(chunks.map(({ delta }) => delta.content ?? "").join("")), { a: 1 });
  const last = chunks.at(-1);
  assert.deepEqual([last.delta, last.finish_reason], [{}, "stop"]);
  assert.ok(chunks.slice(0, -1).every((chunk) => chunk.finish_reason === null));
});

test("errors in other spellings name the spelling that was sent, `guided_decoding_backend` among them", async () => {
  const faultOf = async (body: object): Promise<string> => {
    const { status, faults } = await refusal({ messages, ...body });
    assert.equal(faults.length, 1, faults.join());
    return `${status} ${faults[0]}`;
  };
  assert.match(await faultOf({ guided_choice: [] }), /^400 guided_choice: Choice '\[\]'/);
  assert.match(await faultOf({ guided_choice: "x" }), /^422 guided_choice: .*valid list/);
  assert.match(await faultOf({ guided_json: "{" }), /^400 guided_json: .*not JSON/);
  assert.match(await faultOf({ grammar: " " }), /^400 grammar: grammar cannot be an empty string/);
  assert.match(await faultOf({ guided_regex: "(" }), /^400 guided_regex: /);
  assert.match(
    await faultOf({ guided_decoding_backend: "outlines" }),
    /^400 guided_decoding_backend: guided_decoding_backend is "outlines"; .*"auto"/,
  );
  assert.match(
    await faultOf({ guided_regex: "a", structured_outputs: { json: {} } }),
    /^422 .*multiple are specified: json, guided_regex/,
  );
  assert.match(await faultOf({ guided_json: schema, grammar }), /^422 grammar: .*guided_json, grammar/);
});

test("`thinking_token_budget` equals the logits processor thinking-budget", async () => {
  const opened = {
    messages: [...messages, { role: "assistant", content: "<think>" }],
    add_generation_prompt: false,
    continue_final_message: true,
    skip_special_tokens: false,
  };
  const { body: end } = await call(server(), "POST", "/tokenize", {
    body: { prompt: "</think>", add_special_tokens: false },
  });
  const ids = await idsOf({ ...opened, thinking_token_budget: 3 });
  const processors = [{ qualname: "thinking-budget", args: [3] }];
  assert.deepEqual(ids, await idsOf({ ...opened, logits_processors: processors }));
  assert.deepEqual([ids.indexOf(end.tokens[0] as number), end.count], [3, 1]);
  assert.notDeepEqual(ids, await idsOf(opened));
  const negative = await refusal({ messages, thinking_token_budget: -1 });
  assert.deepEqual([negative.status, negative.faults.length], [422, 1]);
});

/** Values for each field: one that requests the feature, and one that does not. */
const asking: Readonly<Record<string, readonly [asks: unknown, asksNothing?: unknown]>> = {
  logprob_token_ids: [[1], []],
  truncation_side: ["right", "left"],
  repetition_detection: [{ max_pattern_size: 3 }],
  mirostat: [2, 0],
  dry_multiplier: [0.8, 0],
  xtc_probability: [0.5, 0],
  typical_p: [0.9, 1],
  repeat_penalty: [1.1, 1],
  n_predict: [10, -1],
  think: [false],
  options: [{ temperature: 0 }, {}],
};

test("`logprob_token_ids`, `truncation_side`, `repetition_detection`, `mirostat`, `dry_multiplier`, `xtc_probability`, `typical_p`, `repeat_penalty`, `n_predict`, `think` and `options` are refused by name if they request something", async () => {
  assert.deepEqual(Object.keys(foreignFields).toSorted(), Object.keys(asking).toSorted());
  for (const [name, [asks, asksNothing = null]] of Object.entries(asking)) {
    for (const [path, body] of [
      ["chat/completions", { messages }],
      ["completions", { prompt: "Say" }],
      ["responses", { input: "Say" }],
    ] as const) {
      const { status, faults } = await refusal({ ...body, [name]: asks }, path);
      assert.deepEqual([status, faults.length], [400, 1], `${path} ${faults.join()}`);
      assert.match(faults[0], new RegExp(`^${name}: ${name} is not supported by this server; .{8,}\\.$`));
    }
    assert.equal((await idsOf({ [name]: asksNothing, max_tokens: 1 })).length, 1, name);
  }
});
