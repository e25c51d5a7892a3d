// The engine's own records of a request under way: a prompt being computed for some choices, and a choice being decoded.
// And the one rule of what a drawn token means for its choice.
import type { GeneratedToken, GenerationEvent, GenerationRequest } from "../../domain/generation.ts";
import type { Random } from "../../domain/random.ts";
import type { SlotHolder } from "./lane.ts";

/** One computation of a prompt, for all choices of a request or for a portion of them. */
export interface PromptRun extends SlotHolder {
  /** Of this run alone. */
  readonly number: number;
  /** Of the request. */
  readonly key: number;
  readonly request: GenerationRequest;
  readonly stopTokenIds: ReadonlySet<number>;
  /** The choices that still want tokens; a run or a row that is not in it any more leaves at the next sweep. */
  readonly choices: Set<number>;
  readonly isFirstPortion: boolean;
  readonly laneId: string;
  /** Positions that each of its slots may come to hold. */
  readonly positionCountMax: number;
  /** Tokens of the prompt whose keys and values are in the cache. */
  computedCount: number;
}

/** A choice with its own slot. */
export interface ChoiceRow extends SlotHolder {
  readonly run: PromptRun;
  readonly choice: number;
  readonly random: Random;
  /** Drawn, and not yet in the cache. */
  lastTokenId: number;
  generatedCount: number;
}

/** What a drawn token makes known, `generatedCount` already counting it: the token, and the end if it is one. */
export function eventsOfToken(row: ChoiceRow, token: GeneratedToken): readonly GenerationEvent[] {
  const { run, choice } = row;
  const told: GenerationEvent = { kind: "tokens", choice, tokens: [token] };
  if (run.stopTokenIds.has(token.id)) {
    return [told, { kind: "choice-finished", choice, reason: "stop", stopTokenId: token.id }];
  }
  if (row.generatedCount === run.request.stopping.maxTokens) {
    return [told, { kind: "choice-finished", choice, reason: "length", stopTokenId: null }];
  }
  return [told];
}
