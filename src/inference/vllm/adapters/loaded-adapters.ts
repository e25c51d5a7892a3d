// The adapters that one vLLM server has loaded, each under its own name. An adapter is loaded at its first use or ahead
// of time. It is unloaded when it is dropped, or when another adapter needs a slot and this adapter is the least
// recently used.
import type { AdapterReference } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { unlessAborted } from "../../../base/domain/waiting/unless-aborted.ts";
import type { VllmServer } from "../client/vllm-server.ts";
import { adapterName, isAdapterName, isNameOf } from "./adapter-names.ts";
import type { AdapterFolders } from "./adapter-folders.ts";
import { explainLoadFailure } from "./load-failure.ts";

export interface LoadedAdaptersOptions {
  readonly server: Pick<VllmServer, "loadAdapter" | "unloadAdapter">;
  readonly place: AdapterFolders;
  /** Maximum number of loaded adapters. Exceeded only if more than this are in use at the same time. */
  readonly countMax: number;
  /**
   * Receives the error of an adapter that could not be unloaded. The adapter stays loaded in vLLM, and other adapters
   * can still be loaded.
   */
  readonly onFault: (error: unknown, name: string) => void;
  /** Called once a dropped adapter is unloaded. */
  readonly onDropped: (name: string) => void;
}

/** Use of an adapter by one request that is running or about to start. */
export interface AdapterUse {
  /** Name of the adapter on the vLLM server. */
  readonly name: string;
  /** Ends the use. Idempotent. */
  release(): void;
}

interface Loaded {
  /** Resolves once the adapter is loaded. */
  readonly loading: Promise<void>;
  useCount: number;
  isDropped: boolean;
}

export class LoadedAdapters {
  readonly #options: LoadedAdaptersOptions;
  /** Adapters by name, the least recently used first. */
  readonly #loaded = new Map<string, Loaded>();
  /**
   * Adapters that are being unloaded, by name. Before an adapter of the same name is loaded, the unloading must end.
   */
  readonly #unloading = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: LoadedAdaptersOptions) {
    this.#options = options;
  }

  /** Aborts all waits for adapters that are being loaded. */
  stop(): void {
    this.#stopping.abort(new ServiceError({ code: "unavailable", message: "The engine is being stopped." }));
  }

  get count(): number {
    return this.#loaded.size;
  }

  has(name: string): boolean {
    return this.#loaded.has(name);
  }

  /**
   * Takes over the server's list of loaded adapters. An adapter that is missing from the list is loaded again at its
   * next use.
   */
  reconcile(listed: Iterable<string>): void {
    const names = new Set([...listed].filter(isAdapterName));
    for (const name of this.#loaded.keys()) if (!names.has(name)) this.#loaded.delete(name);
    for (const name of names)
      if (!this.#loaded.has(name))
        this.#loaded.set(name, { loading: Promise.resolve(), useCount: 0, isDropped: false });
  }

  /**
   * Loads an adapter unless it is already loaded. The adapter stays loaded at least until `release` is called.
   *
   * @throws ServiceError `conflict` for missing or changed files, `unsupported` for an adapter that vLLM does not
   * accept, `unavailable`; the signal's reason
   */
  async use(reference: AdapterReference, options: { readonly signal: AbortSignal }): Promise<AdapterUse> {
    const name = adapterName(reference);
    const entry = this.#loaded.get(name) ?? this.#add(reference, name);
    // Moving the entry to the end marks it as the most recently used.
    this.#loaded.delete(name);
    this.#loaded.set(name, entry);
    entry.useCount += 1;
    entry.isDropped = false;
    let isUsed = true;
    const release = (): void => {
      if (!isUsed) return;
      isUsed = false;
      entry.useCount -= 1;
      if (entry.isDropped && entry.useCount === 0) void this.#unload(name, entry);
    };
    try {
      await unlessAborted(entry.loading, options.signal);
      return { name, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Forgets an adapter. Must be called when vLLM reports that the adapter is not loaded. */
  forget(name: string): void {
    this.#loaded.delete(name);
  }

  /** Unloads all adapters of an id, each as soon as no request uses it. */
  drop(id: string): void {
    for (const [name, entry] of this.#loaded) {
      if (!isNameOf(name, id)) continue;
      entry.isDropped = true;
      if (entry.useCount === 0) void this.#unload(name, entry);
    }
  }

  #add(reference: AdapterReference, name: string): Loaded {
    this.#makeRoom();
    const loading = this.#load(reference, name);
    const entry = { loading, useCount: 0, isDropped: false };
    this.#loaded.set(name, entry);
    loading.catch(() => {
      if (this.#loaded.get(name) === entry) this.#loaded.delete(name);
    });
    return entry;
  }

  async #load(reference: AdapterReference, name: string): Promise<void> {
    const { place, server } = this.#options;
    const folder = await place.folderFor(reference, name);
    await this.#unloading.get(name);
    try {
      await server.loadAdapter(name, folder, { signal: this.#stopping.signal });
    } catch (error) {
      // Another Hone server has already loaded the adapter. That is no error, because equal names mean equal weights.
      if (error instanceof ServiceError && error.code === "conflict") return;
      throw explainLoadFailure(error);
    }
  }

  /** Makes room for one more adapter, by unloading the least recently used ones if necessary. */
  #makeRoom(): void {
    let surplus = this.#loaded.size + 1 - this.#options.countMax;
    for (const [name, entry] of this.#loaded) {
      if (surplus <= 0) return;
      if (entry.useCount > 0) continue;
      void this.#unload(name, entry);
      surplus -= 1;
    }
  }

  async #unload(name: string, entry: Loaded): Promise<void> {
    if (this.#loaded.get(name) === entry) this.#loaded.delete(name);
    const unloading = entry.loading
      .then(() => this.#options.server.unloadAdapter(name, { signal: this.#stopping.signal }))
      .catch((error: unknown) => {
        const isGone = error instanceof ServiceError && error.code === "not_found";
        if (!isGone && !this.#stopping.signal.aborted) this.#options.onFault(error, name);
      });
    this.#unloading.set(name, unloading);
    await unloading;
    if (entry.isDropped) this.#options.onDropped(name);
    if (this.#unloading.get(name) === unloading) this.#unloading.delete(name);
  }
}
