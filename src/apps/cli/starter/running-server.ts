// Finds out whether a server already answers where the commands would look for one, and whether a starter project's loop can
// use it. Waits a second at most.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Hone } from "../../client/hone.ts";
import { HoneError } from "../../client/hone-error.ts";
import { readClientSettings } from "../../server/config.ts";
import { connect } from "../connection.ts";

export interface RunningServer {
  readonly url: string;
  /** True if the loop asks this address by itself, so that HONE_URL need not be set. */
  readonly isDefault: boolean;
  /** False if the server refused the key that the loop would find; null if that is not known. */
  readonly takesKey: boolean | null;
}

const deadlineMs = 1000;

/** @returns null if no server answers in time, or if something else than a server of ours does */
export async function findRunningServer(projectFolder: string): Promise<RunningServer | null> {
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const client = connect({});
    const isAnswering = await client.server.version({ signal }).then(() => true, isOurRefusal);
    if (!isAnswering) return null;
    const loop = new Hone({ baseUrl: client.baseUrl, apiKey: loopKey(projectFolder), retries: 0 });
    const takesKey = await loop.server.key({ signal }).then(
      () => true,
      (error: unknown) => (error instanceof HoneError && error.status === 401 ? false : null),
    );
    return { url: client.baseUrl, isDefault: new Hone().baseUrl === client.baseUrl, takesKey };
  } catch {
    // HONE_URL is no address, which the loop says when it runs.
    return null;
  }
}

/** True for a server that still starts, and for one that shows even its version to keys only. */
function isOurRefusal(error: unknown): boolean {
  return error instanceof HoneError && ["unavailable", "unauthorized"].includes(error.code);
}

/** The key that `find-key.js` of a starter project finds. */
function loopKey(folder: string): string | null {
  const { apiKey } = readClientSettings();
  if (apiKey !== null && apiKey !== "") return apiKey;
  for (let each = folder; ; each = dirname(each)) {
    const file = join(each, ".hone", "admin-key");
    if (existsSync(file)) return readFileSync(file, "utf8").trim();
    if (dirname(each) === each) return null;
  }
}
