// Reads tensors that each hold one matrix for all experts of a layer, as GGUF files and gpt-oss store them. In
// gpt-oss's own files, rows of gate and up alternate, and weights are either transposed or in blocks of four-bit
// numbers (MXFP4).
import { matrixOf, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";

type Tensors = ReadonlyMap<string, StoredTensor>;

export interface ExpertMatrices {
  /** Names of the stored tensors. */
  readonly names: readonly string[];
  /** One matrix or bias for each expert. */
  readonly matrices: readonly StoredTensor[];
}

/** Splits a tensor of all experts into one tensor for each expert; null if there is no such tensor. */
export function wholeOf(stored: Tensors, name: string, count: number): ExpertMatrices | null {
  const whole = stored.get(name);
  if (whole === undefined || whole.shape[0] !== count) return null;
  return { names: [name], matrices: Array.from({ length: count }, (_, at) => matrixOf(whole, at)) };
}

/** Returns the biases of the gate and up projections [E, 2 I], whose entries alternate in files. */
export function biasesOf(stored: Tensors, name: string, count: number): ExpertMatrices | null {
  const whole = wholeOf(stored, name, count);
  const paired = { rearranged: { kind: "paired-rows", headCount: 1 } } as const;
  return whole && { ...whole, matrices: whole.matrices.map((bias) => ({ ...bias, ...paired })) };
}

/**
 * Returns the matrices of gpt-oss's own files; null if the file has none.
 *
 * @param options.isPaired true if the rows of gate and up alternate
 */
export function gptOssMatrices(
  stored: Tensors,
  {
    name,
    isPaired,
    isGptOss,
    count,
  }: {
    readonly name: string;
    readonly isPaired: boolean;
    readonly isGptOss: boolean;
    readonly count: number;
  },
): ExpertMatrices | null {
  if (!isGptOss) return null;
  const blocks = blockMatrices(stored, name, count);
  if (blocks !== null) {
    const paired = isPaired ? ({ rearranged: { kind: "paired-rows", headCount: 1 } } as const) : {};
    return { ...blocks, matrices: blocks.matrices.map((matrix) => ({ ...matrix, ...paired })) };
  }
  const whole = wholeOf(stored, name, count);
  if (whole === null) return null;
  const transposed = (matrix: StoredTensor): StoredTensor => {
    const [width, rows] = matrix.shape;
    return { ...matrix, shape: [rows, width], rearranged: { kind: "transposed", isPaired } };
  };
  return { names: [name], matrices: whole.matrices.map(transposed) };
}

/** Returns matrices [N, K] from two tensors: blocks uint8 [E, N, K/32, 16] and scales uint8 [E, N, K/32]. */
function blockMatrices(stored: Tensors, name: string, count: number): ExpertMatrices | null {
  const names = [`${name}_blocks`, `${name}_scales`];
  const [blocks, scales] = names.map((each) => wholeOf(stored, each, count));
  if (blocks === null || scales === null) return null;
  const matrices = blocks.matrices.map((matrix, at): StoredTensor => {
    const [rows, blockCount] = matrix.shape;
    return { ...matrix, type: "MXFP4", shape: [rows, 32 * blockCount], blockScales: scales.matrices[at] };
  });
  return { names, matrices };
}
