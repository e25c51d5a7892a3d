// Tests that an error answer names a field as the client's request does, and that an error which cannot be converted
// still gets an answer. statuses.test.ts tests the status of each error code.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import { locate, type FieldPaths } from "../wire/field-paths.ts";
import { bearer, fakeServer, helloBody } from "./testing/fake-server.ts";
import { errorAnswer, HttpRefusal } from "./errors.ts";

const fieldPaths: FieldPaths = {
  "stopping.maxTokens": ["body", "max_tokens"],
  "prompt.messages": ["body", "messages"],
  after: ["query", "after"],
  not_found: ["path", "model_id"],
};

function check(error: ServiceError, location: readonly string[] | null, message = error.message): void {
  const located = locate(error, fieldPaths);
  assert.ok(located instanceof ServiceError);
  assert.equal(located.code, error.code);
  assert.equal(located.message, message);
  assert.equal(located.retryAfterSeconds, error.retryAfterSeconds);
  assert.equal(located.cause, error);
  const expected =
    location === null ? [] : [{ location, message, type: error.faults[0]?.type ?? error.code }];
  assert.deepEqual(located.faults, expected);
}

function fault(message: string, ...location: readonly string[]): ServiceError {
  return new ServiceError({ code: "invalid", message, faults: [{ location, message, type: "t" }] });
}

test("translates the domain field in a fault's location to its path, and keeps the rest of the location", () => {
  check(fault("no", "stopping", "maxTokens"), ["body", "max_tokens"]);
  check(fault("no", "prompt", "messages", "0", "content"), ["body", "messages", "0", "content"]);
  check(fault("no", "after"), ["query", "after"]);
});

test("keeps a location that is already a path or is unknown", () => {
  check(fault("no", "body", "x"), ["body", "x"]);
  check(fault("no", "stopping", "minTokens"), ["stopping", "minTokens"]);
});

test("locates an error without a field at the path for its code, if there is one", () => {
  check(new ServiceError({ code: "not_found", message: "none" }), ["path", "model_id"]);
  check(new ServiceError({ code: "overloaded", message: "full", retryAfterSeconds: 7 }), null);
});

test("translates field names in messages, and keeps other quoted text", () => {
  const text = "`stopping.maxTokens` is 9; `toString` and `a b` are quotations";
  const spelled = "max_tokens is 9; `toString` and `a b` are quotations";
  check(fault(text, "stopping", "maxTokens"), ["body", "max_tokens"], spelled);
});

test("returns other errors unchanged", () => {
  const refusal = new HttpRefusal({ status: 405, code: "invalid", faults: [] });
  assert.equal(locate(refusal, fieldPaths), refusal);
  const bug = new Error("bug");
  assert.equal(locate(bug, fieldPaths), bug);
});

/**
 * Returns an error that cannot be converted to an answer, because its location contains undefined in spite of its type.
 */
function unanswerable(): ServiceError {
  const location = ["body", undefined as unknown as string];
  return new ServiceError({ code: "invalid", faults: [{ location, message: "no", type: "t" }] });
}

test("answers an error that cannot be converted as a server fault, and returns why for the log", () => {
  const { status, body, answerFailure } = errorAnswer(unanswerable(), "r1");
  assert.equal(status, 500);
  assert.deepEqual([body.error.code, body.error.type, body.detail], ["internal", "server_error", []]);
  assert.match(body.error.message, /request id r1/);
  assert.ok(answerFailure instanceof Error);
});

test("answers any thrown value with the common body and a request id, in an answer or as an event", async () => {
  const server = await fakeServer();
  server.chat.script.refusal = unanswerable();
  const post = { method: "POST", url: "/v1/chat/completions", headers: { authorization: bearer() } } as const;
  const whole = await server.ask({ ...post, payload: helloBody });
  assert.equal(whole.statusCode, 500);
  assert.equal(whole.json<{ error: { code: string } }>().error.code, "internal");
  assert.ok(whole.headers["x-request-id"]);
  Object.assign(server.chat.script, { refusal: null, failure: unanswerable() });
  const stream = await server.ask({ ...post, payload: { ...helloBody, stream: true } });
  assert.match(stream.body, /"code":"internal".*\n\ndata: \[DONE\]\n\n$/s);
  await server.close();
});
