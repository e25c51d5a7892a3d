import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { ServiceError } from "../../base/domain/service-error.ts";
import { nullable } from "./nullable.ts";
import { is, isEmpty, never, readForm, type BodyForm } from "./body.ts";
import { report } from "../../base/validation/findings.ts";

const schema = Type.Object({
  name: Type.String(),
  comment: nullable(Type.String()),
  mode: nullable(Type.String()),
  list: nullable(Type.Array(Type.String())),
  later: nullable(Type.Object({})),
});
const form: BodyForm<typeof schema> = {
  schema,
  fields: {
    mode: { refusedUnless: is("plain") },
    list: { refusedUnless: isEmpty },
    later: { refusedUnless: never },
  },
  more: ({ name }, findings) => {
    if (name === "") report(findings, "value_error", "Value error, it is empty", "name");
  },
};

function refusal(body: unknown): readonly [code: string, fields: readonly string[]] {
  try {
    readForm(form, body);
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return [error.code, error.faults.map(({ location }) => location.join("."))];
  }
  return assert.fail("it passed");
}

test("accepts values that ask only for the default behaviour, and lists unknown fields as ignored", () => {
  const body = { name: "n", comment: "c", mode: "plain", list: [], later: null, constructor: 1 };
  assert.deepEqual(readForm(form, body), { value: body, ignored: ["constructor"] });
});

test("refuses all unsupported fields and names each of them", () => {
  const body = { name: "n", mode: "wild", list: ["x"], later: {} };
  assert.deepEqual(refusal(body), ["unsupported", ["body.mode", "body.list", "body.later"]]);
});

test("reports schema faults, other faults and unsupported options together", () => {
  assert.deepEqual(refusal({ name: "", comment: 5, mode: "wild" }), [
    "invalid",
    ["body.comment", "body.name", "body.mode"],
  ]);
  assert.deepEqual(refusal(null), ["invalid", ["body"]]);
});
