import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createTransport, HoneApiError } from "./transport.ts";

async function withServer(answer: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A listening TCP server has an address with a port.
  const { port } = server.address() as AddressInfo;
  try {
    await use(`http://127.0.0.1:${port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test("a base address with /v1 or a slash at its end is the same server, and the key goes along", async () => {
  const seen: (string | undefined)[] = [];
  await withServer(
    (request, response) => {
      seen.push(`${request.url} ${request.headers.authorization}`);
      response.setHeader("content-type", "application/json").end("{}");
    },
    async (url) => {
      for (const baseUrl of [url, `${url}/`, `${url}/v1`, `${url}/v1/`]) {
        await createTransport({ baseUrl, apiKey: "k" }).json("GET", "/health", { query: { a: 1, b: null } });
      }
    },
  );
  assert.deepEqual(new Set(seen), new Set(["/health?a=1 Bearer k"]));
});

test("a call with a body says that it is JSON, and one without says nothing", async () => {
  const seen: unknown[] = [];
  await withServer(
    (request, response) => {
      seen.push([request.method, request.headers["content-type"]]);
      response.setHeader("content-type", "application/json").end("{}");
    },
    async (url) => {
      const transport = createTransport({ baseUrl: url, apiKey: null });
      await transport.json("POST", "/", { body: {} });
      await transport.json("DELETE", "/");
    },
  );
  assert.deepEqual(seen, [
    ["POST", "application/json"],
    ["DELETE", undefined],
  ]);
});

test("an error carries the server's message, the status and the request's id", async () => {
  await withServer(
    (_, response) => {
      response.writeHead(404, { "content-type": "application/json", "x-request-id": "r1" });
      response.end(JSON.stringify({ detail: [], error: { message: "There is no model x." } }));
    },
    async (url) => {
      await assert.rejects(createTransport({ baseUrl: url, apiKey: null }).json("GET", "/x"), (error) => {
        assert.ok(error instanceof HoneApiError);
        assert.deepEqual([error.status, error.requestId], [404, "r1"]);
        assert.equal(error.message, "404: There is no model x.");
        return true;
      });
    },
  );
});

test("a server that is not there is named, and an abort stays an abort", async () => {
  let address = "";
  await withServer(
    () => undefined,
    async (url) => {
      address = url;
      const controller = new AbortController();
      const waiting = createTransport({ baseUrl: url, apiKey: null }).json("GET", "/", {
        signal: controller.signal,
      });
      controller.abort();
      await assert.rejects(waiting, { name: "AbortError" });
    },
  );
  await assert.rejects(createTransport({ baseUrl: address, apiKey: null }).json("GET", "/"), (error) => {
    assert.ok(error instanceof HoneApiError && error.status === 0);
    assert.match(
      error.message,
      /^No answer from http:\/\/127\.0\.0\.1:\d+ \(.+\)\. Is the server running there\?$/,
    );
    return true;
  });
});

test("what makes an upload is ended where the upload is not taken", async () => {
  const upload = () => {
    let state = "not begun";
    async function* pieces(): AsyncGenerator<Uint8Array> {
      state = "begun";
      try {
        for (;;) yield new Uint8Array(1000);
      } finally {
        state = "ended";
      }
    }
    return { pieces: pieces(), type: "application/x-tar", state: () => state };
  };
  const ended = async (baseUrl: string): Promise<string> => {
    const { state, ...given } = upload();
    const sent = createTransport({ baseUrl, apiKey: null }).open("POST", "/", { upload: given });
    await assert.rejects(sent, HoneApiError);
    // What was being made is made, and then ended.
    for (let turn = 0; turn < 100 && state() === "begun"; turn++) await new Promise(setImmediate);
    return state();
  };
  const nobody = createServer();
  await new Promise<void>((resolve) => nobody.listen(0, "127.0.0.1", resolve));
  const { port } = nobody.address() as AddressInfo;
  await new Promise((resolve) => nobody.close(resolve));
  assert.equal(await ended(`http://127.0.0.1:${port}`), "ended");
  await withServer(
    (_, response) => void response.writeHead(401, { connection: "close" }).end("{}"),
    async (url) => assert.equal(await ended(url), "ended"),
  );
});

test("what is no address of a server is refused by name, before anything is asked", () => {
  for (const baseUrl of ["abc", "", "127.0.0.1:8000", "file:///etc"]) {
    assert.throws(
      () => createTransport({ baseUrl, apiKey: null }),
      (error: unknown) => {
        assert.ok(error instanceof HoneApiError);
        assert.equal(error.status, 0);
        assert.ok(error.message.startsWith(`${JSON.stringify(baseUrl)} is no address of a server`));
        return true;
      },
    );
  }
});
