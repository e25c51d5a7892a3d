// Converts the conversations of a supervised job to training data, and counts dropped conversations. The same
// conversations always give the same data. Tokens stay on disk until a trainer needs them.
import type { ExampleConversation } from "../../../base/domain/supervised/conversation.ts";
import type { AssistantTurns } from "../../../base/domain/supervised/supervised-config.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { exampleSequences, type TurnRenderer } from "../../trajectories/example-sequences.ts";
import type { PreparedLine, PreparedLines } from "../prepared/token-file.ts";
import { type Drop, Drops } from "./drops.ts";
import type { PlannedSequence } from "./optimizer-batches.ts";

/** The training sequences of one conversation; empty if the conversation was dropped. */
export interface Example {
  readonly sequences: readonly PlannedSequence[];
  readonly trainableTokenCount: number;
}

export interface ExampleData {
  /** One entry per conversation of the job, in order. */
  readonly examples: readonly Example[];
  /** Number of dropped conversations, by reason. */
  readonly dropped: Readonly<Record<string, number>>;
  /** For each reason why conversations were dropped, one sentence to the job's creator. */
  readonly warnings: readonly string[];
}

/** Properties of a model that determine how conversations become training data. */
interface ExampleModel {
  readonly tokenizer: TurnRenderer;
  readonly sequenceLengthMax: number;
  readonly assistantTurns: AssistantTurns;
}

/** Converts conversations to training data. Each is trained on as a whole or dropped; none is truncated. */
export async function prepareExamples(
  conversations: PreparedLines<ExampleConversation>,
  model: ExampleModel,
): Promise<ExampleData> {
  const examples: Example[] = [];
  const drops = new Drops();
  const prepared = conversations.each((conversation, index) => readExample(conversation, index, model));
  for await (const { note: drop, sequences } of prepared) {
    const group = examples.length;
    // Gives each trained token the same weight, no matter how long its conversation is.
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
 * If the job's configuration requires it, checks that the last message is an answer. The upload of the file could not
 * check this, because the configuration was unknown then.
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
