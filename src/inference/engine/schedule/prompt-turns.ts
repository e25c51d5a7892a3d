// Decides in which order prompts in prefill are computed, by priority first. Within a priority, two orders alternate,
// so that each gets at least half of the computed tokens.
// * Shortest remainder first: a short prompt never waits for a long one.
// * The oldest prompt of the least-served owner: no long prompt waits forever, and no owner waits for another owner's
// many prompts.
import { compareRanks, type Ranked } from "./slot-holder.ts";

/** A prompt in prefill. The tokens of a step are divided among the prompts, which take turns. */
export interface TurnTaker extends Ranked {
  /** Owner, such as an API key. Turns are shared fairly among owners. */
  readonly owner: string;
  readonly tokenIds: readonly number[];
  /** Number of leading tokens that have been computed. */
  readonly computedCount: number;
}

/** Counts that decide which prompt is computed next; passed from step to step. */
export interface Turns {
  /**
   * For each owner with prompts in prefill, the number of tokens computed for that owner, minus the number for the
   * least-served owner.
   */
  readonly servedCounts: ReadonlyMap<string, number>;
  /**
   * Number of tokens computed for prompts that the order by length chose, while the order by owner would have chosen
   * another prompt.
   */
  readonly owedCount: number;
}

export const noTurns: Turns = { servedCounts: new Map(), owedCount: 0 };

/**
 * Sorts prompts by whose turn it is to be computed.
 *
 * @returns the prompts; the first one has its turn now
 */
export function sortByTurns<Prompt extends TurnTaker>(
  prompts: readonly Prompt[],
  turns: Turns,
): readonly Prompt[] {
  return turns.owedCount > 0 ? inFairOrder(prompts, turns) : prompts.toSorted(compareRests);
}

/** Returns the counts for the next step, after a step that computed some tokens of some prompts. */
export function nextTurns<Prompt extends TurnTaker>(
  prompts: readonly Prompt[],
  turns: Turns,
  computed: readonly { readonly prompt: Prompt; readonly count: number }[],
): Turns {
  const least = leastServed(prompts, turns);
  const servedCounts = new Map(
    prompts.map(({ owner }) => [owner, (turns.servedCounts.get(owner) ?? least) - least]),
  );
  for (const { prompt, count } of computed)
    servedCounts.set(prompt.owner, (servedCounts.get(prompt.owner) ?? 0) + count);
  return { servedCounts, owedCount: nextOwedCount(prompts, turns, computed) };
}

function nextOwedCount<Prompt extends TurnTaker>(
  prompts: readonly Prompt[],
  turns: Turns,
  computed: readonly { readonly prompt: Prompt; readonly count: number }[],
): number {
  const [passed] = inFairOrder(prompts, turns);
  const [shortest] = prompts.toSorted(compareRests);
  if (passed === undefined || passed === shortest) return 0;
  const tokensOf = (isPassed: boolean): number =>
    computed.reduce((sum, { prompt, count }) => ((prompt === passed) === isPassed ? sum + count : sum), 0);
  const lent = turns.owedCount > 0 ? 0 : tokensOf(false);
  return Math.max(0, turns.owedCount + lent - tokensOf(true));
}

function inFairOrder<Prompt extends TurnTaker>(prompts: readonly Prompt[], turns: Turns): readonly Prompt[] {
  const least = leastServed(prompts, turns);
  const servedCount = ({ owner }: Prompt): number => turns.servedCounts.get(owner) ?? least;
  return prompts.toSorted(
    (one, other) =>
      one.priority - other.priority || servedCount(one) - servedCount(other) || compareRanks(one, other),
  );
}

/**
 * Returns the least-served owner's count of computed tokens. A new owner starts with this count, so that it gets no
 * credit for the time before it had prompts.
 */
function leastServed(prompts: readonly TurnTaker[], { servedCounts }: Turns): number {
  const known = prompts.flatMap(({ owner }) => servedCounts.get(owner) ?? []);
  return known.length === 0 ? 0 : Math.min(...known);
}

function compareRests(one: TurnTaker, other: TurnTaker): number {
  return one.priority - other.priority || restOf(one) - restOf(other) || compareRanks(one, other);
}

function restOf({ tokenIds, computedCount }: TurnTaker): number {
  return tokenIds.length - computedCount;
}
