// Tests of log lines for a terminal, made from the JSON that the logging library writes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatForPeople } from "./people-lines.ts";
import { requestMessage, formatRequest, type RequestLine } from "./request-line.ts";

const time = "2026-03-01T09:05:07.250Z";
const clockTime = new Date(time).toTimeString().slice(0, 8);

const answered: RequestLine = {
  requestId: "r-1",
  method: "POST",
  route: "/v1/chat/completions",
  status: 200,
  durationMs: 1500,
  keyId: "k",
  entity: "local",
  address: "127.0.0.1",
  model: "hone-tiny",
  promptTokens: 1234,
  completionTokens: 150,
};

const lineOf = (fields: object, isColoured = false): string =>
  formatForPeople(JSON.stringify({ level: 30, time, msg: "something", ...fields }), { isColoured });

test("formats a request as route, model, tokens in and out, their rate, status and time", () => {
  assert.equal(
    lineOf({ msg: requestMessage, ...answered }),
    `${clockTime}  POST /v1/chat/completions  hone-tiny  1,234 → 150 tokens  100 tok/s  200  1.5 s\n`,
  );
});

test("omits tokens from a request without a model, and names a client that left", () => {
  const { model: _model, promptTokens: _in, completionTokens: _out, ...plain } = answered;
  assert.equal(
    formatRequest({ ...plain, method: "GET", route: "/health", durationMs: 0.42 }),
    "GET  /health  200  0.4 ms",
  );
  assert.equal(
    formatRequest({ ...plain, status: 499, durationMs: 61_000 }),
    "POST /v1/chat/completions  499 (client left)  1 min 1 s",
  );
});

test("omits the rate from an answer without tokens", () => {
  const text = formatRequest({ ...answered, completionTokens: 0, status: 503, durationMs: 12.3 });
  assert.equal(text, "POST /v1/chat/completions  hone-tiny  1,234 → 0 tokens  503  12 ms");
});

test("formats other lines as a level unless information, the message, and the fields", () => {
  assert.equal(
    lineOf({ model: "a", state: "ready", reason: "", key: null, calls: { format: "off" } }),
    `${clockTime}  something  model=a state=ready\n`,
  );
  assert.equal(lineOf({ level: 40, folder: "a b" }), `${clockTime}  warning  something  folder="a b"\n`);
});

test("puts an expected failure below its line without its stack, but with that of its cause", () => {
  const stack = "ServiceError: no file\n    at one\n    at two\ncaused by: Error: it broke\n    at here";
  const err = { type: "ServiceError", code: "not_found", message: "no file", stack };
  assert.equal(
    lineOf({ level: 50, err }),
    `${clockTime}  error  something\n          ServiceError: no file\n          caused by: Error: it broke\n              at here\n`,
  );
  assert.match(lineOf({ level: 50, err: { ...err, code: "internal" } }), /at one/);
});

test("puts an error with its stack below its line", () => {
  const err = { type: "Error", message: "it broke", stack: "Error: it broke\n    at here" };
  assert.equal(
    lineOf({ level: 50, err }),
    `${clockTime}  error  something\n          Error: it broke\n              at here\n`,
  );
});

test("removes terminal control characters sent by a client", () => {
  const line = lineOf({ msg: requestMessage, ...answered, model: "a\u001b[31m\nb\uE000[31m" }, true);
  assert.match(line, /a�\[31m�b�\[31m /);
  assert.equal(line.indexOf("\n"), line.length - 1);
  // Two escape sequences switch the colour of the time on and off. Nothing else is coloured.
  assert.equal(line.split("\u001b").length, 3);
});

test("shows faults of the server in red", () => {
  const line = lineOf({ msg: requestMessage, ...answered, status: 500 }, true);
  assert.ok(line.includes("\u001b[31mPOST ") && line.endsWith("\u001b[0m\n"), line);
});
