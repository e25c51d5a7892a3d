// Returns the word for the items that a job trains on: trajectories, conversations, pairs or answers.
import type { TrainingJob } from "./api.ts";

export interface JobItems {
  readonly one: string;
  readonly many: string;
}

/** With the loss KTO, each preference is a single labelled answer instead of a pair. */
export function jobItems({
  kind,
  preference_config: config,
}: Pick<TrainingJob, "kind" | "preference_config">): JobItems {
  switch (kind) {
    case "sft":
      return { one: "conversation", many: "conversations" };
    case "preference":
      return config?.loss === "kto" ? { one: "answer", many: "answers" } : { one: "pair", many: "pairs" };
    default:
      return { one: "trajectory", many: "trajectories" };
  }
}
