// `hone jobs sft`: fine-tune a model on a file of conversations.
import type { Command } from "commander";
import { resolveSupervisedConfig } from "../../../base/domain/supervised/supervised-config.ts";
import type { Hone } from "../../client/hone.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { type JsonFlag, printJsonLine } from "../json-output.ts";
import { findNamed } from "../names/named-version.ts";
import { positiveNumber, type StepFlags, stepOptions, withUpload } from "./training-file.ts";
import { watchJob } from "../commands/watch-job.ts";

const defaults = resolveSupervisedConfig({});

interface SftFlags extends ConnectionFlags, JsonFlag, StepFlags {
  readonly watch?: boolean;
}

/** Adds the subcommand `sft` to `hone jobs`. */
export function addSftCommand(jobs: Command): void {
  addConnectionFlags(
    jobs
      .command("sft <model> <file>")
      .description(
        "Fine-tune a model on the assistant's messages in a file of conversations (one JSON object per line).",
      ),
  )
    .option(
      "--batch-size <count>",
      `number of conversations per optimizer step (default: ${defaults.batchSize})`,
      positiveNumber,
    )
    .option(
      "--learning-rate <rate>",
      `learning rate (default: ${String(defaults.learningRate)})`,
      positiveNumber,
    )
    .option(
      "--epochs <count>",
      `number of passes over the conversations (default: ${defaults.epochCount})`,
      positiveNumber,
    )
    .option("--no-shuffle", "train in the order of the file (default: random order)")
    .option("--watch", "watch the job until it ends")
    .option("--json", "print the job as JSON; with --watch, also print its events, one per line")
    .action(fineTune);
}

async function fineTune(name: string, path: string, flags: SftFlags): Promise<void> {
  const client = connect(flags);
  const jobId = await submitFile(client, name, path, flags);
  if (flags.watch === true) await watchJob(client, jobId, flags);
}

/**
 * Uploads the file, creates the job and prints it.
 *
 * @returns the job's id
 */
async function submitFile(client: Hone, name: string, path: string, flags: SftFlags): Promise<string> {
  const { model } = await findNamed(client, name);
  const job = await withUpload(client, path, (fileId) =>
    client.jobs.createSupervised({
      model_id: model.id,
      training_data_url: fileId,
      config: stepOptions(flags),
    }),
  );
  if (flags.json === true) printJsonLine(job, flags);
  else process.stdout.write(`${job.id}\n`);
  return job.id;
}
