// What can train of the feedback there is: records with the recordings that they are on, and what of them was trained on before.
import type { CompletionStore } from "../domain/recordings/completion-store.ts";
import { answerId, type TrainingSourceStore } from "../domain/rewards/training-source.ts";
import { type GroupPlan, planGroups, type PlanInput } from "./groups/plan-groups.ts";
import { answersOf, type Calls, readCalls } from "./groups/recorded-calls.ts";

export interface GatherDependencies {
  readonly completions: Pick<CompletionStore, "find" | "findOutlines">;
  readonly sources: Pick<TrainingSourceStore, "trainedOn">;
  /** Tokens of a sequence; a longer one does not train. */
  readonly sequenceLengthMax: number;
}

export interface Gathered extends Pick<PlanInput, "model" | "trainedOn"> {
  readonly plan: GroupPlan;
  readonly calls: Calls;
}

const nothing: ReadonlySet<string> = new Set();

/** @param stepMin answers of older versions do not train */
export async function gatherFeedback(
  { completions, sources, sequenceLengthMax }: GatherDependencies,
  { rule, model, records, stepMin }: Pick<PlanInput, "rule" | "model" | "records" | "stepMin">,
): Promise<Gathered> {
  const calls = await readCalls(completions, rule, model.projectId, records);
  const marks = await sources.trainedOn(model.id, answersOf(calls));
  const trainedOn: PlanInput["trainedOn"] = (answer) => marks.get(answerId(answer)) ?? nothing;
  const callOf = (requestId: string) => calls.get(requestId);
  const plan = planGroups({ rule, model, records, callOf, trainedOn, stepMin, sequenceLengthMax });
  return { plan, calls, model, trainedOn };
}

/** The oldest version whose answers train where they may be so many versions older than the newest. */
export function oldestStep(newestStep: number, versionAgeMax: number | null): number {
  return versionAgeMax === null ? 0 : Math.max(0, newestStep - versionAgeMax);
}
