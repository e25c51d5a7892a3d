// The whole server as one service, and its listener: on a free port of the loopback address, with a small model.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createPort, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { checkService, type ServiceUnderTest } from "../domain/testing/check-service.ts";
import { readConfig } from "./config.ts";
import { createServer } from "./server.ts";

function underTest(t: TestContext, port = 0): ServiceUnderTest {
  const data = mkdtempSync(join(tmpdir(), "hone-server-"));
  t.after(() => rmSync(data, { recursive: true }));
  const model = ["tiny=test/fixtures/goldens/models/qwen3"];
  const server = createServer(readConfig({ data, port, model, "log-level": "silent" }, {}));
  const upCount = async (): Promise<number> => {
    if (server.url === "") return 0;
    return fetch(`${server.url}/health`).then(
      ({ status }) => (status === 200 ? 1 : 0),
      // Nobody listens.
      () => 0,
    );
  };
  return { service: server, upCount };
}

/** A port that somebody else has as long as the test runs. */
async function takenPort(t: TestContext): Promise<number> {
  const other = createPort();
  t.after(() => other.close());
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  // A port on an address has an address that is no path.
  return (other.address() as AddressInfo).port;
}

checkService({
  name: "server",
  make: (t) => underTest(t),
  failing: { code: "conflict", make: async (t) => underTest(t, await takenPort(t)) },
});
