// `hone jobs`: list, show, watch, cancel, retry and replay training jobs.
import type { Command } from "commander";
import type { TrainingJob, Replay } from "../../client/api.ts";
import { costText } from "../../client/cost-text.ts";
import { jobItems } from "../../client/job-items.ts";
import { addConnectionFlags, connect, printResult, printRows, type ConnectionFlags } from "../connection.ts";
import { type JsonFlag, printJson } from "../json-output.ts";
import { duration } from "../duration.ts";
import { findJob, findJobId, modelNames } from "../names/named-job.ts";
import { findNamed } from "../names/named-version.ts";
import { formatConfig, formatSteps } from "../watch/job-config.ts";
import { addPreferenceCommand } from "../finetune/preference-job.ts";
import { addSftCommand } from "../finetune/sft-job.ts";
import { addWatchCommand } from "./watch-job.ts";

export function addJobsCommand(program: Command): void {
  const jobs = program.command("jobs").description("Manage training jobs.");
  const about =
    "\nIdentify a job by its id, by a unique prefix of the id, or by the name of its model: project/name means the model's newest job, and project/name@3 the job that made version 3.";
  jobs.addHelpText("after", about);
  addConnectionFlags(jobs.command("list", { isDefault: true }).description("List training jobs."))
    .option("--model <name>", "only jobs of this model (name or id)")
    .option("--kind <kind>", "only jobs of this kind: rl, sft or preference")
    .option("--state <state>", "only jobs in this state: queued, running, succeeded, failed or cancelled")
    .option("--json", "print JSON")
    .action(
      async (
        flags: ConnectionFlags & {
          readonly model?: string;
          readonly kind?: TrainingJob["kind"];
          readonly state?: TrainingJob["state"];
          readonly json?: boolean;
        },
      ) => {
        const client = connect(flags);
        const filter = {
          ...(flags.model === undefined ? {} : { model_id: (await findNamed(client, flags.model)).model.id }),
          ...(flags.kind === undefined ? {} : { kind: flags.kind }),
          ...(flags.state === undefined ? {} : { state: flags.state }),
        };
        const [found, names] = await Promise.all([client.jobs.list(filter).all(), modelNames(client)]);
        printRows(
          found.map((job) => ({
            ...(flags.json === true ? job : listedJob(job)),
            model: names.get(job.model_id) ?? null,
          })),
          {
            ...flags,
            columns: ["id", "model", "kind", "state", "steps", "left", "result_step", "error_message"],
          },
        );
      },
    );
  addConnectionFlags(
    jobs
      .command("show <id>")
      .description("Show a training job: state, settings, progress, and skipped data."),
  )
    .option("--json", "print JSON")
    .action(async (id: string, flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const job = await findJob(client, id);
      if (flags.json === true) printJson(job, flags);
      else showJob(job, (await modelNames(client)).get(job.model_id) ?? null);
    });
  addSftCommand(jobs);
  addPreferenceCommand(jobs);
  addWatchCommand(jobs);
  addConnectionFlags(jobs.command("cancel <id>").description("Cancel a queued or running training job."))
    .option("--json", "print JSON")
    .action(async (id: string, flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const before = await findJob(client, id);
      const job = await client.jobs.cancel(before.id);
      printResult(job, `${job.id} ${job.state}`, flags);
      if (before.state !== "queued" && before.state !== "running")
        process.stderr.write("The job had already ended; nothing was cancelled.\n");
    });
  addConnectionFlags(
    jobs.command("retry <id>").description("Retry a failed or cancelled training job with its stored data."),
  )
    .option("--json", "print JSON")
    .action(async (id: string, flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const job = await client.jobs.retry(await findJobId(client, id));
      printResult(job, `${job.id} queued`, flags);
    });
  addReplayCommand(jobs);
}

function listedJob(job: TrainingJob): Readonly<Record<string, unknown>> {
  const { progress } = job;
  const steps = progress && `${progress.gradient_steps}/${progress.gradient_steps_total ?? "?"}`;
  return {
    ...job,
    state: job.phase ?? job.state,
    steps,
    left: job.seconds_left && duration(job.seconds_left),
  };
}

