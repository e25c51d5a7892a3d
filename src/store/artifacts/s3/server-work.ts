// Notes of servers under `work/` in a bucket. A note says which content a server is writing or removing, or which key
// the server holds. No request can change two objects atomically, so a server writes a note before an operation that
// may be interrupted; a sweep later keeps the content only if a manifest refers to it.
import { createHash } from "node:crypto";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import type { BucketClient } from "./bucket-client.ts";
import type { ManifestIndex } from "./manifest-index.ts";

const root = "work";
const [contentFolder, heldFolder] = ["content", "held"];

/** Content of an artifact that a server has begun to write or remove, according to a note. */
export interface NotedContent {
  readonly server: string;
  readonly key: string;
  readonly content: string;
}

interface Note {
  readonly key: string;
  /**
   * True if another server has begun to remove the content, because it assumed that the server that wrote this note is
   * dead.
   */
  readonly isAbandoned?: boolean;
}

export class ServerWork {
  readonly #bucket: BucketClient;
  readonly #index: ManifestIndex;

  constructor(bucket: BucketClient, index: ManifestIndex) {
    this.#bucket = bucket;
    this.#index = index;
  }

  /**
   * Stores a note about content. Must be called before the content's first piece is stored, and before its manifest is
   * removed.
   */
  async note({ server, key, content }: NotedContent): Promise<void> {
    await this.#write(noteOf(server, content), { key });
  }

  /**
   * Removes the note about an artifact whose manifest is stored.
   *
   * @throws ServiceError `cancelled` if another server is removing the artifact
   */
  async keep(noted: NotedContent): Promise<void> {
    const note = noteOf(noted.server, noted.content);
    const read = noteIn(note, await this.#bucket.readUntil(note, (bytes) => bytes !== null));
    if (read !== null && read.isAbandoned !== true) return this.#bucket.remove(note);
    if ((await this.#index.find(noted.key))?.content === noted.content) await this.#index.remove(noted.key);
    throw new ServiceError({
      code: "cancelled",
      message: "Another server took this one for dead while it stored an artifact, and removed the artifact.",
    });
  }

  /** Removes the pieces of noted content unless a manifest refers to them, and then the note. */
  async settle({ server, key, content }: NotedContent): Promise<void> {
    if ((await this.#index.find(key))?.content !== content)
      await forEachConcurrently(await this.#bucket.list(`${folderOfContent(key, content)}/`), (piece) =>
        this.#bucket.remove(piece.key),
      );
    await this.#bucket.remove(noteOf(server, content));
  }

  /**
   * Settles (see `settle`) those notes of a server that have a key for which `below` is true. Must be called only for a
   * server that will not complete the content of these notes.
   */
  async abandon(server: string, below: (key: string) => boolean): Promise<void> {
    const start = `${root}/${server}/${contentFolder}/`;
    await forEachConcurrently(await this.#bucket.list(start), async (entry) => {
      const note = await this.#read(entry.key);
      if (note === null || !below(note.key)) return;
      // If the server is alive after all, it sees this mark and does not complete its write.
      await this.#write(entry.key, { ...note, isAbandoned: true });
      await this.settle({ server, key: note.key, content: entry.key.slice(start.length) });
    });
  }

  async hold(server: string, key: string): Promise<void> {
    await this.#write(holdOf(server, key), { key });
  }

  async release(server: string, key: string): Promise<void> {
    await this.#bucket.remove(holdOf(server, key));
  }

  async heldKeys(server: string): Promise<readonly string[]> {
    const keys: string[] = [];
    await forEachConcurrently(await this.#bucket.list(`${root}/${server}/${heldFolder}/`), async (entry) => {
      const note = await this.#read(entry.key);
      if (note !== null) keys.push(note.key);
    });
    return keys;
  }

  /** Returns the ids of the servers that have notes about content, or hold keys. */
  async servers(): Promise<readonly string[]> {
    const entries = await this.#bucket.list(`${root}/`);
    return [...new Set(entries.map(({ key }) => key.split("/")[1]))];
  }

  async #write(object: string, note: Note): Promise<void> {
    await this.#bucket.write(object, Buffer.from(JSON.stringify(note)));
  }

  async #read(object: string): Promise<Note | null> {
    return noteIn(object, await this.#bucket.read(object));
  }
}

function noteIn(object: string, text: Buffer | null): Note | null {
  if (text === null) return null;
  try {
    // Safe cast: only this file writes notes, and the next line checks the key.
    const note = JSON.parse(text.toString("utf8")) as Note | null;
    if (typeof note?.key === "string") return note;
  } catch {
    // If the text is not JSON, the error below reports it.
  }
  const message = `${JSON.stringify(object)} in the bucket is not a note of a server's work. Delete it once that server has ended.`;
  throw new ServiceError({ code: "conflict", message });
}

/** Returns the prefix of the keys of the content's pieces, without its last slash. */
export function folderOfContent(key: string, content: string): string {
  return `data/${key}/${content}`;
}

function noteOf(server: string, content: string): string {
  return `${root}/${server}/${contentFolder}/${content}`;
}

/** Hashes the key, because its slashes would create folders in some stores. */
function holdOf(server: string, key: string): string {
  return `${root}/${server}/${heldFolder}/${createHash("sha256").update(key).digest("hex")}`;
}
