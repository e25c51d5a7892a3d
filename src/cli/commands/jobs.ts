// `hone jobs`: the training jobs, their events as they come, and cancelling.
import type { Command } from "commander";
import { addConnectionFlags, connect, printRows, type ConnectionFlags } from "../connection.ts";

export function addJobsCommand(program: Command): void {
  const jobs = program.command("jobs").description("Training jobs.");
  addConnectionFlags(jobs.command("list", { isDefault: true }).description("List training jobs."))
    .option("--model <id>", "those of one model")
    .option("--state <state>", "queued, running, succeeded, failed or cancelled")
    .option("--json", "as JSON")
    .action(
      async (
        flags: ConnectionFlags & {
          readonly model?: string;
          readonly state?: string;
          readonly json?: boolean;
        },
      ) => {
        const filter = {
          ...(flags.model === undefined ? {} : { model_id: flags.model }),
          ...(flags.state === undefined ? {} : { state: flags.state }),
        };
        const found = await connect(flags).listTrainingJobs(filter);
        printRows(
          found.map((job) => ({ ...job })),
          { ...flags, columns: ["id", "model_id", "state", "result_step", "error_message"] },
        );
      },
    );
  addConnectionFlags(jobs.command("watch <id>").description("Show a job's events until it ends."))
    .option("--json", "one JSON object a line")
    .action(async (id: string, flags: ConnectionFlags & { readonly json?: boolean }) => {
      for await (const event of connect(flags).watchTrainingJob(id)) {
        const values = Object.entries(event.data).map(
          ([name, value]) => `${name} ${typeof value === "number" ? Number(value.toPrecision(5)) : value}`,
        );
        process.stdout.write(
          flags.json === true ? `${JSON.stringify(event)}\n` : `${event.type}  ${values.join("  ")}\n`,
        );
        if (event.type === "training_failed") process.exitCode = 1;
      }
    });
  addConnectionFlags(jobs.command("cancel <id>").description("Cancel a queued or running job.")).action(
    async (id: string, flags: ConnectionFlags) => {
      const job = await connect(flags).cancelTrainingJob(id);
      process.stdout.write(`${job.id} ${job.state}\n`);
    },
  );
}
