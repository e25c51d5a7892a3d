// Tests answers of the built-in model under structural tags at temperature 1, which the test parses independently. Also
// tests the HTTP status of requests with invalid constraints.
import assert from "node:assert/strict";
import { test } from "node:test";
import { serverOfFile } from "./running-server.ts";

const server = serverOfFile();

interface Answer {
  readonly content: string;
  readonly finish: string;
}

async function post(body: object): Promise<Response> {
  return postText(
    JSON.stringify({
      messages: [{ role: "user", content: "tell me a story" }],
      temperature: 1,
      seed: 11,
      ...body,
    }),
  );
}

async function postText(body: string): Promise<Response> {
  return fetch(`${server().url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${server().apiKey}`, "content-type": "application/json" },
    body,
  });
}

async function answers(body: object): Promise<readonly Answer[]> {
  const response = await post(body);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const { choices } = JSON.parse(text) as {
    readonly choices: readonly {
      readonly message: { readonly content: string };
      readonly finish_reason: string;
    }[];
  };
  return choices.map(({ message, finish_reason: finish }) => ({ content: message.content, finish }));
}

interface Refusal {
  readonly status: number;
  readonly place: string;
  readonly message: string;
}

async function refusal(body: object): Promise<Refusal> {
  const response = await post(body);
  const { detail } = (await response.json()) as {
    readonly detail: readonly { readonly loc: readonly string[]; readonly msg: string }[];
  };
  assert.equal(detail.length, 1, JSON.stringify(detail));
  const [{ loc, msg }] = detail;
  return { status: response.status, place: loc.slice(1).join("."), message: msg };
}

const small = { type: "integer", minimum: 0, maximum: 99 };
const point = {
  type: "object",
  properties: { x: small, color: { enum: ["red", "blue"] } },
  required: ["x", "color"],
  additionalProperties: false,
};
const call = (name: string) => ({
  type: "tag",
  begin: `<call=${name}>`,
  content: { type: "json_schema", json_schema: point },
  end: "</call>",
});

/** Returns the names of the calls in the text. The calls are separated by `separator`. */
function callsIn(text: string, separator: string): readonly string[] {
  return text.split(separator).map((part) => {
    const [whole, name, json] = /^<call=(f|g)>(.*)<\/call>$/s.exec(part) ?? [];
    assert.ok(whole !== undefined, text);
    const value = JSON.parse(json) as { readonly x: number; readonly color: string };
    assert.deepEqual(Object.keys(value), ["x", "color"]);
    assert.ok(Number.isInteger(value.x) && value.x >= 0 && value.x <= 99, json);
    assert.ok(["red", "blue"].includes(value.color), json);
    return name;
  });
}

test("an answer that must be one of several calls is one of them", async () => {
  const format = {
    type: "triggered_tags",
    triggers: ["<call="],
    tags: [call("f"), call("g")],
    at_least_one: true,
    stop_after_first: true,
  };
  const names = new Set<string>();
  for (const { content, finish } of await answers({
    n: 8,
    max_tokens: 400,
    temperature: 2,
    response_format: { type: "structural_tag", format },
  })) {
    assert.equal(finish, "stop", content);
    // The separator does not matter for a single call, so the test passes a character that no JSON contains.
    const [name] = callsIn(content, "\0");
    names.add(name);
  }
  assert.equal(names.size, 2, "both are drawn");
});

test("a number of a schema is written with exactly its digits", async () => {
  const schema = '{"const":1234567890123456789}';
  for (const constraint of [
    `"structured_outputs":{"json":${schema}}`,
    `"structured_outputs":{"json":${JSON.stringify(schema)}}`,
    `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schema}}}`,
  ]) {
    const response = await postText(`{"messages":[{"role":"user","content":"Hi"}],${constraint}}`);
    assert.match(await response.text(), /"content":"1234567890123456789"/);
  }
});

