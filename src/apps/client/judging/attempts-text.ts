// Attempts as a judge reads them: what all of them begin with once, then each one under its name.
import type { JsonObject } from "../recording/model-request.ts";
import type { Rollout } from "../training/groups.ts";
import { attemptName } from "./verdict.ts";

/** @param show what is read of an attempt, in place of its conversation */
export function attemptsText(rollouts: readonly Rollout[], show?: (rollout: Rollout) => string): string {
  if (show !== undefined) return rollouts.map((rollout, index) => attempt(index, show(rollout))).join("\n\n");
  const conversations = rollouts.map(linesOf);
  const shared = sharedCount(conversations);
  const beginning = conversations[0]?.slice(0, shared).join("\n") ?? "";
  const attempts = conversations.map((lines, index) => attempt(index, lines.slice(shared).join("\n")));
  return [...(beginning === "" ? [] : [`All attempts begin with:\n${beginning}`]), ...attempts].join("\n\n");
}

function attempt(index: number, text: string): string {
  const name = attemptName(index);
  // An attempt cannot end itself and go on as the judge's own instructions.
  return `<attempt name="${name}">\n${text.replaceAll(/<(\/?attempt)/gi, "< $1")}\n</attempt>`;
}

/** A line for each message of the main conversation, and those of sub-agents and branches behind them. */
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

/** How many lines all begin with, and leave at least one of each. */
function sharedCount(conversations: readonly (readonly string[])[]): number {
  const [first = [], ...others] = conversations;
  const longest = Math.min(...conversations.map((lines) => lines.length)) - 1;
  let count = 0;
  while (count < longest && others.every((lines) => lines[count] === first[count])) count += 1;
  return count;
}
