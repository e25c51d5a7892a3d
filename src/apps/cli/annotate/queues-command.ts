// `hone queues`: manage annotation queues, which `hone annotate` works through.
import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import type { AnnotationQueueStats, AnnotationQuestion } from "../../client/api.ts";
import { invalid, quoted } from "../../../base/domain/service-error.ts";
import { addConnectionFlags, connect, type ConnectionFlags, printResult, printRows } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { agreementLines } from "./agreement-lines.ts";
import { findNamed } from "../names/named-version.ts";
import { findQueue, projectNamed, splitName } from "./find-queue.ts";
import { questionForms, readQuestion } from "./question-flags.ts";

type Flags = ConnectionFlags & JsonFlag;

interface CreateFlags extends Flags {
  readonly question?: readonly AnnotationQuestion[];
  readonly spec?: readonly string[];
  readonly annotators?: number;
  readonly description?: string;
}

interface AddFlags extends Flags {
  readonly feedback?: string;
  readonly model?: string;
  readonly since?: Date;
}

export function addQueuesCommand(program: Command): void {
  const queues = program
    .command("queues")
    .description("Manage annotation queues: lists of calls about which people answer questions.");
  const withServer = (command: Command): Command =>
    addConnectionFlags(command).option("--json", "print JSON");
  withServer(
    queues
      .command("list <project>", { isDefault: true })
      .description("List the annotation queues of a project with their progress."),
  ).action(listQueues);
  withServer(
    queues
      .command("create <project/name>")
      .description("Create an annotation queue, with the questions that annotators answer for each item."),
  )
    .option(
      "--question <question>",
      `name of a question and its kind of answer: ${questionForms}`,
      repeated(readQuestion),
    )
    .option(
      "--spec <reference>",
      "reference of a published annotation spec, which becomes a question of the queue; repeatable",
      repeated(String),
    )
    .option("--annotators <count>", "number of annotators who answer each item (default: 1)", count)
    .option("--description <text>", "description of the queue, for annotators")
    .action(createQueue);
  withServer(
    queues
      .command("add <queue> [call-ids...]")
      .description(
        "Add items to an annotation queue: calls by id, calls that have certain feedback, or recorded answers of a model.",
      ),
  )
    .option(
      "--feedback <query>",
      "add the call, object or op of each feedback record that matches this query (JSON, or @file)",
    )
    .option(
      "--model <name>",
      "add the recorded answers of a trained model (project/name) or of a version (project/name@3)",
    )
    .option("--since <time>", "only answers recorded since this time (ISO 8601)", time)
    .action(addItems);
  withServer(
    queues
      .command("stats <queue>")
      .description(
        "Show the progress of an annotation queue, overall and per annotator, and the agreement between annotators.",
      ),
  ).action(showStats);
  withServer(
    queues
      .command("delete <queue>")
      .description("Delete an annotation queue; feedback that was given in it is kept."),
  ).action(async (name: string, flags: Flags) => {
    const client = connect(flags);
    const queue = await client.queues.delete(await findQueue(client, name));
    printResult({ deleted: queue.id }, `deleted ${queue.id}`, flags);
  });
}

async function listQueues(project: string, flags: Flags): Promise<void> {
  const client = connect(flags);
  const project_id = await projectNamed(client, project);
  const rows: object[] = [];
  for await (const page of client.queues.list({ project_id }).pages()) {
    const stats = await client.queues.stats({ project_id, queue_ids: page.data.map(({ id }) => id) });
    const byId = new Map(stats.map((one) => [one.queue_id, one]));
    for (const queue of page.data) {
      const { total_items: items, completed_items: completed } = byId.get(queue.id) ?? {};
      rows.push({ ...queue, items, completed, asks: queue.asked.map(({ name }) => name).join(", ") });
    }
  }
  printRows(
    rows.map((row) => ({ ...row })),
    { ...flags, columns: ["id", "name", "items", "completed", "annotators_per_item", "asks"] },
  );
}

async function createQueue(name: string, flags: CreateFlags): Promise<void> {
  const client = connect(flags);
  const { project_id, last } = await splitName(client, name);
  const id = await client.queues.create({
    project_id,
    name: last,
    ...(flags.question === undefined ? {} : { questions: flags.question }),
    ...(flags.spec === undefined ? {} : { scorer_refs: flags.spec }),
    ...(flags.annotators === undefined ? {} : { annotators_per_item: flags.annotators }),
    ...(flags.description === undefined ? {} : { description: flags.description }),
  });
  printResult({ id }, id, flags);
}

async function addItems(name: string, ids: readonly string[], flags: AddFlags): Promise<void> {
  const client = connect(flags);
  const queue = await findQueue(client, name);
  const { feedback, since } = flags;
  if (ids.length === 0 && feedback === undefined && flags.model === undefined && since === undefined)
    throw invalid("No items given; pass call ids, --feedback, --model or --since.");
  const isRecorded = flags.model !== undefined || since !== undefined;
  const named = flags.model === undefined ? null : await findNamed(client, flags.model);
  const recorded = {
    ...(named === null ? {} : { model_id: named.model.id }),
    ...(named === null || named.step === null ? {} : { step: named.step }),
    ...(since === undefined ? {} : { ended_from: since.toISOString() }),
  };
  const added = await client.queues.add(queue, {
    call_ids: ids,
    ...(feedback === undefined ? {} : { feedback_query: readQuery(feedback) }),
    ...(isRecorded ? { completions: recorded } : {}),
  });
  const { added_count: count, duplicates } = added;
  printResult(added, `${count} added, ${duplicates} already in the queue`, flags);
}

async function showStats(name: string, flags: Flags): Promise<void> {
  const client = connect(flags);
  const queue = await findQueue(client, name);
  const [stats] = await client.queues.stats({ project_id: queue.project_id, queue_ids: [queue.id] });
  const agreement = await client.queues.agreement(queue);
  const lines = [...statsLines(stats), ...agreementLines(agreement)];
  printResult({ ...stats, agreement }, lines.join("\n"), flags);
}

function statsLines(stats: AnnotationQueueStats | undefined): readonly string[] {
  if (stats === undefined) return [];
  const { total_items: total, completed_items: completed, annotators } = stats;
  return [
    `${completed} of ${total} items are complete`,
    ...annotators.map(
      (one) =>
        `${one.annotator}: ${one.completed} completed, ${one.skipped} skipped, ${one.in_progress} in progress`,
    ),
  ];
}

function repeated<Value>(read: (text: string) => Value) {
  return (text: string, before: readonly Value[] | undefined): readonly Value[] => [
    ...(before ?? []),
    read(text),
  ];
}

function count(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number.");
}

function time(text: string): Date {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  throw new InvalidArgumentError("It must be a time such as 2026-11-26T12:00:00Z.");
}

/** Parses a query: JSON, or `@` and the name of a file with JSON. */
function readQuery(text: string): object {
  try {
    const value: unknown = JSON.parse(text.startsWith("@") ? readFileSync(text.slice(1), "utf8") : text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // The text is not JSON, or the file does not exist. The error below names both causes.
  }
  throw invalid(
    `--feedback is ${quoted(text)}; it must be a query as JSON, such as {"$expr": {"$eq": [...]}}, or @ followed by the name of a file with one.`,
  );
}
