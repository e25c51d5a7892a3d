// A small task that a user might train a model on: prompts, a reward, and how an expert would do it. Does not depend
// on the server or the training settings.
import type { Message } from "../../../src/apps/client/api.ts";
import type { RecordedTrajectory } from "../../../src/apps/client/recording/recorded-trajectory.ts";

/** One prompt of a task. */
export interface LearningCase {
  /** Unique among the task's prompts. */
  readonly prompt: string;
  /** Has the model try it, and returns the reward, in [0, 1]. */
  readonly attempt: (trajectory: RecordedTrajectory) => Promise<number>;
  /** A conversation that earns 1, for supervised teaching. */
  readonly lesson: { readonly messages: readonly Message[]; readonly tools?: readonly object[] };
}

export interface LearningTask {
  readonly name: string;
  /** One sentence: the model's task, and the answer that earns a reward. */
  readonly about: string;
  readonly cases: readonly LearningCase[];
}

/** A case of one question and one answer. */
export function question(prompt: string, { judge, best, answerTokensMax }: QuestionOptions): LearningCase {
  const asked: Message = { role: "user", content: prompt };
  return {
    prompt,
    attempt: async ({ chat }) => {
      const { choices } = await chat({ messages: [asked], max_completion_tokens: answerTokensMax });
      return judge(choices[0]?.message.content ?? "");
    },
    lesson: { messages: [asked, { role: "assistant", content: best }] },
  };
}

interface QuestionOptions {
  readonly judge: (answer: string) => number;
  /** An answer that earns 1. */
  readonly best: string;
  readonly answerTokensMax: number;
}
