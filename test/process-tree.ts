// A running process and all its descendants: their ids, their memory, and signals to all of them.
import { readFileSync } from "node:fs";
import { childrenOf } from "./running-server.ts";

/** Returns the ids of a process and all its running descendants, parents first. */
export function processTree(id: number): readonly number[] {
  return [id, ...childrenOf(id).flatMap((child) => processTree(child.id))];
}

/** Sends a signal to a process and all its descendants, ignoring those that have ended. */
export function signalTree(id: number, signal: NodeJS.Signals): void {
  for (const each of processTree(id)) {
    try {
      process.kill(each, signal);
    } catch {
      // Ignored: the process has already ended.
    }
  }
}

/** Returns the resident memory of a process in bytes on Linux; 0 on other systems. */
export function residentBytes(id: number): number {
  try {
    return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
