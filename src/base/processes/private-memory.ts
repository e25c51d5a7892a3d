// Private memory of a process, excluding mapped files. The system reclaims their pages when needed, and tools that add
// up mappings count a file once per mapping.
import { readFileSync } from "node:fs";

/** Resident bytes; includes mapped files if the system does not distinguish them. */
export function privateBytes(): number {
  return privateBytesOf("self") ?? process.memoryUsage.rss();
}

/** The same for another process of this machine; null if it is gone, or unknown. */
export function privateBytesOf(id: number | "self"): number | null {
  try {
    const kibibytes = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1];
    return kibibytes === undefined ? null : 1024 * Number(kibibytes);
  } catch {
    // No such file outside of Linux.
    return null;
  }
}
