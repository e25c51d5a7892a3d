// Machine faults other than kills: the disk fills and is freed, the clock steps, or another process locks the
// database.
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Sqlite from "libsql";
import type { Random } from "../../src/base/domain/random.ts";
import { newDataFolder, removeDataFolder } from "../running-server.ts";
import { mountSmallDisk } from "../small-disk.ts";

const obstacles = ["full disk", "clock step", "locked database"] as const;
export type Obstacle = (typeof obstacles)[number];

/** Files that a training process may be writing. */
export type Writing = "snapshot" | "version";

const writingWaitMs = 2000;

/** Size of the disk; more than the jobs of a long run write. */
const diskMebibytes = 384;
const dayMs = 86_400_000;
/** Maximum wait for the database's lock in milliseconds. The wait blocks this thread, which has nothing else to do. */
const lockWaitMs = 300;

/** The machine of one run: its data folder, its clock, and the current obstacles for the server. */
export class Machine {
  readonly dataFolder: string;
  readonly clockFile: string;
  readonly counts: Record<Obstacle, number> = { "full disk": 0, "clock step": 0, "locked database": 0 };
  readonly #disk = mountSmallDisk(diskMebibytes);
  readonly #clockFolder = mkdtempSync(join(tmpdir(), "hone-clock-"));
  /** Functions that end the current obstacles, keyed by obstacle. A stepped clock has none, because it stays as set. */
  readonly #inForce = new Map<Obstacle, () => void>();

  constructor() {
    this.dataFolder = this.#disk === null ? newDataFolder() : join(this.#disk.folder, "data");
    this.clockFile = join(this.#clockFolder, "ahead");
    this.#setClock(0);
  }

  /**
   * Steps the clock, or creates an obstacle that ends by itself after some seconds. Returns null if none can be
   * created.
   */
  begin(random: Random): Obstacle | null {
    const aheadMs = Math.round((random.uniform() - 0.5) * 2 * dayMs);
    const durationMs = 500 + random.index(5000);
    const possible = obstacles.filter((name) => !this.#inForce.has(name));
    const kind = possible[random.index(possible.length)];
    if (kind === undefined) return null;
    if (kind === "clock step") this.#setClock(aheadMs);
    else {
      const end = kind === "full disk" ? this.#fillDisk() : this.#lock();
      if (end === null) return null;
      const timer = setTimeout(() => this.#end(kind), durationMs);
      this.#inForce.set(kind, () => {
        clearTimeout(timer);
        end();
      });
    }
    this.counts[kind] += 1;
    return kind;
  }

  /** Waits until a process writes a file of this kind; returns null if that does not happen within two seconds. */
  async isWriting(what: Writing): Promise<Writing | null> {
    const unfinished = what === "snapshot" ? "jobs+" : "adapters+";
    for (const end = performance.now() + writingWaitMs; performance.now() < end;) {
      for (const server of namesIn(join(this.dataFolder, "work")))
        if (namesIn(join(this.dataFolder, "work", server)).some((name) => name.startsWith(unfinished)))
          return what;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return null;
  }

  /** True if the disk is full or the database locked. */
  get isObstructed(): boolean {
    return this.#inForce.size > 0;
  }

  endAll(): void {
    for (const kind of this.#inForce.keys()) this.#end(kind);
  }

  remove(): void {
    this.endAll();
    removeDataFolder(this.dataFolder);
    this.#disk?.remove();
    rmSync(this.#clockFolder, { recursive: true, force: true });
  }

  #end(kind: Obstacle): void {
    this.#inForce.get(kind)?.();
    this.#inForce.delete(kind);
  }

  #fillDisk(): (() => void) | null {
    const disk = this.#disk;
    disk?.fill();
    return disk === null ? null : () => disk.free();
  }

  #setClock(aheadMs: number): void {
    // Renames the file into place, so that no process reads a partial number.
    writeFileSync(`${this.clockFile}.new`, String(aheadMs));
    renameSync(`${this.clockFile}.new`, this.clockFile);
  }

  #lock(): (() => void) | null {
    const database = new Sqlite(join(this.dataFolder, "hone.db"));
    try {
      database.exec(`PRAGMA busy_timeout = ${lockWaitMs}`);
      database.exec("BEGIN IMMEDIATE");
    } catch {
      // The database could not be locked: the server keeps writing, or the disk is full.
      database.close();
      return null;
    }
    return () => {
      database.exec("ROLLBACK");
      database.close();
    };
  }
}

/** Returns the names in the folder; empty if the folder does not exist. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
