import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError, type ServiceErrorOptions } from "../../base/domain/service-error.ts";
import { locate, type FieldPaths } from "./field-paths.ts";

const fieldPaths: FieldPaths = {
  model: ["body", "model_id"],
  "stopping.maxTokens": ["body", "max_tokens"],
  not_found: ["path", "model_id"],
};

/** Replaces the error's field names by paths, and returns the content of the resulting error. */
function located(options: ServiceErrorOptions) {
  const error = new ServiceError(options);
  const result = locate(error, fieldPaths);
  assert.ok(result instanceof ServiceError && result.cause === error);
  const { code, message, faults, retryAfterSeconds, obstacle } = result;
  return { code, message, faults, retryAfterSeconds, obstacle };
}

test("replaces domain fields by the client's, in fault locations and messages", () => {
  const message = "`stopping.maxTokens` of `model` is `other`.";
  const spelled = "max_tokens of model_id is `other`.";
  const fault = (location: readonly string[]) => ({ location, message, type: "t" });
  const { faults } = located({
    code: "invalid",
    message,
    faults: [fault(["stopping", "maxTokens"]), fault(["model", "0"]), fault(["elsewhere"])],
  });
  assert.deepEqual(faults, [
    { location: ["body", "max_tokens"], message: spelled, type: "t" },
    { location: ["body", "model_id", "0"], message: spelled, type: "t" },
    { location: ["elsewhere"], message: spelled, type: "t" },
  ]);
});

test("locates an error without a fault by its code, and preserves its other content", () => {
  const message = "There is none.";
  const rest = { retryAfterSeconds: 7, obstacle: "full-disk" } as const;
  assert.deepEqual(located({ code: "not_found", message, ...rest }), {
    code: "not_found",
    message,
    faults: [{ location: ["path", "model_id"], message, type: "not_found" }],
    ...rest,
  });
  const plain = located({ code: "unavailable", message });
  assert.deepEqual([plain.faults, plain.retryAfterSeconds, plain.obstacle], [[], undefined, undefined]);
});

test("returns other errors unchanged", () => {
  const error = new TypeError("x");
  assert.equal(locate(error, fieldPaths), error);
});
