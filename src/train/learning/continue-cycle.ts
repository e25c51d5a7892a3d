// Moves the cycle in progress of a model to its next stage: evaluates the candidate when its job has ended, then
// promotes or refuses it, and watches the ratings of a promoted version.
import { isTerminal } from "../../base/domain/job.ts";
import type { CycleProgress, LearningCycle } from "../../base/domain/learning/learning-cycle.ts";
import type { TrainedModel } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { evaluate, evaluationFault } from "./evaluate.ts";
import { ratedAnswers, rollbackReason } from "./rated-answers.ts";
import { callerOf, type Step, type StepDependencies } from "./step-dependencies.ts";

/**
 * Takes the next step of a cycle.
 *
 * @throws ServiceError if the step fails; the learning loop tries again later
 */
export async function continueCycle(
  dependencies: StepDependencies,
  step: Step,
  cycle: LearningCycle,
): Promise<void> {
  const next = await nextProgress(dependencies, step, cycle);
  if (next === null || step.signal.aborted) return;
  const change = { from: cycle.stage, progress: { ...cycle, ...next } };
  const stored = await dependencies.learning.advance(step.hold, cycle, change);
  if (stored !== null && stored.stage !== cycle.stage) dependencies.onChange(stored, step.learning);
}

type Change = Partial<CycleProgress> | null;

function nextProgress(dependencies: StepDependencies, step: Step, cycle: LearningCycle): Promise<Change> {
  if (cycle.stage === "training") return afterTraining(dependencies, cycle);
  return cycle.stage === "evaluating"
    ? afterEvaluation(dependencies, step, cycle)
    : afterWatching(dependencies, step, cycle);
}

async function afterTraining({ jobs, clock }: StepDependencies, { jobId }: LearningCycle): Promise<Change> {
  const job = await jobs.find(jobId);
  if (job !== null && !isTerminal(job.state)) return null;
  const at = clock.now();
  if (job?.state === "succeeded" && job.resultStep !== null) {
    const steps = { baseStep: job.pins?.startStep ?? 0, candidateStep: job.resultStep };
    return { stage: "evaluating", ...steps, evaluatingSince: at };
  }
  const reason = `The training job ended without a version: ${job?.errorMessage ?? "it was deleted."}`;
  return { stage: "failed", reason, endedAt: at };
}

async function afterEvaluation(
  dependencies: StepDependencies,
  step: Step,
  cycle: LearningCycle,
): Promise<Change> {
  const { clock, models, settings } = dependencies;
  const { model, signal } = step;
  const refused = (reason: string): Change => {
    return { stage: "refused", reason, waitingFor: null, endedAt: clock.now() };
  };
  const newest = await models.newestVersion(model.id);
  if (newest?.step !== cycle.baseStep)
    return refused(`Version ${newest?.step ?? 0} became the newest before the candidate was evaluated.`);
  const caller = callerOf(step);
  const asking = { ask: dependencies.askAs(caller), measure: dependencies.measureAs(caller) };
  try {
    const projectId = `${model.entity}/${model.project}`;
    const evaluation = await evaluate({ ...dependencies, ...asking }, projectId, cycle, signal);
    const fault = evaluationFault(evaluation, cycle.order.margin);
    return fault === null
      ? { evaluation, ...(await promotion(dependencies, model, cycle)) }
      : { evaluation, ...refused(fault) };
  } catch (error) {
    if (signal.aborted || !(error instanceof ServiceError)) throw error;
    const waitedMs = clock.now().getTime() - (cycle.evaluatingSince?.getTime() ?? 0);
    if (error.code === "conflict") return refused(error.message);
    if (waitedMs > settings.evaluationMsMax) return refused(`It could not be evaluated: ${error.message}`);
    return { waitingFor: error.message };
  }
}

async function promotion(
  dependencies: StepDependencies,
  model: TrainedModel,
  { order, baseStep }: LearningCycle,
): Promise<Partial<CycleProgress>> {
  const now = dependencies.clock.now();
  const since = new Date(now.getTime() - order.days * 24 * 3600 * 1000);
  const isWatched = order.rollbackSeconds > 0;
  const ratedBefore = isWatched
    ? await ratedAnswers(dependencies, model, order, { step: baseStep ?? 0, since })
    : null;
  const reason = "The candidate is not worse than the current version by more than the margin.";
  const ending = isWatched ? { stage: "watching" as const } : { stage: "promoted" as const, endedAt: now };
  return { ...ending, reason, waitingFor: null, promotedAt: now, ratedBefore };
}

async function afterWatching(
  dependencies: StepDependencies,
  { model }: Step,
  cycle: LearningCycle,
): Promise<Change> {
  const { order, candidateStep, promotedAt } = cycle;
  const now = dependencies.clock.now();
  const since = promotedAt ?? cycle.createdAt;
  const rated = { step: candidateStep ?? 0, since };
  const ratedAfter = await ratedAnswers(dependencies, model, order, rated);
  const reason = rollbackReason(cycle, ratedAfter);
  if (reason !== null) return { stage: "rolled_back", reason, ratedAfter, endedAt: now };
  if (now.getTime() - since.getTime() >= order.rollbackSeconds * 1000)
    return { stage: "promoted", ratedAfter, endedAt: now };
  return ratedAfter.count === (cycle.ratedAfter?.count ?? 0) ? null : { ratedAfter };
}
