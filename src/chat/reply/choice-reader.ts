// Reads one choice: tokens in, text and log-probabilities out, until a stop string or the engine ends it. Free of
// waiting; whoever pulls tokens from the engine calls it.
import type { ChatLogprob } from "../../domain/chat.ts";
import type { GeneratedToken } from "../../domain/generation.ts";
import { createDetokenizer } from "../../tokenizer/detokenizer.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import { createStopScanner } from "./stop-strings.ts";

/** What some tokens added. Tokens and text may be out of step: half characters and held-back text come later. */
export interface ChoicePiece {
  readonly text: string;
  readonly tokenIds: readonly number[];
  readonly logprobs: readonly ChatLogprob[];
  /** The stop string that ended the choice; nothing comes after it. */
  readonly matchedStop: string | null;
}

export interface ChoiceReader {
  /** Takes tokens in order; those after a stop string are dropped, as if never generated. */
  take(tokens: readonly GeneratedToken[]): ChoicePiece;
  /** Ends the choice for the engine's reason; `unfinished` is U+FFFD where a character was never completed, and is in `text` too. */
  end(): { readonly text: string; readonly unfinished: string; readonly matchedStop: string | null };
}

export interface ChoiceReaderOptions {
  readonly stop: readonly string[];
  /** Tokens that end a choice; their text is not shown. */
  readonly stopTokenIds: ReadonlySet<number>;
  readonly hasLogprobs: boolean;
}

export function createChoiceReader(tokenizer: Tokenizer, options: ChoiceReaderOptions): ChoiceReader {
  const detokenizer = createDetokenizer(tokenizer, { skipSpecialTokens: true });
  const scanner = createStopScanner(options.stop);
  const isHidden = (id: number): boolean => tokenizer.isSpecial(id) || options.stopTokenIds.has(id);

  /** Called before the token is taken, since alternatives are read in the same place. */
  const alternativesOf = (token: GeneratedToken): ChatLogprob["alternatives"] =>
    token.alternatives.map(({ id, logprob }) => {
      const text = isHidden(id) ? tokenizer.tokenText(id) : detokenizer.peek(id);
      return { tokenId: id, text, bytes: utf8(text), logprob };
    });
  return {
    take: (tokens) => {
      const logprobs: ChatLogprob[] = [];
      const tokenIds: number[] = [];
      let text = "";
      for (const token of tokens) {
        const alternatives = options.hasLogprobs ? alternativesOf(token) : [];
        const shown = options.stopTokenIds.has(token.id) ? "" : detokenizer.push(token.id);
        tokenIds.push(token.id);
        if (options.hasLogprobs) {
          // A hidden token is named, but its bytes are empty: joined bytes are the text.
          const name = isHidden(token.id) ? tokenizer.tokenText(token.id) : shown;
          logprobs.push({
            tokenId: token.id,
            text: name,
            bytes: utf8(shown),
            logprob: token.logprob,
            alternatives,
          });
        }
        const scanned = scanner.push(shown);
        text += scanned.text;
        if (scanned.matched !== null) return { text, tokenIds, logprobs, matchedStop: scanned.matched };
      }
      return { text, tokenIds, logprobs, matchedStop: null };
    },
    end: () => {
      const unfinished = detokenizer.flush();
      const scanned = scanner.push(unfinished);
      return { text: scanned.text + scanner.flush(), unfinished, matchedStop: scanned.matched };
    },
  };
}

/** The entry with text added that became certain after its token: joined bytes stay the text. */
export function withAddedText(logprob: ChatLogprob, text: string): ChatLogprob {
  return { ...logprob, text: logprob.text + text, bytes: [...logprob.bytes, ...utf8(text)] };
}

function utf8(text: string): readonly number[] {
  return [...Buffer.from(text)];
}
