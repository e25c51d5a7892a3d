// The whole server as one service, and its listener: on a free port of the loopback address, with a small model.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createPort, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { checkService, type ServiceUnderTest } from "../domain/testing/check-service.ts";
import { readConfig } from "./config.ts";
import { createServer } from "./server.ts";

function underTest(t: TestContext, port = 0): ServiceUnderTest & { readonly flags: object } {
  const data = mkdtempSync(join(tmpdir(), "hone-server-"));
  t.after(() => rmSync(data, { recursive: true }));
  const model = ["tiny=test/fixtures/goldens/models/qwen3"];
  const flags = { data, port, model, "log-level": "silent" };
  const server = createServer(readConfig(flags, {}));
  const upCount = async (): Promise<number> => {
    if (server.url === "") return 0;
    return fetch(`${server.url}/health`).then(
      ({ status }) => (status === 200 ? 1 : 0),
      // Nobody listens.
      () => 0,
    );
  };
  return { service: server, upCount, flags };
}

/** A port that somebody else has as long as the test runs. */
async function takenPort(t: TestContext): Promise<number> {
  const other = createPort();
  t.after(() => other.close());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  // A port on an address has an address that is no path.
  return (other.address() as AddressInfo).port;
}

test("a second server does not start on the data folder of one that runs, whatever its database", async (t) => {
  const elsewhere = mkdtempSync(join(tmpdir(), "hone-elsewhere-"));
  t.after(() => rmSync(elsewhere, { recursive: true }));
  const first = underTest(t);
  await first.service.start();
  t.after(() => first.service.stop());
  const second = createServer(
    readConfig({ ...first.flags, "database-url": `file:${join(elsewhere, "hone.db")}` }, {}),
  );
  t.after(() => second.stop());
  await assert.rejects(second.start(), { code: "conflict", message: /process \d+/ });
});

checkService({
  name: "server",
  make: (t) => underTest(t),
  failing: { code: "conflict", make: async (t) => underTest(t, await takenPort(t)) },
});
