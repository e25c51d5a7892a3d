// Private memory of a process, without mapped files. The system can take back the pages of mapped files at any time,
// and tools that add up mappings count a file once per mapping.
import { readFileSync } from "node:fs";

/** Returns the resident bytes of this process. Mapped files are included if the system does not distinguish them. */
export function privateBytes(): number {
  return privateBytesOf("self") ?? process.memoryUsage.rss();
}

/** Returns the private bytes of any process on this machine; null if the process is gone, or the number is unknown. */
export function privateBytesOf(id: number | "self"): number | null {
  try {
    const kibibytes = /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1];
    return kibibytes === undefined ? null : 1024 * Number(kibibytes);
  } catch {
    // Only Linux has this file.
    return null;
  }
}
