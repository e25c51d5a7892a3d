// `hone jobs sft`: teaches a model the conversations of a file.
import { openAsBlob } from "node:fs";
import { basename } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import type { Hone } from "../../client/hone.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { addConnectionFlags, connect, type ConnectionFlags, type JsonFlag } from "../connection.ts";
import { findNamed } from "../named-version.ts";
import { watchJob } from "./watch-job.ts";

interface TeachFlags extends ConnectionFlags, JsonFlag {
  readonly batchSize?: number;
  readonly learningRate?: number;
  readonly epochs?: number;
  readonly shuffle: boolean;
  readonly watch?: boolean;
}

/** Adds `sft` to the command `jobs`. */
export function addTeachCommand(jobs: Command): void {
  addConnectionFlags(
    jobs
      .command("sft <model> <file>")
      .description(
        "Teach a model what the assistant says in the conversations of a file, one a line as JSON.",
      ),
  )
    .option("--batch-size <count>", "conversations of one step", positiveNumber)
    .option("--learning-rate <rate>", "of every step", positiveNumber)
    .option("--epochs <count>", "how often each conversation trains", positiveNumber)
    .option("--no-shuffle", "in the order of the file")
    .option("--watch", "then watch the job to its end")
    .option("--json", "the job as JSON; watched, its events behind that, one a line")
    .action(teach);
}

async function teach(name: string, path: string, flags: TeachFlags): Promise<void> {
  const client = connect(flags);
  const jobId = await submitFile(client, name, path, flags);
  if (flags.watch === true) await watchJob(client, jobId, flags);
}

/** @returns the id of the job, which is printed */
async function submitFile(client: Hone, name: string, path: string, flags: TeachFlags): Promise<string> {
  const { model } = await findNamed(client, name);
  const file = await client.files.upload(await contentOf(path), basename(path));
  try {
    const job = await client.jobs.createSupervised({
      model_id: model.id,
      training_data_url: file.id,
      config: {
        ...(flags.batchSize === undefined ? {} : { batch_size: flags.batchSize }),
        ...(flags.learningRate === undefined ? {} : { learning_rate: flags.learningRate }),
        ...(flags.epochs === undefined ? {} : { epochs: flags.epochs }),
        shuffle: flags.shuffle,
      },
    });
    process.stdout.write(`${flags.json === true ? JSON.stringify(job) : job.id}\n`);
    return job.id;
  } finally {
    // The job has what it trains on, and a refused file is no use to anybody.
    await client.files.delete(file.id);
  }
}

/** Read from the disk as it is sent. */
async function contentOf(path: string): Promise<Blob> {
  try {
    return await openAsBlob(path);
  } catch (cause) {
    throw new ServiceError({
      code: "invalid",
      message: `${path} cannot be read; is there such a file?`,
      cause,
    });
  }
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("It must be a number above 0.");
}
