// Which versions of vLLM are asked, and what each does as the contract of engines says. What a version takes and does nothing
// with, or does otherwise, is no feature: requests for it are then refused by name.
import type { EngineFeature } from "../../../base/domain/generation.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** The oldest: what was recorded and is tested. */
const oldest = [0, 32] as const;

/**
 * What is offered of all of them.
 *
 * Not offered: `bad-words`, which vLLM takes as texts and tokenizes itself; `beam`, which ignores stop tokens, biases and
 * constraints; `logits-processors` and how JSON is written, which it takes and ignores; `top-n-sigma` and `embeddings`, which
 * it does not have.
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

/** @param scheduling as the servers were started: one that schedules as requests come takes a priority and ignores it */
export function vllmFeatures(scheduling: "fcfs" | "priority"): ReadonlySet<EngineFeature> {
  return new Set([...features, ...(scheduling === "priority" ? (["priority"] as const) : [])]);
}

/**
 * @param version such as `0.32.0+cpu` or `0.33.1rc2.dev5+g0123456`
 * @throws ServiceError `unsupported` for one that is older than all that are asked, or none
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
