// Converts a completion's content to its stored form. Cuts the prompt into pieces, which completions of the same model
// share (`pieces.ts`). Everything else is stored as one text.
import type {
  CompletionContent,
  RecordedChoice,
  RecordedPrompt,
  TokenRecord,
} from "../../../base/domain/recordings/recorded-completion.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";
import {
  packedBytes,
  type PackedBytes,
  packedCounts,
  packedDoubles,
  unpackedBytes,
  unpackedCounts,
  unpackedDoubles,
} from "./packed-numbers.ts";

/**
 * Content that is cut into pieces. Each cut depends only on the content before it, so two prompts with an equal prefix
 * have equal pieces for that prefix.
 */
export interface ContentParts {
  /**
   * JSON of each message piece. The first piece contains the prompt's fields other than messages; the others contain
   * messages.
   */
  readonly messagePieces: readonly string[];
  /** Blocks of the prompt's tokens. */
  readonly tokenPieces: readonly string[];
  /** The remaining content, which is not shared. */
  readonly rest: string;
}

/**
 * Minimum length of a message piece in characters. A shorter piece would need more space for its row than sharing
 * saves.
 */
const pieceLengthMin = 512;
const tokensPerPiece = 256;
/** Maximum number of message pieces, and of token pieces, per prompt. Content beyond that is stored without sharing. */
const piecesMax = 64;

/** The content of a completion that is not stored in shared pieces. */
interface StoredRest {
  /** Fields of the prompt other than messages; null if a piece contains them. */
  readonly prompt: object | null;
  /** The last messages, which no piece contains; null if the prompt has no messages. */
  readonly messages: readonly MessageRecord[] | null;
  readonly promptTokens: string;
  readonly sampling: CompletionContent["sampling"];
  readonly choices: readonly StoredChoice[];
}

interface StoredChoice extends Omit<RecordedChoice, "tokenIds" | "logprobs"> {
  readonly tokens: string;
  readonly logprobs: (PackedBytes & { readonly values: string }) | null;
}

export function contentParts(content: CompletionContent): ContentParts {
  const { prompt, promptTokenIds, sampling, choices } = content;
  const { head, messages } = promptParts(prompt);
  const headText = JSON.stringify(head);
  const isHeadLong = headText.length >= pieceLengthMin;
  const cut = cutMessages(messages ?? [], isHeadLong ? piecesMax - 1 : piecesMax);
  const tokenPieceCount = Math.min(piecesMax, Math.floor(promptTokenIds.length / tokensPerPiece));
  const tokensIn = (first: number, end?: number): string =>
    packedCounts(
      promptTokenIds.slice(first * tokensPerPiece, end === undefined ? undefined : end * tokensPerPiece),
    );
  const rest: StoredRest = {
    prompt: isHeadLong ? null : head,
    messages: messages === null ? null : cut.rest,
    promptTokens: tokensIn(tokenPieceCount),
    sampling,
    choices: choices.map(storedChoice),
  };
  return {
    messagePieces: [...(isHeadLong ? [headText] : []), ...cut.pieces],
    tokenPieces: Array.from({ length: tokenPieceCount }, (_, index) => tokensIn(index, index + 1)),
    rest: JSON.stringify(rest),
  };
}

/** Restores the content from its stored parts; inverse of {@link contentParts}. */
export function contentOf({ messagePieces, tokenPieces, rest }: ContentParts): CompletionContent {
  // Safe cast: `contentParts` wrote this text.
  const { prompt, messages, promptTokens, sampling, choices } = JSON.parse(rest) as StoredRest;
  const pieces = messagePieces.map((piece) => JSON.parse(piece) as object | readonly MessageRecord[]);
  const head = prompt ?? pieces[0];
  const before = (prompt === null ? pieces.slice(1) : pieces).flat();
  const whole = messages === null ? head : { ...head, messages: [...before, ...messages] };
  return {
    prompt: whole as RecordedPrompt,
    promptTokenIds: [...tokenPieces, promptTokens].flatMap(unpackedCounts),
    sampling,
    choices: choices.map(choiceOf),
  };
}

function promptParts(prompt: RecordedPrompt): {
  readonly head: object;
  readonly messages: readonly MessageRecord[] | null;
} {
  if (prompt.kind !== "conversation") return { head: prompt, messages: null };
  const { messages, ...head } = prompt;
  return { head, messages };
}

/**
 * Cuts messages into pieces of at least the minimum length. The cuts depend only on the prefix, so equal prefixes give
 * equal pieces.
 */
function cutMessages(
  messages: readonly MessageRecord[],
  countMax: number,
): { readonly pieces: readonly string[]; readonly rest: readonly MessageRecord[] } {
  const pieces: string[] = [];
  let [first, length] = [0, 0];
  for (const [index, message] of messages.entries()) {
    if (pieces.length === countMax) break;
    length += JSON.stringify(message).length;
    if (length < pieceLengthMin) continue;
    pieces.push(JSON.stringify(messages.slice(first, index + 1)));
    [first, length] = [index + 1, 0];
  }
  return { pieces, rest: messages.slice(first) };
}

function storedChoice({ tokenIds, logprobs, ...choice }: RecordedChoice): StoredChoice {
  return {
    ...choice,
    tokens: packedCounts(tokenIds),
    logprobs: logprobs && {
      values: packedDoubles(logprobs.map(({ logprob }) => logprob)),
      ...packedBytes(logprobs.map(({ bytes }) => bytes)),
    },
  };
}

function choiceOf({ tokens, logprobs, ...choice }: StoredChoice): RecordedChoice {
  return { ...choice, tokenIds: unpackedCounts(tokens), logprobs: logprobs && tokenRecords(logprobs) };
}

function tokenRecords(packed: PackedBytes & { readonly values: string }): readonly TokenRecord[] {
  const bytes = unpackedBytes(packed);
  return unpackedDoubles(packed.values).map((logprob, index) => ({ logprob, bytes: bytes[index] ?? [] }));
}
