// Disk calls of one simulated process, with the interface of `node:fs`. Each call takes time, may fail, and may take
// effect before it ends. A call with several steps on a real disk has the same steps here, so that the process may die
// in between.
import type { SimulatedDisk, SimulatedFile, SimulatedFolder, SimulatedNode } from "./disk.ts";
import { diskError } from "./disk.ts";
import type { SimulatedProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

/** Kind of a call. Removals are not writes, because they need no disk space. */
export type CallKind = "read" | "write" | "remove" | "sync";

/** Faults of a disk. */
export interface DiskFaults {
  /** Returns a delay in milliseconds: until a call takes effect, or from then until the call ends. */
  delayMs(): number;
  /** Error code with which a call fails; null if it succeeds. */
  failure(kind: CallKind): string | null;
}

export interface DiskOfProcess {
  readonly disk: SimulatedDisk;
  readonly process: SimulatedProcess;
  readonly scheduler: Scheduler;
  readonly faults: DiskFaults;
}

interface RemoveOptions {
  readonly recursive?: boolean;
  readonly force?: boolean;
}

type Content = string | Uint8Array;

/** The methods of `node:fs/promises` that the simulated disk supports. */
export class DiskCalls {
  readonly #place: DiskOfProcess;

  constructor(place: DiskOfProcess) {
    this.#place = place;
  }

  async mkdir(path: string, { recursive = false }: { readonly recursive?: boolean } = {}) {
    const { disk } = this.#place;
    if (!recursive) return this.#call("write", `mkdir ${path}`, path, () => disk.makeFolder(path));
    const names = path.split("/").filter((name) => name !== "");
    let first: string | undefined;
    for (let count = 1; count <= names.length; count++) {
      const folder = `/${names.slice(0, count).join("/")}`;
      if (disk.find(folder)?.kind === "folder") continue;
      await this.#call("write", `mkdir ${folder}`, folder, () => {
        // Another call may have created the folder meanwhile.
        const found = disk.find(folder);
        if (found?.kind === "folder") return;
        if (found !== null && count < names.length) throw diskError("ENOTDIR", path);
        disk.makeFolder(folder);
        first ??= folder;
      });
    }
    return first;
  }

  readdir(path: string): Promise<readonly string[]> {
    const { disk } = this.#place;
    return this.#call("read", `readdir ${path}`, path, () => [...disk.folder(path).entries.keys()]);
  }

  rename(from: string, to: string): Promise<void> {
    return this.#call("write", `rename ${from} ${to}`, from, () => this.#place.disk.rename(from, to));
  }

  link(from: string, to: string): Promise<void> {
    return this.#call("write", `link ${from} ${to}`, from, () => this.#place.disk.link(from, to));
  }

  rmdir(path: string): Promise<void> {
    return this.#call("remove", `rmdir ${path}`, path, () => this.#place.disk.removeFolder(path));
  }

  unlink(path: string): Promise<void> {
    return this.#call("remove", `unlink ${path}`, path, () => this.#place.disk.unlink(path));
  }

  async rm(path: string, { recursive = false, force = false }: RemoveOptions = {}): Promise<void> {
    try {
      await this.#remove(path, recursive);
    } catch (error) {
      if (!force || codeOf(error) !== "ENOENT") throw error;
    }
  }

  async #remove(path: string, recursive: boolean): Promise<void> {
    const { disk } = this.#place;
    const node = await this.#call("read", `stat ${path}`, path, () => disk.get(path));
    if (node.kind === "file") return this.unlink(path);
    if (!recursive) throw diskError("ERR_FS_EISDIR", path);
    for (const name of await this.readdir(path)) await this.rm(`${path}/${name}`, { recursive, force: true });
    await this.rmdir(path);
  }

  stat(path: string) {
    return this.#call("read", `stat ${path}`, path, () => statOf(this.#place.disk.get(path)));
  }

  async readFile(path: string, options?: string | { readonly encoding?: string }): Promise<string | Buffer> {
    const { disk } = this.#place;
    const bytes = Buffer.from(await this.#call("read", `read ${path}`, path, () => disk.file(path).content));
    const encoding = typeof options === "string" ? options : options?.encoding;
    return encoding === undefined ? bytes : bytes.toString("utf8");
  }

  async writeFile(path: string, content: Content): Promise<void> {
    const handle = await this.open(path, "w");
    await handle.writeFile(content);
  }

  async copyFile(from: string, to: string): Promise<void> {
    await this.writeFile(to, Buffer.from(await this.readFile(from)));
  }

  async open(path: string, flags = "r"): Promise<FileCalls> {
    const { disk } = this.#place;
    const node = await this.#call(flags.startsWith("r") ? "read" : "write", `open ${path}`, path, () =>
      flags.startsWith("r")
        ? disk.get(path)
        : disk.openFile(path, { isEmptied: flags.startsWith("w"), isNew: flags.includes("x") }),
    );
    return new FileCalls(this, path, node);
  }

  /** Appends bytes to a file in two pieces. */
  async append(path: string, file: SimulatedFile, content: Content): Promise<void> {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    const half = bytes.length >> 1;
    for (const piece of [bytes.subarray(0, half), bytes.subarray(half)]) {
      if (piece.length === 0) continue;
      await this.#call("write", `write ${path}`, path, () =>
        this.#place.disk.write(file, Buffer.concat([file.content, piece])),
      );
    }
  }

  async sync(path: string, node: SimulatedNode): Promise<void> {
    const { disk } = this.#place;
    try {
      await this.#call("sync", `sync ${path}`, path, () => disk.sync(node));
    } catch (error) {
      disk.failSync(node);
      throw error;
    }
  }

  async #call<Result>(kind: CallKind, what: string, path: string, effect: () => Result): Promise<Result> {
    const { scheduler, process, faults } = this.#place;
    await scheduler.pass(faults.delayMs(), what, process);
    const code = faults.failure(kind);
    if (code !== null) {
      scheduler.note(`${code} ${what}`);
      throw diskError(code, path);
    }
    const result = effect();
    await scheduler.pass(faults.delayMs(), "done", process);
    return result;
  }
}

/** An open file or folder. Like a file descriptor, it keeps referring to the same file or folder if this is moved. */
class FileCalls {
  readonly #calls: DiskCalls;
  readonly #path: string;
  readonly #node: SimulatedNode;

  constructor(calls: DiskCalls, path: string, node: SimulatedNode) {
    this.#calls = calls;
    this.#path = path;
    this.#node = node;
  }

  appendFile(content: Content): Promise<void> {
    return this.#calls.append(this.#path, this.#file, content);
  }

  writeFile(content: Content): Promise<void> {
    return this.appendFile(content);
  }

  sync(): Promise<void> {
    return this.#calls.sync(this.#path, this.#node);
  }

  async stat() {
    return statOf(this.#node);
  }

  async close(): Promise<void> {}

  get #file(): SimulatedFile {
    if (this.#node.kind !== "file") throw diskError("EISDIR", this.#path);
    return this.#node;
  }
}

/** Returns the fields of `stat` that the product reads. */
export function statOf(node: SimulatedFile | SimulatedFolder) {
  return {
    isDirectory: () => node.kind === "folder",
    isFile: () => node.kind === "file",
    size: node.kind === "file" ? node.content.length : 0,
    mtimeMs: node.modifiedMs,
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
