import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { fakeServer } from "../testing/fake-server.ts";
import type { ApiDocument, Operation, Schema } from "../testing/api-document.ts";

async function documentOf(server: Awaited<ReturnType<typeof fakeServer>>): Promise<ApiDocument> {
  const answer = await server.ask({ method: "GET", url: "/openapi.json" });
  assert.equal(answer.statusCode, 200);
  return answer.json<ApiDocument>();
}

const operations: Readonly<Record<string, readonly string[]>> = {
  "/v1/chat/completions": ["get", "post"],
  "/v1/chat/completions/": ["post"],
  "/tokenize": ["post"],
  "/detokenize": ["post"],
  "/v1/completions": ["post"],
  "/v1/embeddings": ["post"],
  "/v1/models": ["get"],
  "/v1/models/{model}": ["delete", "get"],
  "/version": ["get"],
  "/v1/preview/base-models": ["get"],
  "/v1/preview/base-models/{base_model}/load": ["post"],
  "/v1/preview/base-models/{base_model}/unload": ["post"],
  "/v1/preview/key": ["get"],
  "/v1/preview/entities/{entity}/limits": ["get", "post"],
  "/v1/preview/keys": ["get", "post"],
  "/v1/preview/keys/{key_id}": ["delete", "get", "post"],
  "/v1/preview/keys/{key_id}/rotate": ["post"],
  "/v1/preview/usage": ["get"],
  "/v1/preview/usage/export": ["get"],
  "/v1/preview/retention": ["get"],
  "/v1/preview/retention/sweep": ["post"],
  "/v1/preview/logs": ["get"],
  "/v1/preview/summary": ["get"],
  "/v1/preview/models": ["get", "post"],
  "/v1/preview/models/{model_id}": ["delete", "get"],
  "/v1/preview/models/{model_id}/checkpoints": ["delete", "get", "post"],
  "/v1/preview/models/{model_id}/checkpoints/{step}": ["get"],
  "/v1/preview/models/{model_id}/checkpoints/{step}/export": ["get"],
  "/v1/preview/models/{model_id}/checkpoints/{step}/pin": ["delete", "put"],
  "/v1/preview/models/{model_id}/accept-base": ["post"],
  "/v1/preview/models/{model_id}/log": ["post"],
  "/v1/preview/models/{model_id}/metrics": ["get"],
  "/v1/preview/models/{model_id}/trajectories": ["get"],
  "/v1/preview/models/{model_id}/trajectories/export": ["get"],
  "/v1/preview/models/{model_id}/trajectories/outlines": ["get"],
  "/v1/preview/models/{model_id}/trajectories/counts": ["get"],
  "/v1/preview/models/{model_id}/trajectories/{number}": ["get"],
  "/v1/preview/models/{model_id}/trajectories/rows": ["get"],
  "/v1/preview/sft-training-jobs": ["post"],
  "/v1/preview/preference-training-jobs": ["post"],
  "/v1/preview/preference-training-jobs/from-feedback": ["post"],
  "/v1/fine_tuning/jobs": ["get", "post"],
  "/v1/fine_tuning/jobs/{fine_tuning_job_id}": ["get"],
  "/v1/fine_tuning/jobs/{fine_tuning_job_id}/cancel": ["post"],
  "/v1/fine_tuning/alpha/graders/run": ["post"],
  "/v1/fine_tuning/alpha/graders/validate": ["post"],
  "/v1/fine_tuning/jobs/{fine_tuning_job_id}/checkpoints": ["get"],
  "/v1/fine_tuning/jobs/{fine_tuning_job_id}/pause": ["post"],
  "/v1/fine_tuning/jobs/{fine_tuning_job_id}/resume": ["post"],
  "/v1/fine_tuning/jobs/{fine_tuning_job_id}/events": ["get"],
  "/v1/preview/models/{model_id}/learning": ["delete", "get", "put"],
  "/v1/preview/models/{model_id}/learning/cycles": ["get"],
  "/v1/preview/models/{model_id}/rollouts": ["get", "post"],
  "/v1/preview/models/{model_id}/rollouts/{rollout_id}": ["get"],
  "/v1/preview/models/{model_id}/rollouts/{rollout_id}/trajectories": ["get"],
  "/v1/preview/models/{model_id}/rollouts/{rollout_id}/finish": ["post"],
  "/v1/preview/models/{model_id}/rollouts/{rollout_id}/cancel": ["post"],
  "/v1/preview/projects/{entity}/{project}/datasets/from-traces": ["post"],
  "/api/v1/healthz": ["get"],
  "/api/v1/client/config": ["post"],
  "/api/v1/client/dynamic_config": ["post"],
  "/api/v1/get_server_capabilities": ["get"],
  "/api/v1/create_session": ["post"],
  "/api/v1/session_heartbeat": ["post"],
  "/api/v1/sessions": ["get"],
  "/api/v1/sessions/{session_id}": ["get"],
  "/api/v1/sessions/{session_id}/finish": ["post"],
  "/api/v1/telemetry": ["post"],
  "/api/v1/create_model": ["post"],
  "/api/v1/get_info": ["post"],
  "/api/v1/weights_info": ["post"],
  "/api/v1/optim_step": ["post"],
  "/api/v1/save_weights": ["post"],
  "/api/v1/save_weights_for_sampler": ["post"],
  "/api/v1/save_weights_external": ["post"],
  "/api/v1/load_weights": ["post"],
  "/api/v1/unload_model": ["post"],
  "/api/v1/forward": ["post"],
  "/api/v1/forward_backward": ["post"],
  "/api/v1/retrieve_future": ["post"],
  "/api/v1/create_sampling_session": ["post"],
  "/api/v1/samplers/{sampler_id}": ["get"],
  "/api/v1/asample": ["post"],
  "/api/v1/training_runs": ["get"],
  "/api/v1/training_runs/{run_id}": ["get"],
  "/api/v1/training_runs/{run_id}/checkpoints": ["get"],
  "/api/v1/checkpoints": ["get"],
  "/api/v1/external_weights/{link_secret}/{file_name}": ["get"],
  "/api/v1/training_runs/{run_id}/checkpoints/{kind}/{checkpoint}": ["delete"],
  "/api/v1/training_runs/{run_id}/checkpoints/{kind}/{checkpoint}/external_weights_urls": ["get"],
  "/api/v1/training_runs/{run_id}/checkpoints/{kind}/{checkpoint}/ttl": ["put"],
  "/api/v1/training_runs/{run_id}/checkpoints/{kind}/{checkpoint}/archive": ["get"],
  "/api/public/projects": ["get"],
  "/api/public/scores": ["post"],
  "/api/public/ingestion": ["post"],
  "/v1/traces": ["post"],
  "/api/public/otel/v1/traces": ["post"],
  "/v1/preview/structured-outputs/check": ["post"],
  "/v1/preview/training-jobs": ["get", "post"],
  "/v1/preview/training-jobs/{job_id}": ["get"],
  "/v1/preview/training-jobs/{job_id}/cancel": ["post"],
  "/v1/preview/training-jobs/{job_id}/replay": ["post"],
  "/v1/preview/training-jobs/{job_id}/retry": ["post"],
  "/v1/preview/training-jobs/{job_id}/events": ["get"],
  "/v1/preview/training-jobs/from-feedback": ["post"],
  "/v1/preview/models/{model_id}/checkpoints/{step}/sources": ["get"],
  "/v1/chat/completions/{request_id}": ["delete", "get"],
  "/v1/chat/completions/{request_id}/messages": ["get"],
  "/v1/preview/reward-rules": ["get", "post"],
  "/v1/preview/reward-rules/{rule_id}": ["delete", "get", "put"],
  "/v1/preview/reward-rules/{rule_id}/pause": ["post"],
  "/v1/preview/reward-rules/{rule_id}/resume": ["post"],
  "/v1/preview/webhooks": ["get", "post"],
  "/v1/preview/webhooks/{webhook_id}": ["delete", "get", "post"],
  "/v1/preview/webhooks/{webhook_id}/deliveries": ["get"],
  "/v1/preview/webhooks/{webhook_id}/replay": ["post"],
  "/annotation_queues": ["post"],
  "/annotation_queues/query": ["post"],
  "/annotation_queues/stats": ["post"],
  "/annotation_queues/{queue_id}": ["delete", "get", "put"],
  "/annotation_queues/{queue_id}/agreement": ["get"],
  "/annotation_queues/{queue_id}/claim": ["post"],
  "/annotation_queues/{queue_id}/items": ["post"],
  "/annotation_queues/{queue_id}/items/query": ["post"],
  "/annotation_queues/{queue_id}/items/{item_id}/answers": ["post"],
  "/annotation_queues/{queue_id}/items/{item_id}/progress": ["post"],
  "/annotation_queues/{queue_id}/items/{item_id}/release": ["post"],
  "/annotation_queues/{queue_id}/items/{item_id}/reopen": ["post"],
  ...Object.fromEntries(
    [
      "/graphql",
      ...["create", "read", "delete"].map((call) => `/obj/${call}`),
      "/objs/query",
      ...["create", "create_from_digests", "query", "query_stats"].map((call) => `/table/${call}`),
      "/refs/read_batch",
      "/file/create",
      "/files/create",
      "/file/content",
      ...["start", "end", "upsert_batch", "read"].map((call) => `/call/${call}`),
      ...["stream_query", "query_stats", "delete"].map((call) => `/calls/${call}`),
      ...["call/start", "call/end", "calls/complete"].map((call) => `/v2/{entity}/{project}/${call}`),
    ].map((path) => [path, ["post"]]),
  ),
  "/server_info": ["get"],
  "/v1/preview/projects/{entity}/{project}/traces": ["delete"],
  "/feedback/batch/create": ["post"],
  "/feedback/create": ["post"],
  "/feedback/export": ["post"],
  "/feedback/history": ["post"],
  "/feedback/purge": ["post"],
  "/feedback/query": ["post"],
  "/feedback/replace": ["post"],
  "/feedback/stats": ["post"],
  "/health": ["get"],
  "/v1/files": ["get", "post"],
  "/v1/files/{file_id}": ["delete", "get"],
  "/v1/files/{file_id}/content": ["get"],
  "/v1/uploads": ["post"],
  "/v1/uploads/{upload_id}/cancel": ["post"],
  "/v1/uploads/{upload_id}/complete": ["post"],
  "/v1/uploads/{upload_id}/parts": ["post"],
  "/v1/health": ["get"],
  "/v1/kv-transfers": ["post"],
  "/ping": ["get"],
  "/load": ["get"],
  "/v1/messages": ["post"],
  "/api/version": ["get"],
  "/api/tags": ["get"],
  "/api/ps": ["get"],
  "/api/show": ["post"],
  "/api/pull": ["post"],
  "/api/delete": ["delete"],
  "/api/chat": ["post"],
  "/api/generate": ["post"],
  "/api/embed": ["post"],
  "/api/embeddings": ["post"],
  "/v1/messages/count_tokens": ["post"],
  "/v1/responses": ["post"],
  "/v1/system-check": ["get"],
  "/metrics": ["get"],
};

