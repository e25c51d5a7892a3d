// For tests: parses an answer that arrives in pieces, and returns its content.
import assert from "node:assert/strict";
import type { ToolCallDelta } from "../../../base/domain/chat.ts";
import { joinedPieces, type ReplyPiece } from "../reply/reply-pieces.ts";
import { thinkMarks, type ThoughtMarks, type ThoughtStart } from "../reply/read-thought.ts";
import { createReplyReader } from "../reply/reply-reader.ts";
import type { CallFormat, KnownTools } from "../tools/call-format.ts";

export interface ReadReply {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly {
    readonly id: string;
    readonly name: string;
    readonly argumentsText: string;
  }[];
  readonly isComplete: boolean;
  /** Pieces of the answer's content, in the order in which they arrived. */
  readonly pieces: readonly ReplyPiece[];
}

const anyArguments = { type: "object", properties: { a: {} } };

export function readReply(
  format: CallFormat | null,
  texts: readonly string[],
  {
    thought = "none",
    thoughtMarks: marks = thinkMarks,
    names = [],
    functions = new Map(names.map((name) => [name, anyArguments])),
    areParallel = true,
    isConstrained = false,
    textTools = new Set(),
  }: {
    readonly thought?: ThoughtStart;
    readonly thoughtMarks?: ThoughtMarks;
    /** Names of callable functions with one argument. */
    readonly names?: readonly string[];
    readonly functions?: KnownTools["functions"];
    readonly areParallel?: boolean;
    readonly isConstrained?: boolean;
    readonly textTools?: ReadonlySet<string>;
  } = {},
): ReadReply {
  const calls = format === null ? null : { format, functions, areParallel, isConstrained, texts: textTools };
  const reader = createReplyReader({ thought, marks, calls });
  assert.ok(reader !== null);
  const pieces: ReplyPiece[] = [];
  for (const text of texts) {
    pieces.push(reader.push(text));
    if (reader.isComplete) break;
  }
  const { isComplete } = reader;
  pieces.push(reader.end());
  const { text, reasoning, toolCalls } = pieces.reduce(joinedPieces);
  assert.equal(reader.callCount, toolCalls.length);
  return { text, reasoning, toolCalls: toolCalls.map(wholeCall), isComplete, pieces };
}

function wholeCall({ id, name, argumentsText }: ToolCallDelta): ReadReply["toolCalls"][number] {
  assert.ok(id !== undefined && name !== undefined);
  return { id, name, argumentsText };
}
