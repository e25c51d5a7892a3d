// Chooses the replica (vLLM server) for a request: the one that likely has the prompt's prefix in its cache, unless its
// load is too high. The choice is deterministic, so Hone servers that share replicas choose the same one. Uses
// rendezvous hashing (Thaler and Ravishankar, 1998) with bounded loads (Mirrokni, Thorup and Zadimoghaddam, 2018): when
// a replica joins or leaves, only its prompts move.
import { createHash } from "node:crypto";
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import { adapterName } from "../adapters/adapter-names.ts";

/** Identity and load of a replica. */
export interface Candidate {
  /** Hash of the replica's address: see {@link hashAddress}. */
  readonly hash: number;
  readonly runningCount: number;
  /**
   * Number of recent requests, in which older requests count less; see `RecentRequests`. All candidates use the same
   * unit, which is otherwise arbitrary.
   */
  readonly recentCount: number;
}

/**
 * A replica's load may exceed an even share by this fraction, or by `deviations` standard deviations of random
 * variation, whichever is greater.
 */
const runningSurplus = 0.25;
const deviations = 2;

/**
 * A replica with more than an even share of load is skipped if its recent requests exceed the mean by this fraction.
 */
const recentSurplus = 0.03;

/** Maximum number of tokens that are hashed as a prompt's prefix. */
const prefixTokensMax = 4096;

/**
 * Chooses a replica for a prompt.
 *
 * The number of arrivals varies randomly by its square root (Poisson), which is no reason to move a prompt away from
 * the replica that has it in its cache. A lasting imbalance is a reason, for example when one replica's prompts are
 * more frequent than others.
 *
 * @param candidates replicas to choose from, at least one
 * @param prefix hash of the request's prefix, from {@link hashPrefix}
 */
export function chooseReplica<One extends Candidate>(candidates: readonly One[], prefix: number): One {
  const mean = (sum: number): number => sum / candidates.length;
  const evenShare = mean(candidates.reduce((sum, one) => sum + one.runningCount, 1));
  const countMax = evenShare + Math.max(runningSurplus * evenShare, deviations * Math.sqrt(evenShare));
  const recentMax = (1 + recentSurplus) * mean(candidates.reduce((sum, one) => sum + one.recentCount, 0));
  // At least one candidate has less load than an even share, so the list is never empty.
  const free = candidates.filter((one) => one.runningCount < countMax);
  const balanced = free.filter((one) => one.runningCount < evenShare + 1 || one.recentCount <= recentMax);
  const chosen = balanced.length > 0 ? balanced : free;
  return chosen.reduce((best, one) =>
    mixHashes(one.hash, prefix) > mixHashes(best.hash, prefix) ? one : best,
  );
}

/**
 * Returns a hash that is equal for requests with the same adapter, cache permissions and first tokens. The number of
 * hashed tokens is the largest power of two up to the prompt's length. So a conversation keeps its replica until its
 * length has doubled, and long prompts that begin with the same instructions still get different hashes.
 */
export function hashPrefix({ prompt, cacheOwner, cacheSalt }: GenerationRequest): number {
  const { tokenIds, adapter } = prompt;
  const count = 2 ** Math.floor(Math.log2(Math.min(tokenIds.length, prefixTokensMax)));
  const name = adapter === null ? null : adapterName(adapter);
  return createHash("sha256")
    .update(JSON.stringify([name, cacheOwner, cacheSalt]))
    .update(Int32Array.from(tokenIds.slice(0, count)))
    .digest()
    .readUInt32BE();
}

/** Returns a hash of a replica's address. */
export function hashAddress(address: string): number {
  return createHash("sha256").update(address).digest().readUInt32BE();
}

/** Mixes two hashes with the finalizer of MurmurHash3. */
function mixHashes(one: number, other: number): number {
  let hash = one ^ Math.imul(other, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
