import assert from "node:assert/strict";
import { test } from "node:test";
import { createServer } from "node:net";
import { once } from "node:events";
import { brokenOffFaults, faultsOf } from "./check-answer.ts";
import { exchange } from "./raw-exchange.ts";
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

test("finds no fault in a correct answer", () => {
  assert.equal(faults({}), 0);
  assert.equal(faults({ status: 200, body: longText(300) }), 0);
  assert.equal(faults({ body: "" }, "HEAD"), 0);
  assert.equal(faults({ status: 429, body: { ...refusal, detail: [] } }), 0);
  assert.equal(faults({ body: { ...refusal, error: { ...refusal.error, message: longText(200) } } }), 0);
});

test("finds a fault in every other answer", () => {
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

test("an answer may be cut off only if the data that it reads was deleted", () => {
  assert.deepEqual(brokenOffFaults(404), []);
  for (const status of [200, 403, 500, null]) assert.equal(brokenOffFaults(status).length, 1, String(status));
});

test("distinguishes an answer that was cut off from a missing one and a complete one", async (t) => {
  const head = "HTTP/1.1 200 OK\r\n";
  const answers = new Map<string, string | number>([
    ["", "closed"],
    [head, "closed"],
    ["HTTP/1.1 100 Continue\r\n\r\n", "closed"],
    [`${head}content-length: 9\r\n\r\nhalf`, "broken off"],
    [`${head}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n`, "broken off"],
    [`HTTP/1.1 100 Continue\r\n\r\n${head}content-length: 9\r\n\r\n`, "broken off"],
    [`${head}transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n\r\n`, 200],
    [`${head}content-length: 4\r\n\r\nhalf`, 200],
  ]);
  for (const [sent, expected] of answers) {
    const server = createServer((socket) => void socket.on("error", () => undefined).end(sent)).listen(0);
    t.after(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as { readonly port: number };
    const request = Buffer.from("GET / HTTP/1.1\r\n\r\n");
    const answer = await exchange(request, { port, method: "GET", endsEarly: false, deadlineMs: 10_000 });
    assert.equal(typeof answer === "string" ? answer : answer.status, expected, sent);
  }
});

test("the same seed and index give the same request, and another index gives another request", () => {
  const world = {
    apiKey: "k",
    modelId: "m",
    spareModelId: "s",
    jobId: "j",
    fileId: "f",
    queueId: "q",
    itemId: "i",
    rolloutId: "r",
    sessionId: "s",
    tuningJobId: "t",
    uploadId: "u",
  };
  const bytes = (index: number): string => fuzzRequest(1, index, world).bytes.toString("latin1");
  assert.equal(bytes(7), bytes(7));
  // Allows a few duplicates: two requests may start from the same valid request and get no mutation.
  assert.ok(new Set(Array.from({ length: 100 }, (_, index) => bytes(index))).size > 90);
});
