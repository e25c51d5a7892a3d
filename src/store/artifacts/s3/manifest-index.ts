// Index of the artifacts in a bucket: `index/<key>.json` is the manifest of the artifact with this key. The suffix
// `.json` is needed for stores that keep objects as files: there, an artifact could not have the same name as the
// folder of artifacts below it.
import type { BucketClient, HowToRead } from "./bucket-client.ts";
import { type Manifest, manifestText, readManifest } from "./manifest.ts";

const root = "index";
const ending = ".json";

export class ManifestIndex {
  readonly #bucket: BucketClient;

  constructor(bucket: BucketClient) {
    this.#bucket = bucket;
  }

  async find(key: string, how: HowToRead = {}): Promise<Manifest | null> {
    const object = objectOf(key);
    const text = await this.#bucket.read(object, how);
    return text === null ? null : readManifest(text.toString("utf8"), object);
  }

  /** Stores the manifest of an artifact, in place of an existing one. */
  async put(key: string, manifest: Manifest): Promise<void> {
    await this.#bucket.write(objectOf(key), Buffer.from(manifestText(manifest)));
  }

  async remove(key: string): Promise<void> {
    await this.#bucket.remove(objectOf(key));
  }

  /** True if an artifact exists at the key or below it. */
  async has(key: string): Promise<boolean> {
    if (await this.#bucket.has(objectOf(key))) return true;
    return (await this.#bucket.list(`${root}/${key}/`, 1)).length > 0;
  }

  /** Returns the names of the entries directly below a key. */
  async names(key: string): Promise<readonly string[]> {
    return [...(await this.latest(key)).keys()];
  }

  /** Returns the keys of all artifacts at and below a key. */
  async keysAt(key: string): Promise<readonly string[]> {
    const below = await this.#bucket.list(`${root}/${key}/`);
    return [key, ...below.map((entry) => withoutEnding(entry.key.slice(root.length + 1)))];
  }

  /**
   * Returns the names of the entries directly below a key. Each has the time of the latest write among the artifacts at
   * and below that name.
   */
  async latest(key: string): Promise<ReadonlyMap<string, Date>> {
    const start = `${root}/${key}/`;
    const latest = new Map<string, Date>();
    for (const entry of await this.#bucket.list(start)) {
      const path = entry.key.slice(start.length);
      const name = path.includes("/") ? path.slice(0, path.indexOf("/")) : withoutEnding(path);
      const known = latest.get(name);
      if (known === undefined || known < entry.at) latest.set(name, entry.at);
    }
    return latest;
  }
}

function objectOf(key: string): string {
  return `${root}/${key}${ending}`;
}

function withoutEnding(name: string): string {
  return name.endsWith(ending) ? name.slice(0, -ending.length) : name;
}
