// Starts several servers on one PostgreSQL database for tests. Each has its own data folder, and they share a folder
// or bucket for adapters and files.
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { openPostgres } from "../src/store/database/postgres/postgres-dialect.ts";
import { openStores, type Stores } from "../src/store/database/stores.ts";
import { createPostgres } from "../src/store/database/testing/postgres-databases.ts";
import { call, newDataFolder, removeDataFolder, type RunningServer, startServer } from "./running-server.ts";
import { model } from "./served-jobs.ts";

export const adminKey = "hone_of_all_servers_0123456789";

/**
 * Creates a database for several servers, and a function that starts one.
 *
 * @param bucketUrl bucket that the servers share; they share a folder by default
 */
export async function shared(
  t: TestContext,
  bucketUrl: string | null = null,
): Promise<{
  /** URL of the database. */
  readonly url: string;
  readonly stores: Stores;
  /** Shared folder for adapters and files, if no bucket is given. */
  readonly folder: string;
  readonly start: (...flags: readonly string[]) => Promise<RunningServer>;
  /** Starts a server of a newer build; see newer-build.ts. */
  readonly startNewer: (...flags: readonly string[]) => Promise<RunningServer>;
}> {
  const { url, drop } = await createPostgres();
  const folder = newDataFolder();
  const folders = [folder];
  const servers: RunningServer[] = [];
  const stores = await openStores(openPostgres({ url, connections: 2 }));
  t.after(async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await stores.close();
    await drop();
    folders.forEach(removeDataFolder);
  });
  const starting = async (
    flags: readonly string[],
    build: { readonly entry?: string } = {},
  ): Promise<RunningServer> => {
    const dataFolder = newDataFolder();
    folders.push(dataFolder);
    const shares = ["--database-url", url, "--blobs", bucketUrl ?? folder, "--api-key", adminKey];
    const started = await startServer({
      ...build,
      dataFolder,
      flags: [...model, ...shares, ...flags],
      // Short times, so that servers soon detect a dead server and remove its files.
      limits: { jobs: { leaseMs: 4000 }, retention: { sweepSeconds: 1 } },
    });
    const server = { ...started, apiKey: adminKey };
    servers.push(server);
    return server;
  };
  return {
    url,
    stores,
    folder,
    start: (...flags) => starting(flags),
    startNewer: (...flags) => starting(flags, { entry: "dist/test/newer-build.js" }),
  };
}

export async function ask(server: RunningServer, method: string, path: string, body?: unknown): Promise<any> {
  const answer = await call(server, method, path, { body });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

export const question = { role: "user", content: "Who are you?" };

/** Requests an answer of the model's newest version; returns the answer and the version. */
export async function answerOf(server: RunningServer, modelId: string): Promise<unknown> {
  const chat = { model: modelId, messages: [question], max_tokens: 8, seed: 1, temperature: 0 };
  const { choices, system_fingerprint: fingerprint } = await ask(
    server,
    "POST",
    "/v1/chat/completions",
    chat,
  );
  return { choices, fingerprint };
}
