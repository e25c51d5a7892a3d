import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf } from "./check-answer.ts";
import { fuzzRequest } from "./fuzz-request.ts";
import { longText } from "./odd-values.ts";

const refusal = {
  detail: [{ loc: ["body", "n"], msg: "wrong", type: "int_type" }],
  error: { message: "wrong", type: "invalid_request_error", param: "n", code: "invalid" },
};

function faults(
  answer: { readonly status?: number; readonly body?: unknown; readonly headers?: object },
  method = "POST",
): number {
  const { status = 422, body = refusal, headers = { "x-request-id": "a-1" } } = answer;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return faultsOf({ status, headers: new Map(Object.entries(headers)), body: Buffer.from(text) }, method)
    .length;
}

test("an answer that is as it must be has no fault", () => {
  assert.equal(faults({}), 0);
  assert.equal(faults({ status: 200, body: longText(300) }), 0);
  assert.equal(faults({ body: "" }, "HEAD"), 0);
  assert.equal(faults({ status: 429, body: { ...refusal, detail: [] } }), 0);
  assert.equal(faults({ body: { ...refusal, error: { ...refusal.error, message: longText(200) } } }), 0);
});

test("every other answer has one", () => {
  const [item] = refusal.detail;
  for (const [name, answer] of Object.entries({
    "a fault of the server": { status: 500 },
    "no id": { headers: {} },
    "no JSON": { body: "<html>" },
    "no faults": { body: { ...refusal, detail: [] } },
    "a place that is none": { body: { ...refusal, detail: [{ ...item, loc: ["n"] }] } },
    "a part that is no text": { body: { ...refusal, detail: [{ ...item, loc: ["body", 0] }] } },
    "no message": { body: { ...refusal, error: { ...refusal.error, message: "" } } },
    "too many faults": { body: { ...refusal, detail: Array.from({ length: 102 }, () => item) } },
    "a long value": { body: { ...refusal, error: { ...refusal.error, message: longText(210) } } },
    "a long value in a header": { headers: { "x-request-id": "a-1", "x-hone-ignored": longText(210) } },
  }))
    assert.equal(faults(answer), 1, name);
});

test("the same seed and index make the same request, and another index another", () => {
  const world = { apiKey: "k", modelId: "m", spareModelId: "s", jobId: "j", fileId: "f" };
  const bytes = (index: number): string => fuzzRequest(1, index, world).bytes.toString("latin1");
  assert.equal(bytes(7), bytes(7));
  // Now and then two begin with the same valid request, and nothing of it is mutated.
  assert.ok(new Set(Array.from({ length: 100 }, (_, index) => bytes(index))).size > 90);
});
