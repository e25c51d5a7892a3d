// A running process with all that it started: who they are, the memory that they hold, and signals to all of them.
import { readFileSync } from "node:fs";
import { childrenOf } from "./running-server.ts";

/** The ids of a process and of all below it, parents first; those that are still there. */
export function processTree(id: number): readonly number[] {
  return [id, ...childrenOf(id).flatMap((child) => processTree(child.id))];
}

/** Those that have ended meanwhile are left out. */
export function signalTree(id: number, signal: NodeJS.Signals): void {
  for (const each of processTree(id)) {
    try {
      process.kill(each, signal);
    } catch {
      // It has ended.
    }
  }
}

/** Returns the resident bytes of a process on Linux; 0 elsewhere. */
export function residentBytes(id: number): number {
  try {
    return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
