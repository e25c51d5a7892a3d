// Private memory of a process, excluding mapped files. These are excluded because the system reclaims their pages when
// needed, and tools that add up mappings count a file once per mapping.
import { readFileSync } from "node:fs";

/** Returns the resident bytes of this process; includes mapped files if the system does not distinguish them. */
export function privateBytes(): number {
  return privateBytesOf("self") ?? process.memoryUsage.rss();
}

/** Returns the same for another process of this machine; null if the process is gone, or the size is unknown. */
export function privateBytesOf(id: number | "self"): number | null {
  try {
    const kibibytes = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1];
    return kibibytes === undefined ? null : 1024 * Number(kibibytes);
  } catch {
    // The file exists only on Linux.
    return null;
  }
}
