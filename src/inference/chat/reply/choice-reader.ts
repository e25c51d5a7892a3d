// Reads one choice: converts its tokens to text and log-probabilities, until a stop string or the engine ends the
// choice. Does not wait for tokens; the caller gets them from the engine.
import type { ChatLogprob, ChatOutput } from "../../../base/domain/chat.ts";
import type { GeneratedToken } from "../../../base/domain/generation.ts";
import { createDetokenizer } from "../../../lib/tokenizer/detokenizer.ts";
import type { Tokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { stopScanners, type StopRule, type StopScanner } from "./stop-strings.ts";
import { emptyPiece, joinedPieces, type ReplyPiece } from "./reply-pieces.ts";
import { createReplyReader, type ReplyForm } from "./reply-reader.ts";

/**
 * Output that some tokens add. The text may lag behind the tokens, because an incomplete character, or text that may
 * begin a stop string, is returned only later.
 */
export interface ChoicePiece {
  readonly text: string;
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly ChatLogprob[];
  /** Stop string that ended the choice, after which there is no further output; null if none has ended it. */
  readonly matchedStop: string | null;
}

export interface ChoiceReader {
  /** Takes tokens in order. Tokens after a stop string are dropped, as if they had never been generated. */
  take(tokens: readonly GeneratedToken[]): ChoicePiece;
  /**
   * Returns the remaining text, after the engine has ended the choice. `unfinished` is U+FFFD if the last character was
   * never completed; `text` then contains it too.
   */
  end(): { readonly text: string; readonly unfinished: string; readonly matchedStop: string | null };
}

export interface ChoiceReaderOptions {
  readonly stops: StopRule;
  /** Number of tokens at the beginning of the choice within which stop strings are ignored. */
  readonly minTokens: number;
  /** Ids of tokens that end a choice. Their text is part of the answer if `stops` includes stop strings in the text. */
  readonly stopTokenIds: ReadonlySet<number>;
  readonly skipsSpecialTokens: boolean;
  /** Ids of special tokens that stay in the text, because the parser of the text needs them. */
  readonly shownSpecialIds?: ReadonlySet<number>;
  readonly hasLogprobs: boolean;
}

/** Returns a factory of readers for the choices of one request. */
export function choiceReaders(tokenizer: Tokenizer, options: ChoiceReaderOptions): () => ChoiceReader {
  const openScanner = stopScanners(options.stops);
  return () => createChoiceReader(tokenizer, options, openScanner());
}

function createChoiceReader(
  tokenizer: Tokenizer,
  options: ChoiceReaderOptions,
  scanner: StopScanner,
): ChoiceReader {
  const isHidden = hidesToken(tokenizer, options);
  const detokenizer = createDetokenizer(tokenizer, { isHidden });
  let tokenCount = 0;
  const scan = (text: string): ReturnType<StopScanner["push"]> =>
    scanner.push(text, { mayEnd: tokenCount > options.minTokens });

  /**
   * A token that is not part of the text gets its name as text, but no bytes. So the joined bytes of all tokens equal
   * the text.
   */
  const nameOf = (id: number, shown: string): string => (isHidden(id) ? tokenizer.tokenText(id) : shown);
  /** Must be called before the token itself is taken, because alternatives are decoded at the same position. */
  const alternativesOf = (token: GeneratedToken): ChatLogprob["alternatives"] =>
    token.alternatives.map(({ id, logprob }) => {
      const shown = detokenizer.peek(id);
      return { tokenId: id, text: nameOf(id, shown), bytes: utf8(shown), logprob };
    });
  return {
    take: (tokens) => {
      const logprobs: ChatLogprob[] = [];
      const tokenIds: number[] = [];
      let text = "";
      for (const token of tokens) {
        const { id, logprob } = token;
        const alternatives = options.hasLogprobs ? alternativesOf(token) : [];
        const shown = detokenizer.push(id);
        tokenCount += 1;
        tokenIds.push(id);
        if (options.hasLogprobs) {
          logprobs.push({ tokenId: id, text: nameOf(id, shown), bytes: utf8(shown), logprob, alternatives });
        }
        const scanned = scan(shown);
        text += scanned.text;
        if (scanned.matched !== null) return { text, tokenIds, logprobs, matchedStop: scanned.matched };
      }
      return { text, tokenIds, logprobs, matchedStop: null };
    },
    end: () => {
      const unfinished = detokenizer.flush();
      const scanned = scan(unfinished);
      const rest = scanned.matched === null ? scanner.flush() : "";
      return { text: scanned.text + rest, unfinished, matchedStop: scanned.matched };
    },
  };
}

/** Returns a predicate that is true for tokens that are not part of the text. */
function hidesToken(tokenizer: Tokenizer, options: ChoiceReaderOptions): (id: number) => boolean {
  const { stops, stopTokenIds, skipsSpecialTokens, shownSpecialIds } = options;
  return (id) =>
    (stopTokenIds.has(id) && !stops.includesStop) ||
    (skipsSpecialTokens && tokenizer.isSpecial(id) && shownSpecialIds?.has(id) !== true);
}

/**
 * Appends text that became final only after the token, such as an incomplete last character, to the token's
 * log-probability entry. So the joined bytes of all entries still equal the text.
 */
export function withAddedText(logprob: ChatLogprob, text: string): ChatLogprob {
  return { ...logprob, text: logprob.text + text, bytes: [...logprob.bytes, ...utf8(text)] };
}

function utf8(text: string): readonly number[] {
  const bytes: number[] = [];
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    // Texts of tokens are mostly ASCII, for which this loop is several times as fast as converting with a buffer.
    if (unit >= 128) return [...Buffer.from(text)];
    bytes.push(unit);
  }
  return bytes;
}

