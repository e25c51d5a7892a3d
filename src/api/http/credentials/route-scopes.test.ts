import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiDocument } from "../testing/api-document.ts";
import { fakeServer } from "../testing/fake-server.ts";
import { effectOf, scopesOf } from "./route-scopes.ts";

/** Routes that only a key without limits may use. */
const unlimited = [
  "DELETE /v1/preview/keys/{key_id}",
  "DELETE /v1/preview/webhooks/{webhook_id}",
  "GET /v1/preview/entities/{entity}/limits",
  "GET /v1/preview/keys",
  "GET /v1/preview/keys/{key_id}",
  "GET /v1/preview/logs",
  "POST /v1/preview/base-models/{base_model}/load",
  "POST /v1/preview/base-models/{base_model}/unload",
  "POST /v1/preview/entities/{entity}/limits",
  "POST /v1/preview/keys",
  "POST /v1/preview/keys/{key_id}",
  "POST /v1/preview/keys/{key_id}/rotate",
  "POST /v1/preview/retention/sweep",
  "POST /v1/preview/webhooks",
  "POST /v1/preview/webhooks/{webhook_id}",
  "POST /v1/preview/webhooks/{webhook_id}/replay",
];

test("opens each route that requires a key to some scope, except those that require a key without limits", async () => {
  const server = await fakeServer();
  const { paths } = (await server.ask({ method: "GET", url: "/openapi.json" })).json<ApiDocument>();
  await server.close();
  const guarded = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => "security" in operation)
      .map(([method]) => [method.toUpperCase(), path] as const),
  );
  assert.ok(guarded.length > 80, String(guarded.length));
  const closed = guarded.filter(([method, path]) => (scopesOf(method, path)?.scopes.length ?? 0) === 0);
  assert.deepEqual(closed.map((words) => words.join(" ")).toSorted(), unlimited);
});

test("opens no route that makes changes to the scope `read`", () => {
  for (const [method, route] of [
    ["POST", "/feedback/create"],
    ["POST", "/feedback/purge"],
    ["POST", "/annotation_queues/:queue_id/claim"],
    ["PUT", "/annotation_queues/:queue_id"],
    ["POST", "/v1/preview/training-jobs"],
    ["POST", "/v1/preview/models/:model_id/log"],
    ["DELETE", "/v1/chat/completions/:request_id"],
    ["DELETE", "/v1/chat/completions/:request_id"],
    ["POST", "/v1/chat/completions"],
    ["POST", "/calls/delete"],
    ["POST", "/v1/files"],
  ] as const)
    assert.ok(!scopesOf(method, route)?.scopes.includes("read"), `${method} ${route}`);
});

test("knows the routes that only add records or only read through POST; all others make changes", async () => {
  const server = await fakeServer();
  const { paths } = (await server.ask({ method: "GET", url: "/openapi.json" })).json<ApiDocument>();
  await server.close();
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
  );
  const withEffect = (effect: string): readonly string[] =>
    routes
      .filter(([method, path]) => method !== "GET" && method !== "HEAD" && effectOf(method, path) === effect)
      .map((words) => words.join(" "))
      .toSorted();
  assert.deepEqual(withEffect("record"), [
    "POST /api/public/ingestion",
    "POST /api/public/otel/v1/traces",
    "POST /api/public/scores",
    "POST /api/v1/create_sampling_session",
    "POST /api/v1/create_session",
    "POST /api/v1/forward_backward",
    "POST /api/v1/optim_step",
    "POST /call/end",
    "POST /call/start",
    "POST /call/upsert_batch",
    "POST /feedback/batch/create",
    "POST /feedback/create",
    "POST /file/create",
    "POST /files/create",
    "POST /obj/create",
    "POST /table/create",
    "POST /table/create_from_digests",
    "POST /v1/preview/models/{model_id}/log",
    "POST /v1/traces",
    "POST /v2/{entity}/{project}/call/end",
    "POST /v2/{entity}/{project}/call/start",
    "POST /v2/{entity}/{project}/calls/complete",
  ]);
  assert.deepEqual(withEffect("read"), [
    "POST /annotation_queues/query",
    "POST /annotation_queues/stats",
    "POST /annotation_queues/{queue_id}/items/query",
    "POST /api/chat",
    "POST /api/embed",
    "POST /api/embeddings",
    "POST /api/generate",
    "POST /api/pull",
    "POST /api/show",
    "POST /api/v1/asample",
    "POST /api/v1/client/config",
    "POST /api/v1/client/dynamic_config",
    "POST /api/v1/forward",
    "POST /api/v1/get_info",
    "POST /api/v1/retrieve_future",
    "POST /api/v1/session_heartbeat",
    "POST /api/v1/telemetry",
    "POST /api/v1/weights_info",
    "POST /call/read",
    "POST /calls/query_stats",
    "POST /calls/stream_query",
    "POST /detokenize",
    "POST /feedback/export",
    "POST /feedback/history",
    "POST /feedback/query",
    "POST /feedback/stats",
    "POST /file/content",
    "POST /graphql",
    "POST /obj/read",
    "POST /objs/query",
    "POST /refs/read_batch",
    "POST /table/query",
    "POST /table/query_stats",
    "POST /tokenize",
    "POST /v1/chat/completions",
    "POST /v1/chat/completions/",
    "POST /v1/completions",
    "POST /v1/embeddings",
    "POST /v1/messages",
    "POST /v1/messages/count_tokens",
    "POST /v1/preview/structured-outputs/check",
    "POST /v1/responses",
  ]);
  assert.ok(withEffect("change").includes("POST /v1/preview/keys"));
  assert.equal(effectOf("POST", "/v1/preview/models/:model_id/log"), "record", "as the router names it");
});
