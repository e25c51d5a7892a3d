// `hone jobs sft`: teaches a model the conversations of a file.
import type { Command } from "commander";
import type { Hone } from "../../client/hone.ts";
import { addConnectionFlags, connect, type ConnectionFlags, type JsonFlag } from "../connection.ts";
import { findNamed } from "../named-version.ts";
import { positiveNumber, type StepFlags, stepOptions, withUpload } from "./uploaded-lines.ts";
import { watchJob } from "../commands/watch-job.ts";

interface TeachFlags extends ConnectionFlags, JsonFlag, StepFlags {
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
  const job = await withUpload(client, path, (fileId) =>
    client.jobs.createSupervised({
      model_id: model.id,
      training_data_url: fileId,
      config: stepOptions(flags),
    }),
  );
  process.stdout.write(`${flags.json === true ? JSON.stringify(job) : job.id}\n`);
  return job.id;
}
