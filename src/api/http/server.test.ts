import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { bearer, fakeServer, helloBody, keys } from "./testing/fake-server.ts";

test("limits the time for headers to 20 seconds, or to the time for the whole request if that is less", async () => {
  for (const [requestSeconds, headersMs] of [
    [300, 20_000],
    [10, 10_000],
  ]) {
    const { app, close } = await fakeServer({ settings: { requestSeconds } });
    assert.deepEqual(
      [app.server.requestTimeout, app.server.headersTimeout],
      [requestSeconds * 1000, headersMs],
    );
    await close();
  }
});

test("logs a server fault as an error, but not a client's fault", async () => {
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (_: object, message: string) => void errors.push(message) };
  const server = await fakeServer({ logger });
  const chat = (payload: object) =>
    server.ask({
      method: "POST",
      url: "/v1/chat/completions",
      headers: { authorization: bearer() },
      payload,
    });
  assert.equal((await chat({})).statusCode, 422);
  assert.deepEqual(errors, []);
  server.chat.script.refusal = new Error("broken");
  assert.equal((await chat(helloBody)).statusCode, 500);
  assert.deepEqual(errors, ["request failed"]);
  await server.close();
});

test("logs a refusal by its reason, with a stack trace only if it has a cause", async () => {
  const lines: object[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void lines.push(fields) };
  const server = await fakeServer({ logger });
  const message = "The model is being loaded.";
  for (const cause of [undefined, new Error("broken")]) {
    server.chat.script.refusal = new ServiceError({ code: "unavailable", message, cause });
    const headers = { authorization: bearer(keys.member), "x-request-id": "r" };
    await server.ask({ method: "POST", url: "/v1/chat/completions", headers, payload: helloBody });
  }
  assert.deepEqual(lines[0], { requestId: "r", status: 503, answerFailure: undefined, reason: message });
  assert.deepEqual(Object.keys(lines[1]), ["requestId", "status", "answerFailure", "err"]);
  await server.close();
});

test("logs each request with its key, address and outcome", async () => {
  const lines: object[] = [];
  const logger = { ...silentLogger, info: (fields: object) => void lines.push(fields) };
  const server = await fakeServer({ logger });
  const ask = (authorization: string) =>
    server.ask({ method: "GET", url: "/v1/models", headers: { authorization, "x-request-id": "r" } });
  await ask(bearer(keys.member));
  await ask(bearer("hone_guess"));
  const line = { requestId: "r", method: "GET", route: "/v1/models", address: "127.0.0.1" };
  assert.deepEqual(
    lines.map((fields) => ({ ...fields, durationMs: 0 })),
    [
      { ...line, status: 200, durationMs: 0, keyId: "member", entity: "acme" },
      { ...line, status: 401, durationMs: 0, keyId: null, entity: null },
    ],
  );
  await server.close();
});

test("logs the model and the tokens of a request, also for a request with several prompts", async () => {
  const lines: object[] = [];
  const logger = { ...silentLogger, info: (fields: object) => void lines.push(fields) };
  const server = await fakeServer({ logger });
  const headers = { authorization: bearer(keys.member) };
  const ask = async (url: string, payload: object) =>
    await server.ask({ method: "POST", url, headers, payload });
  const chat = await ask("/v1/chat/completions", helloBody);
  const usage: unknown = chat.json().usage;
  await ask("/v1/chat/completions", { ...helloBody, stream: true });
  const completion = await ask("/v1/completions", { prompt: ["one", "two"] });
  await server.close();
  const tokensOf = (fields: object) => {
    const { model, promptTokens, completionTokens } = fields as Record<string, unknown>;
    return { model, prompt_tokens: promptTokens, completion_tokens: completionTokens };
  };
  const shown = (answer: unknown, from: unknown) => ({
    model: (answer as { model: string }).model,
    prompt_tokens: (from as { prompt_tokens: number }).prompt_tokens,
    completion_tokens: (from as { completion_tokens: number }).completion_tokens,
  });
  assert.deepEqual(lines.map(tokensOf), [
    shown(chat.json(), usage),
    shown(chat.json(), usage),
    shown(completion.json(), completion.json().usage),
  ]);
});
