// Identifies the kind of processor. Processors of one kind have the same kernels. The model name is not enough, because
// virtual machines may hide instructions.
import { readFileSync } from "node:fs";
import { cpus } from "node:os";

/** Returns a key for this kind of processor: its architecture, its model and, on Linux, its features. */
export function processorKind(): string {
  return [process.arch, cpus()[0]?.model.trim() ?? "", featuresOfLinux()?.join(" ") ?? ""].join("|");
}

/** Returns this processor's features as Linux lists them; null on other systems. */
export function featuresOfLinux(): readonly string[] | null {
  try {
    const listed = /^(?:flags|Features)\s*:\s*(.+)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1];
    return listed === undefined ? null : listed.trim().split(/\s+/);
  } catch {
    // Only Linux has this file.
    return null;
  }
}
