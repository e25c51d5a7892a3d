// Terms of a new reward rule: from the fields of its form, and suggested rewards for the answers to a queue's question.
import type { AskedQuestion, RewardTerm } from "../../client/api.ts";

/** Kinds of feedback that the form offers, with their names. */
export const termKinds = {
  thumbs: "thumbs: 👍 is 1, 👎 is 0",
  annotation: "answers to a question of a queue",
  json: "other terms, as JSON",
} as const;

export type TermKind = keyof typeof termKinds;

export interface TermFields {
  readonly kind: TermKind;
  /** Name of the question; ignored for other kinds. */
  readonly annotation: string;
  /** Rewards of the answers: empty, a range such as `1..5`, or a table such as `kind=1, rude=0`. */
  readonly rewards: string;
  readonly json: string;
}

/**
 * Returns the terms that the fields describe. The server validates JSON terms further.
 *
 * @throws Error if the rewards or the JSON are malformed
 */
export function termsOf({ kind, annotation, rewards, json }: TermFields): readonly RewardTerm[] {
  if (kind === "thumbs") return [{ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }];
  if (kind === "annotation") return [{ kind: "annotation", name: annotation, ...rewardsIn(rewards.trim()) }];
  const value: unknown = JSON.parse(json);
  // Safe cast: the server validates the terms, and its error names the invalid one.
  return (Array.isArray(value) ? value : [value]) as readonly RewardTerm[];
}

function rewardsIn(text: string): Partial<RewardTerm> {
  if (text === "") return {};
  const range = /^(-?[\d.]+?)\s*\.\.\s*(-?[\d.]+)$/.exec(text);
  if (range !== null) return { range: [Number(range[1]), Number(range[2])] };
  const entries = text.split(",").map((entry): readonly [string, number] => {
    const at = entry.lastIndexOf("=");
    const [value, reward] = [entry.slice(0, Math.max(at, 0)).trim(), entry.slice(at + 1).trim()];
    if (value === "" || reward === "" || !Number.isFinite(Number(reward)))
      throw new Error(`The rewards are ${JSON.stringify(text)}; write them like kind=1, rude=0 or 1..5.`);
    return [value, Number(reward)];
  });
  return { rewards: Object.fromEntries(entries) };
}

/** Suggests rewards for a question's answers: the first choice gives 1, the last 0, the greatest number 1. */
export function suggestedRewards({ choices, minimum, maximum }: AskedQuestion): string {
  if (minimum !== null && maximum !== null) return `${minimum}..${maximum}`;
  const texts = (choices ?? []).filter((choice) => typeof choice === "string");
  const last = Math.max(1, texts.length - 1);
  return texts.map((text, index) => `${text}=${Number((1 - index / last).toFixed(2))}`).join(", ");
}
