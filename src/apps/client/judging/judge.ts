// A language model as the judge of rollouts: it sees all attempts at a task together, and ranks or scores them by a
// rubric. Any server with chat completions works, because the verdict is validated against a schema.
import { HoneError } from "../hone-error.ts";
import type { Judge, JudgeContext, Rollout } from "../training/groups.ts";
import { seedOf, shuffledBy } from "../training/seeds.ts";
import type { JsonObject } from "../recording/trajectory-fetch.ts";
import { verdicts, attemptName, type JudgeMode } from "./verdict.ts";

export interface JudgeOptions<Task> {
  /** Name of the judge model on its server. */
  readonly model: string;
  /** Criteria for a good attempt, as text for the judge. */
  readonly rubric: string;
  /**
   * With `rank` (default), the judge orders a task's attempts: the best gets reward 1, the worst 0. With `score`, the
   * judge gives each attempt a score from 0 to 1.
   */
  readonly mode?: JudgeMode;
  /** Base URL, with `/v1`, of a server with chat completions; default: the training server. */
  readonly baseURL?: string;
  readonly apiKey?: string;
  /** Maximum number of requests to get a valid verdict; default 2. */
  readonly attempts?: number;
  /** Timeout for a verdict in milliseconds; default 120,000. */
  readonly timeout?: number;
  /** Additional fields of the judge's requests; `temperature` is 0 by default. */
  readonly request?: Readonly<Record<string, unknown>>;
  /** Formats a task for the judge. By default, text is shown unchanged, and other tasks as JSON. */
  readonly showTask?: (task: Task) => string;
  /** Formats an attempt for the judge. By default, its conversation is shown. */
  readonly showAttempt?: (rollout: Rollout) => string;
}

/**
 * Creates a judge for `train`. It shows the attempts in an order shuffled by the seed, so that no attempt gains from
 * its position.
 *
 * @returns a judge that throws HoneError `broken_verdict` if it gets no valid verdict
 */
export function judge<Task>(options: JudgeOptions<Task>): Judge<Task> {
  const { showTask = textOfTask, showAttempt } = options;
  requireRubric(options);
  return ({ task, rollouts }, context) => {
    const show = (order: readonly number[]): string =>
      attemptsText(
        order.map((index) => rollouts[index]),
        showAttempt,
      );
    return verdict(options, { task: showTask(task), count: rollouts.length, show }, context);
  };
}

/**
 * Asks a judge to compare texts.
 *
 * @returns a score from 0 to 1 for each text
 * @throws HoneError `broken_verdict` if the judge gives no valid verdict
 */
export async function judgeTexts(
  options: Omit<JudgeOptions<string>, "showTask" | "showAttempt">,
  { task, texts }: { readonly task: string; readonly texts: readonly string[] },
  context: JudgeContext,
): Promise<readonly number[]> {
  requireRubric(options);
  const show = (order: readonly number[]): string =>
    order.map((index, position) => attempt(position, texts[index])).join("\n\n");
  return verdict(options, { task, count: texts.length, show }, context);
}

function requireRubric({ rubric }: { readonly rubric: string }): void {
  if (rubric.trim() === "")
    throw new HoneError({ code: "invalid", param: "rubric", message: "The rubric is empty." });
}

interface Compared {
  readonly task: string;
  readonly count: number;
  /** Returns the text of all attempts, in the order of these indices. */
  readonly show: (order: readonly number[]) => string;
}

async function verdict<Task>(
  options: JudgeOptions<Task>,
  { task, count, show }: Compared,
  context: JudgeContext,
): Promise<readonly number[]> {
  const { mode = "rank", attempts = 2, rubric, model } = options;
  const indices = Array.from({ length: count }, (_, index) => index);
  const order = shuffledBy(context.seed, indices);
  const { schema, instruction, read } = verdicts[mode](count);
  const messages = [
    { role: "system", content: `${instruction}\n\nRubric:\n${rubric}` },
    { role: "user", content: `Task:\n${task}\n\n${show(order)}` },
  ];
  let why = "";
  for (let tried = 0; tried < attempts; tried++) {
    const scores = await ask(options, context, { messages, schema, seed: seedOf(context.seed, tried) })
      .then(read)
      .catch((error: unknown) => passing(error, context.signal));
    // Converts the scores from the shuffled order, in which the judge saw the attempts, to the caller's order.
    if (typeof scores !== "string") return indices.map((index) => scores[order.indexOf(index)]);
    why = scores;
    if (tried + 1 < attempts) await context.hone.platform.sleep(retryMs * 2 ** tried, context.signal);
  }
  throw new HoneError({ code: "broken_verdict", message: `The judge ${model} gave no verdict: ${why}` });
}

