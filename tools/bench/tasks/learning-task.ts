// A small task that a user might train a model on: prompts, a reward, and ideal answers. Knows nothing of the server
// and the training settings.
import type { Message } from "../../../src/apps/client/api.ts";
import type { RecordedTrajectory } from "../../../src/apps/client/recording/recorded-trajectory.ts";

/** One prompt of a task, with its reward. */
export interface LearningCase {
  /** Unique among the prompts of the task. */
  readonly prompt: string;
  /** Lets the model answer the prompt; returns the reward in [0, 1]. */
  readonly attempt: (trajectory: RecordedTrajectory) => Promise<number>;
  /** Conversation that earns a reward of 1, used as an example in supervised training. */
  readonly lesson: { readonly messages: readonly Message[]; readonly tools?: readonly object[] };
}

export interface LearningTask {
  readonly name: string;
  /** The model's task and how its answers are rewarded, in one sentence. */
  readonly about: string;
  readonly cases: readonly LearningCase[];
}

/** Returns a case with one question and one answer. */
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
  /** An answer that earns a reward of 1. */
  readonly best: string;
  readonly answerTokensMax: number;
}
