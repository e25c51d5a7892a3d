// A model that computes only whole sequences from their first token, with the same decoder definition as serving. Keeps
// weights and adapters in memory, but no results. Only for tests.
import type { AdapterReference } from "../../../base/domain/generation.ts";
import { float32Data, int64Tensor, type Tensor } from "../../../lib/graph/tensor.ts";
import type { ModelConfig } from "../../architectures/config.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { loraFormOf, type LoraForm } from "../../architectures/lora.ts";
import { buildPrefillGraph } from "../../architectures/serving-graphs.ts";
import { readModelWeights } from "../../architectures/weights.ts";
import { createSession, type Session } from "../../onnx/session.ts";
import { AdapterCache } from "../adapters/adapter-cache.ts";
import type { LoadedAdapter } from "../model-runner.ts";
import { recurrenceOf } from "../../architectures/recurrent/recurrence.ts";

/**
 * Opens the model in a folder.
 *
 * @throws ServiceError if the folder does not hold a model that can be served
 */
export async function openNaiveModel(folder: string): Promise<NaiveModel> {
  const model = new NaiveModel(folder, readModelConfig(folder));
  await model.prepare();
  return model;
}

export class NaiveModel {
  readonly config: ModelConfig;
  readonly #folder: string;
  readonly #adapters: AdapterCache;
  readonly #sessions = new Map<LoraForm | null, Session>();

  /** Internal. Callers use {@link openNaiveModel} instead. */
  constructor(folder: string, config: ModelConfig) {
    this.#folder = folder;
    this.config = config;
    this.#adapters = new AdapterCache(config, { countMax: 100 });
  }

  async prepare(): Promise<void> {
    await this.#session(null);
  }

  async close(): Promise<void> {
    for (const session of this.#sessions.values()) await session.release();
    this.#sessions.clear();
  }

  /**
   * Reads an adapter; returns null for the base model.
   *
   * @throws ServiceError if the adapter cannot be read
   */
  loadAdapter(reference: AdapterReference | null): LoadedAdapter | null {
    return reference === null ? null : this.#adapters.load(reference);
  }

  dropAdapter(id: string): void {
    this.#adapters.drop(id);
  }

  /** Returns the scores for the token after the given tokens. */
  async logitsAfter(tokenIds: readonly number[], adapter: LoadedAdapter | null): Promise<readonly number[]> {
    const [logits_V] = await this.#logits(tokenIds, [tokenIds.length - 1], adapter);
    return logits_V;
  }

  /** Returns the scores for the tokens after each of the given tokens. */
  logitsAfterEach(
    tokenIds: readonly number[],
    adapter: LoadedAdapter | null,
  ): Promise<readonly (readonly number[])[]> {
    return this.#logits(tokenIds, [...tokenIds.keys()], adapter);
  }

  /** Returns the hidden state after the last of the given tokens. */
  async hiddenAfter(tokenIds: readonly number[], adapter: LoadedAdapter | null): Promise<Float32Array> {
    const outputs = await this.#run(tokenIds, [tokenIds.length - 1], adapter);
    return float32Data(outputs["hidden"]).slice();
  }

  async #logits(
    tokenIds: readonly number[],
    places: readonly number[],
    adapter: LoadedAdapter | null,
  ): Promise<readonly (readonly number[])[]> {
    const outputs = await this.#run(tokenIds, places, adapter);
    const logits_TV = float32Data(outputs["logits"]);
    const { vocabularySize } = this.config;
    return places.map((_, row) =>
      Array.from(logits_TV.subarray(row * vocabularySize, (row + 1) * vocabularySize)),
    );
  }

  async #run(
    tokenIds: readonly number[],
    places: readonly number[],
    adapter: LoadedAdapter | null,
  ): Promise<Readonly<Record<string, Tensor>>> {
    const session = await this.#session(adapter === null ? null : loraFormOf(adapter.rank));
    return session.run({
      tokens: int64Tensor([1, tokenIds.length], tokenIds),
      places: int64Tensor([places.length], places),
      ...this.#ends(tokenIds.length),
      ...adapter?.feeds,
    });
  }

  /** Returns the inputs that models with states need: the indices of the row's last positions, and its length. */
  #ends(length: number): Readonly<Record<string, Tensor>> {
    const { convolution } = this.config;
    if (convolution === null) return {};
    const size = convolution.kernelSize - 1;
    const ends = Array.from({ length: size }, (_, place) => length + place);
    return {
      ends: int64Tensor([1, size], ends),
      ...(recurrenceOf(this.config) !== null && { lengths: int64Tensor([1], [length]) }),
    };
  }

  async #session(lora: LoraForm | null): Promise<Session> {
    const known = this.#sessions.get(lora);
    if (known !== undefined) return known;
    const weights = readModelWeights(this.#folder, this.config, { cacheFolder: null });
    const session = await createSession(buildPrefillGraph(this.config, { lora }), { weights, threads: 1 });
    this.#sessions.set(lora, session);
    return session;
  }
}
