// Who says of answers whether they are good: somebody at the keyboard, or a simulated person.
import { type Random, seededRandom } from "../../../../base/domain/random.ts";

/** An answer that somebody is to judge. */
export interface RatedAnswer {
  readonly text: string;
  /** What it was an answer to. */
  readonly question: string;
  /** What it earns by the task's own judgement, in [0, 1], which a person does not see. */
  readonly reward: number;
}

export type Thumb = "up" | "down";

export interface Rater {
  /** A thumb for each answer; null for one that nothing is said of. */
  rate(answers: readonly RatedAnswer[]): Promise<readonly (Thumb | null)[]>;
}

/** The reactions that thumbs are written as, and what each earns. */
export const reactions: Readonly<Record<Thumb, string>> = { up: "👍", down: "👎" };
export const reactionRewards = { "👍": 1, "👎": 0 };

/** Likes only what is best by the task, and errs in so many of all cases. */
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
