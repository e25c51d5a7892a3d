// What of a supervised job's conversations can train, and the counts of those that cannot. Pure; the same conversations
// always give the same data.
import type { ExampleConversation } from "../../domain/supervised/conversation.ts";
import type { AssistantTurns } from "../../domain/supervised/supervised-config.ts";
import { cut, quoted, ServiceError } from "../../domain/service-error.ts";
import { exampleSequences, type TurnRenderer } from "../../trajectories/example-sequences.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { TrainingSequence } from "../trainer.ts";
import type { SkipReason } from "./skips.ts";

/** What one conversation gives; nothing, where it is dropped. */
export interface Example {
  readonly sequences: readonly TrainingSequence[];
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

interface Drop {
  readonly reason: SkipReason;
  /** From 0. */
  readonly index: number;
  readonly detail: string;
}

/** A conversation trains whole or not at all: nothing of it is cut. */
export async function prepareExamples(
  conversations: AsyncIterable<ExampleConversation>,
  model: {
    readonly tokenizer: TurnRenderer;
    readonly sequenceLengthMax: number;
    readonly assistantTurns: AssistantTurns;
  },
): Promise<ExampleData> {
  const examples: Example[] = [];
  const drops: Drop[] = [];
  for await (const conversation of conversations) {
    const read = readExample(conversation, examples.length, model);
    if ("reason" in read) drops.push(read);
    examples.push("reason" in read ? { sequences: [], trainableTokenCount: 0 } : read);
  }
  const reasons = [...new Set(drops.map(({ reason }) => reason))];
  const dropped = reasons.map((reason) => drops.filter((drop) => drop.reason === reason));
  return {
    examples,
    dropped: Object.fromEntries(dropped.map((list) => [list[0].reason, list.length])),
    warnings: dropped.map(
      ([{ reason, index, detail }, ...others]) =>
        `${reason}: ${others.length + 1} of ${examples.length} conversations do not train; the first is ` +
        `training_data.${index}: ${cut(detail, 400)}`,
    ),
  };
}

function readExample(
  conversation: ExampleConversation,
  index: number,
  { tokenizer, sequenceLengthMax, assistantTurns }: Parameters<typeof prepareExamples>[1],
): Example | Drop {
  requireAnswerAtEnd(conversation, index, assistantTurns);
  const read = exampleSequences(conversation, tokenizer, assistantTurns);
  if ("reason" in read) return { ...read, index };
  const longest = Math.max(...read.sequences.map(({ tokenIds }) => tokenIds.length));
  if (longest > sequenceLengthMax) {
    const detail = `It has ${longest} tokens; at most ${sequenceLengthMax} train.`;
    return { reason: "too_long", index, detail };
  }
  return {
    // Every trained token counts alike, whichever conversation it is of.
    sequences: read.sequences.map((sequence) => ({ ...sequence, advantage: 1, weight: 1, group: index })),
    trainableTokenCount: read.sequences.reduce((sum, sequence) => sum + trainedIndices(sequence).length, 0),
  };
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
