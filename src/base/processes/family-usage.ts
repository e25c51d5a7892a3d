// What the processes that this one started take of the machine: memory and processor time. As Linux tells it; elsewhere nothing
// is known.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { privateBytesOf } from "./private-memory.ts";

export interface ProcessUsage {
  readonly id: number;
  /** The module that it runs, without its ending, such as `embedded-main`. */
  readonly module: string;
  /** Resident, without files that are mapped: see `private-memory.ts`. */
  readonly memoryBytes: number;
  /** Of all its threads, since it started. */
  readonly cpuSeconds: number;
}

/** What the kernel counts processor time in, on every architecture that Node runs on. */
const ticksPerSecond = 100;

/** The children that are there now; empty where the system does not tell. */
export function childrenUsage(): readonly ProcessUsage[] {
  return childIds().flatMap((id) => usageOf(id) ?? []);
}

function childIds(): readonly number[] {
  try {
    // Node starts processes from its main thread, whose id is the process's.
    const listed = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8");
    return listed.trim().split(/\s+/).filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Null where it has just gone. */
function usageOf(id: number): ProcessUsage | null {
  try {
    const words = readFileSync(`/proc/${id}/cmdline`, "utf8").split("\0");
    const script = words.find((word) => /\.[cm]?js$/.test(word));
    const memoryBytes = privateBytesOf(id);
    // What comes before may hold anything: it is the program's name in brackets.
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
