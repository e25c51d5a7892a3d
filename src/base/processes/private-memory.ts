// How much memory this process has for itself. Files that it has mapped are no part of it: the system takes their pages back
// when it wants them, and tools that add up mappings count a file as often as it is mapped.
import { readFileSync } from "node:fs";

/** In bytes, resident; where the system does not say, all that is resident. */
export function privateBytes(): number {
  return privateBytesOf("self") ?? process.memoryUsage.rss();
}

/** The same of another process of this machine; null where it is gone, or the system does not say. */
export function privateBytesOf(id: number | "self"): number | null {
  try {
    const kibibytes = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1];
    return kibibytes === undefined ? null : 1024 * Number(kibibytes);
  } catch {
    // No such file outside of Linux.
    return null;
  }
}