/**
 * Returns how many items are prepared, such as `3 of 10`. Null before the items are counted, and once training has
 * begun.
 */
function formatPrepared({ progress }: TrainingJob): string | null {
  if (progress === null || progress.gradient_steps_total !== null || progress.prepared === null) return null;
  return `${progress.prepared} of ${progress.prepared_total}`;
}

function formatProgress({ progress }: TrainingJob): string | null {
  if (progress === null || progress.gradient_steps_total === null) return null;
  return `${progress.gradient_steps} of ${progress.gradient_steps_total}`;
}

function showJob(job: TrainingJob, modelName: string | null): void {
  const { counts, warnings } = job;
  const { many: items } = jobItems(job);
  const isGrouped = job.kind === "rl";
  const facts = {
    id: job.id,
    model: modelName === null ? job.model_id : `${modelName} (${job.model_id})`,
    kind: job.kind,
    state: job.state,
    replays: job.replay_of,
    retries: job.retry_of,
    "result step": job.result_step,
    error: job.error_message,
    "waiting for": job.waiting_for,
    phase: job.phase,
    settings: formatConfig(job),
    "not applied": job.config_not_applied.length === 0 ? null : job.config_not_applied.join(", "),
    steps: formatSteps(job),
    prepared: formatPrepared(job),
    "gradient steps": formatProgress(job),
    "time left": job.seconds_left && `about ${duration(job.seconds_left)}`,
    groups:
      counts === null || !isGrouped
        ? null
        : `${counts.groups_submitted} (${counts.groups_trainable} trainable)`,
    [items]: counts && `${counts.trajectories} (${counts.sequences} trainable sequences)`,
    tokens: counts && `${counts.trainable_tokens} trainable`,
    cost: costText(job),
  };
  for (const [name, value] of Object.entries(facts))
    if (value !== null) process.stdout.write(`${name.padEnd(16)}${value}\n`);
  if (counts !== null && Object.keys(counts.skipped).length > 0) {
    const rows = Object.entries(counts.skipped).map(([reason, count]) => ({
      "skipped because": reason,
      groups: counts.skipped_groups[reason],
      [items]: count,
    }));
    process.stdout.write("\n");
    const columns = ["skipped because", ...(isGrouped ? ["groups"] : []), items];
    printRows(rows, { columns });
  }
  for (const warning of warnings) process.stdout.write(`\nwarning: ${warning}\n`);
}

/** Exit status if a replay's result differs from the original; errors exit with status 1, as in every command. */
const statusDifferent = 2;

/** Adds the subcommand `replay` to `hone jobs`. */
function addReplayCommand(jobs: Command): void {
  addConnectionFlags(
    jobs
      .command("replay <id>")
      .description(
        `Train a job again with the same data and settings, and compare the result with the version that the job made. The exit status is 0 if they are equal, ${statusDifferent} if not.`,
      ),
  )
    .option("--json", "print JSON")
    .action(async (id: string, flags: ConnectionFlags & JsonFlag) => {
      const client = connect(flags);
      const { id: replayId } = await client.jobs.replay(await findJobId(client, id));
      if (flags.json !== true) process.stderr.write(`replaying in job ${replayId}\n`);
      const job = await client.jobs.wait(replayId);
      if (flags.json === true) printJson(job, flags);
      else if (job.replay !== null) process.stdout.write(describe(job.replay));
      if (job.replay?.is_equal !== true) process.exitCode = statusDifferent;
    });
}

function describe({ is_equal: isEqual, files, matrices, different, differences }: Replay): string {
  if (isEqual) return `equal, byte for byte: ${files.join(", ")} (${matrices} matrices)\n`;
  const lines = differences.map(({ file, matrix, values, greatest }) => {
    const by = values === null ? "" : `: ${values} values, by up to ${greatest ?? "a non-finite value"}`;
    return `  ${file}${matrix === null ? "" : ` ${matrix}`}${by}`;
  });
  const more = different - differences.length;
  return [
    `different: ${different} of ${matrices} matrices`,
    ...lines,
    ...(more > 0 ? [`  and ${more} more`] : []),
    "",
  ].join("\n");
}
