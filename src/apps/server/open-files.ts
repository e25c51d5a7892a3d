// How many connections this process can hold: each takes a descriptor, as do the database, its files and the pipes of child
// processes, and a process that has none left can neither answer nor write.

import { readFileSync } from "node:fs";

/** Kept for all but connections; a server with every part at work has well under a hundred open. */
const reserved = 128;

/**
 * As many of the wanted connections as the process may open files for, once the reserve is taken off.
 *
 * @param openFilesMax the limit on open files, `Infinity` where there is none
 */
export function connectionsThatFit(wanted: number, openFilesMax: number): number {
  return Math.min(wanted, Math.max(openFilesMax - reserved, Math.floor(openFilesMax / 2)));
}

/** The limit on open files that the operating system sets this process; `Infinity` where it sets none or does not say. */
export function openFilesMax(): number {
  return limitOfLinux() ?? limitOfReport();
}

/** What Linux says of it, at once, where Node's report of a server with all its parts takes 50 ms; null on other systems. */
export function limitOfLinux(): number | null {
  let limits: string;
  try {
    limits = readFileSync("/proc/self/limits", "utf8");
  } catch {
    // Another system: it has no such file.
    return null;
  }
  const soft = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits)?.[1];
  if (soft === undefined) return null;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}

/** What Node's report says of it; `Infinity` where it says nothing. */
export function limitOfReport(): number {
  // A part of Node's report that its types leave open; absent on Windows.
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: number | "unlimited" } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === "number" ? soft : Number.POSITIVE_INFINITY;
}
