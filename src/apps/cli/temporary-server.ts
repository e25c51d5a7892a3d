// Runs a temporary server for the duration of a command, on a free port with a temporary data folder.
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../server/config.ts";

/** Address and key of the temporary server. */
export interface TemporaryServer {
  readonly url: string;
  readonly apiKey: string | null;
}

/**
 * Options that remove a folder completely, with retries: Windows keeps a process's files locked for a moment after the
 * process ends.
 */
const removeOptions = { recursive: true, force: true, maxRetries: 5 };

/**
 * Starts a server, passes it to `use`, and always stops it afterwards.
 *
 * @param flags additional flags of `hone serve`, without dashes
 */
export async function withTemporaryServer(
  use: (server: TemporaryServer) => Promise<void>,
  flags: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { createServer } = await import("../server/server.ts");
  const data = await mkdtemp(join(tmpdir(), "hone-"));
  // The folder is also removed if the process exits before the server has stopped.
  const remove = (): void => rmSync(data, removeOptions);
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
    await rm(data, removeOptions);
  }
}
