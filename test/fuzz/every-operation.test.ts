// Tests that the fuzzer covers every operation in the API's own description.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiDocument } from "../../src/api/http/testing/api-document.ts";
import { fakeServer } from "../../src/api/http/testing/fake-server.ts";
import { validRequests } from "./valid-requests.ts";

test("the fuzzer covers every operation of the API", async () => {
  const server = await fakeServer();
  const { paths } = (await server.ask({ method: "GET", url: "/openapi.json" })).json<ApiDocument>();
  const requests = validRequests({
    apiKey: "",
    modelId: "m",
    spareModelId: "s",
    jobId: "j",
    fileId: "f",
    uploadId: "u",
    queueId: "q",
    itemId: "i",
    rolloutId: "r",
    sessionId: "s",
    tuningJobId: "t",
  });
  const isBegun = (method: string, path: string): boolean => {
    const pattern = new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`);
    return requests.some((one) => one.method === method && pattern.test(one.path.split("?")[0] ?? ""));
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
  );
  assert.ok(operations.length > 50);
  assert.deepEqual(
    operations.filter(([method, path]) => !isBegun(method, path)),
    [],
  );
  await server.close();
});
