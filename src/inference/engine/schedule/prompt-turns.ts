// Turns among the prompts in prefill, by priority first. Two orders alternate, so that each gets at least half of the
// computed tokens. Pure: the caller passes the state between steps in and gets it back.
// * Shortest remainder first: a short prompt never waits for a long one.
// * The oldest prompt of the least-served owner: no long prompt waits forever, and no owner waits for another's many
//   prompts.
import { compareRanks, type Ranked } from "./slot-holder.ts";

/** A prompt that takes turns. */
export interface TurnTaker extends Ranked {
  /** Client that gets a share of turns, such as an API key. */
  readonly owner: string;
  readonly tokenIds: readonly number[];
  /** Number of tokens computed so far, counted from the start of the prompt. */
  readonly computedCount: number;
}

/** State of the turns between steps. */
export interface Turns {
  /** For each owner with prompts in prefill, the tokens computed for it beyond those of the least-served owner. */
  readonly servedCounts: ReadonlyMap<string, number>;
  /** Number of tokens that shorter prompts got before the prompt whose turn it was by the other order. */
  readonly owedCount: number;
}

export const noTurns: Turns = { servedCounts: new Map(), owedCount: 0 };

/**
 * Sorts prompts by turns.
 *
 * @returns the prompts, the one whose turn it is first
 */
export function sortByTurns<Prompt extends TurnTaker>(
  prompts: readonly Prompt[],
  turns: Turns,
): readonly Prompt[] {
  return turns.owedCount > 0 ? inFairOrder(prompts, turns) : prompts.toSorted(compareRests);
}

/** Returns the state after a step that computed the given numbers of tokens of some prompts. */
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

/** New owners start at the level of the least-served other owner, so that earlier absence gives no credit. */
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
