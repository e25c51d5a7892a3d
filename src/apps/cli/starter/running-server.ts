// Checks whether a server answers at the commands' default address, and whether a starter project's training loop can
// use it. Waits up to a second.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Hone } from "../../client/hone.ts";
import { HoneError } from "../../client/hone-error.ts";
import { readClientSettings } from "../../server/config.ts";
import { connect } from "../connection.ts";

export interface RunningServer {
  readonly url: string;
  /** True if the loop uses this address even without HONE_URL. */
  readonly isDefault: boolean;
  /** False if the server rejects the key that the loop would use; null if unknown. */
  readonly acceptsKey: boolean | null;
}

const deadlineMs = 1000;

/** Returns the server at the default address; null if no Hone server answers in time. */
export async function findRunningServer(projectFolder: string): Promise<RunningServer | null> {
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const client = connect({});
    const isAnswering = await client.server.version({ signal }).then(() => true, isOurRefusal);
    if (!isAnswering) return null;
    const loop = new Hone({ baseUrl: client.baseUrl, apiKey: loopKey(projectFolder), retries: 0 });
    const acceptsKey = await loop.server.key({ signal }).then(
      () => true,
      (error: unknown) => (error instanceof HoneError && error.status === 401 ? false : null),
    );
    return { url: client.baseUrl, isDefault: new Hone().baseUrl === client.baseUrl, acceptsKey };
  } catch {
    // HONE_URL is invalid; the loop will report that when it runs.
    return null;
  }
}

/** True for the error of a Hone server that is still starting, or that requires a key even for its version. */
function isOurRefusal(error: unknown): boolean {
  return error instanceof HoneError && ["unavailable", "unauthorized"].includes(error.code);
}

/** Returns the API key that a starter project's `find-key.js` would find. */
function loopKey(folder: string): string | null {
  const { apiKey } = readClientSettings();
  if (apiKey !== null && apiKey !== "") return apiKey;
  for (let each = folder; ; each = dirname(each)) {
    const file = join(each, ".hone", "admin-key");
    if (existsSync(file)) return readFileSync(file, "utf8").trim();
    if (dirname(each) === each) return null;
  }
}
