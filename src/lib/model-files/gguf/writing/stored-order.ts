// Puts values into the order in which GGUF files store them: the inverse of reading a rearranged tensor. Reading and
// writing share the description of the change (`Rearrangement`).
import { storedIndexOf, storedRowOf, type StoredTensor } from "../../stored-tensor.ts";

/**
 * Returns the values as the file stores them.
 *
 * @param values whole rows in the order of the Hugging Face layout; may be modified
 * @param rows shape of these rows, and how the file rearranges them
 */
export function toStoredOrder(
  values: Float32Array,
  rows: Pick<StoredTensor, "name" | "type" | "shape" | "file" | "offset" | "byteLength" | "rearranged">,
): Float32Array {
  const { rearranged, shape } = rows;
  if (rearranged === undefined) return values;
  if (rearranged.kind === "plus-one") return values.map((value) => value + 1);
  if (rearranged.kind === "tiled-heads" && rearranged.axis === "columns") {
    const width = shape.at(-1) ?? 1;
    const stored = Array.from({ length: width }, (_, column) => storedIndexOf(column, rearranged));
    const result = new Float32Array(values.length);
    values.forEach((value, at) => (result[at - (at % width) + stored[at % width]] = value));
    return result;
  }
  const storedOf = storedRowOf(rows);
  if (storedOf === null) throw new Error(`${rows.name}: ${rearranged.kind} is not written`);
  const width = values.length / shape[0];
  const result = new Float32Array(values.length);
  for (let row = 0; row < shape[0]; row++)
    result.set(values.subarray(row * width, (row + 1) * width), storedOf(row) * width);
  if (rearranged.kind !== "tiled-heads" || rearranged.isNegatedPower !== true) return result;
  return result.map((value) => -Math.exp(value));
}
