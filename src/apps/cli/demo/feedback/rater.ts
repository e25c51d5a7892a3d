// Raters of answers: a person at the keyboard, or a simulated one.
import { type Random, seededRandom } from "../../../../base/domain/random.ts";

/** An answer to rate. */
export interface RatedAnswer {
  readonly text: string;
  /** The question. */
  readonly question: string;
  /** Reward by the task, in [0, 1]; hidden from a person. */
  readonly reward: number;
}

export type Thumb = "up" | "down";

export interface Rater {
  /** Returns a thumb per answer; null for no rating. */
  rate(answers: readonly RatedAnswer[]): Promise<readonly (Thumb | null)[]>;
}

/** Reactions and rewards of the thumbs. */
export const reactions: Readonly<Record<Thumb, string>> = { up: "👍", down: "👎" };
export const reactionRewards = { "👍": 1, "👎": 0 };

/** Likes only the best answers by the task, and errs at the given rate. */
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
