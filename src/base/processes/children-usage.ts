// Memory and processor time of the processes that a process has started. They are known only on Linux.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { privateBytesOf } from "./private-memory.ts";

export interface ProcessUsage {
  readonly id: number;
  /** Name of the module that the process runs, without its extension, such as `embedded-main`. */
  readonly module: string;
  /** Number of resident bytes, without mapped files (see `private-memory.ts`). */
  readonly memoryBytes: number;
  /** Processor time of all threads since the start of the process. */
  readonly cpuSeconds: number;
}

/** Number of ticks per second in the kernel's processor times, the same on every architecture that Node supports. */
const ticksPerSecond = 100;

/**
 * Returns the usage of each running child of a process, by default of this process; empty if the system does not list
 * the children.
 */
export function childrenUsage(parentId: number = process.pid): readonly ProcessUsage[] {
  return childIds(parentId).flatMap((id) => usageOf(id) ?? []);
}

function childIds(parentId: number): readonly number[] {
  try {
    // Only the children of the main thread are read, because Node starts all processes from it. The main thread's id
    // equals the id of the process.
    const listed = readFileSync(`/proc/${parentId}/task/${parentId}/children`, "utf8");
    return listed.trim().split(/\s+/).filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Returns the memory and processor time of a process; null if it has just ended. */
function usageOf(id: number): ProcessUsage | null {
  try {
    const words = readFileSync(`/proc/${id}/cmdline`, "utf8").split("\0");
    const script = words.find((word) => /\.[cm]?js$/.test(word));
    const memoryBytes = privateBytesOf(id);
    // The program's name comes before the fields, in parentheses. It may contain any characters.
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
