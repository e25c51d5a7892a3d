// `hone traces`: make training files of traced chats.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import { counted } from "../../../base/domain/text/counted.ts";
import type { TracedDataset, TracedDatasetReq } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { addConnectionFlags, connect, type ConnectionFlags, printResult } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { projectIdOf } from "../feedback/selection.ts";
import { positiveNumber } from "../finetune/training-file.ts";
import { writeWhole } from "../written-file.ts";

interface DatasetFlags extends ConnectionFlags, JsonFlag {
  readonly kind: TracedDatasetReq["kind"];
  readonly op?: string[];
  readonly trace?: string[];
  readonly since?: string;
  readonly until?: string;
  readonly score?: string;
  readonly scoreMin?: number;
  readonly limit?: number;
  readonly dryRun?: boolean;
  readonly out?: string;
}

export function addTracesCommand(program: Command): void {
  const traces = program.command("traces").description("Make training data of traced chats.");
  addConnectionFlags(
    traces
      .command("dataset <project>")
      .description(
        "Make a training file of the chats in a project's traces. The server keeps the file; `--out` also writes it to this machine.",
      ),
  )
    .addOption(
      new Option(
        "--kind <kind>",
        "training data to make: whole conversations, single answers, or pairs of answers",
      )
        .choices(["supervised", "distillation", "preference"])
        .default("supervised"),
    )
    .option("--op <name...>", "only calls with these names")
    .option("--trace <id...>", "only calls of these traces")
    .option("--since <time>", "only calls that started at this time or later (ISO 8601)")
    .option("--until <time>", "only calls that started before this time")
    .option("--score <name>", "only chats with a score of this name; required for preferences")
    .option("--score-min <number>", "only chats with at least this score", number)
    .option("--limit <count>", "maximum number of chats, the oldest first (default: 10000)", positiveNumber)
    .option("--dry-run", "make no file, and show what it would contain")
    .option("--out <file>", "new file on this machine to write the training data to")
    .option("--json", "print JSON")
    .action(makeDataset);
}

async function makeDataset(project: string, flags: DatasetFlags): Promise<void> {
  const { out, dryRun } = flags;
  if (out !== undefined && dryRun === true) throw invalid("--dry-run makes no file; leave out --out.");
  if (out !== undefined && existsSync(out)) throw invalid(`${out} exists; name a new file.`);
  const client = connect(flags);
  const [entity = "", name = ""] = (await projectIdOf(client, project)).split("/");
  const dataset = await client.call("POST /v1/preview/projects/{entity}/{project}/datasets/from-traces", {
    path: { entity, project: name },
    body: requestOf(flags),
  });
  const written = out === undefined ? null : await download(client, dataset, resolve(out));
  printResult(
    dataset,
    [...datasetLines(dataset), ...(written === null ? [] : [`wrote ${written}`])].join("\n"),
    flags,
  );
}

function requestOf(flags: DatasetFlags): TracedDatasetReq {
  const { kind, op, trace, since, until, score, scoreMin, limit, dryRun } = flags;
  if (scoreMin !== undefined && score === undefined)
    throw invalid("--score-min needs --score, the name of the score.");
  return {
    kind,
    ...(op === undefined ? {} : { ops: op }),
    ...(trace === undefined ? {} : { trace_ids: trace }),
    ...(since === undefined ? {} : { started_from: since }),
    ...(until === undefined ? {} : { started_before: until }),
    ...(score === undefined
      ? {}
      : { score: { name: score, ...(scoreMin === undefined ? {} : { min: scoreMin }) } }),
    ...(limit === undefined ? {} : { limit }),
    ...(dryRun === undefined ? {} : { dry_run: dryRun }),
  };
}

async function download(client: Hone, { file_id: id }: TracedDataset, file: string): Promise<string> {
  await writeWhole(file, await client.files.content(String(id)), (partial, cause) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `The download was cut off (${why}). ${partial} has the lines that arrived, and the server still has the file ${id}.`;
    throw new ServiceError({ code: "unavailable", message, cause });
  });
  return file;
}

/** Returns the lines that describe a dataset: its size, its first rows, and the calls that are left out. */
function datasetLines(dataset: TracedDataset): readonly string[] {
  const { file_id: id, row_count: rows, call_count: calls, left_out: leftOut, has_more: hasMore } = dataset;
  const where = id === null ? "a file would have" : `the file ${id} has`;
  const reasons = Object.entries(leftOut).map(
    ([reason, count]) => `  ${String(count).padStart(5)}  ${reason}`,
  );
  return [
    `${where} ${counted(rows, "row")}, of ${counted(calls, "call")}`,
    ...(id === null ? dataset.rows.map((row) => JSON.stringify(row)) : []),
    ...(reasons.length === 0 ? [] : ["left out", ...reasons]),
    ...(hasMore ? ["There are more calls; narrow the selection to continue."] : []),
  ];
}

function number(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw invalid(`--score-min must be a number, not ${JSON.stringify(text)}.`);
}
