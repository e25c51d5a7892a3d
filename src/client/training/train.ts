// Reinforcement learning as whoever writes an agent thinks of it: tasks, a rollout that says how well it did, and rounds of
// both with a training job behind each.
import { trajectoriesOf } from "../recording/start-trajectory.ts";
import type { Model } from "../trained-model.ts";
import { terminalDisplay } from "./display.ts";
import { noProgress, withValidation, type Best, type Progress } from "./progress.ts";
import { roundMetricOf, runState, type RunState } from "./resume.ts";
import type { RoundReport } from "./round-report.ts";
import { followedJob, runRound, type RoundRun } from "./run-round.ts";
import type { TrainEvent } from "./train-event.ts";
import { resolveOptions, type Resolved, type TrainOptions } from "./train-options.ts";
import { validate } from "./validate.ts";

export interface TrainResult {
  /** Of the newest version. */
  readonly step: number;
  /** Its name, which a chat takes as its model. */
  readonly model: string;
  /** The version with the best validation, which is pinned; null where nothing was validated. */
  readonly best: (Best & { readonly model: string }) | null;
  /** The rounds of this call. */
  readonly rounds: readonly RoundReport[];
  /** Why it ended: all rounds are done, or validations got no better for as long as `patience` says. */
  readonly endedBy: "rounds" | "patience";
}

/**
 * Trains a model on what rollouts of it earn: each round samples tasks with the newest version, logs what it said, and has
 * a training job make the next one. Called again after a crash, with the same `run`, it goes on with the round that was
 * not finished.
 *
 * @throws HoneError `invalid` for an option out of its range, `rollouts_failed` where more of a round failed than
 *   `failuresMax` allows, `job_failed`, and where the server refuses something; the signal's reason
 */
export async function train<Task>(model: Model, options: TrainOptions<Task>): Promise<TrainResult> {
  const resolved = resolveOptions(options);
  const display = displayOf(resolved, model);
  const run = await begin(model, resolved, (event) => {
    display?.show(event);
    resolved.onEvent?.(event);
  });
  try {
    return await rounds(run, await stateOf(run));
  } finally {
    display?.end();
  }
}

function displayOf({ display, onRound }: Pick<Resolved<unknown>, "display" | "onRound">, model: Model) {
  return (display ?? onRound === undefined) ? terminalDisplay(model.hone.platform) : null;
}

async function begin<Task>(
  model: Model,
  options: Resolved<Task>,
  emit: (event: TrainEvent) => void,
): Promise<RoundRun<Task>> {
  const { rollout, judge, concurrency, rolloutTimeout, failuresMax } = options;
  const signal = options.signal ?? new AbortController().signal;
  signal.throwIfAborted();
  const start = await trajectoriesOf(model);
  const onEnded: RoundRun<Task>["maker"]["onEnded"] = (counts) => emit({ type: "rollout-ended", ...counts });
  return {
    model,
    options,
    roundMetric: roundMetricOf(options.run),
    emit,
    maker: {
      start,
      rollout,
      judge,
      hone: model.hone,
      signal,
      concurrency,
      rolloutTimeout,
      failuresMax,
      onEnded,
    },
  };
}

async function stateOf<Task>({ model, options, roundMetric, maker }: RoundRun<Task>): Promise<RunState> {
  if (!options.resume) return { round: 0, openJob: null, validated: [] };
  return runState(model, roundMetric, { signal: maker.signal });
}

async function rounds<Task>(run: RoundRun<Task>, state: RunState): Promise<TrainResult> {
  const { model, options, emit } = run;
  const { validation, onRound } = options;
  if (state.openJob !== null) await followedJob(run, state.round - 1, state.openJob.id);
  let step = await newestStep(run);
  if (state.round > 0) emit({ type: "run-resumed", round: state.round, rounds: options.rounds, step });
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
