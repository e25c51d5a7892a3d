// Routes in the form of OpenAI's fine-tuning API that cancel, pause and resume jobs.
import type { FastifyInstance } from "fastify";
import type { FineTuningJob, FineTuningState } from "../../../../base/domain/fine-tuning/fine-tuning-job.ts";
import { isTerminal } from "../../../../base/domain/job.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { fineTuningBody, oneFineTuningJob } from "./reach-job.ts";

export function fineTuningControlRoutes(app: FastifyInstance, dependencies: HttpDependencies): void {
  const { fineTuning, jobs, jobQueue, clock } = dependencies;
  const on = endpoints(app, { tag: "fine-tuning", scheme: "bearer" });
  const one = oneFineTuningJob(dependencies);
  const move = async (
    job: FineTuningJob,
    from: readonly FineTuningState[],
    to: FineTuningState,
  ): Promise<FineTuningJob> => {
    const moved = await fineTuning.changeState(job.id, { from, to, at: clock.now() });
    if (moved !== null) return moved;
    throw refusal(
      `The job is ${(await fineTuning.find(job.id))?.state ?? "deleted"}; it cannot become ${to}.`,
    );
  };
  on(
    "POST /v1/fine_tuning/jobs/:fine_tuning_job_id/cancel",
    {
      summary: "Cancel a fine-tuning job",
      description: "A job that has already ended is refused with 409.",
      ...one,
    },
    async ({ found }) => {
      const training = found.trainingJobId === null ? null : await jobs.find(found.trainingJobId);
      const isOpen = training !== null && !isTerminal(training.state);
      if (found.progress !== null) {
        const job = await move(found, ["queued", "running", "paused"], "cancelled");
        if (isOpen) await jobQueue.cancel(training.id);
        return fineTuningBody(job, dependencies);
      }
      if (!isOpen) throw refusal(`The job has already ended; it is ${training?.state ?? "failed"}.`);
      await jobQueue.cancel(training.id);
      return fineTuningBody(found, dependencies);
    },
  );
  on(
    "POST /v1/fine_tuning/jobs/:fine_tuning_job_id/pause",
    {
      summary: "Pause a fine-tuning job",
      description:
        "Only for reinforcement jobs. A training job that has begun is completed; no further step begins until the job is resumed.",
      ...one,
    },
    async ({ found }) => {
      requireSteps(found);
      return fineTuningBody(await move(found, ["queued", "running"], "paused"), dependencies);
    },
  );
  on(
    "POST /v1/fine_tuning/jobs/:fine_tuning_job_id/resume",
    { summary: "Resume a fine-tuning job", ...one },
    async ({ found }) => {
      requireSteps(found);
      return fineTuningBody(await move(found, ["paused"], "queued"), dependencies);
    },
  );
}

function requireSteps({ progress, order }: FineTuningJob): void {
  if (progress !== null) return;
  throw refusal(
    `Only reinforcement jobs can be paused, between their steps; this job is ${order.method}. Cancel it instead.`,
  );
}

function refusal(message: string): ServiceError {
  return new ServiceError({ code: "conflict", message });
}