/** Routes that require Basic credentials, as the clients of Weave and Langfuse send them. */
const basicRoutes =
  /^\/(feedback|annotation_queues|objs?|refs|table|files?|calls?|v2|graphql|server_info|api\/public)\b/;
/** Routes that accept both schemes. */
const tracesRoutes = /\/v1\/traces$/;

test("documents each route with its credentials, a summary and the schemas of its answers", async () => {
  const server = await fakeServer();
  const { openapi, paths } = await documentOf(server);
  assert.match(openapi, /^3\.1/);
  const found = Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods).sort()]),
  );
  assert.deepEqual(found, operations);
  for (const { path, operation } of operationsIn(paths)) {
    const { summary, security, responses } = operation;
    const scheme = basicRoutes.test(path) ? "basic" : "bearer";
    const accepted = tracesRoutes.test(path) ? ["bearer", "basic"] : [scheme];
    const isOpen = [
      "/health",
      "/v1/health",
      "/ping",
      "/load",
      "/v1/system-check",
      "/version",
      "/metrics",
      // Clients sign these requests with a shared secret, which no OpenAPI security scheme describes.
      "/v1/kv-transfers",
      // The secret in the path is the credential.
      "/api/v1/external_weights/{link_secret}/{file_name}",
    ].includes(path);
    assert.deepEqual(security ?? [], isOpen ? [] : accepted.map((name) => ({ [name]: [] })), path);
    assert.match(summary, /^[A-Z].*[^.]$/, path);
    assert.ok(
      responses["2XX"] !== undefined && responses["4XX"] !== undefined && responses["5XX"] !== undefined,
    );
    for (const { description, content } of Object.values(responses)) {
      assert.match(description, /^[A-Z].*[.]$/, path);
      const schemas = Object.values(content).map(({ schema }) => schema);
      assert.ok(schemas.length > 0 && schemas.every((schema) => Object.keys(schema).length > 0), path);
    }
  }
  await server.close();
});

