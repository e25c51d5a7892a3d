// Tests of the whole server and its listener, on a free port of the loopback address, with a small model.
import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { createServer as createPort, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { checkService, type ServiceUnderTest } from "../../base/domain/testing/check-service.ts";
import { readConfig } from "./config.ts";
import { createServer, type Server } from "./server.ts";

function underTest(
  t: TestContext,
  port = 0,
): ServiceUnderTest & {
  readonly service: Server;
  readonly flags: Readonly<Record<string, unknown>>;
} {
  const data = mkdtempSync(join(tmpdir(), "hone-server-"));
  t.after(() => rmSync(data, { recursive: true }));
  const model = ["tiny=test/fixtures/goldens/models/qwen3"];
  const flags = { data, port, model, "log-level": "silent" };
  const server = createServer(readConfig(flags, {}));
  const upCount = async (): Promise<number> => {
    if (server.url === "") return 0;
    return fetch(`${server.url}/health`).then(
      ({ status }) => (status === 200 ? 1 : 0),
      // Connection refused: the server is not up.
      () => 0,
    );
  };
  return { service: server, upCount, flags };
}

/** Returns a port that another listener uses during the test. */
async function takenPort(t: TestContext): Promise<number> {
  const other = createPort();
  t.after(() => other.close());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  // Safe cast: a server that listens on a TCP port has such an address.
  return (other.address() as AddressInfo).port;
}

test("a running server", async (t) => {
  const { service: server, flags } = underTest(t);
  t.after(() => server.stop());
  await server.start();

  await t.test(
    "has run a warm-up chat before its start ended, and does not count it in metrics",
    async () => {
      assert.equal((await fetch(`${server.url}/health`)).status, 200);
      const metrics = await fetch(`${server.url}/metrics`).then((answer) => answer.text());
      assert.match(metrics, /^hone_engine_prefix_cache_bytes\{[^}]*\} [1-9]/m);
      assert.match(metrics, /^hone_engine_prefix_cache_queries\{[^}]*\} 0$/m);
      assert.doesNotMatch(metrics, /^hone_chat_(requests|tokens)_total\{/m);
      assert.doesNotMatch(metrics, /^hone_http_requests_total\{.*completions/m);
    },
  );

  await t.test("lets no other server start on its data folder, even with another database", async (t) => {
    const elsewhere = mkdtempSync(join(tmpdir(), "hone-elsewhere-"));
    t.after(() => rmSync(elsewhere, { recursive: true }));
    const database = `file:${join(elsewhere, "hone.db")}`;
    const second = createServer(readConfig({ ...flags, "database-url": database }, {}));
    t.after(() => second.stop());
    await assert.rejects(second.start(), { code: "conflict", message: /process \d+/ });
  });

  await t.test(
    "serves operator routes without a key only if the request names this machine as host",
    async () => {
      for (const [host, status] of Object.entries({ localhost: 200, "rebound.example": 401 })) {
        // `fetch` does not allow setting the Host header.
        const asked = get(`${server.url}/metrics`, { headers: { host }, agent: false });
        const [answer] = (await once(asked, "response")) as [IncomingMessage];
        answer.resume();
        assert.equal(answer.statusCode, status, host);
      }
    },
  );
});

test("runs a warm-up chat also with a model that has no chat template", async (t) => {
  const { flags } = underTest(t);
  const folder = join(flags["data"] as string, "plain");
  cpSync("test/fixtures/goldens/models/qwen3", folder, { recursive: true });
  rmSync(join(folder, "chat_template.jinja"));
  const server = createServer(readConfig({ ...flags, model: [`plain=${folder}`] }, {}));
  t.after(() => server.stop());
  await server.start();
  const metrics = await fetch(`${server.url}/metrics`).then((answer) => answer.text());
  assert.match(metrics, /^hone_engine_prefix_cache_bytes\{[^}]*"plain"[^}]*\} [1-9]/m);
});

test("leaves no timer running after an engine failed to start", async (t) => {
  const { flags } = underTest(t);
  const broken = join(flags["data"] as string, "broken.mjs");
  writeFileSync(broken, "export const createProcessor = 5;");
  const server = createServer(readConfig({ ...flags, "engine-logits-processors": `mine=${broken}` }, {}));
  const timerCount = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timerCount();
  await assert.rejects(server.start(), { message: /exports no function createProcessor/ });
  await server.stop();
  assert.equal(timerCount(), before);
});

checkService({
  name: "server",
  make: (t) => underTest(t),
  failing: { code: "conflict", make: async (t) => underTest(t, await takenPort(t)) },
});
