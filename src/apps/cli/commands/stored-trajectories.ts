// `hone models trajectories`: what was logged of a model, or trained on, as a file.
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { invalid } from "../../../base/domain/service-error.ts";
import { addConnectionFlags, connect, type ConnectionFlags } from "../connection.ts";
import { findNamed } from "../named-version.ts";
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
}

/** @param models the command `hone models` */
export function addTrajectoryCommand(models: Command): void {
  addConnectionFlags(
    models
      .command("trajectories <name>")
      .description(
        "Write stored trajectories of a model, a row for each, or their groups; project/name:step3 takes those of a version.",
      ),
  )
    .addOption(
      new Option("--format <format>", "what is written")
        .choices(["jsonl", "parquet", "groups"])
        .default("jsonl"),
    )
    .option("--out <file>", "a file that is not there yet; without it JSON lines go to the standard output")
    .addOption(new Option("--source <source>", "what was logged, or sent to train").choices(["logs", "jobs"]))
    .option("--log <id>", "those of one log")
    .option("--job <id>", "those of one training job")
    .option("--split <split>", "logs under one split")
    .option("--step <step>", "those of one version", Number)
    .option("--from <time>", "stored then or later (ISO 8601)")
    .option("--before <time>", "stored before")
    .option("--reward-min <reward>", "rewards of at least this", Number)
    .option("--reward-max <reward>", "rewards of at most this", Number)
    .option("--metadata <key=value...>", "those whose metadata has the value; all of several")
    .action(writeTrajectories);
}

async function writeTrajectories(name: string, flags: TrajectoryFlags): Promise<void> {
  const { out, format } = flags;
  if (out === undefined && format === "parquet") throw invalid("A Parquet file needs a place: --out <file>.");
  if (out !== undefined && existsSync(out))
    throw invalid(`${out} exists; name a file that is not there yet.`);
  const client = connect(flags);
  const { model, step } = await findNamed(client, name);
  const rows = await client.trajectories.export(model.id, {
    format,
    ...given("source", flags.source),
    ...given("log_id", flags.log),
    ...given("job_id", flags.job),
    ...given("split", flags.split),
    ...given("step", flags.step ?? step),
    ...given("recorded_from", flags.from),
    ...given("recorded_before", flags.before),
    ...given("reward_min", flags.rewardMin),
    ...given("reward_max", flags.rewardMax),
    ...given("metadata", flags.metadata),
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
  // The one key of it is the name's.
  return value === undefined || value === null
    ? {}
    : ({ [name]: value } as { readonly [Key in Name]: Value });
}
