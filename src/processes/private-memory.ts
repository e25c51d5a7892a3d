// How much memory this process has for itself. Files that it has mapped are no part of it: the system takes their pages back
// when it wants them, and tools that add up mappings count a file as often as it is mapped.
import { readFileSync } from "node:fs";

/** In bytes, resident; where the system does not say, all that is resident. */
export function privateBytes(): number {
  try {
    const kibibytes = /^RssAnon:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (kibibytes !== undefined) return 1024 * Number(kibibytes);
  } catch {
    // No such file outside of Linux.
  }
  return process.memoryUsage.rss();
}
