// Names what a job trains on and counts: trajectories, conversations, pairs or answers.
import type { TrainingJob } from "./api.ts";

export interface JobItems {
  readonly one: string;
  readonly many: string;
}

/** A KTO preference is a single answer. */
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
