// Errors of the domain in the wire's words; what becomes of each code is in statuses.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import { locate, type WirePlaces } from "../wire/field-paths.ts";
import { bearer, fakeServer, helloBody } from "./testing/fake-server.ts";
import { errorAnswer, HttpRefusal } from "./errors.ts";

const places: WirePlaces = {
  "stopping.maxTokens": ["body", "max_tokens"],
  "prompt.messages": ["body", "messages"],
  after: ["query", "after"],
  not_found: ["path", "model_id"],
};

function check(error: ServiceError, location: readonly string[] | null, message = error.message): void {
  const located = locate(error, places);
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

test("a domain field's fault gets the wire's place, and keeps what is below the field", () => {
  check(fault("no", "stopping", "maxTokens"), ["body", "max_tokens"]);
  check(fault("no", "prompt", "messages", "0", "content"), ["body", "messages", "0", "content"]);
  check(fault("no", "after"), ["query", "after"]);
});

test("a place of the wire, or one that is not known, stays", () => {
  check(fault("no", "body", "x"), ["body", "x"]);
  check(fault("no", "stopping", "minTokens"), ["stopping", "minTokens"]);
});

test("an error without a field gets the place of its code, where there is one", () => {
  check(new ServiceError({ code: "not_found", message: "none" }), ["path", "model_id"]);
  check(new ServiceError({ code: "overloaded", message: "full", retryAfterSeconds: 7 }), null);
});

test("texts name fields as the client knows them, and quote all else as it is", () => {
  const text = "`stopping.maxTokens` is 9; `toString` and `a b` are quotations";
  const spelled = "max_tokens is 9; `toString` and `a b` are quotations";
  check(fault(text, "stopping", "maxTokens"), ["body", "max_tokens"], spelled);
});

test("what is no error of the domain passes as it is", () => {
  const refusal = new HttpRefusal({ status: 405, code: "invalid", faults: [] });
  assert.equal(locate(refusal, places), refusal);
  const bug = new Error("bug");
  assert.equal(locate(bug, places), bug);
});

/** As a parser makes it that says what it found to be a text, and it is none. */
function unanswerable(): ServiceError {
  const location = ["body", undefined as unknown as string];
  return new ServiceError({ code: "invalid", faults: [{ location, message: "no", type: "t" }] });
}

test("an error that cannot be answered is answered as a fault of the server, and says why to the log", () => {
  const { status, body, answerFailure } = errorAnswer(unanswerable(), "r1");
  assert.equal(status, 500);
  assert.deepEqual([body.error.code, body.error.type, body.detail], ["internal", "server_error", []]);
  assert.match(body.error.message, /request id r1/);
  assert.ok(answerFailure instanceof Error);
});

test("whatever a handler throws, the answer has the one body and a request id, whole or as an event", async () => {
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
