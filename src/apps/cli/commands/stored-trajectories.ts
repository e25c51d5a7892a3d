// `hone models trajectories`: export a model's logged trajectories, or those of its training jobs, to a file.
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { invalid } from "../../../base/domain/service-error.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { findJobId } from "../names/named-job.ts";
import { findNamed } from "../names/named-version.ts";
import { writeWhole } from "../written-file.ts";

interface TrajectoryFlags extends ConnectionFlags {
  readonly format: "jsonl" | "parquet" | "groups";
  readonly out?: string;
  readonly source?: "logs" | "jobs";
  readonly log?: string;
  readonly job?: string;
  readonly split?: string;
  readonly step?: number;
  readonly from?: string;
  readonly before?: string;
  readonly rewardMin?: number;
  readonly rewardMax?: number;
  readonly metadata?: readonly string[];
  readonly text?: string;
}

/**
 * Adds the subcommand `trajectories`.
 *
 * @param models the command `hone models`
 */
export function addTrajectoryCommand(models: Command): void {
  addConnectionFlags(
    models
      .command("trajectories <name>")
      .description(
        "Write the trajectories that the server stores for a model, one per row; project/name:step3 selects one version.",
      ),
  )
    .addOption(
      new Option("--format <format>", "output format")
        .choices(["jsonl", "parquet", "groups"])
        .default("jsonl"),
    )
    .option("--out <file>", "new file to write; required for parquet (default: standard output)")
    .addOption(
      new Option(
        "--source <source>",
        "logs: only logged trajectories; jobs: only trajectories sent to training jobs",
      ).choices(["logs", "jobs"]),
    )
    .option("--log <id>", "only trajectories of this log")
    .option("--job <id>", "only trajectories of this training job")
    .option("--split <split>", "only trajectories of this split")
    .option("--step <step>", "only trajectories of this version", Number)
    .option("--from <time>", "only trajectories stored at this time or later (ISO 8601)")
    .option("--before <time>", "only trajectories stored before this time")
    .option("--reward-min <reward>", "only trajectories with at least this reward", Number)
    .option("--reward-max <reward>", "only trajectories with at most this reward", Number)
    .option("--text <words>", "only trajectories whose messages contain all these words")
    .option(
      "--metadata <key=value...>",
      "only trajectories whose metadata has all these values under these keys",
    )
    .action(writeTrajectories);
}

async function writeTrajectories(name: string, flags: TrajectoryFlags): Promise<void> {
  const { out, format } = flags;
  if (out === undefined && format === "parquet") throw invalid("A Parquet file needs --out <file>.");
  if (out !== undefined && existsSync(out)) throw invalid(`${out} exists; name a new file.`);
  const client = connect(flags);
  const { model, step } = await findNamed(client, name);
  const rows = await client.trajectories.export(model.id, {
    format,
    ...given("source", flags.source),
    ...given("log_id", flags.log),
    ...given("job_id", flags.job === undefined ? null : await findJobId(client, flags.job)),
    ...given("split", flags.split),
    ...given("step", flags.step ?? step),
    ...given("recorded_from", flags.from),
    ...given("recorded_before", flags.before),
    ...given("reward_min", flags.rewardMin),
    ...given("reward_max", flags.rewardMax),
    ...given("metadata", flags.metadata),
    ...given("text", flags.text),
  });
  if (out === undefined) {
    for await (const piece of rows)
      if (!process.stdout.write(piece)) await new Promise((drained) => process.stdout.once("drain", drained));
    return;
  }
  const file = resolve(out);
  await writeWhole(file, rows, async (partial, cause) => {
    await rm(partial, { force: true });
    throw cause;
  });
  process.stdout.write(`wrote ${file}\n`);
}

function given<Name extends string, Value>(
  name: Name,
  value: Value | null | undefined,
): { readonly [Key in Name]?: Value } {
  // Safe cast: `name` is the object's only key.
  return value === undefined || value === null
    ? {}
    : ({ [name]: value } as { readonly [Key in Name]: Value });
}
