// Reads an adapter's folder into the inputs of serving graphs. Blocks the thread while reading; a large adapter takes a
// few tenths of a second.
import type { AdapterReference } from "../../../base/domain/generation.ts";
import { float32Tensor } from "../../../lib/graph/tensor.ts";
import type { ModelConfig } from "../../architectures/config.ts";
import { requireAdapter, unreadableAdapter } from "../../architectures/hashes/adapter-hash.ts";
import { servingLoraInputs, type LoraAdapter } from "../../architectures/lora.ts";
import { readLoraAdapter } from "../../architectures/peft-folder.ts";
import type { LoadedAdapter } from "../model-runner.ts";

/** Fields of a loaded adapter that are read from its files. */
export type AdapterFeeds = Pick<LoadedAdapter, "rank" | "feeds">;

/**
 * Reads an adapter from its folder.
 *
 * @throws ServiceError `conflict` if the folder cannot be read, or its content differs from the adapter that was stored
 * there
 */
export function readAdapter(
  { folder, hash }: Pick<AdapterReference, "folder" | "hash">,
  config: ModelConfig,
): AdapterFeeds {
  requireAdapter(folder, hash ?? null);
  try {
    return toAdapterFeeds(config, readLoraAdapter(folder, config));
  } catch (cause) {
    throw unreadableAdapter("it cannot be read; the server's log says why", cause);
  }
}

/**
 * Converts an adapter to inputs of its model's serving graphs. For null, returns inputs that do not change the base
 * model's results.
 */
export function toAdapterFeeds(config: ModelConfig, adapter: LoraAdapter | null): AdapterFeeds {
  const inputs = [...servingLoraInputs(config, adapter)];
  const feeds = inputs.map(([name, { shape, data }]) => [name, float32Tensor(shape, data)] as const);
  return { rank: adapter?.rank ?? 1, feeds: Object.fromEntries(feeds) };
}
