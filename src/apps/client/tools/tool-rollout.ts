// A rollout function for `train` in which the model uses tools: it answers and calls tools in turns, until it answers
// without a call.
import type { Message, ToolCall } from "../api.ts";
import { HoneError } from "../hone-error.ts";
import type { JsonObject } from "../recording/trajectory-fetch.ts";
import type { RecordedTrajectory } from "../recording/recorded-trajectory.ts";
import type { RolloutFunction, RolloutResult } from "../training/train-options.ts";
import { refuseUnknown } from "../unknown-options.ts";
import type { ToolResult, ToolSet } from "./tool-set.ts";

/** A call of the model, with its result. */
export interface CalledTool {
  readonly name: string;
  /** Arguments as the model wrote them: a text that should be JSON. */
  readonly arguments: string;
  readonly result: string;
  readonly isError: boolean;
}

/** A rollout before it is rewarded. */
export interface ToolAttempt<Task> {
  readonly task: Task;
  readonly trajectory: RecordedTrajectory;
  /** The whole conversation, with the model's calls and their results. */
  readonly messages: readonly Message[];
  /** Text of the model's last answer; empty if it only called tools. */
  readonly answer: string;
  readonly calls: readonly CalledTool[];
  /** Number of the model's answers. */
  readonly turns: number;
  /**
   * Reason for the end: an answer without calls, an answer that was cut off at its token limit (its calls are not run),
   * or `turnsMax`.
   */
  readonly endedBy: "answer" | "length" | "turns";
}

export interface ToolRolloutOptions<Task> {
  /**
   * Tools that all rollouts share, or a function that opens tools for one rollout. `toolRollout` closes only tools that
   * this function has opened.
   */
  readonly tools: ToolSet | ((task: Task, trajectory: RecordedTrajectory) => ToolSet | Promise<ToolSet>);
  /** Returns the first messages of a rollout; default: the task as the user's message. */
  readonly messages?: (task: Task) => readonly Message[];
  /** Returns the reward of a rollout, as a rollout function does. */
  readonly reward: (attempt: ToolAttempt<Task>) => RolloutResult | Promise<RolloutResult>;
  /** Maximum number of answers of the model; default 8. */
  readonly turnsMax?: number;
  /** Fields of chat requests, or a function that returns them for a turn, counted from 0. */
  readonly request?: JsonObject | ((turn: number) => JsonObject);
}

/** Maximum number of calls in one answer. Further calls are not run, and their results tell the model so. */
const callsMax = 16;

/**
 * Returns a rollout function. It adds the metrics `turns`, `tool_calls` and `tool_errors`, which are counts. Only the
 * model's own tokens are trained on, not the tools' results.
 *
 * @throws HoneError `invalid` for an option
 */
export function toolRollout<Task>(options: ToolRolloutOptions<Task>): RolloutFunction<Task> {
  refuseUnknown(options, ["tools", "messages", "reward", "turnsMax", "request"], "toolRollout");
  const { tools, reward, turnsMax = 8 } = options;
  if (!Number.isSafeInteger(turnsMax) || turnsMax < 1)
    throw new HoneError({
      code: "invalid",
      param: "turnsMax",
      message: `turnsMax is ${turnsMax}; it must be a whole number of at least 1.`,
    });
  return async (task, trajectory) => {
    const isOwn = typeof tools === "function";
    const opened = isOwn ? await tools(task, trajectory) : tools;
    try {
      const attempt = await attempted(task, trajectory, { ...options, turnsMax, tools: opened });
      return withMetrics(await reward(attempt), attempt);
    } finally {
      if (isOwn) await opened.close();
    }
  };
}

type Settings<Task> = ToolRolloutOptions<Task> & { readonly tools: ToolSet; readonly turnsMax: number };

async function attempted<Task>(
  task: Task,
  trajectory: RecordedTrajectory,
  { tools, messages: first = taskAsMessage, turnsMax, request = {} }: Settings<Task>,
): Promise<ToolAttempt<Task>> {
  const messages: Message[] = [...first(task)];
  const calls: CalledTool[] = [];
  for (let turn = 0; turn < turnsMax; turn++) {
    const fields = typeof request === "function" ? request(turn) : request;
    const { choices } = await trajectory.chat({ ...fields, messages, tools: tools.tools });
    const { message, finish_reason: reason } = choices[0];
    messages.push(message);
    const answer = message.content ?? "";
    const wanted = message.tool_calls ?? [];
    // The last call of an answer that was cut off is incomplete, so none of its calls is run.
    if (wanted.length === 0 || reason === "length") {
      const endedBy = reason === "length" ? "length" : "answer";
      return { task, trajectory, messages, answer, calls, turns: turn + 1, endedBy };
    }
    for (const [index, call] of wanted.entries()) {
      const result = await resultOf(call, index, tools, trajectory);
      messages.push({ role: "tool", tool_call_id: call.id, content: result.content });
      calls.push(calledTool(call, result));
    }
  }
  return { task, trajectory, messages, answer: "", calls, turns: turnsMax, endedBy: "turns" };
}

function taskAsMessage(task: unknown): readonly Message[] {
  return [{ role: "user", content: typeof task === "string" ? task : JSON.stringify(task) }];
}

/** Calls run one after another, in the model's order, so that a rollout is repeatable. */
async function resultOf(
  call: ToolCall,
  index: number,
  tools: ToolSet,
  { signal }: RecordedTrajectory,
): Promise<ToolResult> {
  if (index >= callsMax)
    return { content: `Error: an answer may have ${callsMax} calls; this call was not run.`, isError: true };
  return tools.call(call, { signal });
}

function calledTool({ function: called }: ToolCall, { content, isError }: ToolResult): CalledTool {
  return { name: called?.name ?? "", arguments: called?.arguments ?? "", result: content, isError };
}

function withMetrics<Task>(result: RolloutResult, { calls, turns }: ToolAttempt<Task>): RolloutResult {
  // An invalid result is returned unchanged, since `train` reports it.
  if (typeof result !== "number" && (typeof result !== "object" || result === null)) return result;
  const given = typeof result === "number" ? { reward: result } : result;
  const own = {
    turns,
    tool_calls: calls.length,
    tool_errors: calls.filter(({ isError }) => isError).length,
  };
  return { ...given, metrics: { ...own, ...given.metrics } };
}
