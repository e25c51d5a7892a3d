// A minibatch as the tensors that the training programs take. Rows are padded on the right; trained tokens lie
// one behind another in one flat order, row by row.
import { assert } from "../../domain/assert.ts";
import { type Tensor, float32Tensor, int64Tensor } from "../../graph/tensor.ts";
import { type LossConfig, needsSequences } from "../loss.ts";
import type { Minibatch } from "../minibatch.ts";

/** One trained token, in the flat order of all N. */
interface TrainedToken {
  readonly row: number;
  /** Its index in the sequence; the token before it predicts it. */
  readonly index: number;
}

/** The tensors of both programs: `tokens` [B, T], `places` [N] and `targets` [N]. */
export function tokenFeeds(minibatch: Minibatch): Record<string, Tensor> {
  const rowCount = minibatch.length;
  const length = Math.max(...minibatch.map(({ tokenIds }) => tokenIds.length));
  const tokens_BT = new BigInt64Array(rowCount * length);
  minibatch.forEach(({ tokenIds }, row) =>
    tokenIds.forEach((id, index) => (tokens_BT[row * length + index] = BigInt(id))),
  );
  const trained = trainedTokens(minibatch);
  const places = trained.map(({ row, index }) => row * length + index - 1);
  const targets = trained.map(({ row, index }) => minibatch[row].tokenIds[index]);
  return {
    tokens: int64Tensor([rowCount, length], tokens_BT),
    places: int64Tensor([trained.length], places),
    targets: int64Tensor([trained.length], targets),
  };
}

/** The tensors that the loss takes, as `addLossInputs` declares them. */
export function lossFeeds(minibatch: Minibatch, config: LossConfig): Record<string, Tensor> {
  const trained = trainedTokens(minibatch);
  const floats = (value: (token: TrainedToken) => number): Tensor =>
    float32Tensor([trained.length], Float32Array.from(trained, value));
  const old = ({ row, index }: TrainedToken): number => minibatch[row].oldLogprobs[index];
  const sequences = needsSequences(config) ? sequenceFeeds(minibatch, trained) : {};
  return {
    old_logprobs: floats((token) => (Number.isNaN(old(token)) ? 0 : old(token))),
    is_old_known: {
      dtype: "bool",
      dims: [trained.length],
      data: Uint8Array.from(trained, (token) => (Number.isNaN(old(token)) ? 0 : 1)),
    },
    advantages: floats(({ row }) => minibatch[row].advantage),
    loss_weights: floats(({ row }) => minibatch[row].weight / (trained.length + 1e-6)),
    ...sequences,
  };
}

function sequenceFeeds(minibatch: Minibatch, trained: readonly TrainedToken[]): Record<string, Tensor> {
  const sizes_S = new Float32Array(minibatch.length).fill(1e-8);
  for (const { row } of trained) sizes_S[row] += 1;
  return {
    sequence_indices: int64Tensor(
      [trained.length],
      trained.map(({ row }) => row),
    ),
    sequence_sizes: float32Tensor([minibatch.length], sizes_S),
  };
}

/** Cuts a flat array of N values into one array per sequence. */
export function splitBySequence(minibatch: Minibatch, values_N: Float32Array): readonly Float32Array[] {
  let start = 0;
  return minibatch.map(({ mask }) => {
    const count = mask.reduce((sum, trains) => sum + trains, 0);
    start += count;
    return values_N.slice(start - count, start);
  });
}

function trainedTokens(minibatch: Minibatch): readonly TrainedToken[] {
  const trained: TrainedToken[] = [];
  minibatch.forEach(({ mask }, row) => {
    assert(mask[0] === 0, "nothing predicts the first token of a sequence");
    mask.forEach((trains, index) => {
      if (trains === 1) trained.push({ row, index });
    });
  });
  return trained;
}
