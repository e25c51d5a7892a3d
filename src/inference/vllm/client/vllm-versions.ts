// Supported versions of vLLM, and the features that they implement as the engine contract specifies. If vLLM accepts
// but ignores a feature, or implements it differently, the feature is not listed, so requests for it are refused by
// name.
import type { EngineFeature } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** The oldest supported version. Its responses were recorded, and Hone is tested with it. */
const oldest = [0, 32] as const;

/**
 * Features that all supported versions implement.
 *
 * Not listed: `bad-words`, which vLLM takes as text and tokenizes itself; `beam`, which in vLLM ignores stop tokens,
 * biases and constraints; `logits-processors` and the JSON style, which vLLM accepts but ignores; `top-n-sigma` and
 * `embeddings`, which vLLM lacks.
 */
const features = [
  "min-p",
  "penalties",
  "logit-bias",
  "allowed-token-ids",
  "min-tokens",
  "prompt-logprobs",
  "cache-salt",
  "constraint-json-schema",
  "constraint-json-object",
  "constraint-regex",
  "constraint-choice",
  "constraint-grammar",
  "constraint-structural-tag",
] as const satisfies readonly EngineFeature[];

/**
 * Returns the features of vLLM servers.
 *
 * @param scheduling policy with which the vLLM servers were started: under `fcfs` vLLM accepts a priority but ignores
 * it
 */
export function vllmFeatures(scheduling: "fcfs" | "priority"): ReadonlySet<EngineFeature> {
  return new Set([...features, ...(scheduling === "priority" ? (["priority"] as const) : [])]);
}

/**
 * Requires a supported version.
 *
 * @param version such as `0.32.0+cpu` or `0.33.1rc2.dev5+g0123456`
 * @throws ServiceError `unsupported` for an unknown version, or one older than the oldest
 */
export function requireSupported(version: string): void {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const isSupported = major !== undefined && (Number(major) > oldest[0] || Number(minor) >= oldest[1]);
  if (isSupported) return;
  throw new ServiceError({
    code: "unsupported",
    message: `It is vLLM ${version}; ${oldest.join(".")} or newer is needed.`,
  });
}
