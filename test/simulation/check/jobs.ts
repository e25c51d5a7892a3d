// Promises about jobs. There is one job for each acknowledged idempotency key; it ends once, and an end that was
// reported to a client does not change. Lists show all jobs that existed before the request.
import type { Operation, Remains, SeenJob } from "../history.ts";
import { asked, deletedModels } from "./asked.ts";

const ends = new Set(["succeeded", "failed", "cancelled"]);
const terminalEvents = new Set(["training_ended", "training_failed"]);

export function jobFaults(history: readonly Operation[], remains: Remains): readonly string[] {
  return [
    ...submissionFaults(history, remains),
    ...endFaults(remains),
    ...seenFaults(history, remains),
    ...listFaults(history),
  ];
}

/** Each idempotency key must have one job, and all answers to requests with the key must name that job. */
function submissionFaults(history: readonly Operation[], { jobs, models }: Remains): readonly string[] {
  const faults: string[] = [];
  const deleted = deletedModels(history);
  const byKey = new Map<string, Set<string>>();
  for (const { key, modelId, outcome } of asked(history, "submit")) {
    if (outcome.kind !== "done") continue;
    byKey.set(key, (byKey.get(key) ?? new Set()).add(outcome.result));
    const isThere = jobs.some((job) => job.id === outcome.result && job.modelId === modelId);
    if (!isThere && !deleted.has(modelId))
      faults.push(`job ${outcome.result} was acknowledged and is not there`);
    if (!isThere && models.includes(modelId))
      faults.push(`job ${outcome.result} was acknowledged and is gone, though its model is there`);
  }
  for (const [key, ids] of byKey) {
    const all = new Set([...ids, ...jobs.filter((job) => job.key === key).map(({ id }) => id)]);
    if (all.size > 1) faults.push(`key ${key} has several jobs: ${[...all].join(", ")}`);
  }
  const keys = new Set(asked(history, "submit").map(({ key }) => key));
  const stray = jobs.filter(({ key }) => key === null || !keys.has(key));
  return [...faults, ...stray.map(({ id }) => `job ${id} is there, and nobody sent it`)];
}

/** Each job must have one end, with the events that belong to it. */
function endFaults({ jobs }: Remains): readonly string[] {
  return jobs.flatMap(({ id, state, events, resultStep }) => {
    const faults: string[] = [];
    const terminal = events.filter((type) => terminalEvents.has(type));
    if (!ends.has(state)) faults.push(`job ${id} is ${state}`);
    if (terminal.length !== 1 || terminal[0] !== events.at(-1))
      faults.push(`job ${id} is ${state} and has the events ${events.join(", ")}`);
    if ((terminal[0] === "training_ended") !== (state === "succeeded"))
      faults.push(`job ${id} is ${state} and ends with ${terminal.join(", ")}`);
    if ((resultStep === null) === (state === "succeeded"))
      faults.push(`job ${id} is ${state} with the version ${String(resultStep)}`);
    return faults;
  });
}

/** If a client saw that a job had ended, the job must have this end and no other. */
function seenFaults(history: readonly Operation[], { jobs, models }: Remains): readonly string[] {
  const faults: string[] = [];
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const differs = (seen: SeenJob, jobId: string): void => {
    const now = byId.get(jobId);
    if (now === undefined || !ends.has(seen.state)) return;
    const [then, left] = [seen, now].map(({ state, resultStep, events }) =>
      JSON.stringify([state, resultStep, events]),
    );
    if (then !== left) faults.push(`job ${jobId} was seen to have ended as ${then}, and has as ${left}`);
  };
  const submitted = new Map(
    asked(history, "submit").flatMap(({ modelId, outcome, endedMs }) =>
      outcome.kind === "done" ? [[outcome.result, { modelId, endedMs }] as const] : [],
    ),
  );
  for (const { jobId, outcome, calledMs } of asked(history, "read job")) {
    if (outcome.kind !== "done") continue;
    if (outcome.result !== null) differs(outcome.result, jobId);
    const known = submitted.get(jobId);
    if (
      outcome.result === null &&
      known !== undefined &&
      known.endedMs <= calledMs &&
      models.includes(known.modelId)
    )
      faults.push(`job ${jobId} was acknowledged, and not found at ${Math.round(calledMs)} ms`);
  }
  for (const { jobId, outcome } of asked(history, "watch job")) {
    const now = byId.get(jobId);
    if (outcome.kind !== "done" || now === undefined) continue;
    if (JSON.stringify(outcome.result) !== JSON.stringify(now.events))
      faults.push(
        `who watched job ${jobId} saw ${outcome.result.join(", ")}; it has ${now.events.join(", ")}`,
      );
  }
  for (const { jobId, outcome } of asked(history, "cancel")) {
    const now = byId.get(jobId);
    if (
      outcome.kind === "done" &&
      outcome.result === "cancelled" &&
      now !== undefined &&
      now.state !== "cancelled"
    )
      faults.push(`job ${jobId} was said to be cancelled, and is ${now.state}`);
  }
  return faults;
}

/**
 * A list that is read page by page must contain each job once. It must contain all jobs that were acknowledged before
 * and not deleted.
 */
function listFaults(history: readonly Operation[]): readonly string[] {
  const deleted = deletedModels(history);
  return asked(history, "list jobs").flatMap(({ outcome, calledMs }) => {
    if (outcome.kind !== "done") return [];
    const listed = new Set(outcome.result);
    const faults = listed.size < outcome.result.length ? ["a list of jobs has one of them twice"] : [];
    const missing = asked(history, "submit").filter(
      (submit) =>
        submit.outcome.kind === "done" &&
        submit.endedMs <= calledMs &&
        !deleted.has(submit.modelId) &&
        !listed.has(submit.outcome.result),
    );
    return [...faults, ...missing.map(({ key }) => `a list of jobs lacks that of ${key}`)];
  });
}
