// Gathers trainable feedback: reads feedback records and the recorded answers that they judge, and excludes feedback on
// which an earlier job trained.
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import { answerId, type TrainingSourceStore } from "../../base/domain/rewards/training-source.ts";
import type { PlanInput } from "./groups/judge-answers.ts";
import { type GroupPlan, planGroups } from "./groups/plan-groups.ts";
import { answersOf, type Calls, readCalls } from "./groups/recorded-calls.ts";

export interface GatherDependencies {
  readonly completions: Pick<CompletionStore, "find" | "findOutlines">;
  readonly sources: Pick<TrainingSourceStore, "trainedOn">;
  /** Maximum length of a trainable sequence in tokens. */
  readonly sequenceLengthMax: number;
}

export interface Gathered<Plan = GroupPlan> extends Pick<PlanInput, "model" | "trainedOn"> {
  readonly plan: Plan;
  readonly calls: Calls;
}

const nothing: ReadonlySet<string> = new Set();

/** The fields of a plan's input that the caller chooses; `gather` reads the others from the stores. */
export type GatherRequest = Pick<PlanInput, "rule" | "model" | "records" | "stepMin">;

/**
 * Reads what the feedback records refer to, and plans groups of answers with rewards.
 *
 * @param request.stepMin oldest version whose answers may be trained on
 */
export function gatherFeedback(dependencies: GatherDependencies, request: GatherRequest): Promise<Gathered> {
  return gather(dependencies, request, planGroups);
}

/** Like {@link gatherFeedback}, but with the planning function as a parameter. */
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
