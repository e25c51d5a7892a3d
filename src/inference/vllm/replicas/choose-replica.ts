// Which replica answers a request: the one that has likely computed the beginning of its prompt before, unless it has much
// more to do than others, or more than they and has lately been given more too. Pure, and the same wherever it is asked, so
// that servers that share replicas agree on it: rendezvous hashing (Thaler and Ravishankar, 1998) with bounded loads
// (Mirrokni, Thorup and Zadimoghaddam, 2018). A replica that comes or goes moves the prompts of its share alone.
import { createHash } from "node:crypto";
import type { GenerationRequest } from "../../../base/domain/generation.ts";
import { adapterName } from "../adapters/adapter-names.ts";

/** A replica as far as the choice is concerned. */
export interface Candidate {
  /** A number of its own, from its address: see {@link hashOf}. */
  readonly hash: number;
  readonly runningCount: number;
  /** How much it has been given lately, in a unit that all candidates have in common: see `RecentRequests`. */
  readonly recentCount: number;
}

/** A replica may run so many parts of an even share beyond it, or, where that is more, two standard deviations of chance. */
const runningSurplus = 0.25;
const deviations = 2;

/** One that runs more than an even share and has been given this part more than others lately is passed over. */
const recentSurplus = 0.03;

/** Of longer prompts no more tokens tell what they begin with. */
const prefixTokensMax = 4096;

/**
 * Chooses one.
 *
 * Requests that come by chance differ in number by the square root of it (Poisson), which is no reason to send one where its
 * prompt is unknown. Prompts that some replica has more of than others are one, since that lasts.
 *
 * @param candidates at least one
 * @param prefix what the request shares with others, as {@link prefixOf} says
 */
export function chooseReplica<One extends Candidate>(candidates: readonly One[], prefix: number): One {
  const mean = (sum: number): number => sum / candidates.length;
  const evenShare = mean(candidates.reduce((sum, one) => sum + one.runningCount, 1));
  const countMax = evenShare + Math.max(runningSurplus * evenShare, deviations * Math.sqrt(evenShare));
  const recentMax = (1 + recentSurplus) * mean(candidates.reduce((sum, one) => sum + one.recentCount, 0));
  // Somebody runs less than an even share, so one is left.
  const free = candidates.filter((one) => one.runningCount < countMax);
  const balanced = free.filter((one) => one.runningCount < evenShare + 1 || one.recentCount <= recentMax);
  const chosen = balanced.length > 0 ? balanced : free;
  return chosen.reduce((best, one) => (mixed(one.hash, prefix) > mixed(best.hash, prefix) ? one : best));
}

/**
 * A number of what a request shares with others whose prompts begin alike: its adapter, whose cache it may use, and the first
 * tokens. Those are as many as the greatest power of two that fits in the prompt: a conversation stays where it is until it
 * is twice as long, and prompts that all begin with the same instructions still differ.
 */
export function prefixOf({ prompt, cacheOwner, cacheSalt }: GenerationRequest): number {
  const { tokenIds, adapter } = prompt;
  const count = 2 ** Math.floor(Math.log2(Math.min(tokenIds.length, prefixTokensMax)));
  const name = adapter === null ? null : adapterName(adapter);
  return createHash("sha256")
    .update(JSON.stringify([name, cacheOwner, cacheSalt]))
    .update(Int32Array.from(tokenIds.slice(0, count)))
    .digest()
    .readUInt32BE();
}

/** A number of a replica's address. */
export function hashOf(address: string): number {
  return createHash("sha256").update(address).digest().readUInt32BE();
}

/** The finalizer of MurmurHash3 over both. */
function mixed(one: number, other: number): number {
  let hash = one ^ Math.imul(other, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
