// Reads the stored data of an earlier job, for a training job whose request names that job instead of sending data.
import type { FastifyRequest } from "fastify";
import type { JobTask, TrainingJob } from "../../../../base/domain/job.ts";
import { invalid } from "../../../../base/domain/service-error.ts";
import { locate, relocate } from "../../../wire/field-paths.ts";
import { LinePacker, type PackedLines } from "../../../wire/packed-lines.ts";
import type { ByteBudget } from "../../bodies/gather-body.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { reachJob } from "../reach.ts";

const scheme = "hone-job://";

interface EarlierData {
  readonly lines: PackedLines;
  /** Number of conversations or preferences. */
  readonly count: number;
}

/** Returns the id of the job that a text such as `hone-job://<id>` names; null for any other text. */
export function earlierJobIn(text: string): string | null {
  return text.toLowerCase().startsWith(scheme) ? text.slice(scheme.length) : null;
}

/**
 * Returns the data of a job. While it is read, its bytes count towards the memory that the entity's request bodies may
 * take.
 *
 * @param field name of the body's field that names the job
 * @throws ServiceError `not_found`; `invalid` if the new job cannot train on this data; `conflict` if the data was
 * removed
 */
export async function readEarlierData(
  id: string,
  { field, task }: { readonly field: string; readonly task: JobTask },
  { caller }: Pick<FastifyRequest, "caller">,
  dependencies: Pick<HttpDependencies, "models" | "jobs">,
  budget: ByteBudget,
): Promise<EarlierData> {
  const held = budget.forBody(caller.entity);
  try {
    const job = await reachJob(dependencies, caller, id);
    requireUsable(job, task);
    const parts = await dependencies.jobs.trajectoryLines(job.replayOf ?? job.id);
    const lines = new LinePacker();
    let count = 0;
    for await (const part of parts ?? []) {
      held.add(Buffer.byteLength(part));
      lines.add(part);
      // A part that ends in a backslash continues in the next part.
      if (!part.endsWith("\\")) count += 1;
    }
    return { lines: lines.packed(), count };
  } catch (error) {
    const place = ["body", field];
    throw relocate(locate(error, { not_found: place, conflict: place, invalid: place }), () => place);
  } finally {
    held.release();
  }
}

/** @throws ServiceError `invalid` unless a job with this task can train on the data of the earlier job */
function requireUsable({ id, task: earlier }: TrainingJob, task: JobTask): void {
  const names = { rl: "reinforcement", sft: "supervised", preference: "preference" } as const;
  if (earlier.kind !== task.kind)
    throw invalid(
      `Job ${id} is a ${names[earlier.kind]} job, whose data this job cannot train on. Name a ${names[task.kind]} job.`,
    );
  if (earlier.kind !== "preference" || task.kind !== "preference" || task.config.loss === "kto") return;
  if (earlier.config.loss === "kto")
    throw invalid(
      `Job ${id} trained with the loss kto, which accepts single answers, and the loss ${task.config.loss} compares two. Train with the loss kto.`,
    );
}
