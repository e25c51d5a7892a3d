import assert from "node:assert/strict";
import { test } from "node:test";
import type { Constraint, ConstraintRule } from "../../../base/domain/constraint.ts";
import { ServiceError, type Fault } from "../../../base/domain/service-error.ts";
import { httpSettings } from "../../http/settings.ts";
import { readChatRequest } from "./read-chat-request.ts";

/** Reads a request. Returns its constraint, and a line for each part that is not supported. */
function check(body: object): {
  readonly constraint: Constraint | null;
  readonly unserved: readonly string[];
} {
  const messages = [{ role: "user", content: "hi" }];
  const { request } = readChatRequest({ messages, ...body }, httpSettings.with());
  return { constraint: request.constraint, unserved: request.unserved.map(lineOf) };
}

const lineOf = ({ location, message }: Fault): string => `${location.slice(1).join(".")}: ${message}`;

const free = { allowsAnyWhitespace: true, whitespacePattern: null, allowsAdditionalProperties: true };
const schema = { type: "object" };
const schemaText = '{"type":"object"}';
const described = { type: "json_schema", json_schema: { name: "n", schema } };

test("reads a constraint from structured_outputs or response_format", () => {
  const format = { type: "const_string", value: "a" };
  const table: readonly (readonly [object, ConstraintRule])[] = [
    [{ structured_outputs: { json: schema } }, { kind: "json-schema", schema: schemaText }],
    [{ structured_outputs: { json: '{"type": "object"}' } }, { kind: "json-schema", schema: schemaText }],
    [{ structured_outputs: { regex: "a+" } }, { kind: "regex", pattern: "a+" }],
    // The empty pattern is a constraint, too: it matches only the empty text.
    [{ structured_outputs: { regex: "" } }, { kind: "regex", pattern: "" }],
    [{ structured_outputs: { choice: ["a", "b"] } }, { kind: "choice", choices: ["a", "b"] }],
    [{ structured_outputs: { grammar: "root ::= x" } }, { kind: "grammar", text: "root ::= x" }],
    [{ structured_outputs: { json_object: true } }, { kind: "json-object" }],
    [
      { structured_outputs: { structural_tag: JSON.stringify({ format }) } },
      { kind: "structural-tag", tag: JSON.stringify({ format }) },
    ],
    [{ response_format: { type: "json_object" } }, { kind: "json-object" }],
    [{ response_format: described }, { kind: "json-schema", schema: schemaText }],
    [
      { response_format: { type: "structural_tag", format } },
      { kind: "structural-tag", tag: JSON.stringify({ type: "structural_tag", format }) },
    ],
    [
      { structured_outputs: { regex: "a" }, response_format: { type: "text" } },
      { kind: "regex", pattern: "a" },
    ],
  ];
  for (const [body, rule] of table) {
    assert.deepEqual(check(body), { constraint: { ...rule, ...free }, unserved: [] }, JSON.stringify(body));
  }
  for (const body of [
    { response_format: { type: "text" } },
    { response_format: null, structured_outputs: null },
  ]) {
    assert.deepEqual(check(body), { constraint: null, unserved: [] });
  }
});

test("reads the options in structured_outputs for a constraint in either field", () => {
  const options = {
    disable_any_whitespace: true,
    disable_additional_properties: true,
    whitespace_pattern: " ",
  };
  const read = { allowsAnyWhitespace: false, whitespacePattern: " ", allowsAdditionalProperties: false };
  for (const [body, rule] of [
    [{ structured_outputs: { json_object: true, ...options } }, { kind: "json-object" }],
    [
      { structured_outputs: options, response_format: described },
      { kind: "json-schema", schema: schemaText },
    ],
    // The options have no effect on this constraint, because they control only how JSON is written.
    [{ structured_outputs: { choice: ["a"], ...options } }, { kind: "choice", choices: ["a"] }],
  ] as const) {
    assert.deepEqual(check(body), { constraint: { ...rule, ...read }, unserved: [] });
  }
});

