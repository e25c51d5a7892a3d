// Loads the versions of a model.
import type { Checkpoint } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";

/** Maximum number of versions in curves and tables; the newest are shown. */
export const versionsMax = 500;
const pageSize = 100;

/** Returns the newest versions, ordered from oldest to newest. */
export async function newestVersions(
  hone: Hone,
  id: string,
  signal: AbortSignal,
): Promise<readonly Checkpoint[]> {
  const found: Checkpoint[] = [];
  for await (const version of hone.checkpoints.list(id, { order: "desc", limit: pageSize }, { signal })) {
    found.push(version);
    if (found.length === versionsMax) break;
  }
  return found.toReversed();
}
