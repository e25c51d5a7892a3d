// Sequences as the tensors that the training programs take. Rows are padded on the right; trained tokens lie
// one behind another in one flat order, row by row.
import { type Tensor, float32Tensor, int64Tensor } from "../../graph/tensor.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import { type Loss, type TrainingSequence, hasKlPenalty } from "../trainer.ts";
import { needsOldLogprobs, needsSequences } from "./loss.ts";

/** The sequences that are computed at once. */
export type Microbatch = readonly TrainingSequence[];

/** One trained token, in the flat order of all N. */
interface TrainedToken {
  readonly row: number;
  /** Its index in the sequence; the token before it predicts it. */
  readonly index: number;
}

/** The tensors of both programs: `tokens` [B, T], `places` [N] and `targets` [N]. */
export function tokenFeeds(rows: Microbatch): Record<string, Tensor> {
  const length = Math.max(...rows.map(({ tokenIds }) => tokenIds.length));
  const tokens_BT = new BigInt64Array(rows.length * length);
  rows.forEach(({ tokenIds }, row) =>
    tokenIds.forEach((id, index) => (tokens_BT[row * length + index] = BigInt(id))),
  );
  const trained = trainedTokens(rows);
  const places = trained.map(({ row, index }) => row * length + index - 1);
  const targets = trained.map(({ row, index }) => rows[row].tokenIds[index]);
  return {
    tokens: int64Tensor([rows.length, length], tokens_BT),
    places: int64Tensor([trained.length], places),
    targets: int64Tensor([trained.length], targets),
  };
}

/** What a microbatch's loss takes of the whole batch that it is a part of. */
export interface BatchTerms {
  readonly loss: Loss;
  /** The trained tokens of the batch: what the loss is divided by. */
  readonly tokenCount: number;
  /** The sum of the differences from the base model over the batch's other microbatches; 0 without a KL penalty. */
  readonly klElsewhere: number;
}

/** The tensors that the loss takes, as `addLoss` declares them. */
export function lossFeeds(
  rows: Microbatch,
  { loss, tokenCount, klElsewhere }: BatchTerms,
): Record<string, Tensor> {
  const trained = trainedTokens(rows);
  const floats = (value: (token: TrainedToken) => number): Tensor =>
    float32Tensor([trained.length], Float32Array.from(trained, value));
  const weights = { loss_weights: floats(({ row }) => rows[row].weight / (tokenCount + 1e-6)) };
  if (!needsOldLogprobs(loss)) return weights;
  const old = ({ row, index }: TrainedToken): number => rows[row].oldLogprobs[index];
  return {
    ...weights,
    old_logprobs: floats((token) => (Number.isNaN(old(token)) ? 0 : old(token))),
    is_old_known: {
      dtype: "bool",
      dims: [trained.length],
      data: Uint8Array.from(trained, (token) => (Number.isNaN(old(token)) ? 0 : 1)),
    },
    advantages: floats(({ row }) => rows[row].advantage),
    ...(needsSequences(loss) ? sequenceFeeds(rows, trained) : {}),
    ...(hasKlPenalty(loss)
      ? {
          reference_logprobs: floats(({ row, index }) => rows[row].referenceLogprobs?.[index] ?? NaN),
          kl_share: float32Tensor([1], Float32Array.of(1 / tokenCount)),
          kl_elsewhere: float32Tensor([1], Float32Array.of(klElsewhere / tokenCount)),
        }
      : {}),
  };
}

function sequenceFeeds(rows: Microbatch, trained: readonly TrainedToken[]): Record<string, Tensor> {
  const sizes_S = new Float32Array(rows.length).fill(1e-8);
  for (const { row } of trained) sizes_S[row] += 1;
  return {
    sequence_indices: int64Tensor(
      [trained.length],
      trained.map(({ row }) => row),
    ),
    sequence_sizes: float32Tensor([rows.length], sizes_S),
  };
}

/** Cuts a flat array of N values into one array per row. */
export function splitByRow(rows: Microbatch, values_N: Float32Array): readonly Float32Array[] {
  let start = 0;
  return rows.map((row) => {
    const end = start + trainedIndices(row).length;
    const values = values_N.slice(start, end);
    start = end;
    return values;
  });
}

function trainedTokens(rows: Microbatch): readonly TrainedToken[] {
  return rows.flatMap((sequence, row) => trainedIndices(sequence).map((index) => ({ row, index })));
}
