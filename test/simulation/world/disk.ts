// A simulated disk that guarantees only what POSIX guarantees. In a power failure, unsynced changes may be lost,
// independently for each folder entry and each file, and a file may be torn. The disk has no notion of time; every call
// takes effect immediately.
import type { Random } from "../../../src/base/domain/random.ts";

export interface SimulatedFile {
  readonly kind: "file";
  content: Uint8Array;
  /** Content that survives a power failure; null if the file has none that does. */
  durable: Uint8Array | null;
  /** True if the disk failed to store a part of the content. A later sync does not repair this. */
  isPoisoned: boolean;
  modifiedMs: number;
}

export interface SimulatedFolder {
  readonly kind: "folder";
  entries: Map<string, SimulatedNode>;
  durable: Map<string, SimulatedNode>;
  modifiedMs: number;
}

export type SimulatedNode = SimulatedFile | SimulatedFolder;

/** Returns an error with the same form as one of `node:fs`. */
export function diskError(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: simulated, '${path}'`), { code, path });
}

const nothing = new Uint8Array(0);

export class SimulatedDisk {
  readonly #nowMs: () => number;
  #root: SimulatedFolder;

  /** @param nowMs returns the current time, which becomes the modification time of written files */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#root = this.#newFolder();
  }

  find(path: string): SimulatedNode | null {
    let node: SimulatedNode | undefined = this.#root;
    for (const name of namesOf(path)) {
      if (node?.kind !== "folder") return null;
      node = node.entries.get(name);
    }
    return node ?? null;
  }

  /** @throws ENOENT, ENOTDIR */
  get(path: string): SimulatedNode {
    const parent = this.#parentOf(path);
    const node = namesOf(path).length === 0 ? this.#root : parent.entries.get(lastOf(path));
    if (node === undefined) throw diskError("ENOENT", path);
    return node;
  }

  folder(path: string): SimulatedFolder {
    const node = this.get(path);
    if (node.kind !== "folder") throw diskError("ENOTDIR", path);
    return node;
  }

  file(path: string): SimulatedFile {
    const node = this.get(path);
    if (node.kind !== "file") throw diskError("EISDIR", path);
    return node;
  }

  makeFolder(path: string): void {
    const parent = this.#parentOf(path);
    if (namesOf(path).length === 0 || parent.entries.has(lastOf(path))) throw diskError("EEXIST", path);
    this.#put(parent, lastOf(path), this.#newFolder());
  }

  /** Opens a file. Creates it if missing, and empties it if requested. */
  openFile(path: string, how: { readonly isEmptied: boolean; readonly isNew?: boolean }): SimulatedFile {
    const parent = this.#parentOf(path);
    const found = parent.entries.get(lastOf(path));
    if (found !== undefined && how.isNew === true) throw diskError("EEXIST", path);
    if (found?.kind === "folder") throw diskError("EISDIR", path);
    if (found !== undefined) {
      if (how.isEmptied) this.write(found, nothing);
      return found;
    }
    const file: SimulatedFile = {
      kind: "file",
      content: nothing,
      durable: null,
      isPoisoned: false,
      modifiedMs: this.#nowMs(),
    };
    this.#put(parent, lastOf(path), file);
    return file;
  }

  write(file: SimulatedFile, content: Uint8Array): void {
    file.content = content;
    file.modifiedMs = this.#nowMs();
  }

  link(from: string, to: string): void {
    const node = this.get(from);
    const parent = this.#parentOf(to);
    if (parent.entries.has(lastOf(to))) throw diskError("EEXIST", to);
    if (node.kind === "folder") throw diskError("EPERM", from);
    this.#put(parent, lastOf(to), node);
  }

  rename(from: string, to: string): void {
    // Checks the conditions in the same order as a kernel, because the first violated one determines the error.
    const [source, target] = [this.#parentOf(from), this.#parentOf(to)];
    const node = this.get(from);
    const replaced = target.entries.get(lastOf(to));
    if (replaced === node) return;
    if (node.kind === "folder" && `${to}/`.startsWith(`${from}/`)) throw diskError("EINVAL", to);
    if (`${from}/`.startsWith(`${to}/`)) throw diskError("ENOTEMPTY", to);
    if (replaced !== undefined && replaced.kind !== node.kind)
      throw diskError(node.kind === "folder" ? "ENOTDIR" : "EISDIR", to);
    if (replaced?.kind === "folder" && replaced.entries.size > 0) throw diskError("ENOTEMPTY", to);
    this.#drop(source, lastOf(from));
    this.#put(target, lastOf(to), node);
  }

  unlink(path: string): void {
    this.file(path);
    this.#drop(this.#parentOf(path), lastOf(path));
  }

  removeFolder(path: string): void {
    if (this.folder(path).entries.size > 0) throw diskError("ENOTEMPTY", path);
    this.#drop(this.#parentOf(path), lastOf(path));
  }

  /** Makes the present content survive a power failure. */
  sync(node: SimulatedNode): void {
    if (node.kind === "folder") node.durable = new Map(node.entries);
    else if (!node.isPoisoned) node.durable = node.content;
  }

  /** Simulates a failed sync: unsynced content may be lost, and a later sync succeeds nevertheless. */
  failSync(node: SimulatedNode): void {
    if (node.kind === "file") node.isPoisoned = true;
  }

  /** Simulates a power failure: unsynced changes are kept or lost at random. */
  losePower(random: Random): void {
    const seen = new Set<SimulatedNode>();
    const settled = settledFolders(this.#root);
    const recover = (folder: SimulatedFolder): void => {
      const entries = new Map<string, SimulatedNode>();
      const names = new Set([...folder.durable.keys(), ...folder.entries.keys()]);
      for (const name of names) {
        const [then, now] = [folder.durable.get(name), folder.entries.get(name)];
        const kept = then === now || random.uniform() < 0.5 ? now : then;
        if (kept === undefined) continue;
        // After a crash, a moved folder must be in only one of its two places: in the synced one if one was synced.
        if (kept.kind === "folder" && (seen.has(kept) || (then !== now && settled.has(kept)))) continue;
        entries.set(name, kept);
        const isNew = !seen.has(kept);
        seen.add(kept);
        if (kept.kind === "folder") recover(kept);
        else if (isNew) recoverFile(kept, random);
      }
      folder.entries = entries;
      folder.durable = new Map(entries);
    };
    recover(this.#root);
  }

  #newFolder(): SimulatedFolder {
    return { kind: "folder", entries: new Map(), durable: new Map(), modifiedMs: this.#nowMs() };
  }

  #put(parent: SimulatedFolder, name: string, node: SimulatedNode): void {
    parent.entries.set(name, node);
    parent.modifiedMs = this.#nowMs();
  }

  #drop(parent: SimulatedFolder, name: string): void {
    parent.entries.delete(name);
    parent.modifiedMs = this.#nowMs();
  }

  #parentOf(path: string): SimulatedFolder {
    let node: SimulatedNode = this.#root;
    for (const name of namesOf(path).slice(0, -1)) {
      if (node.kind !== "folder") throw diskError("ENOTDIR", path);
      const next = node.entries.get(name);
      if (next === undefined) throw diskError("ENOENT", path);
      node = next;
    }
    if (node.kind !== "folder") throw diskError("ENOTDIR", path);
    return node;
  }
}

/** Returns the nodes that have the same place in the current state and in the durable state. */
function settledFolders(root: SimulatedFolder): ReadonlySet<SimulatedNode> {
  const settled = new Set<SimulatedNode>();
  const seen = new Set<SimulatedFolder>([root]);
  // The set grows while it is iterated.
  for (const { entries, durable } of seen) {
    for (const [name, node] of [...entries, ...durable]) {
      if (node.kind !== "folder") continue;
      if (entries.get(name) === durable.get(name)) settled.add(node);
      seen.add(node);
    }
  }
  return settled;
}

function recoverFile(file: SimulatedFile, random: Random): void {
  const { durable, content } = file;
  file.isPoisoned = false;
  if (durable !== content) file.content = tornContent(durable ?? nothing, content, random);
  file.durable = file.content;
}

/** Returns content that a disk may hold for a file that was not synced. */
function tornContent(durable: Uint8Array, content: Uint8Array, random: Random): Uint8Array {
  const at = random.index(content.length + 1);
  switch (random.index(4)) {
    case 0:
      return durable;
    case 1:
      return content;
    case 2:
      return content.slice(0, at);
    default:
      // Here the disk stored the new length of the file, but not all of its blocks.
      return content.map((byte, index) => (index < at ? byte : 0));
  }
}

function namesOf(path: string): readonly string[] {
  return path.split("/").filter((name) => name !== "");
}

function lastOf(path: string): string {
  return namesOf(path).at(-1) ?? "";
}
