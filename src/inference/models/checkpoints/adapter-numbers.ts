// Refuses an adapter with numbers that are not finite, or so large that products with its matrices overflow float32,
// the precision of engines and trainers. Checks only the adapter's own arithmetic, not what the model computes from its
// outputs.
import { present } from "../../../base/domain/assert.ts";
import { invalid } from "../../../base/domain/service-error.ts";
import { loraNames } from "../../architectures/parameters.ts";
import type { StoredLoraAdapter } from "../../architectures/peft-folder.ts";
import { readFloats, rowsOf, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";

/** Number of values that are read from a file at a time. */
const valuesAtOnce = 1 << 20;
const float32Max = (2 - 2 ** -23) * 2 ** 127;
/**
 * Maximum magnitude of inputs for which an adapter's products must stay finite. Norms keep most inputs within a few
 * hundred; the largest known activations of language models are a few thousand (arXiv:2402.17762).
 */
const inputMax = 1e4;
/**
 * Maximum magnitude of an adapter's outputs. Below it, the product of two outputs, summed over an attention head of
 * size 256, stays below {@link float32Max}.
 */
const outputMax = 1e18;
const cure = "Divide the matrices or lora_alpha until they fit, or train again with a lower learning rate.";

/**
 * Refuses an adapter with unusable numbers.
 *
 * @throws ServiceError `invalid` naming the first matrix (or the scale) whose numbers are unusable
 */
export function refuseUnusableNumbers({ scale, stored, modules }: StoredLoraAdapter): void {
  refuseScale("The adapter", scale);
  // The projections of a fused module share one matrix A, so the row sums of each A are computed only once.
  const sumsOf = new Map<StoredTensor, Float64Array>();
  for (const [path, module] of modules) {
    const names = loraNames(path);
    const [a, b] = [present(stored.get(names.a), names.a), present(stored.get(names.b), names.b)];
    refuseScale(path, module.scale);
    const sums_R = sumsOf.get(a) ?? rowSums(a);
    sumsOf.set(a, sums_R);
    // If a module's scale differs from the adapter's, its B matrix is first multiplied by the ratio of the two scales.
    const factor = Math.max(1, module.scale, module.scale / scale);
    refuseLargeRows(a, sums_R, Math.max(1, module.scale));
    refuseLargeOutputs(b, { sums_R, factor, scale: module.scale });
  }
}

function refuseScale(what: string, scale: number): void {
  if (Number.isFinite(Math.fround(scale))) return;
  throw invalid(
    `${what} has the scale ${scale} (lora_alpha / r, or / √r with use_rslora); float32 ends at ${shown(float32Max)}. Lower lora_alpha.`,
  );
}

/**
 * Returns for each row the sum of its numbers' magnitudes. This is the row's largest output for inputs of magnitude 1.
 */
function rowSums(a: StoredTensor): Float64Array {
  const sums_R: number[] = [];
  for (const { values, width } of finiteRows(a))
    for (let from = 0; from < values.length; from += width) {
      let sum = 0;
      for (let index = from; index < from + width; index++) sum += Math.abs(values[index]);
      sums_R.push(sum);
    }
  return Float64Array.from(sums_R);
}

/**
 * Refuses a matrix A with a row whose products overflow.
 *
 * @param factor number by which trainers multiply x Aᵀ, before they multiply the result by Bᵀ
 */
function refuseLargeRows({ name }: StoredTensor, sums_R: Float64Array, factor: number): void {
  const limit = float32Max / inputMax / factor;
  const row = sums_R.findIndex((sum) => sum > limit);
  if (row < 0) return;
  throw invalid(
    `${name} is too large for float32: the magnitudes in row ${row} add up to ${shown(sums_R[row])}, and at most ${shown(limit)} is allowed, so that inputs of magnitude ${inputMax} do not overflow. ${cure}`,
  );
}

function refuseLargeOutputs(
  b: StoredTensor,
  {
    sums_R,
    factor,
    scale,
  }: { readonly sums_R: Float64Array; readonly factor: number; readonly scale: number },
): void {
  const limit = outputMax / inputMax;
  let row = 0;
  for (const { values, width } of finiteRows(b))
    for (let from = 0; from < values.length; from += width, row++) {
      let greatest = 0;
      let sum = 0;
      for (let column = 0; column < width; column++) {
        const magnitude = Math.abs(values[from + column]);
        greatest = Math.max(greatest, magnitude);
        sum += magnitude * sums_R[column];
      }
      // The comparison is false for NaN, which is the product of 0 and infinity, so NaN is refused too.
      if (!(greatest * factor <= float32Max))
        throw invalid(
          `${b.name} is too large for float32: row ${row} holds ${shown(greatest)}, which is multiplied by ${shown(factor)}; float32 ends at ${shown(float32Max)}. ${cure}`,
        );
      if (sum * scale > limit)
        throw invalid(
          `${b.name} is too large for float32: scale × B × A reaches ${shown(sum * scale)} in row ${row}, and at most ${shown(limit)} is allowed, so that outputs for inputs of magnitude ${inputMax} do not overflow later. ${cure}`,
        );
    }
}

interface Rows {
  readonly values: Float32Array;
  readonly width: number;
}

function* finiteRows(matrix: StoredTensor): Generator<Rows, void> {
  const { name, type } = matrix;
  if (type === "I64") throw invalid(`${name} holds integers (I64); F32, F16 or BF16 is needed.`);
  for (const rows of rowChunks(matrix)) {
    const values = readFloats(rows);
    if (!values.every(Number.isFinite))
      throw invalid(`${name} holds a number that is not finite; such an adapter answers nothing.`);
    yield { values, width: matrix.shape[1] };
  }
}

/** Yields a matrix as chunks of consecutive rows. */
export function* rowChunks(matrix: StoredTensor): Generator<StoredTensor, void> {
  const [rowCount, width] = matrix.shape;
  const rowsAtOnce = Math.max(1, Math.floor(valuesAtOnce / width));
  for (let from = 0; from < rowCount; from += rowsAtOnce)
    yield rowsOf(matrix, from, Math.min(rowsAtOnce, rowCount - from));
}

function shown(value: number): string {
  return value.toPrecision(3);
}
