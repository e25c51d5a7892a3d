// Adapters in memory, ready to be fed to a graph; the least recently used one is dropped when there are too many.
// Whoever runs an adapter holds it by itself, so dropping one here never harms a running request.
import type { AdapterReference } from "../domain/generation.ts";
import { overOtherWeights } from "../domain/obstacles/missing-base.ts";
import { float32Tensor } from "../graph/tensor.ts";
import type { ModelConfig } from "../model/config.ts";
import { requireAdapter, unreadableAdapter } from "../model/hashes/adapter-hash.ts";
import { servingLoraInputs, type LoraAdapter } from "../model/lora.ts";
import { readLoraAdapter } from "../model/peft-folder.ts";
import type { LoadedAdapter } from "./model-runner.ts";

export class AdapterCache {
  readonly #config: ModelConfig;
  readonly #countMax: number;
  readonly #weights: string | undefined;
  /** Least recently used first. */
  readonly #adapters = new Map<
    string,
    { readonly adapter: LoadedAdapter; readonly hash: string | undefined }
  >();
  #readCount = 0;

  /** @param weights hex SHA-256 of the base model's: adapters of others are refused */
  constructor(config: ModelConfig, countMax: number, weights?: string) {
    this.#config = config;
    this.#countMax = countMax;
    this.#weights = weights;
  }

  /**
   * @throws ServiceError `conflict` when the adapter was trained over other weights, or the folder does not hold what was
   *   stored there
   */
  load(reference: AdapterReference): LoadedAdapter {
    const { id, base, hash } = reference;
    if (base !== undefined && this.#weights !== undefined && base !== this.#weights)
      throw overOtherWeights(base, this.#weights);
    const kept = this.#adapters.get(id);
    const adapter = kept !== undefined && kept.hash === hash ? kept.adapter : this.#read(reference);
    this.#adapters.delete(id);
    this.#adapters.set(id, { adapter, hash });
    for (const oldest of this.#adapters.keys()) {
      if (this.#adapters.size <= this.#countMax) break;
      this.#adapters.delete(oldest);
    }
    return adapter;
  }

  drop(id: string): void {
    this.#adapters.delete(id);
  }

  #read({ id, folder, hash }: AdapterReference): LoadedAdapter {
    requireAdapter(folder, hash ?? null);
    this.#readCount += 1;
    // Without a hash nobody knows whether a folder still holds what was read from it before.
    const revision = hash ?? `read ${this.#readCount}`;
    try {
      return adapterInMemory({ id, revision }, this.#config, readLoraAdapter(folder, this.#config));
    } catch (cause) {
      throw unreadableAdapter("it cannot be read; the server's log says why", cause);
    }
  }
}

/** An adapter of a model in the form that its serving graphs are fed. */
export function adapterInMemory(
  name: Pick<LoadedAdapter, "id" | "revision">,
  config: ModelConfig,
  adapter: LoraAdapter,
): LoadedAdapter {
  const inputs = [...servingLoraInputs(config, adapter)];
  const feeds = inputs.map(([name, { shape, data }]) => [name, float32Tensor(shape, data)] as const);
  return { ...name, rank: adapter.rank, feeds: Object.fromEntries(feeds) };
}
