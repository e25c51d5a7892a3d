// Reinforcement learning of an agent: tasks, a rollout function that returns rewards, and rounds that each create a
// training job.
import { HoneError } from "../hone-error.ts";
import { trajectoriesOf } from "../recording/start-trajectory.ts";
import { Model } from "../trained-model.ts";
import { displayOn, type Display } from "./display.ts";
import { retryingFetch, serverReady, type RetryPolicy } from "./retrying-fetch.ts";
import { noProgress, withValidation, type Best, type Progress } from "./progress.ts";
import { roundMetricOf, runState, type RunState } from "./resume.ts";
import type { RoundReport } from "./round-report.ts";
import { followedJob, runRound, type RoundRun } from "./run-round.ts";
import type { TrainEvent } from "./train-event.ts";
import { summaryOf } from "./summary.ts";
import { resolveOptions, type Resolved, type TrainOptions } from "./train-options.ts";
import { validate } from "./validate.ts";

export interface TrainResult {
  /** Step of the newest version. */
  readonly step: number;
  /** Model name of the version `step` in chat requests. */
  readonly model: string;
  /** The version with the best validation, which is pinned; null if nothing was validated. */
  readonly best: (Best & { readonly model: string }) | null;
  /** Reports of the rounds that this call ran. */
  readonly rounds: readonly RoundReport[];
  /** Reason why the run ended: all rounds are done, or `patience` validations in a row brought no improvement. */
  readonly endedBy: "rounds" | "patience";
  /** One sentence that says what was learned, or why nothing was. */
  readonly summary: string;
}

/**
 * Trains a model on the rewards of its rollouts. Each round samples rollouts of the newest version, logs their
 * trajectories, and creates a training job. After a crash, calling `train` again with the same `run` repeats the
 * unfinished round.
 *
 * @throws HoneError `invalid` for an option out of range, `rollouts_failed` if more of a round failed than
 * `failuresMax` allows, `job_failed`, or the server's refusal; the signal's reason
 */
export async function train<Task>(model: Model, options: TrainOptions<Task>): Promise<TrainResult> {
  requireModel(model);
  const resolved = resolveOptions(options);
  const display = displayOf(resolved, model);
  const emit = (event: TrainEvent): void => {
    display?.show(event);
    resolved.onEvent?.(event);
  };
  const end = new AbortController();
  const signal = resolved.signal === undefined ? end.signal : AbortSignal.any([resolved.signal, end.signal]);
  signal.throwIfAborted();
  try {
    const patience = retryPolicyOf(model, resolved, { emit, end });
    const patient = withRetries(model, patience);
    await serverReady(model.hone.fetch, patience, signal);
    const { run, state } = await begin(patient, resolved, { emit, signal });
    const result = await rounds(run, state);
    emit({ type: "run-ended", summary: result.summary });
    return result;
  } catch (error) {
    // The signal's reason says more than the error of an aborted request.
    signal.throwIfAborted();
    throw error;
  } finally {
    display?.end();
  }
}

/** Checks the argument for callers in plain JavaScript, who may pass, for example, the model's name. */
function requireModel(model: unknown): asserts model is Model {
  if (typeof model === "object" && model !== null && "hone" in model && "details" in model) return;
  const given = typeof model === "string" ? JSON.stringify(model) : String(model);
  const name = typeof model === "string" && model.includes("/") ? model : "project/name";
  throw new HoneError({
    code: "invalid",
    message: `train takes a model as its first argument, and got ${given}. Get one with \`await hone.model("${name}", { base: "hone-tiny" })\`.`,
  });
}

function displayOf(
  { display, onRound }: Pick<Resolved<unknown>, "display" | "onRound">,
  { hone: { platform } }: Model,
): Display | null {
  if (!(display ?? onRound === undefined)) return null;
  return displayOn(platform);
}

