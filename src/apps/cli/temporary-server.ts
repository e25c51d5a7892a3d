// A server of one's own for as long as a command runs: free port, data folder that goes with it.
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../server/config.ts";

/** Where the temporary server is, and a key of it. */
export interface TemporaryServer {
  readonly url: string;
  readonly apiKey: string | null;
}

/** Windows holds files of a process that has just ended for a moment longer. */
const leavingNothing = { recursive: true, force: true, maxRetries: 5 };

/**
 * Starts a server, lets `use` work with it, and stops it whatever happens.
 *
 * @param flags of `hone serve` beside those that a temporary server has anyway, without their dashes
 */
export async function withTemporaryServer(
  use: (server: TemporaryServer) => Promise<void>,
  flags: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { createServer } = await import("../server/server.ts");
  const data = await mkdtemp(join(tmpdir(), "hone-"));
  // For a process that ends before this function removes the folder.
  const remove = (): void => rmSync(data, leavingNothing);
  process.once("exit", remove);
  const server = createServer(
    readConfig({ data, port: 0, host: "127.0.0.1", auth: "on", "log-level": "warn", ...flags }),
  );
  try {
    await server.start();
    await use({ url: server.url, apiKey: server.firstKey.secret });
  } finally {
    await server.stop();
    process.off("exit", remove);
    await rm(data, leavingNothing);
  }
}
