// Identifies processors with the same kernels. The model name is not enough: virtual machines may hide instructions.
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** Returns the architecture, model and, as Linux lists them, features of this processor. */
export function processorKind(): string {
  return [process.arch, cpus()[0]?.model.trim() ?? "", featuresOfLinux()?.join(" ") ?? ""].join("|");
}

/** Returns the features that Linux lists; null elsewhere. */
export function featuresOfLinux(): readonly string[] | null {
  try {
    const listed = /^(?:flags|Features)\s*:\s*(.+)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1];
    return listed === undefined ? null : listed.trim().split(/\s+/);
  } catch {
    // No such file outside of Linux.
    return null;
  }
}