function operationsIn(
  paths: ApiDocument["paths"],
): readonly { readonly path: string; readonly operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, operation })),
  );
}

/** Returns the schema and all schemas nested in it, each with its path from the outer schema. */
function within(schema: Schema, place: string): readonly (readonly [string, Schema])[] {
  const { anyOf = [], items, properties = {}, additionalProperties } = schema;
  return [
    [place, schema],
    ...anyOf.flatMap((branch) => within(branch, place)),
    ...(items === undefined ? [] : within(items, `${place}[]`)),
    ...Object.entries(properties).flatMap(([name, property]) => within(property, `${place}.${name}`)),
    ...(typeof additionalProperties === "object" ? within(additionalProperties, `${place}.*`) : []),
  ];
}

test("writes valid JSON Schema 2020-12 that accepts its own defaults and examples", async () => {
  const server = await fakeServer();
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    code: { optimize: false },
  });
  // Many routes have equal schemas, such as that of errors. Each is checked once, with the path of one of its routes.
  const schemas = new Map<string, readonly [string, Schema]>();
  for (const { path, operation } of operationsIn((await documentOf(server)).paths)) {
    const bodies = [
      operation.requestBody?.content ?? {},
      ...Object.values(operation.responses).map(({ content }) => content),
    ];
    for (const { schema } of [...bodies.flatMap(Object.values), ...(operation.parameters ?? [])])
      schemas.set(JSON.stringify(schema), [path, schema]);
  }
  let exampleCount = 0;
  for (const [path, outer] of schemas.values()) {
    // This also checks the nested schemas.
    assert.equal(ajv.validateSchema(outer), true, path);
    for (const [place, schema] of within(outer, path)) {
      const values = [...(schema.examples ?? []), ...("default" in schema ? [schema.default] : [])];
      for (const value of values)
        assert.ok(ajv.validate(schema, value), `${place}: ${JSON.stringify(value)} ${ajv.errorsText()}`);
      exampleCount += values.length;
    }
  }
  assert.ok(exampleCount > 80, `${exampleCount} defaults and examples`);
  await server.close();
});

