// Supported versions of vLLM, and the features that each version implements as the engine contract specifies. A
// feature that a version accepts but ignores, or implements differently, is not declared, so requests for it are
// refused by name.
import type { EngineFeature } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** The oldest supported version. Responses of this version were recorded, and Hone is tested with it. */
const oldest = [0, 32] as const;

/**
 * Features that all supported versions implement.
 *
 * Not offered: `bad-words`, which vLLM takes as text and tokenizes itself; `beam`, which in vLLM ignores stop tokens,
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
 * @param scheduling scheduling policy that the vLLM servers were started with: under `fcfs` vLLM accepts a priority
 * but ignores it
 */
export function vllmFeatures(scheduling: "fcfs" | "priority"): ReadonlySet<EngineFeature> {
  return new Set([...features, ...(scheduling === "priority" ? (["priority"] as const) : [])]);
}

/**
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
