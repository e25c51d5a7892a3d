// Reads one choice with all that is in it: tokens in; text, thought, calls of tools and log-probabilities out.
import type { ChatLogprob, ChatOutput } from "../../../base/domain/chat.ts";
import type { GeneratedToken } from "../../../base/domain/generation.ts";
import type { ChoicePiece, ChoiceReader } from "./choice-reader.ts";
import { emptyPiece, joinedPieces, type ReplyPiece } from "./reply-pieces.ts";
import { createReplyReader, type ReplyForm } from "./reply-reader.ts";

export interface AnswerReader {
  /**
   * Takes tokens in order, as far as the answer goes. `isComplete` says that it has ended, at a stop string or because it has
   * all the calls that it may have; nothing may be taken after that.
   */
  take(tokens: readonly GeneratedToken[]): ChoicePiece & ReplyPiece & { readonly isComplete: boolean };
  /** Ends the answer for the engine's reason. */
  end(): ReplyPiece & Omit<ReturnType<ChoiceReader["end"]>, "text">;
  /** How many tools the answer calls. */
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
      // One at a time: those behind the end of an answer are no part of it.
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
