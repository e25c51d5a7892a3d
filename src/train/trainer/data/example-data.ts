// Converts the conversations of a supervised job to training data, and counts the conversations that are dropped. The
// same conversations always give the same data. The tokens stay on disk.
import type { ExampleConversation } from "../../../base/domain/supervised/conversation.ts";
import type { AssistantTurns } from "../../../base/domain/supervised/supervised-config.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { exampleSequences, type TurnRenderer } from "../../trajectories/example-sequences.ts";
import type { PreparedLine, PreparedLines } from "../prepared/token-file.ts";
import { type Drop, Drops } from "./drops.ts";
import type { PlannedSequence } from "./optimizer-batches.ts";

/** The sequences of one conversation; there are none if the conversation is dropped. */
export interface Example {
  readonly sequences: readonly PlannedSequence[];
  readonly trainableTokenCount: number;
}

export interface ExampleData {
  /** One entry per conversation, in order. */
  readonly examples: readonly Example[];
  /** Number of dropped conversations by reason. */
  readonly dropped: Readonly<Record<string, number>>;
  /** One sentence for each reason why conversations were dropped. */
  readonly warnings: readonly string[];
}

/** Properties of the model that conversations are prepared for. */
interface ExampleModel {
  readonly tokenizer: TurnRenderer;
  readonly sequenceLengthMax: number;
  readonly assistantTurns: AssistantTurns;
}

/** Prepares the conversations. Each is either trained as a whole or dropped; none is truncated. */
export async function prepareExamples(
  conversations: PreparedLines<ExampleConversation>,
  model: ExampleModel,
): Promise<ExampleData> {
  const examples: Example[] = [];
  const drops = new Drops();
  const prepared = conversations.each((conversation, index) => readExample(conversation, index, model));
  for await (const { note: drop, sequences } of prepared) {
    const group = examples.length;
    // Each trained token has the same weight, whichever conversation it is in.
    examples.push({
      sequences: sequences.map((sequence) => ({ ...sequence, advantage: 1, weight: 1, group })),
      trainableTokenCount: sequences.reduce((sum, { trainedCount }) => sum + trainedCount, 0),
    });
    if (drop !== null) drops.add(group, drop);
  }
  return {
    examples,
    dropped: drops.counts,
    warnings: drops.warnings({ name: "conversations", count: examples.length, field: "training_data" }),
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

/**
 * Requires that the last message is an answer, if the configuration needs one. A file's conversations are read before
 * the job's configuration is known, so this is not checked earlier.
 */
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
