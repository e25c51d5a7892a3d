// Limits connections to the process's open files. Each takes a descriptor, as do the database, its files and child
// processes' pipes, and a process without descriptors can neither answer nor write.

import { readFileSync } from "node:fs";

/** Descriptors for everything but connections; a busy server has well under a hundred open. */
const reserved = 128;

/**
 * Returns the number of connections that fit, after the reserve.
 *
 * @param openFilesMax the limit on open files, `Infinity` without one
 */
export function connectionsThatFit(wanted: number, openFilesMax: number): number {
  return Math.min(wanted, Math.max(openFilesMax - reserved, Math.floor(openFilesMax / 2)));
}

/** Returns the operating system's limit on open files; `Infinity` if there is none or it is unknown. */
export function openFilesMax(): number {
  return limitOfLinux() ?? limitOfReport();
}

/** Reads the limit from Linux in no time, where Node's report of a whole server takes 50 ms; null on other systems. */
export function limitOfLinux(): number | null {
  let limits: string;
  try {
    limits = readFileSync("/proc/self/limits", "utf8");
  } catch {
    // Not Linux: the file does not exist.
    return null;
  }
  const soft = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits)?.[1];
  if (soft === undefined) return null;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}

/** Reads the limit from Node's report; `Infinity` if it has none. */
export function limitOfReport(): number {
  // Safe cast: a part of Node's report without a type; absent on Windows.
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: number | "unlimited" } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === "number" ? soft : Number.POSITIVE_INFINITY;
}
