// `hone feedback`: list, query, add and summarize feedback in the terminal.
import type { Command } from "commander";
import type { FeedbackCreateReq, FeedbackQueryReq } from "../../client/api.ts";
import { invalid } from "../../../base/domain/service-error.ts";
import { addConnectionFlags, connect, type ConnectionFlags, printResult, printRows } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { addExportCommand } from "./export-feedback.ts";
import { shortened } from "./pictures.ts";
import {
  addSelectionFlags,
  isObject,
  projectIdOf,
  queryOf,
  readJson,
  referenceOf,
  type SelectionFlags,
} from "./selection.ts";
import { statisticsLines } from "./statistics-screen.ts";

type Flags = ConnectionFlags & JsonFlag;
type SortKeys = NonNullable<FeedbackQueryReq["sort_by"]>;

interface AddFlags extends Flags {
  readonly emoji?: string;
  readonly note?: string;
  readonly type?: string;
  readonly payload?: string;
  readonly creator?: string;
  readonly id?: string;
}

interface QueryFlags extends Flags, SelectionFlags {
  readonly fields?: readonly string[];
  readonly sort?: readonly string[];
  readonly limit: number;
  readonly count?: boolean;
}

const columns = ["id", "created_at", "feedback_type", "vendor_ref", "payload", "said_by"];
/** Maximum width of a payload in a list, in cells. */
const payloadWidth = 60;

export function addFeedbackCommand(program: Command): void {
  const feedback = program
    .command("feedback")
    .description("Manage feedback: judgements by people and programs on calls, objects and ops.");
  const withFlags = (command: Command): Command => addConnectionFlags(command).option("--json", "print JSON");
  withFlags(
    addSelectionFlags(
      feedback.command("list <project>").description("List a project's feedback, newest first."),
    ),
  )
    .option("--limit <count>", "maximum number of records", Number, 20)
    .action((project: string, flags: QueryFlags) => list(project, { ...flags, sort: ["created_at:desc"] }));
  withFlags(
    addSelectionFlags(
      feedback
        .command("query <project>")
        .description(
          "Query a project's feedback by an expression, and choose the fields and the order to show.",
        ),
    ),
  )
    .option("--fields <field...>", "fields to show, such as id payload.stars")
    .option("--sort <field...>", "fields to sort by, such as payload.stars:desc created_at")
    .option("--limit <count>", "maximum number of records", Number, 100)
    .option("--count", "print only the number of matching records")
    .action(list);
  withFlags(
    feedback
      .command("add <project> <reference>")
      .description(
        "Add feedback on the thing that a reference identifies, or on the recorded completion with a request id.",
      ),
  )
    .option("--emoji <emoji>", "reaction, such as 👍")
    .option("--note <text>", "text of a note")
    .option("--type <type>", "feedback type of --payload")
    .option("--payload <json>", "content of the feedback, as a JSON object; @file reads a file")
    .option("--creator <name>", "author (default: the key's owner)")
    .option("--id <id>", "id of the record; adding the same record again has no effect (default: a new id)")
    .action(add);
  addExportCommand(feedback);
  withFlags(
    addSelectionFlags(
      feedback
        .command("stats <project>")
        .description(
          "Show statistics of a project's feedback: counts per type, and charts of the values in payloads.",
        ),
    ),
  ).action(async (project: string, flags: Flags & SelectionFlags) => {
    const client = connect(flags);
    const project_id = await projectIdOf(client, project);
    const statistics = await client.feedback.stats({ project_id, query: queryOf(project_id, flags) });
    const width = process.stdout.columns ?? 80;
    printResult(statistics, statisticsLines(statistics, width).join("\n"), flags);
  });
}

async function list(project: string, flags: QueryFlags): Promise<void> {
  const client = connect(flags);
  const project_id = await projectIdOf(client, project);
  const query = queryOf(project_id, flags);
  if (flags.count === true) {
    const count = await client.feedback.count(project_id, query);
    printResult({ count }, String(count), flags);
    return;
  }
  const { fields, limit } = flags;
  const asked: FeedbackQueryReq = {
    project_id,
    query,
    sort_by: sortKeys(flags.sort ?? []),
    limit: Math.min(1000, Math.max(1, limit)),
    ...(fields === undefined ? {} : { fields: [...fields] }),
  };
  const rows: Readonly<Record<string, unknown>>[] = [];
  for await (const row of client.feedback.query(asked)) {
    if (rows.length >= limit) break;
    rows.push({ ...row });
  }
  const shown = flags.json === true ? rows : rows.map((row) => (fields === undefined ? listed(row) : row));
  printRows(shown, { ...flags, columns: fields === undefined ? columns : [...fields] });
}

function listed(row: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const payload = shortened(JSON.stringify(row["payload"]), payloadWidth);
  return { ...row, payload, said_by: row["creator"] ?? row["vendor_user_id"] };
}

function sortKeys(texts: readonly string[]): SortKeys {
  return texts.map((text) => {
    const [, field = text, direction] = /^(.*):(asc|desc)$/s.exec(text) ?? [];
    return { field, direction: direction === "desc" ? "desc" : "asc" };
  });
}

async function add(project: string, reference: string, flags: AddFlags): Promise<void> {
  const client = connect(flags);
  const project_id = await projectIdOf(client, project);
  const record: FeedbackCreateReq = {
    project_id,
    vendor_ref: referenceOf(project_id, reference),
    ...contentOf(flags),
    ...(flags.creator === undefined ? {} : { creator: flags.creator }),
    ...(flags.id === undefined ? {} : { id: flags.id }),
  };
  const added = await client.feedback.create(record);
  printResult(added, added.id, flags);
}

function contentOf(flags: AddFlags): Pick<FeedbackCreateReq, "feedback_type" | "payload"> {
  const { emoji, note, type, payload } = flags;
  const given = [emoji, note, type ?? payload].filter((value) => value !== undefined);
  if (given.length !== 1 || (type === undefined) !== (payload === undefined))
    throw invalid("Give the feedback: --emoji <emoji>, --note <text>, or --type <type> --payload <json>.");
  if (emoji !== undefined) return { feedback_type: "vendor.reaction.1", payload: { emoji } };
  if (note !== undefined) return { feedback_type: "vendor.note.1", payload: { note } };
  const said = readJson("--payload", payload ?? "");
  if (!isObject(said)) throw invalid('--payload must be an object, such as {"stars": 4}.');
  return { feedback_type: type ?? "", payload: said };
}
