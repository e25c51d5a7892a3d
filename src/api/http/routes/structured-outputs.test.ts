import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, fakeServer, keys } from "../testing/fake-server.ts";
import type { ErrorBody } from "../errors.ts";

const url = "/v1/preview/structured-outputs/check";

async function check(payload: object, settings = {}) {
  return checkText(JSON.stringify(payload), settings);
}

async function checkText(payload: string, settings = {}) {
  const server = await fakeServer({ settings });
  const answer = await server.ask({
    method: "POST",
    url,
    headers: { authorization: bearer(keys.member), "content-type": "application/json" },
    payload,
  });
  await server.close();
  return answer;
}

async function faultsOf(payload: object, settings = {}): Promise<readonly string[]> {
  const answer = await check(payload, settings);
  assert.equal(answer.statusCode, 422, answer.body);
  return answer.json<ErrorBody>().detail.map(({ loc, type }) => `${loc.slice(1).join(".")} ${type}`);
}

const schema = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer", minimum: 0 } },
  required: ["name"],
};

test("keeps all digits of numbers in a schema and in values", async () => {
  const payload = (schemaText: string, ...data: readonly string[]): string =>
    `{"structured_outputs":{"json":${schemaText}},"tests":[${data.map((text) => `{"data":${text}}`).join()}]}`;
  const accepted = async (text: string): Promise<readonly boolean[]> => {
    const { tests } = (await checkText(text)).json<{ readonly tests: readonly { accepted: boolean }[] }>();
    return tests.map((one) => one.accepted);
  };
  const long = ["1234567890123456789", "1234567890123456800"];
  for (const text of [
    payload('{"const":1234567890123456789}', ...long),
    payload(JSON.stringify('{"enum":[1234567890123456789]}'), ...long),
    payload('{"maximum":9223372036854775807}', "9223372036854775807", "9223372036854775808"),
    payload('{"multipleOf":1,"minLength":2.0}', '"ab"', '"a"'),
  ])
    assert.deepEqual(await accepted(text), [true, false], text);
});

test("reports whether a constraint is served, and which values it accepts", async () => {
  const tests = [
    { valid: true, data: { age: 3, name: "Ann" } },
    { valid: null, data: { age: -3, name: "Ann" } },
    { data: null },
  ];
  const results = [
    { valid: true, accepted: true, limit: null, place: null },
    { valid: null, accepted: false, limit: null, place: null },
    { valid: null, accepted: false, limit: null, place: null },
  ];
  const constraints = [
    { structured_outputs: { json: schema } },
    { structured_outputs: { json: JSON.stringify(schema) }, response_format: { type: "text" } },
    { response_format: { type: "json_schema", json_schema: { name: "person", schema } } },
  ];
  for (const constraint of constraints) {
    const answer = await check({ ...constraint, tests });
    const { compile_ms: compileMs, ...rest } = answer.json<{ readonly compile_ms: number }>();
    assert.deepEqual(rest, {
      served: true,
      kind: null,
      subject: null,
      place: null,
      reason: null,
      tests: results,
      notices: [],
    });
    assert.ok(compileMs >= 0);
  }
});

test("applies the same options to a constraint as a chat request does", async () => {
  const ask = async (structuredOutputs: object) => {
    const tests = [{ data: { b: 1, a: 2 } }];
    const answer = await check({ structured_outputs: structuredOutputs, tests });
    return answer.json<{ readonly tests: readonly { readonly accepted: boolean }[] }>().tests[0]?.accepted;
  };
  const open = { json: { properties: { a: {} } } };
  assert.equal(await ask(open), true);
  assert.equal(await ask({ ...open, disable_additional_properties: true }), false);
  assert.equal(await ask({ ...open, whitespace_pattern: "\\n" }), false);
});