test("accepts options that change nothing: a disabled fallback, and the only backend", () => {
  for (const option of [
    { disable_fallback: true },
    { disable_fallback: false },
    { _backend: "auto", _backend_was_auto: true },
    { _backend: "hone", _backend_was_auto: false },
    { _backend: null },
  ]) {
    const { constraint, unserved } = check({ structured_outputs: { regex: "a", ...option } });
    assert.deepEqual([constraint?.kind, unserved], ["regex", []], JSON.stringify(option));
  }
});

test("refuses more than one constraint", () => {
  const table = [
    [{ structured_outputs: { regex: "a", json: {} } }, "structured_outputs", "json, regex"],
    [{ structured_outputs: { regex: "a", json_object: false } }, "structured_outputs", "regex, json_object"],
    [
      { structured_outputs: { grammar: "", structural_tag: "" } },
      "structured_outputs",
      "grammar, structural_tag",
    ],
    [
      { structured_outputs: { regex: "a" }, response_format: described },
      "response_format",
      "regex, response_format",
    ],
    [
      { structured_outputs: { json: schema }, response_format: described },
      "response_format",
      "json, response_format",
    ],
    [
      { structured_outputs: { choice: ["a"], regex: "a" }, response_format: { type: "json_object" } },
      "structured_outputs",
      "regex, choice, response_format",
    ],
  ] as const;
  for (const [body, place, names] of table) {
    assert.throws(
      () => check(body),
      (error: unknown) => {
        assert.ok(error instanceof ServiceError && error.code === "invalid");
        const text =
          "Value error, You can only use one kind of structured outputs constraint but multiple are specified: ";
        assert.deepEqual(error.faults.map(lineOf), [`${place}: ${text}${names}.`]);
        return true;
      },
    );
  }
});

test("says what an incomplete constraint lacks, and reads no constraint from it", () => {
  const none = "You must use one kind of structured outputs constraint but none are specified";
  const nothing = `structured_outputs: ${none}; give one of json, regex, choice, grammar, json_object, structural_tag, or leave structured_outputs out.`;
  const missing =
    "response_format.json_schema: When response_format type is 'json_schema', the 'json_schema' field must be provided.";
  const table: readonly (readonly [object, string])[] = [
    [{ structured_outputs: {} }, nothing],
    [{ structured_outputs: { json: null, disable_any_whitespace: true } }, nothing],
    [{ structured_outputs: {}, response_format: { type: "text" } }, nothing],
    [
      { structured_outputs: { json_object: false } },
      `structured_outputs.json_object: ${none}: json_object is false; send true, or leave it out.`,
    ],
    [
      { structured_outputs: { json: "" } },
      "structured_outputs.json: structured_outputs.json is a text that is not JSON.",
    ],
    [
      { structured_outputs: { structural_tag: "{" } },
      "structured_outputs.structural_tag: structured_outputs.structural_tag is a text that is not JSON.",
    ],
    [
      { structured_outputs: { choice: [] } },
      "structured_outputs.choice: Choice '[]' cannot be an empty list",
    ],
    [
      { structured_outputs: { grammar: " \n" } },
      "structured_outputs.grammar: structured_outputs.grammar cannot be an empty string",
    ],
    [
      { structured_outputs: { regex: "a", _backend: "xgrammar" } },
      'structured_outputs._backend: _backend is "xgrammar"; this server has only its own backend, "auto" or "hone".',
    ],
    [{ response_format: { type: "json_schema" } }, missing],
    [{ response_format: { type: "json_schema", json_schema: null } }, missing],
    [
      { response_format: { type: "json_schema", json_schema: { name: "n" } } },
      `response_format.json_schema.schema: ${none}; give json_schema its schema.`,
    ],
  ];
  for (const [body, line] of table) {
    assert.deepEqual(check(body), { constraint: null, unserved: [line] }, JSON.stringify(body));
  }
});

test("reports an incomplete constraint together with other faults", () => {
  assert.throws(
    () => check({ structured_outputs: { choice: [] }, top_p: 9 }),
    (error: unknown) =>
      error instanceof ServiceError &&
      error.faults.map(({ location }) => location.join(".")).join() ===
        "body.top_p,body.structured_outputs.choice",
  );
});
