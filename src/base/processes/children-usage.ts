// Memory and processor time of the processes that this process has started. Available only on Linux.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { privateBytesOf } from "./private-memory.ts";

export interface ProcessUsage {
  readonly id: number;
  /** The module that the process runs, without its extension, such as `embedded-main`. */
  readonly module: string;
  /** Resident bytes without mapped files: see `private-memory.ts`. */
  readonly memoryBytes: number;
  /** Processor time of all threads since the process started. */
  readonly cpuSeconds: number;
}

/** Unit of the kernel's processor times, the same on every architecture that Node supports. */
const ticksPerSecond = 100;

/** Returns the current children; empty if the system does not list them. */
export function childrenUsage(): readonly ProcessUsage[] {
  return childIds().flatMap((id) => usageOf(id) ?? []);
}

function childIds(): readonly number[] {
  try {
    // Only the main thread's children are read, because Node starts processes from its main thread, whose id is the
    // process's.
    const listed = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
    return listed.trim().split(/\s+/).filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Returns null if the process has just ended. */
function usageOf(id: number): ProcessUsage | null {
  try {
    const words = readFileSync(`/proc/${id}/cmdline`, "utf8").split("\0");
    const script = words.find((word) => /\.[cm]?js$/.test(word));
    const memoryBytes = privateBytesOf(id);
    // The program's name, in parentheses before the fields, may contain anything.
    const [, fields = ""] = /\) (.*)$/s.exec(readFileSync(`/proc/${id}/stat`, "utf8")) ?? [];
    const [user, system] = fields.split(" ").slice(11, 13).map(Number);
    if (script === undefined || memoryBytes === null) return null;
    return {
      id,
      module: basename(script).replace(/\.[cm]?js$/, ""),
      memoryBytes,
      cpuSeconds: (user + system) / ticksPerSecond,
    };
  } catch {
    return null;
  }
}
