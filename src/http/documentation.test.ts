import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeServer } from "./testing/fake-server.ts";

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, unknown>>;
  readonly requestBody?: {
    readonly content: Readonly<
      Record<
        string,
        {
          readonly schema: {
            readonly properties: Readonly<Record<string, unknown>>;
            readonly required: readonly string[];
          };
        }
      >
    >;
  };
}

const operations: Readonly<Record<string, readonly string[]>> = {
  "/v1/chat/completions": ["post"],
  "/v1/chat/completions/": ["post"],
  "/v1/models": ["get"],
  "/v1/preview/base-models": ["get"],
  "/v1/preview/models": ["get", "post"],
  "/v1/preview/models/{model_id}": ["delete", "get"],
  "/v1/preview/models/{model_id}/checkpoints": ["delete", "get"],
  "/v1/preview/models/{model_id}/log": ["post"],
  "/v1/preview/models/{model_id}/metrics": ["get"],
  "/v1/preview/models/{model_id}/trajectories": ["get"],
  "/v1/preview/structured-outputs/check": ["post"],
  "/v1/preview/training-jobs": ["get", "post"],
  "/v1/preview/training-jobs/{job_id}": ["get"],
  "/v1/preview/training-jobs/{job_id}/cancel": ["post"],
  "/v1/preview/training-jobs/{job_id}/events": ["get"],
  "/feedback/batch/create": ["post"],
  "/feedback/create": ["post"],
  "/feedback/history": ["post"],
  "/feedback/replace": ["post"],
  "/health": ["get"],
  "/v1/health": ["get"],
  "/v1/system-check": ["get"],
  "/metrics": ["get"],
};

test("the OpenAPI document has every route, and the schemas that check them", async () => {
  const server = await fakeServer();
  const answer = await server.ask({ method: "GET", url: "/openapi.json" });
  assert.equal(answer.statusCode, 200);
  const { openapi, paths } = answer.json<Document>();
  assert.match(openapi, /^3\.1/);
  const found = Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods).sort()]),
  );
  assert.deepEqual(found, operations);
  const chat = paths["/v1/chat/completions"]?.["post"];
  const schema = chat?.requestBody?.content["application/json"]?.schema;
  assert.deepEqual(schema?.required, ["messages"]);
  assert.equal(Object.keys(schema?.properties ?? {}).length, 56);
  assert.deepEqual(Object.keys(chat?.responses ?? {}), ["2XX", "4XX", "5XX"]);
  assert.deepEqual(chat?.security, [{ bearer: [] }]);
  assert.deepEqual(paths["/feedback/replace"]?.["post"]?.security, [{ basic: [] }]);
  await server.close();
});

test("every field of a chat is described, those that are refused are marked, and its answer is shown", async () => {
  const server = await fakeServer();
  const { paths } = (await server.ask({ method: "GET", url: "/openapi.json" })).json<Document>();
  const chat = paths["/v1/chat/completions"]?.["post"];
  // As the OpenAPI document has them.
  const properties = chat?.requestBody?.content["application/json"]?.schema.properties as Record<
    string,
    { readonly description?: string; readonly default?: unknown; readonly "x-refused"?: boolean }
  >;
  for (const [name, { description = "" }] of Object.entries(properties))
    assert.match(description, /^[A-Z].+[.]$/, name);
  assert.deepEqual([properties["n"]?.default, properties["stream"]?.default], [1, false]);
  assert.ok(properties["documents"]?.["x-refused"] && !properties["stop"]?.["x-refused"]);
  assert.match(properties["min_p"]?.description ?? "", /Refused where the model's engine lacks it/);
  for (const field of ["choices", "usage", "system_fingerprint", "finish_reason"])
    assert.ok(JSON.stringify(chat?.responses["2XX"]).includes(`"${field}"`), field);
  await server.close();
});

test("the page to read it needs no asset from elsewhere", async () => {
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

test("the page's older address leads to it, whatever the query", async () => {
  const server = await fakeServer();
  for (const query of ["", "?a=b"]) {
    const answer = await server.ask({ method: "GET", url: `/docs/static/index.html${query}` });
    assert.deepEqual([answer.statusCode, answer.headers.location], [302, "/docs/"]);
  }
  await server.close();
});
