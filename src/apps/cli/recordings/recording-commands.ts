// `hone completions`: list, show and delete recorded completions of trained models.
import type { Command } from "commander";
import type { RecordedCompletion } from "../../client/api.ts";
import type { RecordedFilter } from "../../client/calls/recording-calls.ts";
import type { Hone } from "../../client/hone.ts";
import { HoneError } from "../../client/hone-error.ts";
import { isUuid } from "../../../base/domain/random.ts";
import { addConnectionFlags, connect, printResult, printRows, type ConnectionFlags } from "../connection.ts";
import type { JsonFlag } from "../json-output.ts";
import { findById, isIdPrefix } from "../names/find-by-id.ts";

interface ListFlags extends ConnectionFlags, JsonFlag {
  readonly model?: string;
  readonly project?: string;
  readonly feedback?: string;
  readonly text?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
}

interface PlaceFlags extends ConnectionFlags, JsonFlag {
  readonly project?: string;
}

export function addRecordingCommands(program: Command): void {
  const completions = program
    .command("completions")
    .description("Manage recorded completions of trained models.");
  addConnectionFlags(
    completions.command("list", { isDefault: true }).description("List recorded completions, newest first."),
  )
    .option("--model <name>", "only completions of this model, or of one version (project/name:step3)")
    .option("--project <project>", "only completions of this project, as entity/project")
    .option(
      "--feedback <kind>",
      "any: only completions with feedback; none: only completions without feedback; another value: only completions with feedback of this type",
    )
    .option("--text <words>", "only completions whose prompts and answers contain all these words")
    .option("--since <time>", "only completions that ended at this time or later (ISO 8601)")
    .option("--until <time>", "only completions that ended before this time")
    .option("--limit <count>", "maximum number of completions", Number, 20)
    .option("--json", "print JSON")
    .action(list);
  addConnectionFlags(
    completions
      .command("show <request_id>")
      .description("Show a recorded completion: its prompt and all answers."),
  )
    .option(
      "--project <project>",
      "project of the completion (entity/project); required if several projects have a completion with this id",
    )
    .option("--json", "print JSON, with tokens and log-probabilities")
    .action(async (requestId: string, flags: PlaceFlags) => {
      const client = connect(flags);
      const id = await findRequestId(client, requestId, flags);
      const completion = await client.recordings.get(id, placeOf(flags));
      printResult(completion, shown(completion), flags);
    });
  addConnectionFlags(
    completions
      .command("delete <request_id>")
      .description("Delete a recorded completion permanently; feedback on it is kept."),
  )
    .option(
      "--project <project>",
      "project of the completion (entity/project); required if several projects have a completion with this id",
    )
    .option("--json", "print JSON")
    .action(async (requestId: string, flags: PlaceFlags) => {
      const client = connect(flags);
      const id = await findRequestId(client, requestId, flags);
      const deleted = await client.recordings.delete(id, placeOf(flags));
      printResult(deleted, `deleted ${deleted.id}`, flags);
    });
}

/** Number of newest completions among which an id prefix is searched. */
const searchedMax = 1000;

/**
 * Returns the request id that the user means. Programs choose request ids, so that any text may be a full id. A prefix
 * must belong to one of the newest completions.
 */
async function findRequestId(client: Hone, typed: string, flags: PlaceFlags): Promise<string> {
  const wanted = typed.replace(/^chatcmpl-/, "");
  if (!isIdPrefix(wanted) || isUuid(wanted)) return typed;
  const whole = await client.recordings.get(typed, placeOf(flags)).catch((error: unknown) => {
    if (error instanceof HoneError && error.status === 404) return null;
    throw error;
  });
  if (whole !== null) return typed;
  const found = newest(client.recordings.list({ ...placeOf(flags), limit: 100 }), searchedMax);
  const noun = `recorded completion among the newest ${searchedMax}`;
  return (await findById(wanted, found, { noun, list: "hone completions list" })).id;
}

async function* newest(
  completions: AsyncIterable<{ readonly request_id: string }>,
  count: number,
): AsyncGenerator<{ readonly id: string }> {
  let left = count;
  for await (const { request_id: id } of completions) {
    yield { id };
    if (--left === 0) return;
  }
}

async function list(flags: ListFlags): Promise<void> {
  const { model, project, feedback, text, since, until, limit } = flags;
  const filter: RecordedFilter = {
    limit: Math.min(100, Math.max(1, limit)),
    ...(model === undefined ? {} : { model }),
    ...(project === undefined ? {} : { project }),
    ...(feedback === undefined ? {} : { feedback }),
    ...(text === undefined ? {} : { text }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  };
  const found = [];
  for await (const one of connect(flags).recordings.list(filter)) {
    if (found.length >= limit) break;
    found.push(one);
  }
  const rows = found.map((one) =>
    flags.json === true
      ? { ...one }
      : { ...one, tokens: one.usage.completion_tokens, prompt: line(one.prompt), answer: line(one.answer) },
  );
  const columns = ["request_id", "model", "step", "prompt", "answer", "tokens", "ended_at", "project_id"];
  printRows(rows, { ...flags, columns });
}

const lineLength = 40;

/** Returns the text on one line, cut to the maximum length. */
function line(text: string): string {
  const flat = text.replaceAll(/\s+/g, " ");
  return flat.length <= lineLength ? flat : `${flat.slice(0, lineLength - 1)}…`;
}

function placeOf({ project }: PlaceFlags): { readonly project?: string } {
  return project === undefined ? {} : { project };
}

function shown(completion: RecordedCompletion): string {
  const { reference, model, step, owner, ended_at: endedAt, usage, messages, choices, feedback } = completion;
  const facts = [
    reference,
    `${model}, version ${step}, requested by ${owner}, ${endedAt}`,
    `${usage.prompt_tokens} prompt tokens, ${usage.completion_tokens} answer tokens`,
  ];
  const asked = (messages ?? []).map((message) => turn(String(message["role"]), message["content"]));
  const prompt = completion.prompt_text === null ? [] : [turn("prompt", completion.prompt_text)];
  const answered = choices.map(({ index, message, finish_reason: reason }) => {
    const name = choices.length === 1 ? "answer" : `answer ${index}`;
    const calls = message.tool_calls.map((call) => JSON.stringify(call));
    return turn(
      `${name} (${reason})`,
      [message.content ?? "", ...calls].filter((text) => text !== "").join("\n"),
    );
  });
  const rated = feedback.map((one) => `${one.feedback_type} by ${one.vendor_user_id}, ${one.created_at}`);
  const left = completion.is_whole ? [] : ["The completion was too large to be recorded completely."];
  return [
    facts.join("\n"),
    ...asked,
    ...prompt,
    ...answered,
    ...left,
    ...(rated.length === 0 ? [] : [`feedback:\n${rated.join("\n")}`]),
  ].join("\n\n");
}

function turn(name: string, content: unknown): string {
  return `${name}:\n${typeof content === "string" ? content : JSON.stringify(content)}`;
}