const retryMs = 500;

/** Returns why a request failed if a retry may help; otherwise throws the error. */
function passing(error: unknown, signal: AbortSignal): string {
  signal.throwIfAborted();
  if (error instanceof HoneError && error.code === "judge_refused") {
    if (error.status !== 429 && error.status < 500) throw error;
    return error.message;
  }
  return `no server answered (${error instanceof Error ? error.message : String(error)})`;
}

function textOfTask(task: unknown): string {
  return typeof task === "string" ? task : JSON.stringify(task, null, 1);
}

const defaultTimeoutMs = 120_000;

/**
 * Returns the text of the judge's answer.
 *
 * @throws HoneError if the judge's server does not answer, or refuses the request
 */
async function ask<Task>(
  { model, baseURL, apiKey, request, timeout = defaultTimeoutMs }: JudgeOptions<Task>,
  { hone, signal }: JudgeContext,
  {
    messages,
    schema,
    seed,
  }: { readonly messages: readonly object[]; readonly schema: object; readonly seed: number },
): Promise<string> {
  const url = `${(baseURL ?? `${hone.baseUrl}/v1`).replace(/\/+$/, "")}/chat/completions`;
  const key = apiKey ?? (baseURL === undefined ? hone.apiKey : null);
  const response_format = { type: "json_schema", json_schema: { name: "verdict", strict: true, schema } };
  const response = await hone.fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ temperature: 0, seed, ...request, model, messages, response_format }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
  });
  const text = await response.text();
  if (!response.ok)
    throw new HoneError({
      code: "judge_refused",
      status: response.status,
      message: `The judge ${model} at ${url} answered ${response.status}: ${text.slice(0, 300)}`,
    });
  return contentOf(text);
}

/** Returns the message's text; empty if the response is not a chat completion. */
function contentOf(text: string): string {
  try {
    const answer = JSON.parse(text) as Answer;
    return answer.choices?.[0]?.message?.content ?? "";
  } catch {
    return "";
  }
}

interface Answer {
  readonly choices?: readonly { readonly message?: { readonly content?: string | null } }[];
}

/**
 * Formats the attempts for the judge: first the lines that all attempts have in common, then the remaining lines of
 * each attempt under its name.
 *
 * @param show formats an attempt; by default, its conversation is shown
 */
function attemptsText(rollouts: readonly Rollout[], show?: (rollout: Rollout) => string): string {
  if (show !== undefined) return rollouts.map((rollout, index) => attempt(index, show(rollout))).join("\n\n");
  const conversations = rollouts.map(linesOf);
  const shared = sharedCount(conversations);
  const beginning = conversations[0]?.slice(0, shared).join("\n") ?? "";
  const attempts = conversations.map((lines, index) => attempt(index, lines.slice(shared).join("\n")));
  return [...(beginning === "" ? [] : [`All attempts begin with:\n${beginning}`]), ...attempts].join("\n\n");
}

function attempt(index: number, text: string): string {
  const name = attemptName(index);
  // Breaks up `attempt` tags in the text, so that an attempt cannot end early and add instructions for the judge.
  return `<attempt name="${name}">\n${text.replaceAll(/<(\/?attempt)/gi, "< $1")}\n</attempt>`;
}

/** Returns a line per message. The main conversation comes first, followed by those of sub-agents and branches. */
function linesOf({ trajectory }: Rollout): readonly string[] {
  return trajectory.histories.flatMap(({ items }) =>
    items.map((item) => lineOf((item["message"] ?? item) as JsonObject)),
  );
}

function lineOf({ role, content, tool_calls: calls }: JsonObject): string {
  const text =
    typeof content === "string"
      ? content
      : content === null || content === undefined
        ? ""
        : JSON.stringify(content);
  const called = Array.isArray(calls) && calls.length > 0 ? ` calls ${calls.map(callText).join(", ")}` : "";
  return `${String(role)}:${called}${text === "" ? "" : ` ${text}`}`;
}

function callText(call: unknown): string {
  const { function: called } = call as {
    readonly function?: { readonly name?: string; readonly arguments?: string };
  };
  return `${called?.name ?? ""}(${called?.arguments ?? ""})`;
}

/** Returns the number of leading lines that all conversations share; at least one line of each remains. */
function sharedCount(conversations: readonly (readonly string[])[]): number {
  const [first = [], ...others] = conversations;
  const longest = Math.min(...conversations.map((lines) => lines.length)) - 1;
  let count = 0;
  while (count < longest && others.every((lines) => lines[count] === first[count])) count += 1;
  return count;
}
