// Names the items that a job trains on and counts: trajectories, conversations, pairs or answers.
import type { TrainingJob } from "./api.ts";

export interface JobItems {
  readonly one: string;
  readonly many: string;
}

/** For the loss KTO, a preference is a single labelled answer. */
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
