// Stores the feedback from which jobs were created, together with each job. Refuses a job that would train on feedback
// on which an earlier job already trained.
import type { Kysely, Transaction } from "kysely";
import {
  type AnswerKey,
  answerId,
  feedbackMark,
  type FeedbackOrigin,
  type ListedSource,
  type TrainingSource,
  type TrainingSourceStore,
} from "../../../base/domain/rewards/training-source.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { lockModel } from "../models/version-store.ts";
import { readPage } from "../paging.ts";
import { chunkRows } from "../chunks.ts";
import type { Schema } from "../schema.ts";
import { holdForJob } from "./automatic-rows.ts";

/** Maximum number of answers in one SQL statement; each has one or six parameters. */
const answersMax = 500;

export function createSourceStore(database: Kysely<Schema>): TrainingSourceStore {
  return {
    trainedOn: (modelId, answers) => marksOf(database, modelId, answers),
    list: (jobId, page) => {
      const rows = database
        .selectFrom("job_sources")
        .select(["sequence", "content"])
        .where("job_id", "=", jobId);
      const orderValueOf = async (id: string) => {
        const sequence = /^\d{1,9}$/.test(id) ? Number(id) : -1;
        return (await rows.where("sequence", "=", sequence).executeTakeFirst())?.sequence;
      };
      const itemOf = ({
        sequence,
        content,
      }: {
        readonly sequence: number;
        readonly content: string;
      }): ListedSource => ({
        id: String(sequence),
        ...sourceOf(content),
      });
      return readPage(
        { rows, orderColumn: "sequence", contentColumns: ["content"], orderValueOf, itemOf },
        page,
      );
    },
  };
}

async function marksOf(
  queries: Kysely<Schema>,
  modelId: string,
  answers: readonly AnswerKey[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const marks = new Map<string, Set<string>>();
  for (const chunk of chunkRows(answers.map(answerId), {
    rowsMax: answersMax,
    lengthOf: (id) => id.length,
  })) {
    const rows = await queries
      .selectFrom("job_sources")
      .innerJoin("jobs", "jobs.id", "job_sources.job_id")
      .select(["job_sources.answer", "job_sources.content"])
      .where("job_sources.model_id", "=", modelId)
      .where("job_sources.answer", "in", chunk)
      .where("job_sources.is_trained", "=", 1)
      .where("jobs.state", "not in", ["failed", "cancelled"])
      .execute();
    for (const { answer, content } of rows) {
      const known = marks.get(answer) ?? new Set();
      marks.set(answer, known);
      for (const record of sourceOf(content).feedback) known.add(feedbackMark(record));
    }
  }
  return marks;
}

/**
 * Stores the feedback from which a job was created, within the transaction that stores the job. If an automatic rule
 * created the job, also updates the rule. Locks the model, so that other transactions that store a job for it wait.
 *
 * @throws ServiceError `conflict` if another job trains on some of the feedback, or the rule no longer belongs to this
 * server
 */
export async function storeOrigin(
  transaction: Transaction<Schema>,
  job: { readonly id: string; readonly modelId: string; readonly createdAt: Date },
  { sources, standing }: FeedbackOrigin,
): Promise<void> {
  await lockModel(transaction, job.modelId);
  if (standing !== null) await holdForJob(transaction, job, standing);
  const trained = sources.filter(({ use }) => use === "trained");
  const marks = await marksOf(transaction, job.modelId, trained);
  const isTaken = trained.some((source) => {
    const known = marks.get(answerId(source));
    return source.feedback.some((record) => record.isNew && known?.has(feedbackMark(record)) === true);
  });
  if (isTaken) throw takenMeanwhile();
  const rows = sources.map((source, index) => ({
    job_id: job.id,
    sequence: index + 1,
    model_id: job.modelId,
    answer: answerId(source),
    is_trained: source.use === "trained" ? 1 : 0,
    content: JSON.stringify(source),
  }));
  for (const chunk of chunkRows(rows, { rowsMax: answersMax, lengthOf: ({ content }) => content.length }))
    await transaction.insertInto("job_sources").values(chunk).execute();
}

/**
 * Copies the feedback sources of a retried job to its retry.
 *
 * @throws ServiceError with the codes of {@link storeOrigin}
 */
export async function copyOrigin(
  transaction: Transaction<Schema>,
  job: { readonly id: string; readonly modelId: string; readonly createdAt: Date },
  triedId: string,
): Promise<void> {
  const rows = await transaction
    .selectFrom("job_sources")
    .select("content")
    .where("job_id", "=", triedId)
    .orderBy("sequence")
    .execute();
  const sources = rows.map(({ content }) => sourceOf(content));
  if (sources.length > 0) await storeOrigin(transaction, job, { sources, standing: null });
}

function takenMeanwhile(): ServiceError {
  const message =
    "Another job trains on some of this feedback already, and none is trained on twice. Ask again for a job of what is left.";
  return new ServiceError({ code: "conflict", message });
}

function sourceOf(content: string): TrainingSource {
  // Safe cast: `storeOrigin` wrote this JSON.
  return JSON.parse(content) as TrainingSource;
}