function retryPolicyOf(
  { hone, base }: Model,
  { serverTimeout: timeoutMs }: Pick<Resolved<unknown>, "serverTimeout">,
  { emit, end }: { readonly emit: (event: TrainEvent) => void; readonly end: AbortController },
): RetryPolicy {
  return {
    platform: hone.platform,
    baseUrl: hone.baseUrl,
    base,
    timeoutMs,
    onWait: (reason, waitedMs) => emit({ type: "server-awaited", reason, waitedMs }),
    onGivenUp: (error) => end.abort(error),
  };
}

/** Maximum time for an answer in milliseconds, in addition to the time spent waiting for the server. */
const answerTimeoutMs = 600_000;

/** Returns the model with a client that waits while the server is unavailable. */
function withRetries({ hone, details }: Model, patience: RetryPolicy): Model {
  const timeout = patience.timeoutMs + answerTimeoutMs;
  return new Model(hone.with({ fetch: retryingFetch(hone.fetch, patience), timeout }), details);
}

async function begin<Task>(
  model: Model,
  options: Resolved<Task>,
  { emit, signal }: { readonly emit: (event: TrainEvent) => void; readonly signal: AbortSignal },
): Promise<{ readonly run: RoundRun<Task>; readonly state: RunState }> {
  const { rollout, judge, concurrency, rolloutTimeout, failuresMax } = options;
  const start = await trajectoriesOf(model);
  const roundMetric = roundMetricOf(options.run);
  const onEnded: RoundRun<Task>["maker"]["onEnded"] = (counts) => emit({ type: "rollout-ended", ...counts });
  const known = await runState(model, roundMetric, { signal });
  const state = options.resume ? known : { ...known, round: 0, openJob: null, validated: [] };
  const maker = {
    start,
    rollout,
    judge,
    hone: model.hone,
    signal,
    concurrency,
    rolloutTimeout,
    failuresMax,
    onEnded,
  };
  return { run: { model, options, roundMetric, emit, earlierLogId: known.logId, maker }, state };
}

async function rounds<Task>(run: RoundRun<Task>, state: RunState): Promise<TrainResult> {
  const { model, options, emit } = run;
  const { validation, onRound } = options;
  if (state.openJob !== null) await followedJob(run, state.round - 1, state.openJob.id);
  let step = await newestStep(run);
  if (state.round > 0) emit({ type: "run-resumed", round: state.round, rounds: options.rounds, step });
  else emit({ type: "run-started", model: model.name, round: state.round, rounds: options.rounds, step });
  let progress = state.validated.reduce<Progress>(
    (before, validated) => withValidation(before, validated, validation),
    noProgress,
  );
  const check = async (round: number) => {
    const checked = await validate(run, { round, step }, progress);
    progress = checked.progress;
    emit({ type: "version-validated", round, validation: checked.validation });
    return checked.validation;
  };
  const isValidated = (): boolean => state.validated.some((one) => one.step === step);
  if (validation !== undefined && !isValidated()) await check(state.round);
  const reports: RoundReport[] = [];
  const result = (endedBy: TrainResult["endedBy"]): TrainResult => ({
    step,
    model: model.at(step),
    best: progress.best && { ...progress.best, model: model.at(progress.best.step) },
    rounds: reports,
    endedBy,
    summary: summaryOf(reports, {
      step,
      model: model.at(step),
      rounds: options.rounds,
      endedBy,
      best: progress.best,
    }),
  });
  for (let round = state.round; round < options.rounds; round++) {
    if (validation?.patience !== undefined && progress.worseCount >= validation.patience)
      return result("patience");
    const numbers = await runRound(run, { round, step });
    step = numbers.newStep ?? step;
    const isDue = (round + 1) % (validation?.every ?? 1) === 0 || round + 1 === options.rounds;
    const report = {
      ...numbers,
      validation: validation !== undefined && isDue ? await check(round + 1) : null,
    };
    reports.push(report);
    emit({ type: "round-ended", report });
    await onRound?.(report);
  }
  return result("rounds");
}

async function newestStep<Task>({ model, maker: { signal } }: RoundRun<Task>): Promise<number> {
  const newest = model.hone.checkpoints.list(model.id, { order: "desc", limit: 1 }, { signal });
  return (await newest.first()).data[0]?.step ?? 0;
}
