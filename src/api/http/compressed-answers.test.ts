// Tests compression on the routes of the server: lists, errors, new keys and event streams.
import assert from "node:assert/strict";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { notFound } from "../../base/domain/service-error.ts";
import type { ErrorBody } from "./errors.ts";
import { bearer, fakeServer, helloBody, registeredModel } from "./testing/fake-server.ts";

const headers = { authorization: bearer(), "accept-encoding": "gzip, deflate, br" };

test("compresses lists and the API's document, but neither new keys nor event streams", async () => {
  const { app, close } = await fakeServer();
  const document = await app.inject({ url: "/openapi.json", headers });
  assert.equal(document.headers["content-encoding"], "gzip");
  assert.match(gunzipSync(document.rawPayload).toString(), /"openapi"/);
  const payload = { entity: "acme", owner: "x".repeat(200) };
  const key = await app.inject({ method: "POST", url: "/v1/preview/keys", headers, payload });
  assert.equal(key.headers["content-encoding"], undefined);
  const stream = { ...helloBody, stream: true };
  const url = "/v1/chat/completions";
  const events = await app.inject({ method: "POST", url, headers, payload: stream });
  assert.equal(events.headers["content-encoding"], undefined);
  assert.match(events.body, /data: \[DONE\]/);
  await close();
});

test("sends a plain error if a list fails before its first compressed byte", async () => {
  const server = await fakeServer({
    wrap: (dependencies) => ({
      ...dependencies,
      trajectories: { ...dependencies.trajectories, lines: async () => Promise.reject(notFound("log", "7")) },
    }),
  });
  const url = `/v1/preview/models/${await registeredModel(server)}`;
  const payload = { trajectory_groups: [{ trajectories: [{ reward: 1 }] }] };
  await server.ask({ method: "POST", url: `${url}/log`, headers, payload });
  const answer = await server.app.inject({ url: `${url}/trajectories`, headers });
  assert.deepEqual([answer.statusCode, answer.headers["content-encoding"]], [404, undefined]);
  assert.match(answer.json<ErrorBody>().error.message, /log/);
  await server.close();
});
