// What can train of the feedback there is: records with the recordings that they are on, and what of them was trained on before.
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import { answerId, type TrainingSourceStore } from "../../base/domain/rewards/training-source.ts";
import type { PlanInput } from "./groups/judge-answers.ts";
import { type GroupPlan, planGroups } from "./groups/plan-groups.ts";
import { answersOf, type Calls, readCalls } from "./groups/recorded-calls.ts";

export interface GatherDependencies {
  readonly completions: Pick<CompletionStore, "find" | "findOutlines">;
  readonly sources: Pick<TrainingSourceStore, "trainedOn">;
  /** Tokens of a sequence; a longer one does not train. */
  readonly sequenceLengthMax: number;
}

export interface Gathered<Plan = GroupPlan> extends Pick<PlanInput, "model" | "trainedOn"> {
  readonly plan: Plan;
  readonly calls: Calls;
}

const nothing: ReadonlySet<string> = new Set();

/** What of the feedback there is a plan is made of. */
export type GatherRequest = Pick<PlanInput, "rule" | "model" | "records" | "stepMin">;

/** @param request.stepMin answers of older versions do not train */
export function gatherFeedback(dependencies: GatherDependencies, request: GatherRequest): Promise<Gathered> {
  return gather(dependencies, request, planGroups);
}

/** The same for plans of any kind. */
export async function gather<Plan>(
  { completions, sources, sequenceLengthMax }: GatherDependencies,
  { rule, model, records, stepMin }: GatherRequest,
  planOf: (input: PlanInput) => Promise<Plan>,
): Promise<Gathered<Plan>> {
  const calls = await readCalls(completions, rule, model.projectId, records);
  const marks = await sources.trainedOn(model.id, answersOf(calls));
  const trainedOn: PlanInput["trainedOn"] = (answer) => marks.get(answerId(answer)) ?? nothing;
  const callOf = (requestId: string) => calls.get(requestId);
  const plan = await planOf({ rule, model, records, callOf, trainedOn, stepMin, sequenceLengthMax });
  return { plan, calls, model, trainedOn };
}

/** The oldest version whose answers train where they may be so many versions older than the newest. */
export function oldestStep(newestStep: number, versionAgeMax: number | null): number {
  return versionAgeMax === null ? 0 : Math.max(0, newestStep - versionAgeMax);
}
