// Converts a recorded completion to a row and back. Its content is stored separately from the fields that lists need.
import type { Selectable } from "kysely";
import { callIdOf } from "../../../base/domain/recordings/call-reference.ts";
import type { ListedCompletion } from "../../../base/domain/recordings/completion-store.ts";
import type {
  CompletionOutline,
  RecordedCompletion,
} from "../../../base/domain/recordings/recorded-completion.ts";
import type { RecordedCompletionTable } from "../schema.ts";
import { chainOf, type Piece } from "./pieces.ts";
import { contentParts } from "./stored-content.ts";

export const listedColumns = [
  "sequence",
  "model_id",
  "project_id",
  "call_id",
  "step",
  "ended_at",
  "byte_count",
  "is_whole",
  "outline",
  "rollout_id",
] as const;

type ListedRow = Pick<Selectable<RecordedCompletionTable>, (typeof listedColumns)[number]>;

/** Fields of a summary that have no column of their own. They are stored together as JSON. */
type OutlineRest = Omit<
  CompletionOutline,
  "projectId" | "modelId" | "step" | "startedAt" | "endedAt" | "rolloutId"
> & {
  readonly startedAt: string;
};

export interface CompletionParts {
  readonly completion: RecordedCompletion;
  readonly messageChain: readonly Piece[];
  readonly tokenChain: readonly Piece[];
  /** Chains of shared pieces that contain the completion's prompt; no chain is empty. See `pieces.ts`. */
  readonly chains: readonly (readonly Piece[])[];
  /** The part of the content that is not stored in shared pieces; null if the completion has no content. */
  readonly rest: string | null;
}

export function partsOf(completion: RecordedCompletion): CompletionParts {
  const { content } = completion;
  const parts = content && contentParts(content);
  const messageChain = chainOf("messages", parts?.messagePieces ?? []);
  const tokenChain = chainOf("tokens", parts?.tokenPieces ?? []);
  const chains = [messageChain, tokenChain].filter(({ length }) => length > 0);
  return { completion, messageChain, tokenChain, chains, rest: parts?.rest ?? null };
}

export function rowOf({ completion, messageChain, tokenChain, rest }: CompletionParts, sequence: number) {
  const {
    content: _,
    projectId,
    modelId,
    step,
    startedAt,
    endedAt,
    rolloutId = null,
    ...outline
  } = completion;
  const stored: OutlineRest = { ...outline, startedAt: startedAt.toISOString() };
  return {
    sequence,
    model_id: modelId,
    entity: projectId.split("/", 1)[0] ?? "",
    project_id: projectId,
    call_id: callIdOf(completion.requestId),
    step,
    ended_at: endedAt.toISOString(),
    byte_count: ownBytesOf({ rest }),
    is_whole: rest === null ? 0 : 1,
    outline: JSON.stringify(stored),
    message_piece: messageChain.at(-1)?.id ?? null,
    token_piece: tokenChain.at(-1)?.id ?? null,
    content: rest,
    rollout_id: rolloutId,
  };
}

/** Returns the size in bytes of the content that is not stored in shared pieces. */
export function ownBytesOf({ rest }: Pick<CompletionParts, "rest">): number {
  return rest === null ? 0 : Buffer.byteLength(rest);
}

export function listedOf(row: ListedRow): ListedCompletion {
  // Safe cast: `rowOf` wrote this text.
  const { startedAt, ...outline } = JSON.parse(row.outline) as OutlineRest;
  return {
    ...outline,
    number: row.sequence,
    projectId: row.project_id,
    modelId: row.model_id,
    step: row.step,
    startedAt: new Date(startedAt),
    endedAt: new Date(row.ended_at),
    byteCount: row.byte_count,
    isWhole: row.is_whole === 1,
    rolloutId: row.rollout_id,
  };
}
