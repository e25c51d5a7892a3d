// Decides what one step of the engine computes: a pure function of what waits, what runs, and the budget.
// First come, first served: nothing overtakes the oldest waiting prompt, running rows always go on. How a prompt is cut
// into parts depends on the prompt alone, so that its numbers are the same whatever else runs.
import { laneBytes } from "../cache/kv-cache.ts";
import { positionGranule } from "../cache/kv-lane.ts";

/** A request that holds nothing yet. */
export interface WaitingPrompt {
  readonly key: number;
  /** Rows of different lanes cannot share a graph call. */
  readonly laneId: string;
  readonly tokenCount: number;
  /** One for each choice. */
  readonly slotCount: number;
  /** Positions that each slot may come to hold. */
  readonly positionCountMax: number;
}

/** An admitted prompt with tokens still to compute. */
export interface StartedPrompt {
  readonly key: number;
  readonly laneId: string;
  readonly tokenCount: number;
  readonly computedCount: number;
}

/** What a lane holds, with everything that was promised to admitted requests. */
export interface LaneLoad {
  readonly laneId: string;
  readonly slotCount: number;
  readonly positionCountMax: number;
  /** Rows that get a token in this step. */
  readonly decodingCount: number;
}

export interface StepBudget {
  readonly slotCountMax: number;
  readonly kvCacheBytesMax: number;
  readonly bytesPerPosition: number;
  readonly tokensPerStepMax: number;
  readonly promptChunkTokens: number;
}

/** Tokens [start, start + count) of a prompt. */
export interface PromptChunk {
  readonly key: number;
  readonly start: number;
  readonly count: number;
}

export interface LanePlan {
  readonly laneId: string;
  /** Chunks of one group are computed together, right-padded to the longest. */
  readonly prefillGroups: readonly (readonly PromptChunk[])[];
  /** Whether its decoding rows get a token; true whenever it has some. */
  readonly decodes: boolean;
}

export interface StepPlan {
  /** Waiting prompts that start now, oldest first. */
  readonly admittedKeys: readonly number[];
  /** Lanes with something to do. */
  readonly lanes: readonly LanePlan[];
}

/** Chunks share a graph call while at least this part of the padded tokens is real. */
const leastRealPart = 0.75;

/**
 * Plans one step.
 *
 * @param waiting oldest first
 * @param started oldest first
 */
export function planStep(
  waiting: readonly WaitingPrompt[],
  started: readonly StartedPrompt[],
  lanes: readonly LaneLoad[],
  budget: StepBudget,
): StepPlan {
  const admitted = admit(waiting, lanes, budget);
  const candidates = [...started, ...admitted.map((prompt) => ({ ...prompt, computedCount: 0 }))];
  const decodingCount = lanes.reduce((sum, lane) => sum + lane.decodingCount, 0);
  const chunks = chooseChunks(candidates, decodingCount, budget);
  const laneIds = new Set([...lanes.map((lane) => lane.laneId), ...chunks.map((chunk) => chunk.laneId)]);
  const plans = [...laneIds].map((laneId) => ({
    laneId,
    prefillGroups: groupChunks(chunks.filter((chunk) => chunk.laneId === laneId)),
    decodes: lanes.some((lane) => lane.laneId === laneId && lane.decodingCount > 0),
  }));
  return {
    admittedKeys: admitted.map((prompt) => prompt.key),
    lanes: plans.filter((plan) => plan.decodes || plan.prefillGroups.length > 0),
  };
}

/**
 * How many choices of a request can run at the same time when nothing else does; 0 when it can never run.
 */
export function slotsThatFit(
  positionCountMax: number,
  budget: Pick<StepBudget, "slotCountMax" | "kvCacheBytesMax" | "bytesPerPosition">,
): number {
  let slots = budget.slotCountMax;
  while (slots > 0 && laneBytes(slots, positionCountMax, budget.bytesPerPosition) > budget.kvCacheBytesMax)
    slots--;
  return slots;
}

/** The most positions that one choice can hold when nothing else runs. */
export function positionsThatFit(budget: Pick<StepBudget, "kvCacheBytesMax" | "bytesPerPosition">): number {
  const bytesPerGranule = laneBytes(1, positionGranule, budget.bytesPerPosition);
  return Math.floor(budget.kvCacheBytesMax / bytesPerGranule) * positionGranule;
}

/** The longest run of waiting prompts, from the oldest, whose whole need can be set aside beside what runs. */
function admit(
  waiting: readonly WaitingPrompt[],
  lanes: readonly LaneLoad[],
  budget: StepBudget,
): readonly WaitingPrompt[] {
  const reserved = new Map(lanes.map((lane) => [lane.laneId, lane as Omit<LaneLoad, "decodingCount">]));
  const bytesOf = (lane: Pick<LaneLoad, "slotCount" | "positionCountMax"> | undefined): number =>
    lane === undefined ? 0 : laneBytes(lane.slotCount, lane.positionCountMax, budget.bytesPerPosition);
  let bytes = lanes.reduce((sum, lane) => sum + bytesOf(lane), 0);
  let slots = lanes.reduce((sum, lane) => sum + lane.slotCount, 0);
  const admitted: WaitingPrompt[] = [];
  for (const prompt of waiting) {
    const old = reserved.get(prompt.laneId);
    const grown = {
      laneId: prompt.laneId,
      slotCount: (old?.slotCount ?? 0) + prompt.slotCount,
      positionCountMax: Math.max(old?.positionCountMax ?? 0, prompt.positionCountMax),
    };
    bytes += bytesOf(grown) - bytesOf(old);
    slots += prompt.slotCount;
    if (slots > budget.slotCountMax || bytes > budget.kvCacheBytesMax) break;
    reserved.set(prompt.laneId, grown);
    admitted.push(prompt);
  }
  return admitted;
}

type LaneChunk = PromptChunk & { readonly laneId: string };

/** One chunk of each prompt, oldest first, while the budget lasts; the oldest always gets its chunk. */
function chooseChunks(
  prompts: readonly StartedPrompt[],
  decodingCount: number,
  budget: StepBudget,
): readonly LaneChunk[] {
  const chunks: LaneChunk[] = [];
  let left = budget.tokensPerStepMax - decodingCount;
  for (const { key, laneId, tokenCount, computedCount } of prompts) {
    const count = Math.min(budget.promptChunkTokens, tokenCount - computedCount);
    if (count > left && chunks.length > 0) break;
    chunks.push({ key, laneId, start: computedCount, count });
    left -= count;
  }
  return chunks;
}

/** First chunks of like length together, each later chunk alone. */
function groupChunks(chunks: readonly LaneChunk[]): readonly (readonly PromptChunk[])[] {
  const groups: PromptChunk[][] = [];
  const first = chunks.filter((chunk) => chunk.start === 0).sort((a, b) => b.count - a.count);
  let realTokens = 0;
  for (const { key, start, count } of first) {
    const group = groups.at(-1);
    const paddedTokens = group === undefined ? 0 : (group.length + 1) * group[0].count;
    if (group !== undefined && realTokens + count >= leastRealPart * paddedTokens) {
      group.push({ key, start, count });
      realTokens += count;
    } else {
      groups.push([{ key, start, count }]);
      realTokens = count;
    }
  }
  const later = chunks.filter((chunk) => chunk.start > 0);
  return [...groups, ...later.map(({ key, start, count }) => [{ key, start, count }])];
}
