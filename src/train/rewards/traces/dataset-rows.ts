// Makes the rows of a training file from traced chats: conversations, or preferences among answers to the same prompt.
// Chats are added one by one, so that a large selection does not delay other requests. Pure.
import { createHash } from "node:crypto";
import { exactJsonText, type ExactJson, type ExactJsonObject } from "../../../base/domain/text/exact-json.ts";
import { pairAnswers } from "../preferences/pair-answers.ts";
import { messageKey, type TracedChat } from "./traced-chat.ts";

/** `distillation` trains only on each chat's own answer, `supervised` on all answers of the longest conversations. */
export type DatasetKind = "supervised" | "distillation" | "preference";

export interface ScoredChat extends TracedChat {
  /** Score of the answers; null if they have none. */
  readonly score: number | null;
}

/** Returns a row as JSON text, in which numbers keep all their digits. */
export type MakeRow = () => string;

/** Called for each chat that becomes no row. */
type LeaveOut = (reason: string) => void;

interface RowCollector {
  add(chat: ScoredChat): void;
  /** Returns the rows of all added chats. Called once. */
  rows(): readonly MakeRow[];
}

export function rowCollector(kind: DatasetKind, leaveOut: LeaveOut): RowCollector {
  return kind === "preference" ? preferences(leaveOut) : conversations(kind, leaveOut);
}

function conversations(kind: Exclude<DatasetKind, "preference">, leaveOut: LeaveOut): RowCollector {
  const known = new Map<string, MakeRow>();
  const beginnings = new Set<string>();
  return {
    add: ({ messages, tools, answers }) => {
      const keys = hashesOf(messages, tools);
      const context = kind === "distillation" ? messages.map(withoutWeight) : messages;
      for (const answer of answers) {
        const key = hashAfter(keys[keys.length - 1], answer);
        if (known.has(key)) leaveOut("it repeats another chat");
        else known.set(key, () => rowText({ messages: [...context, answer] }, tools));
      }
      if (kind === "supervised") for (const key of keys) beginnings.add(key);
    },
    rows: () =>
      [...known].flatMap(([key, make]) => {
        if (!beginnings.has(key)) return [make];
        leaveOut("it is the beginning of another conversation");
        return [];
      }),
  };
}

function preferences(leaveOut: LeaveOut): RowCollector {
  const prompts = new Map<string, ScoredChat[]>();
  return {
    add: (chat) => {
      const keys = hashesOf(chat.messages, chat.tools);
      const key = keys[keys.length - 1];
      const same = prompts.get(key);
      if (same === undefined) prompts.set(key, [chat]);
      else same.push(chat);
    },
    rows: () => [...prompts.values()].flatMap((same) => pairRows(same, leaveOut)),
  };
}

/** Returns a hash for each prefix of a list of messages, the shortest prefix first. */
function hashesOf(messages: readonly ExactJsonObject[], tools: ExactJson): readonly string[] {
  let last = exactJsonText(tools);
  return messages.map((message) => (last = hashAfter(last, message)));
}

function hashAfter(last: string, message: ExactJsonObject): string {
  return createHash("sha256").update(last).update(messageKey(message)).digest("base64");
}

/** Excludes an assistant's message from training. */
function withoutWeight(message: ExactJsonObject): ExactJsonObject {
  return message["role"] === "assistant" ? { ...message, weight: 0 } : message;
}

/** Pairs the answers to one prompt. The chats have the same prompt and tools. */
function pairRows(chats: readonly ScoredChat[], leaveOut: LeaveOut): readonly MakeRow[] {
  const [{ messages, tools }] = chats;
  const scored = chats.flatMap(({ score, answers }) =>
    score === null ? [] : answers.map((answer) => ({ reward: score, answer, key: messageKey(answer) })),
  );
  const pairs = pairAnswers(scored, 0).filter(([better, worse]) => better.key !== worse.key);
  if (pairs.length === 0)
    for (const _ of chats) leaveOut("its prompt has no two answers with different scores");
  return pairs.map(
    ([better, worse]) =>
      () =>
        rowText({ prompt: messages, chosen: [better.answer], rejected: [worse.answer] }, tools),
  );
}

function rowText(row: ExactJsonObject, tools: ExactJson): string {
  return exactJsonText(tools === null ? row : { ...row, tools });
}
