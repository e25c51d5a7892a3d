// Tools for training jobs: list, show, watch and cancel.
import * as z from "zod";
import type { TrainingEvent, TrainingJob } from "../../../client/api.ts";
import { findJob, findJobId } from "../../names/named-job.ts";
import { findNamed } from "../../names/named-version.ts";
import { given, modelName, pageOf, paging, toPage } from "../fields.ts";
import { tool, type ToolContext } from "../tool.ts";

const jobId = z.string().min(1).max(100).describe("Id of the job, or a unique prefix of the id.");

const listedJob = z.object({
  id: z.string(),
  model: z.string().nullable().describe("Name of the model; null if it has been deleted."),
  kind: z.string().describe("`rl`, `sft` or `preference`."),
  state: z.string().describe("`queued`, `running`, `succeeded`, `failed` or `cancelled`."),
  phase: z.string().nullable(),
  created_at: z.string(),
  steps: z.number().nullable().describe("Optimizer steps done."),
  steps_total: z.number().nullable(),
  seconds_left: z.number().nullable(),
  result_step: z.number().nullable().describe("Version that the job made."),
  error_message: z.string().nullable(),
  waiting_for: z.string().nullable(),
});

const listJobs = tool({
  name: "list_jobs",
  title: "List training jobs",
  description: "Lists training jobs with their state and progress, newest first.",
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject({
    model: modelName.optional().describe("Only jobs of this model."),
    kind: z.enum(["rl", "sft", "preference"]).optional().describe("Only jobs of this kind."),
    state: z.enum(["queued", "running", "succeeded", "failed", "cancelled"]).optional(),
    ...paging,
  }),
  output: z.object(pageOf(listedJob)),
  run: async ({ model, kind, state, limit, after }, { hone, signal }) => {
    const id = model === undefined ? undefined : (await findNamed(hone, model)).model.id;
    const query = { limit, order: "desc", ...given({ model_id: id, kind, state, after }) } as const;
    return toPage(await hone.jobs.list(query, { signal }).first(), toListed);
  },
});

const showJob = tool({
  name: "show_job",
  title: "Show a training job",
  description:
    "Shows everything about a training job: state, progress, effective settings, counts of trained and skipped data with reasons, and warnings.",
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject({ job: jobId }),
  output: z.object({ job: z.looseObject({ id: z.string(), state: z.string() }) }),
  run: async ({ job }, { hone }) => ({ job: { ...(await findJob(hone, job)) } }),
});

const watchJob = tool({
  name: "watch_job",
  title: "Wait for a training job",
  description:
    "Waits until a training job ends, with a progress notification per optimizer step. If `has_ended` is false after `wait_seconds`, the job continues: call the tool again.",
  effect: "reads",
  isIdempotent: true,
  input: z.strictObject({
    job: jobId,
    wait_seconds: z.number().min(0).max(3600).default(50).describe("Maximum time to wait."),
  }),
  output: z.object({
    has_ended: z.boolean(),
    job: listedJob,
    last_step: z.record(z.string(), z.unknown()).nullable().describe("Metrics of the newest optimizer step."),
    warnings: z.array(z.string()),
  }),
  run: async ({ job, wait_seconds: seconds }, context) => {
    const id = await findJobId(context.hone, job);
    const late = AbortSignal.timeout(seconds * 1000);
    const last = await lastStep(id, context, late);
    const now = await context.hone.jobs.get(id, { signal: context.signal });
    return {
      has_ended: isEnded(now),
      job: toListed(now),
      last_step: last === null ? null : { ...last.data },
      warnings: [...now.warnings],
    };
  },
});

/** Follows a job until it ends or `late` aborts. Returns the event of the last optimizer step; null if none. */
async function lastStep(
  id: string,
  { hone, signal, progress }: ToolContext,
  late: AbortSignal,
): Promise<TrainingEvent | null> {
  let [last, total, count]: [TrainingEvent | null, number | null, number] = [null, null, 0];
  try {
    for await (const event of hone.jobs.follow(id, { signal: AbortSignal.any([signal, late]) })) {
      if (event.type !== "gradient_step") continue;
      [last, count] = [event, count + 1];
      // Once the first step has ended, the server knows the total number of steps.
      total ??= (await hone.jobs.get(id, { signal })).progress?.gradient_steps_total ?? null;
      progress(count, total, `optimizer step ${count}${total === null ? "" : ` of ${total}`}`);
    }
  } catch (error) {
    if (signal.aborted || !late.aborted) throw error;
  }
  return last;
}

const cancelJob = tool({
  name: "cancel_job",
  title: "Cancel a training job",
  description:
    "Cancels a queued or running training job; its work is lost, and it makes no version. A job that has ended stays as it is.",
  effect: "deletes",
  isIdempotent: true,
  input: z.strictObject({ job: jobId }),
  output: listedJob,
  run: async ({ job }, { hone, signal }) =>
    toListed(await hone.jobs.cancel(await findJobId(hone, job), { signal })),
});

function isEnded({ state }: TrainingJob): boolean {
  return state !== "queued" && state !== "running";
}

function toListed(job: TrainingJob): z.input<typeof listedJob> {
  const { id, model, kind, state, phase, created_at, progress, seconds_left } = job;
  const { result_step, error_message, waiting_for } = job;
  return {
    id,
    model,
    kind,
    state,
    phase,
    created_at,
    steps: progress?.gradient_steps ?? null,
    steps_total: progress?.gradient_steps_total ?? null,
    seconds_left,
    result_step,
    error_message,
    waiting_for,
  };
}

export const jobTools = [listJobs, showJob, watchJob, cancelJob];
