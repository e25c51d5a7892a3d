/**
 * Lowers the chunks of a delta rule to loops in the model. A loop computes only the values that depend on the
 * neighbouring chunk. The remaining values of the gradient are computed for all chunks together.
 */
import { CONTRIB_DOMAIN, type OnnxModelWriter } from "./onnx-model.ts";

/** Names of the operands of `deltaScan`. */
export type DeltaOperands = Readonly<Record<"u" | "w" | "q" | "p" | "k" | "decay", string>>;

export interface DeltaSizes {
  /** int64 [1]: the number of chunks. */
  readonly count: string;
  /** int64 [4]: the shape of the state, [B, H, K, V]. */
  readonly state: string;
}

/** Names of the results that the scan collects for all chunks; each result is [N, B, H, ...]. */
interface ScannedChunks {
  readonly result: string;
  /** State before each chunk. */
  readonly states: string;
  /** The part of u that the state does not predict: u − w S. */
  readonly rests: string;
}

/** Adds the scan; returns the names of its results. */
export function deltaScan(model: OnnxModelWriter, operands: DeltaOperands, sizes: DeltaSizes): ScannedChunks {
  const [, result, states, rests] = scan(model, sizes, (chunk, state) => {
    const { u, w, q, p, k, decay } = chunkOf(model, operands, chunk);
    const rest = model.node("Sub", [u, product(model, w, state)]);
    const read = model.node("Add", [product(model, q, state), product(model, p, rest)]);
    const decayed = model.node("Mul", [state, decay]);
    return [model.node("Add", [decayed, product(model, k, rest, "transA")]), read, state, rest];
  });
  return { result, states, rests };
}

/** Adds the gradients of the scan with respect to its operands, in their order; returns their names. */
export function deltaScanGradient(
  model: OnnxModelWriter,
  operands: DeltaOperands,
  { gradient, sizes }: { readonly gradient: string; readonly sizes: DeltaSizes },
): readonly string[] {
  const { states, rests } = deltaScan(model, operands, sizes);
  const last = model.shared("Sub", [sizes.count, model.constant("int64", [1], [1])]);
  const lastChunk = model.shared("Squeeze", [last]);
  // Walks from the last chunk to the first; collects the gradients of each chunk's rest (u − w S) and of the state
  // after the chunk.
  const [, restSlopes, stateSlopes] = scan(model, sizes, (step, stateSlope) => {
    const chunk = model.node("Sub", [lastChunk, step]);
    const { w, q, p, k, decay } = chunkOf(model, operands, chunk);
    const slope = model.node("Gather", [gradient, chunk], { attributes: { axis: 0 } });
    const byResult = product(model, p, slope, "transA");
    const restSlope = model.node("Add", [byResult, product(model, k, stateSlope)]);
    const byRead = model.node("Sub", [
      product(model, q, slope, "transA"),
      product(model, w, restSlope, "transA"),
    ]);
    const before = model.node("Add", [model.node("Mul", [stateSlope, decay]), byRead]);
    return [before, restSlope, stateSlope];
  }).map((name, index) => (index === 0 ? name : reversed(model, name)));
  const byState = model.node("Mul", [stateSlopes, states]);
  const axes = model.constant("int64", [2], [-2, -1]);
  return [
    restSlopes,
    model.node("Neg", [product(model, restSlopes, states, "transB")]),
    product(model, gradient, states, "transB"),
    product(model, gradient, rests, "transB"),
    product(model, rests, stateSlopes, "transB"),
    model.node("ReduceSum", [byState, axes], { attributes: { keepdims: 1 } }),
  ];
}

/**
 * Runs a body for each chunk, starting with a state of zeros. Returns the last state, then the values that the body
 * collects.
 */
function scan(
  model: OnnxModelWriter,
  { count, state }: DeltaSizes,
  body: (chunk: string, state: string) => readonly string[],
): readonly string[] {
  const zeros = model.node("Expand", [model.constant("float32", [], [0]), state]);
  const initial = [{ name: zeros, dtype: "float32" as const }];
  return model.loop(model.shared("Squeeze", [count]), initial, (chunk, [before = ""]) => body(chunk, before));
}

/** Returns the operands of one chunk, each [B, H, ...]. */
function chunkOf(model: OnnxModelWriter, operands: DeltaOperands, chunk: string): DeltaOperands {
  const at = (name: string): string => model.node("Gather", [name, chunk], { attributes: { axis: 0 } });
  const { u, w, q, p, k, decay } = operands;
  return { u: at(u), w: at(w), q: at(q), p: at(p), k: at(k), decay: at(decay) };
}

/** Reverses the order along the first axis. */
function reversed(model: OnnxModelWriter, name: string): string {
  const int = (value: number): string => model.constant("int64", [1], [value]);
  return model.node("Slice", [name, int(-1), int(-(2 ** 31)), int(0), int(-1)]);
}

function product(model: OnnxModelWriter, a: string, b: string, transposed?: "transA" | "transB"): string {
  if (transposed === undefined) return model.node("MatMul", [a, b]);
  return model.node("FusedMatMul", [a, b], { domain: CONTRIB_DOMAIN, attributes: { [transposed]: 1 } });
}

/**
 * Size of the blocks on the diagonal that are inverted by a product of powers. In larger blocks, the powers would
 * cancel digits.
 */
const blockSizeMax = 8;

/**
 * Adds the inverse of I + A, where A is the strictly lower part of a matrix; returns its name. The inverses of blocks
 * on the diagonal are (I − A)(I + A²)(I + A⁴), since A⁸ = 0. The inverse of a block of twice the size is X − X A X,
 * where X holds the inverses of its two halves and A the part between them.
 */
export function unitLowerInverse(model: OnnxModelWriter, a: string, size: number): string {
  const masked = (isInside: (row: number, column: number) => boolean): string => {
    const values = Array.from({ length: size * size }, (_, at) =>
      isInside(Math.floor(at / size), at % size) ? 1 : 0,
    );
    return model.node("Mul", [a, model.constant("float32", [size, size], values)]);
  };
  const identity = model.constant(
    "float32",
    [size, size],
    Array.from({ length: size * size }, (_, at) => (at % (size + 1) === 0 ? 1 : 0)),
  );
  const isAlike = (row: number, column: number, block: number): boolean =>
    Math.floor(row / block) === Math.floor(column / block);
  const first = Math.min(blockSizeMax, size);
  let power = masked((row, column) => row > column && isAlike(row, column, first));
  let inverse = model.node("Sub", [identity, power]);
  for (let known = 2; known < first; known *= 2) {
    power = product(model, power, power);
    inverse = product(model, inverse, model.node("Add", [identity, power]));
  }
  for (let block = first; block < size; block *= 2) {
    const between = masked(
      (row, column) => row > column && isAlike(row, column, 2 * block) && !isAlike(row, column, block),
    );
    const step = product(model, product(model, inverse, between), inverse);
    inverse = model.node("Sub", [inverse, step]);
  }
  return inverse;
}