test("accepts texts as values for constraints other than JSON, large or small", async () => {
  const long = "a".repeat(70_000);
  const cases = [
    [{ regex: "a+" }, ["aaa", "", long], [true, false, true]],
    [{ choice: ["yes", "no"] }, ["yes", "maybe"], [true, false]],
    [{ grammar: 'root ::= "(" root ")" | ""' }, ["(())", "("], [true, false]],
    [{ json_object: true }, [{ a: [long] }, []], [true, false]],
    [
      { structural_tag: JSON.stringify({ format: { type: "any_text", excludes: ["b"] } }) },
      ["a", "b"],
      [true, false],
    ],
  ] as const;
  for (const [constraint, values, accepted] of cases) {
    const answer = await check({
      structured_outputs: constraint,
      tests: values.map((data: unknown) => ({ data })),
    });
    const { tests } = answer.json<{ readonly tests: readonly { readonly accepted: boolean }[] }>();
    assert.deepEqual(
      tests.map((one) => one.accepted),
      accepted,
    );
  }
});

test("reports the keyword, the path and the reason of a refused constraint", async () => {
  const refusal = async (constraint: object) => {
    const answer = await check({ structured_outputs: constraint, tests: [{ data: "a" }] });
    assert.equal(answer.statusCode, 200);
    const { served, kind, subject, place, tests } = answer.json<Readonly<Record<string, unknown>>>();
    assert.deepEqual([served, tests], [false, []]);
    return [kind, subject, place];
  };
  const json = { properties: { a: { contains: {}, uniqueItems: true } } };
  const place = "#/properties/a/uniqueItems";
  assert.deepEqual(await refusal({ json }), ["not-exact", "uniqueItems", place]);
  assert.deepEqual(await refusal({ json: { type: 3 } }), ["malformed", "type", "#/type"]);
  assert.deepEqual(await refusal({ regex: "a(?=b)a" }), ["unsatisfiable", "regex", ""]);
  assert.deepEqual(await refusal({ grammar: 'root ::= "a" other' }), ["malformed", "other", "position 13"]);
});

test("names each fault of the request, and its ignored fields", async () => {
  assert.deepEqual(await faultsOf({}), ["structured_outputs missing"]);
  assert.deepEqual(await faultsOf({ response_format: { type: "text" }, tests: [] }), [
    "structured_outputs missing",
  ]);
  assert.deepEqual(
    await faultsOf({
      structured_outputs: { regex: "a", choice: [] },
      tests: [{ data: 1 }, { valid: "yes" }, { data: "a" }],
    }),
    [
      "tests.1.data missing",
      "tests.1.valid bool_parsing",
      "structured_outputs value_error",
      "tests.0.data string_type",
    ],
  );
  const tests = [{ data: 1 }, { data: 2 }, { data: 3 }];
  assert.deepEqual(await faultsOf({ structured_outputs: { json: {} }, tests }, { checkTests: 2 }), [
    "tests too_long",
  ]);
  const tag = { type: "structural_tag", format: { type: "any_text" } };
  assert.deepEqual(await faultsOf({ response_format: tag, tests: [{ data: "a" }, { data: 1 }] }), [
    "tests.1.data string_type",
  ]);
  const backend = await check({ structured_outputs: { json: {}, _backend: "other" } });
  assert.deepEqual(
    [backend.statusCode, backend.json<ErrorBody>().detail[0]?.loc],
    [400, ["body", "structured_outputs", "_backend"]],
  );
  const ignored = await check({
    structured_outputs: { json: {} },
    name: "m",
    tests: [{ data: 1, name: "n" }],
  });
  assert.equal(ignored.headers["x-hone-ignored"], "name, tests.0.name");
});

test("checks for the named model; by default for the server's default model", async () => {
  const server = await fakeServer();
  const status = async (model: unknown): Promise<number> => {
    const headers = { authorization: bearer(keys.member), "content-type": "application/json" };
    const payload = { structured_outputs: { json: {} }, model };
    const answer = await server.ask({ method: "POST", url, headers, payload });
    if (answer.statusCode !== 200)
      assert.deepEqual(answer.json<{ detail: readonly { loc: unknown }[] }>().detail[0]?.loc, [
        "body",
        "model",
      ]);
    return answer.statusCode;
  };
  const names = [null, "", "tiny", "tiny:step0", "no-such-model", 1];
  assert.deepEqual(await Promise.all(names.map(status)), [200, 200, 200, 200, 404, 422]);
  await server.close();
});

test("requires a key", async () => {
  const server = await fakeServer();
  const answer = await server.ask({ method: "POST", url, payload: { structured_outputs: { json: {} } } });
  assert.equal(answer.statusCode, 401);
  await server.close();
});
