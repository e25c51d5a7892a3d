// Reads the states that serving graphs return.
import { float32Data, type Tensor } from "../../lib/graph/tensor.ts";
import { stateNames, type StateShape } from "../architectures/serving/sequence-memory.ts";

/** Outputs of a serving graph by name. */
export type Outputs = Readonly<Record<string, Tensor>>;

/**
 * Returns one row of a new state. A graph returns either one output with the rows of all parts, or one output per part.
 */
export function newStateOf(
  { dims }: StateShape,
  outputs: Outputs,
  { state, row }: { readonly state: number; readonly row: number },
): Float32Array {
  const size = dims.reduce((product, each) => product * each, 1);
  const shared = outputs[stateNames(state).newState];
  if (shared === undefined) return float32Data(outputs[stateNames(state, row).newState]);
  return float32Data(shared).subarray(row * size, (row + 1) * size);
}
