// Adapters in memory, ready to be fed to a graph; the least recently used one is dropped when there are too many.
// Whoever runs an adapter holds it by itself, so dropping one here never harms a running request.
import type { AdapterReference } from "../domain/generation.ts";
import { ServiceError } from "../domain/service-error.ts";
import { float32Tensor } from "../graph/tensor.ts";
import type { ModelConfig } from "../model/config.ts";
import { servingLoraInputs, type LoraAdapter } from "../model/lora.ts";
import { readLoraAdapter } from "../model/peft-folder.ts";
import type { LoadedAdapter } from "./model-runner.ts";

export class AdapterCache {
  readonly #config: ModelConfig;
  readonly #countMax: number;
  /** Least recently used first. */
  readonly #adapters = new Map<string, LoadedAdapter>();

  constructor(config: ModelConfig, countMax: number) {
    this.#config = config;
    this.#countMax = countMax;
  }

  /** @throws ServiceError `internal` when the folder does not hold an adapter of this model: this server wrote it, or lost it */
  load({ id, folder }: AdapterReference): LoadedAdapter {
    const adapter = this.#adapters.get(id) ?? this.#read(id, folder);
    this.#adapters.delete(id);
    this.#adapters.set(id, adapter);
    for (const oldest of this.#adapters.keys()) {
      if (this.#adapters.size <= this.#countMax) break;
      this.#adapters.delete(oldest);
    }
    return adapter;
  }

  drop(id: string): void {
    this.#adapters.delete(id);
  }

  #read(id: string, folder: string): LoadedAdapter {
    try {
      return adapterInMemory(id, this.#config, readLoraAdapter(folder, this.#config));
    } catch (cause) {
      throw new ServiceError({
        code: "internal",
        message: `The adapter ${id} cannot be read; the server's log says why.`,
        cause,
      });
    }
  }
}

/** An adapter of a model in the form that its serving graphs are fed. */
export function adapterInMemory(id: string, config: ModelConfig, adapter: LoraAdapter): LoadedAdapter {
  const inputs = [...servingLoraInputs(config, adapter)];
  const feeds = inputs.map(([name, { shape, data }]) => [name, float32Tensor(shape, data)] as const);
  return { id, rank: adapter.rank, feeds: Object.fromEntries(feeds) };
}