test("describes every field that a client can send, at any depth", async () => {
  const server = await fakeServer();
  const undescribed: string[] = [];
  for (const { path, operation } of operationsIn((await documentOf(server)).paths)) {
    for (const { schema } of Object.values(operation.requestBody?.content ?? {})) {
      for (const [place, { properties = {} }] of within(schema, path)) {
        for (const [name, { description = "" }] of Object.entries(properties))
          if (!/^[A-Z`].*[.]$/.test(description)) undescribed.push(`${place}.${name}: ${description}`);
      }
    }
    for (const { name, description = "" } of operation.parameters ?? [])
      if (!/^[A-Z`].*[.]$/.test(description)) undescribed.push(`${path}?${name}: ${description}`);
  }
  assert.deepEqual(undescribed, []);
  await server.close();
});

test("documents a chat's defaults and examples, and marks unsupported fields", async () => {
  const server = await fakeServer();
  const chat = (await documentOf(server)).paths["/v1/chat/completions"]?.["post"];
  const schema = chat?.requestBody?.content["application/json"]?.schema;
  assert.deepEqual(schema?.required, ["messages"]);
  const properties = schema?.properties ?? {};
  assert.equal(Object.keys(properties).length, 80);
  for (const [name, { examples = [], default: value, "x-default": words }] of Object.entries(properties)) {
    assert.equal(examples.length, 1, name);
    assert.ok(name === "messages" || value !== undefined || words !== undefined, `${name} has no default`);
  }
  assert.deepEqual([properties["n"]?.default, properties["stream"]?.default], [1, false]);
  assert.equal(properties["stop"]?.["x-refused"], undefined);
  assert.equal(properties["min_p"]?.["x-engine-feature"], true);
  assert.deepEqual(Object.keys(chat?.responses["2XX"]?.content ?? {}), [
    "application/json",
    "text/event-stream",
  ]);
  await server.close();
});

test("serves the documentation page without external assets", async () => {
  const server = await fakeServer();
  const page = await server.ask({ method: "GET", url: "/docs/" });
  assert.equal(page.statusCode, 200);
  const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
  assert.ok(assets.length >= 4);
  for (const asset of assets) {
    const answer = await server.ask({ method: "GET", url: new URL(asset, "http://host/docs/").pathname });
    assert.ok(asset.startsWith("./"), asset);
    assert.equal(answer.statusCode, 200, asset);
  }
  const start = await server.ask({ method: "GET", url: "/docs/static/swagger-initializer.js" });
  assert.match(start.body, /validatorUrl["']?\s*:\s*null/);
  await server.close();
});

test("redirects from the older URL of the documentation page, with any query", async () => {
  const server = await fakeServer();
  for (const query of ["", "?a=b"]) {
    const answer = await server.ask({ method: "GET", url: `/docs/static/index.html${query}` });
    assert.deepEqual([answer.statusCode, answer.headers.location], [302, "/docs/"]);
  }
  await server.close();
});
