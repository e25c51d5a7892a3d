// Watches the private memory of a server's processes, and the disk space of a folder, while something is measured.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { childrenUsage } from "../../../src/base/processes/children-usage.ts";
import { privateBytesOf } from "../../../src/base/processes/private-memory.ts";

/** Time between two samples in milliseconds. Memory that a process holds for a shorter time may be missed. */
const sampleMs = 25;

/** Number of samples of private memory per sample of all memory, for which the system reads the whole page table. */
const samplesPerWhole = 40;

/** Highest memory of a child process of the server. */
export interface ChildPeak {
  /** Name of the module that the process runs, such as `embedded-main` for an engine. */
  readonly module: string;
  readonly privateBytes: number;
  /** Highest memory with mapped files. A page that several mappings share counts once (Linux: PSS). */
  readonly wholeBytes: number;
}

export class MemoryWatch {
  readonly #serverId: number;
  readonly #folder: string;
  readonly #timer: NodeJS.Timeout;
  #children = new Map<number, ChildPeak>();
  #totalBytes = 0;
  #folderBytes = 0;
  #sampleCount = 0;

  /** @param folder folder whose disk space is watched; it need not exist yet */
  constructor(serverId: number, folder: string) {
    this.#serverId = serverId;
    this.#folder = folder;
    this.#timer = setInterval(() => this.sample(), sampleMs);
  }

  /** Peaks of the server's child processes since the last {@link MemoryWatch.restart}, by process id. */
  get children(): ReadonlyMap<number, ChildPeak> {
    return this.#children;
  }

  /** Highest private memory of all processes of the server together. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  get folderBytes(): number {
    return this.#folderBytes;
  }

  restart(): void {
    this.#children = new Map();
    this.#totalBytes = this.#folderBytes = 0;
    this.sample();
  }

  sample(): void {
    let totalBytes = privateBytesOf(this.#serverId) ?? 0;
    const isWhole = this.#sampleCount++ % samplesPerWhole === 0;
    for (const { id, module, memoryBytes } of childrenUsage(this.#serverId)) {
      totalBytes += memoryBytes;
      const known = this.#children.get(id);
      this.#children.set(id, {
        module,
        privateBytes: Math.max(memoryBytes, known?.privateBytes ?? 0),
        wholeBytes: Math.max(isWhole ? wholeBytesOf(id) : 0, known?.wholeBytes ?? 0),
      });
    }
    this.#totalBytes = Math.max(this.#totalBytes, totalBytes);
    this.#folderBytes = Math.max(this.#folderBytes, diskBytesOf(this.#folder));
  }

  end(): void {
    clearInterval(this.#timer);
  }
}

function wholeBytesOf(id: number): number {
  try {
    return 1024 * Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/smaps_rollup`, "utf8"))?.[1] ?? 0);
  } catch {
    // The process has just ended.
    return 0;
  }
}

/** Returns the disk space of the files in a folder, without unwritten parts of files; 0 if there is no folder. */
export function diskBytesOf(folder: string): number {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    return names.reduce((sum, name) => sum + 512 * statSync(join(folder, name)).blocks, 0);
  } catch {
    // The folder does not exist yet, or one of its files has just been removed.
    return 0;
  }
}
