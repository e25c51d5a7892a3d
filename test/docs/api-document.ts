// Reads the API document that the server returns at /openapi.json.
import type { ApiDocument } from "../../src/api/http/testing/api-document.ts";
import { fakeServer } from "../../src/api/http/testing/fake-server.ts";

export async function readApiDocument(): Promise<ApiDocument> {
  const server = await fakeServer();
  try {
    return (await server.ask({ method: "GET", url: "/openapi.json" })).json<ApiDocument>();
  } finally {
    await server.close();
  }
}