// Reads one choice completely: converts its tokens to text, thought, tool calls and log-probabilities.

export interface AnswerReader {
  /**
   * Takes tokens in order, up to the answer's end. `isComplete` is true once a stop string, or the last tool call that
   * the request permits, has ended the answer. The caller must pass no more tokens after that.
   */
  take(tokens: readonly GeneratedToken[]): ChoicePiece & ReplyPiece & { readonly isComplete: boolean };
  /** Returns the output that `take` held back. Must be called once the engine has ended the answer. */
  end(): ReplyPiece & Omit<ReturnType<ChoiceReader["end"]>, "text">;
  /** Number of tool calls in the answer. */
  readonly callCount: number;
}

export function createAnswerReader(
  reader: ChoiceReader,
  form: ReplyForm,
  { includeReasoning }: Pick<ChatOutput, "includeReasoning">,
): AnswerReader {
  const reply = createReplyReader(form);
  if (reply === null) {
    return {
      take: (tokens) => {
        const { text, tokenIds, logprobs, matchedStop } = reader.take(tokens);
        const isComplete = matchedStop !== null;
        return { text, reasoning: "", toolCalls: [], tokenIds, logprobs, matchedStop, isComplete };
      },
      end: () => ({ ...emptyPiece, ...reader.end() }),
      callCount: 0,
    };
  }
  const shown = (piece: ReplyPiece): ReplyPiece => (includeReasoning ? piece : { ...piece, reasoning: "" });
  return {
    take: (tokens) => {
      let all: ReplyPiece = emptyPiece;
      const tokenIds: number[] = [];
      const logprobs: ChatLogprob[] = [];
      let matchedStop: string | null = null;
      let isComplete = false;
      // Tokens are taken one at a time, because tokens after the end of an answer are not part of it.
      for (const token of tokens) {
        const taken = reader.take([token]);
        tokenIds.push(...taken.tokenIds);
        logprobs.push(...taken.logprobs);
        ({ matchedStop } = taken);
        const piece = reply.push(taken.text);
        isComplete = matchedStop !== null || reply.isComplete;
        all = joinedPieces(all, shown(isComplete ? joinedPieces(piece, reply.end()) : piece));
        if (isComplete) break;
      }
      return { ...all, tokenIds, logprobs, matchedStop, isComplete };
    },
    end: () => {
      const { text, ...rest } = reader.end();
      return { ...shown(joinedPieces(reply.push(text), reply.end())), ...rest };
    },
    get callCount() {
      return reply.callCount;
    },
  };
}
