// How long the answers of a trajectory are, and which of them were cut off at their token limit. Pure.
import { asChoice, type Trajectory } from "../../base/domain/trajectory.ts";
import { logprobEntries } from "./choice-faults.ts";

/** One answer of the model. */
export interface AnswerLength {
  /** Null where the record has no tokens. */
  readonly tokenCount: number | null;
  /** True where the answer ended with `length`; null where the record does not say how it ended. */
  readonly isCut: boolean | null;
}

/** Names of the metrics, which TRL gives them too. */
export const answerMetrics = {
  length: "completions/mean_length",
  lengthMax: "completions/max_length",
  cut: "completions/clipped_ratio",
} as const;

/** Returns the answers that were recorded as Choices, in order. */
export function answersOf(
  trajectory: Pick<Trajectory, "messagesAndChoices" | "additionalHistories">,
): readonly AnswerLength[] {
  const histories = [trajectory, ...trajectory.additionalHistories];
  return histories
    .flatMap(({ messagesAndChoices }) => messagesAndChoices)
    .flatMap((item) => asChoice(item) ?? [])
    .map((choice) => {
      const { token_ids: ids, finish_reason: reason } = choice;
      const tokenCount = Array.isArray(ids) ? ids.length : logprobEntries(choice["logprobs"])?.list.length;
      return {
        tokenCount: tokenCount ?? null,
        isCut: typeof reason === "string" ? reason === "length" : null,
      };
    });
}
