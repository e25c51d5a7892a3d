// What of a supervised job's conversations can train, and the counts of those that cannot. The same conversations always give
// the same data; their tokens stay on disk.
import type { ExampleConversation } from "../../domain/supervised/conversation.ts";
import type { AssistantTurns } from "../../domain/supervised/supervised-config.ts";
import { cut, quoted, ServiceError } from "../../domain/service-error.ts";
import { exampleSequences, type TurnRenderer } from "../../trajectories/example-sequences.ts";
import type { PreparedLine, PreparedLines } from "../prepared/prepared-lines.ts";
import type { PlannedSequence } from "./planned-sequence.ts";
import type { SkipReason } from "./skips.ts";

/** What one conversation gives; nothing, where it is dropped. */
export interface Example {
  readonly sequences: readonly PlannedSequence[];
  readonly trainableTokenCount: number;
}

export interface ExampleData {
  /** Of each conversation, in their order. */
  readonly examples: readonly Example[];
  /** Reason to conversations that were dropped for it. */
  readonly dropped: Readonly<Record<string, number>>;
  /** A sentence for each reason. */
  readonly warnings: readonly string[];
}

/** Why a conversation does not train. */
interface Drop {
  readonly reason: SkipReason;
  readonly detail: string;
}

/** The first conversation that was dropped for a reason, and how many were. */
interface Drops extends Drop {
  /** From 0. */
  readonly index: number;
  count: number;
}

/** What a model asks of conversations. */
interface ExampleModel {
  readonly tokenizer: TurnRenderer;
  readonly sequenceLengthMax: number;
  readonly assistantTurns: AssistantTurns;
}

/** A conversation trains whole or not at all: nothing of it is cut. */
export async function prepareExamples(
  conversations: PreparedLines<ExampleConversation>,
  model: ExampleModel,
): Promise<ExampleData> {
  const examples: Example[] = [];
  const drops = new Map<SkipReason, Drops>();
  const prepared = conversations.each((conversation, index) => readExample(conversation, index, model));
  for await (const { note: drop, sequences } of prepared) {
    const group = examples.length;
    // Every trained token counts alike, whichever conversation it is of.
    examples.push({
      sequences: sequences.map((sequence) => ({ ...sequence, advantage: 1, weight: 1, group })),
      trainableTokenCount: sequences.reduce((sum, { trainedCount }) => sum + trainedCount, 0),
    });
    if (drop === null) continue;
    const earlier = drops.get(drop.reason);
    if (earlier === undefined) drops.set(drop.reason, { ...drop, index: group, count: 1 });
    else earlier.count += 1;
  }
  const dropped = [...drops.values()];
  return {
    examples,
    dropped: Object.fromEntries(dropped.map(({ reason, count }) => [reason, count])),
    warnings: dropped.map(
      ({ reason, index, detail, count }) =>
        `${reason}: ${count} of ${examples.length} conversations do not train; the first is ` +
        `training_data.${index}: ${cut(detail, 400)}`,
    ),
  };
}

function readExample(
  conversation: ExampleConversation,
  index: number,
  { tokenizer, sequenceLengthMax, assistantTurns }: ExampleModel,
): PreparedLine<Drop | null> {
  requireAnswerAtEnd(conversation, index, assistantTurns);
  const read = exampleSequences(conversation, tokenizer, assistantTurns);
  if ("reason" in read) return { note: read, sequences: [] };
  const longest = Math.max(...read.sequences.map(({ tokenIds }) => tokenIds.length));
  if (longest <= sequenceLengthMax) return { note: null, sequences: read.sequences };
  const detail = `It has ${longest} tokens; at most ${sequenceLengthMax} train.`;
  return { note: { reason: "too_long", detail }, sequences: [] };
}

/** Conversations of a file are read before the job is: what it asks of their last message is looked at here. */
function requireAnswerAtEnd(
  { messages }: ExampleConversation,
  index: number,
  assistantTurns: AssistantTurns,
): void {
  const role = messages.at(-1)?.role;
  if (assistantTurns === "all" || role === "assistant") return;
  throw new ServiceError({
    code: "invalid",
    message:
      `training_data.${index}: with assistant_turns "last" the last message trains, which must be the assistant's; ` +
      `its role is ${quoted(String(role))}. Leave off what follows the answer.`,
  });
}
