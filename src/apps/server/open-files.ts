// Limits the number of connections to what the process's open-file limit allows. Each connection takes a file
// descriptor, as do the database, its files and the pipes to child processes. A process without free descriptors can
// neither answer nor write.

import { readFileSync } from "node:fs";

/**
 * Number of file descriptors that are not available to connections. A busy server has well under a hundred other
 * descriptors open.
 */
const reserved = 128;

/**
 * Returns the number of connections for which there are file descriptors besides the reserved ones, at most `wanted`.
 *
 * @param openFilesMax limit on open files; `Infinity` without one
 */
export function connectionsThatFit(wanted: number, openFilesMax: number): number {
  return Math.min(wanted, Math.max(openFilesMax - reserved, Math.floor(openFilesMax / 2)));
}

/** Returns the operating system's limit on open files; `Infinity` if there is none or it is unknown. */
export function openFilesMax(): number {
  return limitOfLinux() ?? limitOfReport();
}

/**
 * Returns the limit from /proc; null on systems other than Linux. Reading /proc takes almost no time, whereas Node.js's
 * report takes 50 ms in a running server.
 */
export function limitOfLinux(): number | null {
  let limits: string;
  try {
    limits = readFileSync("/proc/self/limits", "utf8");
  } catch {
    // The file does not exist on other systems.
    return null;
  }
  const soft = /^Max open files\s+(\d+|unlimited)\s/m.exec(limits)?.[1];
  if (soft === undefined) return null;
  return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
}

/** Reads the limit from Node's report; `Infinity` if it has none. */
export function limitOfReport(): number {
  // Safe cast: this part of Node.js's report has no type; it is absent on Windows.
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: number | "unlimited" } };
  };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === "number" ? soft : Number.POSITIVE_INFINITY;
}
