// The content of a recorded completion as it is stored: what prompts have in common is cut into pieces, which all of a model
// share (`pieces`), and the rest is one text.
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

/** Where prompts that begin alike are cut alike: the beginnings are the same pieces. */
export interface ContentParts {
  /** What is said before the messages, and messages, as JSON. */
  readonly messagePieces: readonly string[];
  /** Beginnings of the prompt's tokens. */
  readonly tokenPieces: readonly string[];
  /** All else. */
  readonly rest: string;
}

/** A piece of messages is cut where it has at least so many characters: below that a row of its own takes more than it saves. */
const pieceLengthMin = 512;
const tokensPerPiece = 256;
/** Of a prompt, each kind: what comes behind is in the rest. */
const piecesMax = 64;

/** What is stored of a prompt beside its pieces. */
interface StoredRest {
  /** What is said of the prompt but for its messages; null where it is the first piece. */
  readonly prompt: object | null;
  /** The last messages; null where the prompt has none. */
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

/** The inverse of {@link contentParts}. */
export function contentOf({ messagePieces, tokenPieces, rest }: ContentParts): CompletionContent {
  // What `contentParts` wrote.
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

/** Cut behind the messages that make a piece long enough, whatever follows: what begins alike is cut alike. */
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
