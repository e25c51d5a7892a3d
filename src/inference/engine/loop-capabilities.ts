// Capabilities, limits and gauges of the embedded engine, derived from its settings. The server needs them before the
// engine's process runs.
import {
  constraintFeatures,
  type EngineCapabilities,
  type EngineGauge,
} from "../../base/domain/generation.ts";
import { samplingFeatures } from "../../base/domain/sampling.ts";
import type { DraftCounts } from "./loop/engine-loop.ts";
import type { LaneCounts, PrefixCounts } from "./loop/lanes.ts";
import type { CacheCounts } from "./token-masks/constraint-cache.ts";
import type { ConstraintSettings } from "./token-masks/settings.ts";
import { processorNames, readRegistrations } from "./logits-processors/registrations.ts";
import type { EngineSettings } from "./settings.ts";
import type { TransferStore } from "./transfers/transfer-store.ts";

/**
 * Features that every embedded engine offers; settings enable more. If a request needs a missing feature, chat refuses
 * the request and names the feature.
 */
const features = [
  ...constraintFeatures,
  ...Object.values(samplingFeatures),
  "min-tokens",
  "cache-salt",
  "prompt-logprobs",
  "beam",
  "embeddings",
] as const;

/** Returns the capabilities of an embedded engine with these settings. */
export function loopCapabilities({
  scheduling,
  logitsProcessors,
  device,
}: EngineSettings): EngineCapabilities {
  const processors = processorNames(readRegistrations(logitsProcessors));
  return {
    features: new Set([...features, ...(scheduling === "fcfs" ? [] : ["priority" as const])]),
    // On devices other than the CPU, a row's results may depend on the other rows of its batch.
    isExact: device === "cpu",
    processors,
  };
}

/** Returns the gauges of an embedded engine with these settings. */
export function loopGauges(
  { settings, constraints }: { readonly settings: EngineSettings; readonly constraints: ConstraintSettings },
  held: {
    readonly kvCacheBytes: number;
    readonly kvCacheBytesMax: number | undefined;
    readonly lanes: LaneCounts | undefined;
    readonly prefixes: PrefixCounts | undefined;
    readonly drafts: DraftCounts | undefined;
    readonly constraintCache: CacheCounts | undefined;
    readonly transfers: Pick<TransferStore, "bytes" | "promptCount"> | undefined;
  } | null = null,
): readonly EngineGauge[] {
  const { hits = 0, misses = 0, bytes = 0 } = held?.constraintCache ?? {};
  const prefixes = held?.prefixes ?? { bytes: 0, queries: 0, hits: 0 };
  const drafts = held?.drafts ?? { drafts: 0, tokens: 0, accepted: 0 };
  // A small model cannot fill the cache that the settings allow.
  const bytesMax = held?.kvCacheBytesMax ?? settings.kvCacheBytesMax;
  return [
    {
      name: "kv_cache_bytes",
      value: held?.kvCacheBytes ?? 0,
      limit: bytesMax,
      about: "Memory of keys and values of running requests.",
    },
    {
      name: "kv_cache_slots",
      value: held?.lanes?.slotCount ?? 0,
      limit: settings.slotCountMax,
      about: "Choices of requests that hold keys and values.",
    },
    {
      name: "kv_cache_lanes",
      value: held?.lanes?.laneCount ?? 0,
      limit: null,
      about: "Lanes of keys and values: for each adapter in use, and for each class of lengths of its rows.",
    },
    {
      name: "prefix_cache_bytes",
      value: prefixes.bytes,
      limit: Math.floor((bytesMax * settings.prefixCachePercent) / 100),
      about: "Memory of the prefix cache.",
    },
    {
      name: "prefix_cache_queries",
      value: prefixes.queries,
      limit: null,
      about: "Prompt tokens looked up in the prefix cache, since the engine's process started.",
    },
    {
      name: "prefix_cache_hits",
      value: prefixes.hits,
      limit: null,
      about: "Prompt tokens found in the prefix cache and not computed, since the engine's process started.",
    },
    {
      name: "transfer_bytes",
      value: held?.transfers?.bytes ?? 0,
      limit: settings.transferBytesMax,
      about: "Memory of prompts held for other servers, or received from them and not used yet.",
    },
    {
      name: "transfer_prompts",
      value: held?.transfers?.promptCount ?? 0,
      limit: null,
      about: "Prompts held for other servers, or received from them and not used yet.",
    },
    {
      name: "spec_decode_num_drafts",
      value: drafts.drafts,
      limit: null,
      about: "Drafts (one per row and step with draft tokens), since the engine's process started.",
    },
    {
      name: "spec_decode_num_draft_tokens",
      value: drafts.tokens,
      limit: null,
      about: "Draft tokens, since the engine's process started.",
    },
    {
      name: "spec_decode_num_accepted_tokens",
      value: drafts.accepted,
      limit: null,
      about: "Accepted draft tokens, since the engine's process started.",
    },
    {
      name: "constraint_cache_bytes",
      value: bytes,
      limit: constraints.cacheBytes,
      about: "Memory of constraints in use or cached.",
    },
    {
      name: "constraint_cache_hits",
      value: hits,
      limit: null,
      about: "Requests whose constraint was cached, since the engine's process started.",
    },
    {
      name: "constraint_cache_misses",
      value: misses,
      limit: null,
      about: "Requests whose constraint had to be compiled, since the engine's process started.",
    },
  ];
}
