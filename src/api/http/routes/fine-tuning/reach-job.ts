// Finds the fine-tuning job that a request names, and converts jobs to answers.
import { mayReach, type Caller } from "../../../../base/domain/access.ts";
import type { FineTuningJob } from "../../../../base/domain/fine-tuning/fine-tuning-job.ts";
import { notFound } from "../../../../base/domain/service-error.ts";
import {
  fineTuningJobBody,
  fineTuningJobSchema,
  type FineTuningJobBody,
} from "../../../wire/fine-tuning/job.ts";
import type { HttpDependencies } from "../../dependencies.ts";

/** @throws ServiceError `not_found`, also for a job of another entity */
export async function reachFineTuningJob(
  { fineTuning }: Pick<HttpDependencies, "fineTuning">,
  caller: Caller,
  id: string,
): Promise<FineTuningJob> {
  const job = await fineTuning.find(id.toLowerCase());
  if (job === null || !mayReach(caller, job)) throw notFound("fine-tuning job", id.slice(0, 200));
  return job;
}

/** Returns the options that all routes about one job share: how to find the job, and the answer. */
export function oneFineTuningJob(dependencies: Pick<HttpDependencies, "fineTuning">) {
  return {
    find: ({ fine_tuning_job_id: id }: { readonly fine_tuning_job_id: string }, caller: Caller) =>
      reachFineTuningJob(dependencies, caller, id),
    answer: "The job.",
    json: fineTuningJobSchema,
  };
}

/** Converts a job to its form in answers, which includes the state of its training job. */
export async function fineTuningBody(
  job: FineTuningJob,
  { jobs }: Pick<HttpDependencies, "jobs">,
): Promise<FineTuningJobBody> {
  const { trainingJobId } = job;
  return fineTuningJobBody(job, trainingJobId === null ? null : await jobs.find(trainingJobId));
}
