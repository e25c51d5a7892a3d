// Interface for rating answers with thumbs, and a simulated rater.
import { type Random, seededRandom } from "../../../../base/domain/random.ts";

/** An answer to rate. */
export interface RatedAnswer {
  readonly text: string;
  /** The question that was answered. */
  readonly question: string;
  /** Reward in [0, 1] that the task gives the answer. A person who rates the answer does not see it. */
  readonly reward: number;
}

export type Thumb = "up" | "down";

export interface Rater {
  /** Returns a thumb per answer; null for an unrated answer. */
  rate(answers: readonly RatedAnswer[]): Promise<readonly (Thumb | null)[]>;
}

/** Emoji with which each thumb is stored as feedback, and the reward of each emoji. */
export const reactions: Readonly<Record<Thumb, string>> = { up: "👍", down: "👎" };
export const reactionRewards = { "👍": 1, "👎": 0 };

/** Returns a rater that likes only answers with the full reward, and inverts each rating with probability `noise`. */
export function simulatedRater({ seed, noise }: { readonly seed: number; readonly noise: number }): Rater {
  const random: Random = seededRandom("thumbs", seed);
  return {
    rate: async (answers) =>
      answers.map(({ reward }) => {
        const isRight = random.uniform() >= noise;
        return (reward === 1) === isRight ? "up" : "down";
      }),
  };
}
