import assert from "node:assert/strict";
import { test } from "node:test";
import { grammar, jsonSchema } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { unsupportedConstraint } from "./unsupported-constraint.ts";

test("lists the features of a constraint that the model's engine does not support", () => {
  const features = new Set(["constraint-json-schema", "constraint-regex", "min-p"] as const);
  const engine = { capabilities: { features, isExact: false } };
  assert.equal(unsupportedConstraint(jsonSchema({}), engine), null);
  assert.equal(unsupportedConstraint(grammar('root ::= "a"'), undefined), null);
  assert.deepEqual(unsupportedConstraint(grammar('root ::= "a"'), engine), {
    refusal: {
      kind: "not-offered",
      subject: "grammar",
      place: "",
      message: "The engine of this model does not support grammar; it supports json schema, regex.",
    },
    instances: [],
    notices: [],
    compileMs: 0,
  });
  const pattern = { ...jsonSchema({}), whitespacePattern: " " };
  assert.equal(unsupportedConstraint(pattern, engine)?.refusal?.subject, "whitespace pattern");
});