test("separated calls contain nothing else", async () => {
  const format = {
    type: "tags_with_separator",
    tags: [call("f"), call("g")],
    separator: ";",
    at_least_one: true,
  };
  const counts = (
    await answers({
      n: 6,
      max_tokens: 250,
      structured_outputs: { structural_tag: JSON.stringify({ format }), disable_any_whitespace: true },
    })
  ).flatMap(({ content, finish }) => (finish === "stop" ? [callsIn(content, ";").length] : []));
  assert.ok(counts.length > 2 && counts.every((count) => count > 0), counts.join());
});

test("in free text, every trigger begins a tag, also in the older notation", async () => {
  const tag = { structures: [{ begin: "e[", schema: small, end: "]" }], triggers: ["e"] };
  let tagCount = 0;
  for (const { content, finish } of await answers({
    n: 8,
    max_tokens: 60,
    structured_outputs: { structural_tag: JSON.stringify(tag) },
  })) {
    const parts = content.split(/e\[(?:-?0|[1-9][0-9]?)\]/);
    tagCount += parts.length - 1;
    const rest = parts.pop() ?? "";
    for (const part of parts) assert.ok(!part.includes("e"), content);
    // A truncated answer may end within a tag.
    assert.match(rest, finish === "stop" ? /^[^e]*$/ : /^[^e]*(e(\[-?\d{0,2})?)?$/, content);
  }
  assert.ok(tagCount > 8, `${tagCount} tags are written`);
});

test("free text in a tag ends at the first end string, and the following element comes immediately after it", async () => {
  const format = {
    type: "sequence",
    elements: [
      { type: "tag", begin: "(", content: { type: "any_text", excludes: ["\n"] }, end: [".", "!"] },
      { type: "const_string", value: " So " },
      { type: "regex", pattern: "[a-z]{3} [0-9]{2}" },
    ],
  };
  const body = { max_tokens: 120, response_format: { type: "structural_tag", format } };
  const finished = (await answers({ ...body, n: 8 })).filter(({ finish }) => finish === "stop");
  assert.ok(finished.length > 2, `${finished.length} are finished`);
  for (const { content } of finished) assert.match(content, /^\([^.!\n]*[.!] So [a-z]{3} [0-9]{2}$/);
  const response = await post({ ...body, stream: true });
  const streamed = (await response.text())
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map(
      (event) =>
        JSON.parse(event.slice(6)) as { readonly choices: readonly { delta?: { content?: string } }[] },
    )
    .map(({ choices }) => choices[0]?.delta?.content ?? "")
    .join("");
  assert.equal(streamed, (await answers(body))[0]?.content);
});

test("a constraint can be combined with seeds, several choices, a stop text and a maximum length", async () => {
  const regex = "[a-z]{3} [a-z]{3} [a-z]{3}";
  const body = { n: 4, max_tokens: 40, structured_outputs: { regex } };
  const whole = await answers(body);
  assert.deepEqual(await answers(body), whole);
  assert.ok(new Set(whole.map(({ content }) => content)).size > 1);
  const stopped = await answers({ ...body, stop: [" "] });
  const cut = await answers({ ...body, max_tokens: 2 });
  for (const [index, { content, finish }] of whole.entries()) {
    assert.match(content, /^[a-z]{3} [a-z]{3} [a-z]{3}$/);
    assert.equal(finish, "stop");
    assert.deepEqual(stopped[index], { content: content.slice(0, 3), finish: "stop" });
    assert.ok(content.startsWith(cut[index].content) && cut[index].finish === "length");
  }
});

const described = { type: "json_schema", json_schema: { name: "n", schema: point } };
const badTag = { format: { type: "sequence", elements: [{ type: "any_text" }, { type: "yaml" }] } };

/** Each row: a body, the expected status, the location of the error, and a pattern for the message. */
const rows: readonly (readonly [body: object, status: number, place: string, message: RegExp])[] = [
  [{ structured_outputs: {} }, 400, "structured_outputs", /none are specified/],
  [{ structured_outputs: { disable_any_whitespace: true } }, 400, "structured_outputs", /none are specified/],
  [{ structured_outputs: { json_object: false } }, 400, "structured_outputs.json_object", /send true/],
  [{ structured_outputs: { json: "" } }, 400, "structured_outputs.json", /not JSON/],
  [{ structured_outputs: { json: "[]" } }, 400, "structured_outputs", /must be a schema/],
  [{ structured_outputs: { choice: [] } }, 400, "structured_outputs.choice", /empty list/],
  [{ structured_outputs: { grammar: " " } }, 400, "structured_outputs.grammar", /empty string/],
  [{ structured_outputs: { grammar: "x" } }, 400, "structured_outputs", /position 0/],
  [{ structured_outputs: { regex: "(" } }, 400, "structured_outputs", /unclosed group/],
  [{ structured_outputs: { regex: "a(?!.*)" } }, 400, "structured_outputs", /No text satisfies/],
  [{ structured_outputs: { structural_tag: "<" } }, 400, "structured_outputs.structural_tag", /not JSON/],
  [
    { structured_outputs: { structural_tag: JSON.stringify(badTag) } },
    400,
    "structured_outputs",
    /"yaml" at #\/format\/elements\/1\/type/,
  ],
  [{ response_format: { type: "structural_tag" } }, 400, "response_format", /nothing at #\/format/],
  [
    { structured_outputs: { regex: "a", _backend: "outlines" } },
    400,
    "structured_outputs._backend",
    /"hone"/,
  ],
  [
    { structured_outputs: { json_object: true, whitespace_pattern: "x" } },
    400,
    "structured_outputs",
    /whitespace_pattern "x"/,
  ],
  [{ response_format: { type: "json_schema" } }, 400, "response_format.json_schema", /must be provided/],
  [
    { response_format: { type: "json_schema", json_schema: { name: "n" } } },
    400,
    "response_format.json_schema.schema",
    /none are specified/,
  ],
  [
    { response_format: { type: "json_schema", json_schema: { schema: {} } } },
    422,
    "response_format.json_schema.name",
    /required/,
  ],
  [{ response_format: { type: "yaml" } }, 422, "response_format.type", /'text', 'json_object'/],
  [{ structured_outputs: { regex: "a", choice: ["a"] } }, 422, "structured_outputs", /regex, choice/],
  [
    { structured_outputs: { regex: "a", json_object: false } },
    422,
    "structured_outputs",
    /regex, json_object/,
  ],
  [
    { structured_outputs: { json: point }, response_format: described },
    422,
    "response_format",
    /json, response_format/,
  ],
  [{ structured_outputs: { regex: 5 } }, 422, "structured_outputs.regex", /string/],
];

test("an error in a constraint is reported with its location and the status of its kind", async () => {
  for (const [body, status, place, message] of rows) {
    const found = await refusal(body);
    assert.deepEqual([found.status, found.place], [status, place], JSON.stringify([body, found]));
    assert.match(found.message, message);
  }
});

test("accepts every member and option together with those it requires", async () => {
  const options = {
    disable_fallback: true,
    disable_any_whitespace: true,
    disable_additional_properties: true,
    _backend: "auto",
    _backend_was_auto: true,
  };
  const table: readonly (readonly [object, RegExp])[] = [
    [{ structured_outputs: { choice: ["yes", "no"], ...options } }, /^(yes|no)$/],
    [{ structured_outputs: { regex: "", whitespace_pattern: "x" } }, /^$/],
    [{ structured_outputs: { regex: "[a-c]{4}" }, response_format: { type: "text" } }, /^[a-c]{4}$/],
    [{ structured_outputs: { json: JSON.stringify(small) } }, /^[0-9]{1,2}$/],
    [{ structured_outputs: options, response_format: described }, /^\{"x":\d+,"color":"(red|blue)"\}$/],
    [
      { structured_outputs: { json: point, whitespace_pattern: "[ ]" } },
      /^\{ "x" : \d+ , "color" : "(red|blue)" \}$/,
    ],
    [
      {
        structured_outputs: { disable_any_whitespace: true },
        response_format: { type: "structural_tag", format: call("f") },
      },
      /^<call=f>\{"x":\d+,"color":"(red|blue)"\}<\/call>$/,
    ],
  ];
  for (const [body, form] of table) {
    const [answer] = await answers({ ...body, max_tokens: 100 });
    assert.match(answer?.content ?? "", form, JSON.stringify(body));
    assert.equal(answer?.finish, "stop");
  }
});
