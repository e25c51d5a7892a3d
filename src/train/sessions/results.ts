// Results of the operations of a session, independent of the format in which clients receive them.
import type { ComputedResult } from "../trainer/tinker/wire/write-result.ts";

export type SessionResult =
  | { readonly kind: "created"; readonly modelId: string }
  | { readonly kind: "loaded"; readonly modelId: string; readonly path: string }
  | { readonly kind: "computed"; readonly computed: ComputedResult }
  | { readonly kind: "stepped"; readonly metrics: Readonly<Record<string, number>> }
  | { readonly kind: "saved"; readonly weights: "weights" | "external_weights"; readonly path: string }
  /** Weights that were saved only for sampling. If the client named them, they have a path; otherwise, a sampler. */
  | { readonly kind: "saved-for-sampling"; readonly path: string | null; readonly samplerId: string | null }
  | { readonly kind: "unloaded"; readonly modelId: string }
  /** An encoded answer of a model. */
  | { readonly kind: "sampled"; readonly bytes: Uint8Array };

/** Returns the approximate memory of a result in bytes. */
export function byteCountOf(result: SessionResult): number {
  const most =
    result.kind === "sampled"
      ? result.bytes.length
      : result.kind === "computed"
        ? result.computed.logprobs.reduce((sum, { byteLength }) => sum + byteLength, 0)
        : 0;
  return most + 512;
}
