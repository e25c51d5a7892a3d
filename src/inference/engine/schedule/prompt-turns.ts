// Whose turn it is among the prompts on their way, by priority first. Two orders take turns, so that each gets at least half
// of what is computed of prompts: the shortest rest first, so that a short prompt never waits for a long one, and the oldest
// prompt of the owner for whom least was computed, so that neither a long prompt waits for ever nor one owner for another's
// many. Pure: what has to be remembered from step to step goes in and comes out.
import { compareRanks, type Ranked } from "./slot-holder.ts";

/** A prompt that takes its turn. */
export interface TurnTaker extends Ranked {
  /** Among whom turns are shared out: an API key, or whatever else stands for one client. */
  readonly owner: string;
  readonly tokenIds: readonly number[];
  /** Of its tokens, from the first on. */
  readonly computedCount: number;
}

/** What is remembered from step to step. */
export interface Turns {
  /** Tokens that were computed for each owner with prompts on their way, beyond the one who got least. */
  readonly servedCounts: ReadonlyMap<string, number>;
  /** Tokens that shorter prompts got before the one whose turn it would have been. */
  readonly owedCount: number;
}

export const noTurns: Turns = { servedCounts: new Map(), owedCount: 0 };

/** @returns the prompts, the one whose turn it is first */
export function inTurn<Prompt extends TurnTaker>(
  prompts: readonly Prompt[],
  turns: Turns,
): readonly Prompt[] {
  return turns.owedCount > 0 ? inFairOrder(prompts, turns) : prompts.toSorted(compareRests);
}

/** What is remembered after a step that computed so many tokens of some of the prompts. */
export function turnsAfter<Prompt extends TurnTaker>(
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
  return { servedCounts, owedCount: owedAfter(prompts, turns, computed) };
}

function owedAfter<Prompt extends TurnTaker>(
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

/** Owners who come begin where the least served of the others is: nobody has a claim from before. */
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
