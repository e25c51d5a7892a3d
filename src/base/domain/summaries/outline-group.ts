// Makes the summaries of a group's trajectories for lists, and keeps sums of numbers finite.
import type { TrajectoryOutline } from "./trajectory-outline.ts";
import type { Json } from "../text/json.ts";
import {
  type ChoiceRecord,
  asChoice,
  type HistoryItem,
  type Trajectory,
  type TrajectoryGroup,
} from "../trajectory.ts";

/** Returns the summaries of a group's trajectories, in order. */
export function outlinesOf(
  group: Pick<TrajectoryGroup, "trajectories">,
  { part, groupIndex }: Pick<TrajectoryOutline, "part" | "groupIndex">,
): readonly TrajectoryOutline[] {
  return group.trajectories.map((trajectory, index) => ({
    part,
    groupIndex,
    index,
    ...contentOf(trajectory),
  }));
}

/** Maximum number of metrics in a summary. The trajectory itself has all its metrics. */
const metricsMax = 12;
const metricNameLengthMax = 64;
const textLengthMax = 160;

function contentOf(trajectory: Trajectory): Omit<TrajectoryOutline, "part" | "groupIndex" | "index"> {
  const { messagesAndChoices: items, additionalHistories, reward, metrics } = trajectory;
  const replies = [items, ...additionalHistories.map((history) => history.messagesAndChoices)]
    .flat()
    .flatMap((item) => asChoice(item) ?? []);
  const asked = items.find((item) => item["role"] === "user");
  const answered = items.findLast((item) => asChoice(item) !== null || item["role"] === "assistant");
  const named = Object.entries(metrics).filter(([name]) => name.length <= metricNameLengthMax);
  return {
    reward,
    metrics: Object.fromEntries(named.slice(0, metricsMax)),
    replyCount: replies.length,
    tokenCount: replies.reduce((count, reply) => count + tokenCountOf(reply), 0),
    ...promptTokensOf(replies),
    hasLogprobs: replies.some((reply) => logprobsOf(reply).length > 0),
    prompt: asked === undefined ? "" : previewText(asked),
    answer: answered === undefined ? "" : previewText(answered),
  };
}

function promptTokensOf(replies: readonly ChoiceRecord[]): Pick<TrajectoryOutline, "promptTokenCount"> {
  const counts = replies.map((reply) => {
    const { prompt_token_ids: ids } = reply;
    return Array.isArray(ids) && tokenCountOf(reply) > 0 ? ids.length : null;
  });
  if (counts.length === 0 || counts.includes(null)) return {};
  return { promptTokenCount: counts.reduce<number>((sum, count) => sum + (count ?? 0), 0) };
}

function tokenCountOf(reply: ChoiceRecord): number {
  const { token_ids: ids } = reply;
  return Array.isArray(ids) ? ids.length : logprobsOf(reply).length;
}

function logprobsOf({ logprobs }: ChoiceRecord): readonly Json[] {
  const content = memberOf(logprobs, "content");
  return Array.isArray(content) ? content : [];
}

/**
 * Returns the beginning of a message's text. If the message has no text, returns the beginning of its first tool call.
 */
function previewText(item: HistoryItem): string {
  const message = asChoice(item)?.message ?? item;
  const text = textOf(message["content"]).trimStart();
  const words = text === "" ? callIn(message["tool_calls"]) : text;
  // Removes the first half of a surrogate pair whose second half was cut off.
  return words.slice(0, textLengthMax).replace(/[\uD800-\uDBFF]$/, "");
}

function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: Json) => memberOf(part, "text"))
    .filter((text) => typeof text === "string")
    .join(" ");
}

function callIn(calls: Json | undefined): string {
  const called = Array.isArray(calls) ? memberOf(calls[0] as Json | undefined, "function") : undefined;
  const [name, given] = [memberOf(called, "name"), memberOf(called, "arguments")];
  if (typeof name !== "string") return "";
  return `${name}(${typeof given === "string" ? given : JSON.stringify(given ?? {})})`;
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const object = value as { readonly [key: string]: Json };
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Limits a number to finite values, because a sum of large numbers may overflow to infinity. */
export function clamped(value: number): number {
  return Math.min(Math.max(value, -Number.MAX_VALUE), Number.MAX_VALUE);
}
